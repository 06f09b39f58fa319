#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/parquet/parquet_columns.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

/// A page, and where its bytes are: behind its header.
struct ParquetPage {
  ParquetPageHeader header;
  std::uint64_t offset = 0;  ///< of the header
  [[nodiscard]] std::uint64_t begin() const { return offset + header.header_bytes; }
  [[nodiscard]] std::uint64_t end() const {
    return begin() + static_cast<std::uint64_t>(header.stored_bytes);
  }
  [[nodiscard]] bool is_data() const {
    return header.kind == ParquetPageKind::data || header.kind == ParquetPageKind::data_v2;
  }
  /// Its bytes are as they are read: no codec is needed for them.
  [[nodiscard]] bool is_stored(ParquetCodec codec) const {
    return codec == ParquetCodec::uncompressed ||
           (header.kind == ParquetPageKind::data_v2 && !header.is_compressed);
  }
};

/// The pages of a chunk, up to the last one that has a value: bytes may follow it.
class ParquetPages {
 public:
  /// `chunks_end`: where the footer begins. The view and `where`, the path, are borrowed.
  ParquetPages(const ViewBytes& view, std::string_view where, const ParquetChunk& chunk,
               std::uint64_t chunks_end);
  /// Dictionary and data pages; pages of indexes, and those without a value, are passed over.
  /// Errors: those of read_page_header; Code::damaged for a page that is out of place, or has more
  /// values than are left.
  [[nodiscard]] std::optional<ParquetPage> next();

 private:
  const ViewBytes* view_;
  std::string_view where_;
  std::uint64_t at_, end_, slots_left_;
  bool is_first_ = true;
};

/// The levels of a page, and where its values lie.
struct ParquetLevels {
  std::vector<std::byte> repetition, definition;  ///< as hybrid runs; empty: all are 0
  std::uint64_t values_begin = 0;  ///< within the unpacked page; of version 2 within its values
};
/// Of a page whose bytes are stored, which are read no further than its levels, or of one that was
/// unpacked: `view` counts from its first byte, and there are `bytes`. Errors: Code::damaged,
/// Code::unsupported, without place.
[[nodiscard]] ParquetLevels read_levels(const ViewBytes& view, std::uint64_t bytes,
                                        const ParquetPageHeader& page, const ParquetColumn& column);

}  // namespace shale
