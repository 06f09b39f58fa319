#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/folders/stored_listing.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

/// A sample as the list of an input has it: its file, with partners and row, or its frames.
using ListedSample = std::vector<ListedFile>;

/// A file of a sample that has a position.
struct PlacedFile {
  std::uint64_t position = 0;
  std::uint32_t number = 0;  ///< in its sample
  bool is_last = true;
  std::string_view file;  ///< as append_listed_file has it
  static auto columns(auto& row) {
    return std::tie(row.position, row.number, row.is_last, row.file);
  }
};

/// Samples on disk, in the order of the positions that they are given.
class PlacedSamples {
 public:
  PlacedSamples(const std::string& scratch_folder, std::uint64_t memory_bytes)
      : rows_(scratch_folder, memory_bytes) {}

  void add(std::uint64_t position, const ListedSample& sample);
  /// No more add() after it.
  void finish() { rows_.finish(); }
  void rewind() { rows_.rewind(); }
  /// Empty after the last.
  [[nodiscard]] ListedSample next();

 private:
  SortedTable<PlacedFile> rows_;
  std::string file_;
};

/// What an input is a list of: its samples in its own order, as often as they are needed.
class InputList {
 public:
  virtual ~InputList() = default;
  /// All that does not follow from the samples.
  [[nodiscard]] virtual const SourceInfo& info() const = 0;
  /// What the fingerprint of the input begins with.
  [[nodiscard]] virtual std::string fingerprinted() const { return info().manifest.kind; }
  /// The next one; empty after the last.
  [[nodiscard]] virtual ListedSample next() = 0;
  /// Starts again at the first sample.
  virtual void rewind() = 0;
  /// No more next() after it: gives back what that takes.
  virtual void close() = 0;
  [[nodiscard]] virtual PendingSample pending(ListedSample sample) const = 0;
  virtual void list_ignored(const ReasonSink& sink) = 0;
};

/// Where samples are put in another order.
struct ListedOrder {
  std::string name;  ///< of the input, for messages
  std::string scratch_folder;
  std::uint64_t memory_bytes = 0;
  std::function<void()> stop_if_asked = [] {};
};

/// The samples of a list, all of which are passed at once for the totals. Errors: those of the
/// list.
[[nodiscard]] std::unique_ptr<OrderableSource> make_list_source(std::unique_ptr<InputList> list,
                                                                ListedOrder order);

}  // namespace shale
