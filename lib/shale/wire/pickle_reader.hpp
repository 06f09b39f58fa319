#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "shale/base/view_bytes.hpp"
#include "shale/wire/pickle.hpp"

// Pickle, as far as plain data needs it: a program of one-byte opcodes for a stack of values.
//   80 PROTO u8   95 FRAME u64   '.' STOP   '(' MARK
//   'N' None   88 89 True, False   'K' 'M' 'J' u8 u16 i32   8a LONG1   'G' f64, big-endian
//   'C' 'B' 8e 96 bytes   'U' 'T' bytes of Python 2   8c 'X' 8d text (lengths: u8 u32 u64)
//   ')' 85 86 87 't' tuples of 0 1 2 3 values, of those after the mark
//   ']' 'a' 'e' empty list, append the value, those after the mark
//   '}' 's' 'u' empty dict, set one entry, those after the mark
//   'c' 93 a global by two lines, by two texts   'R' call a global   81 make one of a class: the
//   same 'b' give the result its state 'Q' persistent id   'q' 'r' 94 keep in the memo   'h' 'j'
//   take from there
// Every other opcode is refused by name. Nothing is ever imported, called or built: a call of a
// global is a value that says so.
// Source: CPython, Lib/pickletools.py; protocols 2 to 5.

namespace shale {

/// What read_pickle takes at most: it bounds the memory that a hostile pickle can ask for, about
/// 64 bytes per value. A value counts each time it is used, with all that it holds: a walk over
/// the values as if they were a tree takes no more steps than this.
struct PickleLimits {
  std::uint64_t values = 1 << 18;
  std::uint64_t depth = 32;  ///< of containers and calls inside each other
  std::uint64_t text_bytes = 1 << 20;
  /// Objects of other classes are taken too, if they are made of their state alone: each is a call
  /// of its class, without arguments.
  bool takes_objects = false;
  /// Sets, integers above 64 bits and what other globals would make are values of
  /// PickleKind::other: they stop none of the others.
  bool takes_others = false;
};

/// Reads the pickle that begins at `begin` and fills `length` bytes. `globals` are the names that
/// it may use, each "module name", such as "collections OrderedDict"; the result has views of them.
/// Contents of bytes are not looked at. `reused`: one that is not needed any more, for its memory.
/// Errors: Code::damaged, with `where` and offset, for what no pickler writes, and bytes
/// left over; Code::unsupported, by name, for other opcodes and globals, for a container that holds
/// itself, and for integers above 64 bits; Code::limit beyond `limits`; what `view` throws.
[[nodiscard]] Pickle read_pickle(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                 std::string_view where, std::span<const std::string_view> globals,
                                 const PickleLimits& limits = {}, Pickle reused = {});

struct LeadingPickle {
  Pickle pickle;
  std::uint64_t end = 0;  ///< where it ends
};
/// The same of a pickle that something may follow.
[[nodiscard]] LeadingPickle read_leading_pickle(const ViewBytes& view, std::uint64_t begin,
                                                std::uint64_t length, std::string_view where,
                                                std::span<const std::string_view> globals,
                                                const PickleLimits& limits = {},
                                                Pickle reused = {});

}  // namespace shale
