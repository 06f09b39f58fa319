#pragma once

#include <cstdint>

namespace shale {

/// How the rows of a shard are stored, and what follows from that. Callers ask for what they need
/// to know, and never which of the two kinds it is.
class RowStorage {
 public:
  /// Each sample has an index row: where its values lie, with their checksums, and its numbers.
  [[nodiscard]] static constexpr RowStorage indexed() { return RowStorage(Way::indexed); }
  /// The values of a field have one size and lie one after the other, from where the manifest says
  /// (ManifestShard::bases). Integers and reals are stored as their dtype. The parts of a record
  /// are the fields; there are no keys.
  [[nodiscard]] static constexpr RowStorage columns() { return RowStorage(Way::columns); }

  /// A file beside each shard says where the values of its samples lie.
  [[nodiscard]] constexpr bool has_index() const { return way_ == Way::indexed; }
  /// Each value has a crc32c; else the blocks that it lies in prove it.
  [[nodiscard]] constexpr bool has_value_checksums() const { return way_ == Way::indexed; }
  /// Where a value lies follows from the number of its row, and from the schema how long it is.
  [[nodiscard]] constexpr bool has_strides() const { return way_ == Way::columns; }
  /// A record may be many samples: its parts are the fields, each the values of all of them.
  [[nodiscard]] constexpr bool takes_runs() const { return way_ == Way::columns; }

  friend bool operator==(const RowStorage&, const RowStorage&) = default;

 private:
  enum class Way : std::uint8_t { indexed, columns };
  explicit constexpr RowStorage(Way way) : way_(way) {}
  Way way_;
};

}  // namespace shale
