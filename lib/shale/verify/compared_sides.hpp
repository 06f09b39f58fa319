#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "shale/data/field_choice.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/shards/open_shards.hpp"

// The two sides of a comparison, each as a source of samples on their way to digests.

namespace shale {

/// How the samples of two sides are joined.
enum class JoinedBy {
  key,      ///< each has one of its own
  content,  ///< keys are the numbers of rows, or there are none: equal rows are the same sample
};

/// What ComparedRow::place says where it is not a row of the dataset.
inline constexpr std::uint64_t kUnread = ~std::uint64_t{0} - 4;  ///< a sample of the source
inline constexpr std::uint64_t kBad = ~std::uint64_t{0} - 3;     ///< the same, a bad image
inline constexpr std::uint64_t kLacking =
    ~std::uint64_t{0} - 2;  ///< a file or a label of it is missing
inline constexpr std::uint64_t kUnmade = ~std::uint64_t{0} - 1;  ///< image work makes nothing of it
inline constexpr std::uint64_t kSkipped = ~std::uint64_t{0};     ///< it is in skipped.csv

/// A sample of either side. `key`: what it is joined by: its key, or the hash of its content.
/// `measure`: of a sample that was read its hash (16 bytes), then of each field u64 length, u32
/// crc32c, u32 number of elements, or the 8 bytes of its number; of each element of its lists, if
/// they are not too many, u64 length and u32 crc32c. Of one of the dataset that could not be read:
/// nothing; of one of the source: why. Nothing where samples are joined by content.
struct ComparedRow {
  std::string key;
  std::uint64_t place = 0;  ///< the row in the dataset, or one of those above
  std::int64_t label = 0;
  std::string measure = {};
  static auto columns(auto& row) { return std::tie(row.key, row.place, row.label, row.measure); }
};
using ComparedRows = SortedTable<ComparedRow>;

/// A side of a comparison by key has labels of zero, so that samples are the same whatever numbers
/// the classes have. Label and place of each wait for its encoding.
class ComparedSide : public Source {
 public:
  struct Known {
    std::uint64_t place = 0;
    std::int64_t label = 0;
  };

  [[nodiscard]] const SourceInfo& info() const final { return info_; }
  /// Of the samples in the order in which next() gave them.
  [[nodiscard]] Known take_known() {
    const Known known = known_.front();
    known_.pop_front();
    return known;
  }

 protected:
  SourceInfo info_;
  std::deque<Known> known_;
};

/// The source that a dataset is compared with. Samples that are incomplete go into `list` at once.
/// Where samples are joined by content, labels get the numbers that `dataset` gives to their names.
class SourceSide final : public ComparedSide {
 public:
  SourceSide(Source& whole, std::shared_ptr<const Transform> transform, const Schema& schema,
             JoinedBy joined_by, const Manifest& dataset, ComparedRows& list);
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override;

 private:
  [[nodiscard]] std::optional<PendingSample> next_of_whole();
  [[nodiscard]] std::int64_t label_by_name(std::int64_t label) const;

  Source& whole_;
  const JoinedBy joined_by_;
  const std::optional<std::size_t> label_;
  const Manifest& dataset_;
  ComparedRows& list_;
  std::uint64_t row_ = 0;
};

/// The rows of shards that cannot be opened: they are compared with nothing.
struct LostRows {
  std::uint64_t rows = 0;
  std::vector<std::string> names = {};  ///< of the shards
};

/// The samples of a dataset as they are stored: what they should be is not asked, since differences
/// are wanted. One with a value that is missing, or outside of its file, goes into `list` at once;
/// one whose key is damaged does so without a key.
class StoredSide final : public ComparedSide {
 public:
  /// `fields`: of the dataset, for each of the schema; nullopt: there is none, and it counts as 0.
  /// `label`: that of the dataset, if samples are joined by key.
  StoredSide(const OpenedDataset& dataset, const Schema& schema, JoinedBy joined_by,
             std::vector<std::optional<std::size_t>> fields, std::optional<std::size_t> label,
             ComparedRows& list);
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override;
  /// When all is read.
  [[nodiscard]] const LostRows& lost() const { return lost_; }

 private:
  // Null: it cannot be opened, which is a finding already.
  [[nodiscard]] ShardCursor* open_shard();
  [[nodiscard]] bool take_places(ShardCursor& shard, const IndexRow& row,
                                 PendingSample& sample) const;

  const OpenedDataset& dataset_;
  const JoinedBy joined_by_;
  const std::vector<std::optional<std::size_t>> fields_;
  const std::optional<std::size_t> label_;
  ComparedRows& list_;
  OpenShards open_{dataset_.paths, dataset_.manifest, dataset_.shards};
  std::uint64_t shard_ = 0, row_ = 0, place_ = 0;
  LostRows lost_;
};

/// The rows of a dataset where all have one size, and none has a key.
class RowsSide final : public ComparedSide {
 public:
  RowsSide(const OpenedDataset& dataset, const Schema& schema);
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override;

 private:
  std::unique_ptr<Source> rows_;
  std::uint64_t place_ = 0;
};

/// Where the runs of a dataset that was appended to begin and end, and which of their samples the
/// source does not have.
class RunsOfDataset {
 public:
  explicit RunsOfDataset(const Manifest& manifest) {
    std::uint64_t end = 0;
    for (const ManifestRun& run : manifest.runs) ends_.push_back(end += run.samples);
    if (ends_.empty()) ends_.push_back(manifest.digest.samples);
    absent_.resize(ends_.size());
  }

  [[nodiscard]] std::size_t holding(std::uint64_t row) const {
    const auto end = std::ranges::upper_bound(ends_, row);
    return std::min(static_cast<std::size_t>(end - ends_.begin()), ends_.size() - 1);
  }
  void count_absent(std::uint64_t row) { ++absent_[holding(row)]; }
  [[nodiscard]] std::uint64_t absent(std::size_t run) const { return absent_[run]; }
  /// All of its samples are of another input, if any run is of this one.
  [[nodiscard]] bool is_absent(std::size_t run) const {
    return absent_[run] == ends_[run] - (run == 0 ? 0 : ends_[run - 1]);
  }
  [[nodiscard]] std::size_t count() const { return ends_.size(); }

 private:
  std::vector<std::uint64_t> ends_, absent_;
};

}  // namespace shale
