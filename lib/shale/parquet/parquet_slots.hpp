#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/parquet/parquet_columns.hpp"
#include "shale/parquet/parquet_expansion.hpp"
#include "shale/parquet/parquet_pages.hpp"
#include "shale/parquet/parquet_places.hpp"
#include "shale/parquet/parquet_values.hpp"

namespace shale {

/// The slots of a column, one after the other: its levels, and its value where it has one. Values
/// are decoded, or located in the file without reading them, which only bytes can be that are
/// stored as they are.
/// Memory: a dictionary and a page; of what is located only levels, indices and lengths.
/// Errors of all: Code::damaged, Code::unsupported, Code::limit with the offset of the page; those
/// of the view.
class ParquetSlots {
 public:
  enum class Use { levels, places, values };

  /// All is borrowed: `view` is of the file, `where` its path. `chunks_end`: where the footer is.
  ParquetSlots(const ViewBytes& view, std::string_view where, const ParquetColumn& column, Use use,
               std::uint64_t chunks_end)
      : view_(&view), where_(where), column_(&column), use_(use), chunks_end_(chunks_end) {}

  /// Reads every page as a whole, and compares it with its CRC, if it has one.
  void check_pages() { checks_pages_ = true; }
  /// Called when a page begins, with its offset.
  void at_pages(std::function<void(std::uint64_t offset)> call) { at_page_ = std::move(call); }

  /// What it gives out and holds is counted with that of others. `all` is borrowed.
  void count_in(ParquetExpansion& all) { expansion_ = &all; }

  /// Begins with a chunk of the column.
  void open(const ParquetChunk& chunk);
  /// The next slot; false at the end of the chunk.
  [[nodiscard]] bool next();
  [[nodiscard]] std::uint32_t definition() const { return definition_; }
  [[nodiscard]] std::uint32_t repetition() const { return repetition_; }
  [[nodiscard]] bool has_value() const { return definition_ == column_->most_definition; }
  /// The next slot belongs to the row at hand.
  [[nodiscard]] bool row_goes_on();
  /// Of a slot that has a value, at most once: as ParquetValues gives it, or where it is.
  [[nodiscard]] Bytes value();
  [[nodiscard]] ParquetPlace place();
  /// Of the header of the page that the slot is in.
  [[nodiscard]] std::uint64_t page_offset() const { return page_.offset; }

 private:
  bool begin_page();
  void end_page();
  void read_dictionary();
  void load_values(std::uint64_t values_begin);
  void check_page() const;
  void hold(std::uint64_t& held, std::uint64_t bytes);
  void count(std::uint64_t bytes);
  [[nodiscard]] Error placed(Error error) const;
  void peek();

  const ViewBytes* view_;
  std::string_view where_;
  const ParquetColumn* column_;
  Use use_;
  std::uint64_t chunks_end_;
  bool checks_pages_ = false;
  std::function<void(std::uint64_t)> at_page_;
  ParquetExpansion* expansion_ = nullptr;
  std::uint64_t page_held_ = 0, dictionary_held_ = 0;

  const ParquetChunk* chunk_ = nullptr;
  std::optional<ParquetPages> pages_;
  ParquetPage page_;
  std::uint64_t slots_left_ = 0;
  std::uint64_t rows_ = 0, present_ = 0, taken_ = 0;  // of the page, as far as it was read
  ParquetLevels levels_;
  HybridRuns repetitions_, definitions_;
  std::uint32_t definition_ = 0, repetition_ = 0;
  bool has_next_ = false;  // next_repetition_ was taken from its runs already
  std::uint32_t next_repetition_ = 0;
  std::vector<std::byte> unpacked_;
  std::optional<ParquetDictionary> dictionary_;
  ParquetValues values_;
  ParquetPlaces places_;
};

}  // namespace shale
