#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/io/sorted_table.hpp"

namespace shale {

/// Byte strings, sorted on disk, that are looked up in any order. Of about every 32 KiB of them one
/// is kept in memory, of fewer where that would take more than a quarter of what is given. One
/// thread.
class SearchableEntries {
 public:
  SearchableEntries(const std::string& scratch_folder, std::uint64_t memory_bytes);

  /// Errors: same as ExternalSorter.
  void add(std::string_view entry) { sorter_->add(entry); }
  /// No more add() after it. `stop_if_asked` is called again and again, and may throw. Errors:
  /// Code::io.
  void finish(const std::function<void()>& stop_if_asked);

  /// The place of the first entry that is not less.
  [[nodiscard]] std::uint64_t find(std::string_view sought);
  /// The entry there, until the next call, and moves `place` on to the next; nullopt behind the
  /// last.
  [[nodiscard]] std::optional<std::string_view> next(std::uint64_t& place);

 private:
  struct Mark {
    std::string entry;
    std::uint64_t place;
  };
  void mark(std::string_view entry);
  [[nodiscard]] Bytes view(std::uint64_t place, std::uint64_t bytes);

  std::uint64_t memory_bytes_;
  std::optional<ExternalSorter> sorter_;
  ScratchFile file_;  // each entry behind its length, u32
  std::vector<Mark> marks_;
  std::uint64_t marks_bytes_ = 0, step_, next_mark_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
};

/// Rows of one type, sorted as in a SortedTable, that are looked up in any order by their first
/// column: a number, a hash or a std::string. Memory, errors and threads: as of SearchableEntries.
template <StoredRow Row>
class SearchableTable {
 public:
  SearchableTable(const std::string& scratch_folder, std::uint64_t memory_bytes)
      : entries_(scratch_folder, memory_bytes) {}

  void add(const Row& row) {
    entry_.clear();
    stored_row::append(entry_, row, true);
    entries_.add(entry_);
  }
  void finish(const std::function<void()>& stop_if_asked) { entries_.finish(stop_if_asked); }

  /// The place of the first row whose first column is not less.
  template <class Column>
  [[nodiscard]] std::uint64_t find(const Column& first) {
    entry_.clear();
    stored_row::append(entry_, first, false);
    return entries_.find(entry_);
  }
  /// The row there, and moves `place` on to the next; nullopt behind the last.
  [[nodiscard]] std::optional<Row> next(std::uint64_t& place) {
    std::optional<Row> row;
    std::optional<std::string_view> entry = entries_.next(place);
    if (entry) stored_row::take(*entry, row.emplace(), true);
    return row;
  }

 private:
  SearchableEntries entries_;
  std::string entry_;
};

}  // namespace shale
