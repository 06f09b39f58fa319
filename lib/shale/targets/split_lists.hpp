#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/format/layout.hpp"
#include "shale/format/source.hpp"
#include "shale/labels/sample_split.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// The text files of a split that the readers of a layout want (ReaderLists): the names of the
/// classes, a CSV for each part of the split, and the numbers of the videos. What they hold follows
/// from the input and the split, less the videos that were skipped.
class SplitLists {
 public:
  /// A file: what it holds if no video is skipped.
  struct File {
    std::string name;
    std::uint64_t rows = 0, bytes = 0;
    Hash128 hash = {};  ///< xxh3-128 of its bytes
  };
  using KeySet = std::set<std::string, std::less<>>;
  using RowSink = std::function<void(std::size_t file, std::string_view row)>;

  /// Reads all of `whole`, which is at its first sample and not shuffled. Errors: Code::usage for a
  /// split into other lists than the readers know; Code::bad_content for a class that is missing in
  /// a list where the readers want it, and for names that they cannot read back; same as
  /// SampleSplit.
  SplitLists(const Layout& layout, const SplitRequest& split, Source& whole, std::uint64_t seed,
             const std::string& scratch_folder, std::uint64_t memory_bytes, const Events& events);

  [[nodiscard]] const std::vector<File>& files() const { return files_; }
  /// Videos that are in no list.
  [[nodiscard]] std::uint64_t unlisted() const { return unlisted_; }
  /// The file of a part of the split.
  [[nodiscard]] std::size_t file_of(std::size_t part) const { return part + 1; }
  /// The rows of all files, those of one file in order, as bytes with what ends them.
  void for_each_row(const KeySet& skipped, const RowSink& use);
  /// Writes the files into a folder, durably, and says what they hold. Errors: Code::io; as of the
  /// constructor, if what is left of a class was skipped.
  [[nodiscard]] std::vector<File> write(const std::string& folder, const KeySet& skipped);
  /// The rows of the samples of one part, in order.
  void for_each_sample(std::size_t part, const std::function<void(std::uint64_t row)>& use);

 private:
  [[nodiscard]] std::vector<File> described(const KeySet& skipped, const RowSink& use);
  [[nodiscard]] Error unreadable(std::string_view what, std::string_view name,
                                 std::string_view fault) const;
  void refuse_unreadable(const SampleSplit::Entry& video) const;
  void refuse_missing_class(const std::vector<std::uint64_t>& counts, bool are_skipped) const;
  [[nodiscard]] std::string row_of(const SampleSplit::Entry& video) const;

  const Layout& layout_;
  const ReaderLists& readers_;
  const SplitRequest request_;
  const Events& events_;
  std::vector<std::string> classes_;
  SampleSplit split_;
  std::vector<File> files_;
  std::uint64_t unlisted_ = 0;
};

/// Notes how many videos no list names, and where they are.
void say_unlisted(std::uint64_t videos, std::string_view place, const Events& events);

}  // namespace shale
