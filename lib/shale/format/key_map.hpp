#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "shale/base/bytes.hpp"

// The further interface of the seam, for containers that are a sorted map of keys to values
// (Format::open_map): keys are looked up in the file as it stands, without an index and without a
// walk of it.

namespace shale {

/// What the container's own records say about the map.
struct KeyMapFacts {
  std::uint64_t entries = 0;
  std::uint64_t page_bytes = 0, depth = 0;
  std::uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0;
  std::uint64_t last_page = 0, transaction = 0;
  std::uint64_t map_bytes = 0;  ///< the size of the map that its writer asked for
  bool has_integer_keys = false, has_reverse_keys = false;
};

/// One entry: its key, and where its value is. The views are valid as long as `owner`.
struct KeyMapEntry {
  Bytes key;
  /// The value: contiguous bytes of the file, which were inside it when the entry was looked up.
  std::uint64_t value_offset = 0, value_bytes = 0;
  /// The value's bytes, if the look-up has read them anyway; otherwise read the file.
  std::optional<Bytes> value;
  bool is_database = false;  ///< the "value" is the record of a database of this name
  std::shared_ptr<const void> owner;
};

/// A position in a map. It moves like LMDB's cursors: after a move that finds nothing there is no
/// current entry, but the next move starts from the same position. Memory: one page per level. One
/// thread at a time; a clone is another cursor, for another thread. Errors, of every move:
/// Code::damaged with file and offset; Code::io. Its position is then unspecified: move a clone
/// if that matters.
class KeyCursor {
 public:
  virtual ~KeyCursor() = default;
  /// Moves to that entry. False if it does not exist.
  virtual bool first() = 0;
  virtual bool last() = 0;
  /// From a fresh cursor: the first entry. After a seek() that found nothing: the entry after the
  /// one before which the key would be inserted.
  virtual bool next() = 0;
  /// From a fresh cursor: the last entry.
  virtual bool prev() = 0;
  /// The entry of exactly this key. Errors: Code::damaged also if there is none, but the file has
  /// been written to so often since the map was opened that this may be wrong.
  virtual bool seek(Bytes key) = 0;
  /// The first entry whose key is this one or follows it. Errors: same as seek.
  virtual bool seek_range(Bytes key) = 0;
  /// Nullopt if the last move found nothing. Errors: Code::damaged for a value outside the
  /// file; Code::unsupported for one that is not a run of bytes.
  [[nodiscard]] virtual std::optional<KeyMapEntry> current() const = 0;
  [[nodiscard]] virtual std::unique_ptr<KeyCursor> clone() const = 0;
};

/// A map in the state in which it was opened. Nothing is locked: if the file is written to, that
/// state remains until the writer begins its third transaction. Thread-safe; still works after
/// fork().
class KeyMap {
 public:
  virtual ~KeyMap() = default;
  [[nodiscard]] virtual const KeyMapFacts& facts() const = 0;
  /// The entry of exactly this key. Errors: same as KeyCursor.
  [[nodiscard]] virtual std::optional<KeyMapEntry> find(Bytes key) const = 0;
  /// A fresh cursor, which keeps what it needs of the map.
  [[nodiscard]] virtual std::unique_ptr<KeyCursor> cursor() const = 0;
  /// The map in the file's current state; this one if nothing was written since.
  /// Errors: same as Format::open_map.
  [[nodiscard]] virtual std::shared_ptr<const KeyMap> renewed() const = 0;
};

}  // namespace shale
