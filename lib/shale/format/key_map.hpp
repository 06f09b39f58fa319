#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "shale/base/bytes.hpp"

// The further interface of the seam, for containers that are a sorted map of keys to values
// (Format::open_map): keys are looked up in the file as it stands, without an index and without a
// walk of it.

namespace shale {

/// What the container's own records say of the map.
struct KeyMapFacts {
  std::uint64_t entries = 0;
  std::uint64_t page_bytes = 0, depth = 0;
  std::uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0;
  std::uint64_t last_page = 0, transaction = 0;
  std::uint64_t map_bytes = 0;  ///< the size of the map that its writer asked for
  bool has_integer_keys = false, has_reverse_keys = false;
};

/// One entry: its key, and where its value lies. The views end with `owner`.
struct KeyMapEntry {
  Bytes key;
  /// The value is one run of the file, inside of it when the entry was looked up.
  std::uint64_t value_offset = 0, value_bytes = 0;
  /// The value's bytes, if the look-up has read them on its way; else read the file.
  std::optional<Bytes> value;
  bool is_database = false;  ///< the "value" is the record of a database of this name
  std::shared_ptr<const void> owner;
};

/// A place in a map. It moves as LMDB's cursors do: a move that finds nothing leaves no current
/// entry, but keeps the place that the next move starts from. Memory: one page per level. One
/// thread at a time; a clone is another cursor, for another thread. Errors, of every move:
/// Code::damaged with file and offset; Code::io. Its place is then not specified: move a clone
/// where that matters.
class KeyCursor {
 public:
  virtual ~KeyCursor() = default;
  /// Moves to that entry. False if it does not exist.
  virtual bool first() = 0;
  virtual bool last() = 0;
  /// From a fresh cursor: the first entry. After seek() has found nothing: the entry that follows
  /// the one before which the key would be put.
  virtual bool next() = 0;
  /// From a fresh cursor: the last entry.
  virtual bool prev() = 0;
  /// The entry of exactly this key. Errors: Code::damaged also if there is none, but the file has
  /// been written to so often since the map was opened that this may be wrong.
  virtual bool seek(Bytes key) = 0;
  /// The first entry whose key is this one or follows it. Errors: same as seek.
  virtual bool seek_range(Bytes key) = 0;
  /// Nullopt where the last move found nothing. Errors: Code::damaged for a value outside the
  /// file; Code::unsupported for one that is not a run of bytes.
  [[nodiscard]] virtual std::optional<KeyMapEntry> current() const = 0;
  [[nodiscard]] virtual std::unique_ptr<KeyCursor> clone() const = 0;
};

/// A map as it was when it was opened. It locks nothing: a file that is written to while it is read
/// stays as it is until the writer begins the third transaction. Thread-safe; works on after
/// fork().
class KeyMap {
 public:
  virtual ~KeyMap() = default;
  [[nodiscard]] virtual const KeyMapFacts& facts() const = 0;
  /// The entry of exactly this key. Errors: same as KeyCursor.
  [[nodiscard]] virtual std::optional<KeyMapEntry> find(Bytes key) const = 0;
  /// A fresh cursor, which keeps what it needs of the map.
  [[nodiscard]] virtual std::unique_ptr<KeyCursor> cursor() const = 0;
  /// The map as the file has it now; if nothing was written since, this one.
  /// Errors: same as Format::open_map.
  [[nodiscard]] virtual std::shared_ptr<const KeyMap> renewed() const = 0;
};

}  // namespace shale
