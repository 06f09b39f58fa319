#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"

// Pickle, as far as plain data needs it: a program of one-byte opcodes for a stack of values.
//   80 PROTO u8   95 FRAME u64   '.' STOP   '(' MARK
//   'N' None   88 89 True, False   'K' 'M' 'J' u8 u16 i32   8a LONG1   'G' f64, big-endian
//   'C' 'B' 8e 96 bytes   'U' 'T' bytes of Python 2   8c 'X' 8d text (lengths: u8 u32 u64)
//   ')' 85 86 87 't' tuples of 0 1 2 3 values, of those after the mark
//   ']' 'a' 'e' empty list, append the value, those after the mark
//   '}' 's' 'u' empty dict, set one entry, those after the mark
//   'c' 93 a global by two lines, by two texts   'R' call a global   'b' give the result its state
//   'Q' persistent id   'q' 'r' 94 keep in the memo   'h' 'j' take from there
// Every other opcode is refused by name. Nothing is ever imported, called or built: a call of a
// global is a value that says so.
// Source: CPython, Lib/pickletools.py; protocols 2 to 5.

namespace shale {

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  bytes,
  text,
  tuple,
  list,
  dict,
  global,         ///< a name alone, such as torch.FloatStorage
  call,           ///< a global with its arguments; its state and its entries, if any
  persistent_id,  ///< what stands outside of the pickle, by a value that names it
};
/// "a tuple", "an integer": for messages.
[[nodiscard]] std::string_view name_of(PickleKind kind);

/// What read_pickle takes at most: it bounds the memory that a hostile pickle can ask for, about
/// 64 bytes per value. A value counts each time it is used, with all that it holds: a walk over
/// the values as if they were a tree takes no more steps than this.
struct PickleLimits {
  std::uint64_t values = 1 << 18;
  std::uint64_t depth = 32;  ///< of containers and calls inside each other
  std::uint64_t text_bytes = 1 << 20;
};

class Pickle;

/// One value of a pickle: a view, valid as long as the Pickle is. Errors of all accessors:
/// Code::bug for a value of another kind, or an element that it does not have.
class PickleValue {
 public:
  [[nodiscard]] PickleKind kind() const;
  [[nodiscard]] bool is(PickleKind kind) const { return this->kind() == kind; }
  /// Also 0 or 1 for a boolean.
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] std::string_view text() const;
  /// Of bytes and text: where the contents lie, in what was viewed.
  [[nodiscard]] std::uint64_t offset() const;
  [[nodiscard]] std::uint64_t length() const;
  /// Of a global or a call: the one of the allowed names that it has.
  [[nodiscard]] std::string_view name() const;
  /// A call of this global.
  [[nodiscard]] bool is_call_of(std::string_view name) const;

  /// Values of a tuple or a list, arguments of a call; 1 for a persistent id.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] PickleValue operator[](std::size_t i) const;
  /// Of a dict, or those given to the result of a call (an OrderedDict has its entries there), in
  /// the order in which they were set; a key may be there twice.
  [[nodiscard]] std::size_t entries() const;
  [[nodiscard]] PickleValue key(std::size_t i) const;
  [[nodiscard]] PickleValue value(std::size_t i) const;
  /// What BUILD gave to the result of a call, such as the contents of a NumPy array.
  [[nodiscard]] std::optional<PickleValue> state() const;

 private:
  friend class Pickle;
  PickleValue(const Pickle& pickle, std::uint32_t node) : pickle_(&pickle), node_(node) {}
  void require(bool is_so) const;

  const Pickle* pickle_;
  std::uint32_t node_;
};

/// The values of a pickle. They form no circles.
class Pickle {
 public:
  [[nodiscard]] PickleValue root() const { return {*this, root_}; }

 private:
  friend class PickleValue;
  friend class PickleMachine;
  struct Node {
    PickleKind kind = PickleKind::none;
    std::uint8_t height = 0;   // of containers below it, and itself
    bool is_fixed = false;     // referred to: nothing may be put into it any more
    std::uint32_t weight = 1;  // values of the tree below it, and itself
    std::uint32_t name = 0;    // a global or a call: of names_; a string: where it begins in texts_
    std::uint64_t offset = 0;  // a run: of its contents
    std::uint64_t number = 0;  // an integer, the bits of a real, the length of a run
    // Elements; keys and values in turn; of a call: its arguments, its state, keys and values.
    std::vector<std::uint32_t> children = {};
  };

  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::string texts_;
  std::uint32_t root_ = 0;
};

/// Reads the pickle that begins at `begin` and fills `length` bytes. `globals` are the names that
/// it may use, each "module name", such as "collections OrderedDict". Contents of bytes are not
/// looked at. Errors: Code::damaged, with `where` and offset, for what no pickler writes, and bytes
/// left over; Code::unsupported, by name, for other opcodes and globals, for a container that holds
/// itself, and for integers above 64 bits; Code::limit beyond `limits`; what `view` throws.
[[nodiscard]] Pickle read_pickle(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                 std::string_view where, std::span<const std::string_view> globals,
                                 const PickleLimits& limits = {});

}  // namespace shale
