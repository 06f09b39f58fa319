#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/events.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/labels/split_request.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// The rows of an input that each part of a split takes, in nameless files: by shares
/// (SampleSplit), or as files list them (SampleChoice::select_file). No row is in two parts.
class SplitRows {
 public:
  /// Opens the input as often as it is needed, not shuffled, with its choice of samples, which
  /// counts for files too. Memory: as of open_input. Errors: Code::bad_content for a sample that
  /// two files list, and for a part without samples; same as open_input, SampleSplit and
  /// ChosenRows.
  SplitRows(const InputRequest& input, const SplitRequest& split, const std::string& scratch_folder,
            const Events& events);

  /// For SampleChoice::rows_file, as long as this lives.
  [[nodiscard]] std::string file_of(std::size_t part) const { return files_[part]->link(); }
  [[nodiscard]] std::uint64_t count(std::size_t part) const { return counts_[part]; }
  /// As ChosenRows has it: what the manifest of the part records.
  [[nodiscard]] Hash128 hash(std::size_t part) const { return hashes_[part]; }
  /// Samples of the input that are in no part.
  [[nodiscard]] std::uint64_t unlisted() const { return unlisted_; }
  /// True if shares were taken of each label.
  [[nodiscard]] bool has_labels() const { return has_labels_; }

 private:
  void take_shares(const SplitRequest& split, std::uint64_t seed);
  void take_lists(const SplitRequest& split);
  [[nodiscard]] std::unique_ptr<ChosenRows> chosen(const SampleChoice& choice);
  [[nodiscard]] Error listed_in_two(std::uint64_t row, const SplitPart& one,
                                    const SplitPart& other);

  InputRequest input_;  // without a choice
  SampleChoice choice_;
  const std::string& scratch_folder_;
  const Events& events_;
  std::vector<std::unique_ptr<NamelessFile>> files_;
  std::vector<std::uint64_t> counts_;
  std::vector<Hash128> hashes_;
  std::uint64_t unlisted_ = 0;
  bool has_labels_ = false;
};

}  // namespace shale
