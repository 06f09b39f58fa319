#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/labels/split_request.hpp"

namespace shale {

/// The keys that a line of a list of videos may mean, the likeliest first: the line, its last two
/// names, without a `,N` or ` N` behind them, without the suffix of a video; slashes at the end do
/// not count, and quotes are those of CSV. `Class/video.avi 1`, `/data/Class/video/,120`,
/// `Class/video` all mean `Class/video`.
[[nodiscard]] std::vector<std::string> keys_in_line(std::string_view line);

/// How many of `count` samples each part gets: as its share has it, rounded by largest remainder,
/// and at least one each while there are enough, the largest share first.
[[nodiscard]] std::vector<std::uint64_t> shares_of(std::uint64_t count,
                                                   const std::vector<SplitPart>& parts);

/// A sample that is divided; without lists its key is empty.
struct SplitSample {
  std::uint64_t row = 0;
  std::int64_t label = 0;
  std::int64_t group = 0;      ///< of the request's field
  std::uint32_t elements = 0;  ///< of its list
  std::string_view key = {};
  static auto columns(auto& row) {
    return std::tie(row.row, row.label, row.group, row.elements, row.key);
  }
};

/// A key that a line may mean, how likely it is, the key of a sample, and where both meet.
struct LikelyKey {
  std::uint8_t part = 0;
  std::uint64_t line = 0;
  std::uint8_t likely = 0;
  static auto columns(auto& row) { return std::tie(row.part, row.line, row.likely); }
};
struct WantedKey {
  Hash128 hash;
  LikelyKey line;
  static auto columns(auto& row) { return std::tie(row.hash, row.line); }
};
struct SampleKey {
  Hash128 hash;
  std::uint64_t row = 0;
  static auto columns(auto& row) { return std::tie(row.hash, row.row); }
};
struct FoundKey {
  LikelyKey line;
  std::uint64_t row = 0;
  static auto columns(auto& row) { return std::tie(row.line, row.row); }
};

/// The line that lists a sample.
struct SplitLine {
  std::uint64_t row = 0;
  std::uint8_t part = 0;
  std::uint64_t line = 0;
  static auto columns(auto& row) { return std::tie(row.row, row.part, row.line); }
};

/// The samples of an input in order, each with the part of a split that it belongs to. Shares are
/// taken from each class of its own: of a permutation (flow/permutation) of the samples of the
/// class, keyed by seed and label, the first ones are in the first part. Where groups stay
/// together, the shares are of all samples: the largest group first, in an order that the seed
/// gives to those of one size, each goes to the part that lacks most. One thread.
class SampleSplit {
 public:
  static constexpr std::size_t kNoPart = ~std::size_t{0};
  struct Entry {
    std::string key;
    std::uint64_t row = 0;
    std::int64_t label = 0;
    std::uint32_t elements = 0;  ///< of its list; without lists 0, and the key is empty
    std::size_t part = kNoPart;  ///< kNoPart: no file names it
  };

  /// Reads all of `whole`, which is at its first sample and not shuffled. Samples without an
  /// integer `label` are one class. Files need samples with lists. `among`: the rows that are
  /// divided; null: all. Memory: `memory_bytes`, at least 5 MiB, and what the labels take.
  /// Errors: Code::bad_content with file and line for a key of no sample, and for a sample that
  /// comes twice; Code::limit for more labels than the memory holds; same as TextLines and
  /// LabelReader; Code::interrupted.
  SampleSplit(SplitRequest request, Source& whole, std::uint64_t seed,
              const std::string& scratch_folder, std::uint64_t memory_bytes, const Events& events,
              ChosenRows* among = nullptr);

  [[nodiscard]] std::optional<Entry> next();
  /// Starts again at the first sample.
  void rewind();
  /// By shares: how many samples each part gets.
  [[nodiscard]] std::vector<std::uint64_t> counts() const;

 private:
  struct OfClass {
    std::uint64_t all = 0, seen = 0;
    std::size_t part = 0;  // of a group
  };
  void take_samples(Source& whole, ChosenRows* among);
  void count_label(std::int64_t label);
  void place_groups();
  void resolve_lists();
  void sort_wanted(SortedTable<WantedKey>& wanted) const;
  void join(SortedTable<WantedKey>& wanted, SortedTable<FoundKey>& found);
  void take_found(SortedTable<FoundKey>& found);
  [[nodiscard]] std::size_t part_by_share(OfClass& of_class, std::int64_t label) const;
  [[nodiscard]] std::size_t part_by_list(std::uint64_t row);
  [[nodiscard]] std::string key_of(std::uint64_t row);

  SplitRequest request_;
  std::uint64_t seed_;
  std::string scratch_folder_;
  std::uint64_t memory_bytes_;
  const Events& events_;
  SortedTable<SplitSample> samples_;
  SortedTable<SplitLine> listed_;
  std::map<std::int64_t, OfClass> classes_;  // or groups
};

}  // namespace shale
