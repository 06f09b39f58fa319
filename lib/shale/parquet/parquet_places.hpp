#pragma once

#include <cstdint>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/parquet/delta_numbers.hpp"
#include "shale/parquet/hybrid_runs.hpp"
#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

/// Where the bytes of a value are in the file.
struct ParquetPlace {
  std::uint64_t offset = 0, length = 0;
};

/// Whether the bytes of pages of this encoding lie as they are.
[[nodiscard]] bool can_place(ParquetEncoding encoding);

/// Where the values of stored pages lie, of a column of bytes. One hop per value: nothing says in
/// advance how long they are. Memory: indices and lengths of a page, 16 bytes per value of a
/// dictionary.
/// Errors, of all: Code::damaged, Code::unsupported, without place; those of the view.
class ParquetPlaces {
 public:
  ParquetPlaces() = default;
  explicit ParquetPlaces(const ViewBytes& view) : view_(&view) {}

  /// The values of the dictionary page, [begin, end) of the file.
  void read_dictionary(std::uint64_t begin, std::uint64_t end, std::uint64_t count);
  void forget_dictionary() { dictionary_.clear(), has_dictionary_ = false; }
  /// The values of a data page of so many slots, [begin, end) of the file.
  void begin_page(ParquetEncoding encoding, std::uint64_t begin, std::uint64_t end,
                  std::uint64_t slots);
  [[nodiscard]] ParquetPlace next();

 private:
  ParquetPlace hop(std::uint64_t& at, std::uint64_t end) const;
  void read_lengths(std::uint64_t slots);

  const ViewBytes* view_ = nullptr;
  std::vector<ParquetPlace> dictionary_;
  bool has_dictionary_ = false;
  ParquetEncoding encoding_ = ParquetEncoding::plain;
  std::uint64_t at_ = 0, end_ = 0;
  std::vector<std::byte> numbers_;  // indices or lengths
  HybridRuns indices_;
  DeltaNumbers lengths_;
};

}  // namespace shale
