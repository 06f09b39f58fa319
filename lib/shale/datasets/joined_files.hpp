#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/opened_dataset.hpp"
#include "shale/io/nameless_file.hpp"

namespace shale {

/// What decides which columns such an index has.
[[nodiscard]] IndexedAs columns_of_index(const Manifest& manifest);
struct ForeignRequest;
/// That these are the columns. `as` is borrowed.
void ask_for(ForeignRequest& indexing, const IndexedAs& as);

/// The files of a set as one dataset, a shard each. They may differ in what a field can say of
/// several: a side of a tensor becomes free, a field that some lack optional, a feature that has
/// one value in each sample of a file and several in another a list. Then the indexes of some do
/// not fit the schema of all: those files are opened again, by that schema. What cannot be located
/// in one file is left out of all, and keys go where some files have none.
class JoinedFiles {
 public:
  /// `place`: the list, folder or pattern, for messages; `fields`: those that are wanted, empty:
  /// all.
  JoinedFiles(std::string place, const std::vector<std::string>& fields);

  /// True if rows of this file can lie in a set: fixed rows are found there without an index, or
  /// each sample is found by one.
  [[nodiscard]] static bool has_fitting_rows(const OpenedDataset& file);

  /// False for one without samples, which stays out of the set: a note says so.
  /// Errors: Code::unsupported, by file and field, for one that goes with none of those before it;
  /// for one without samples where rows are fixed; for one whose labels stand for other classes.
  [[nodiscard]] bool add(const SetMember& member, const OpenedDataset& file);

  /// A file of which nothing is whole stays out of the set, and counts as lost.
  void lose(const SetMember& member, const Error& error);

  /// The error for a set of which no file has a sample.
  [[nodiscard]] Error no_samples(std::size_t files) const;

  /// The files whose index has other columns than the one of all.
  [[nodiscard]] std::vector<std::size_t> misfits() const;
  /// What they are to be indexed as.
  [[nodiscard]] IndexedAs indexed_as() const;
  /// The fields of a misfit whose integers are to be unpacked as arrays.
  [[nodiscard]] std::vector<std::string> arrays_of(std::size_t number) const;
  /// A misfit, opened so.
  void replace(std::size_t number, const SetMember& member, const OpenedDataset& file);

  /// Of one file at least.
  [[nodiscard]] OpenedDataset finish() &&;

 private:
  static constexpr std::size_t kMostNotes = 20;
  struct Note {
    std::string text, first;   // of a file, and which file was the first that it is of
    std::uint64_t others = 0;  // that it is of, too
  };

  void refuse_other_kind(const SetMember& member, const Manifest& manifest) const;
  [[nodiscard]] ManifestShard shard_of(const SetMember& member, const OpenedDataset& file) const;
  /// What holds the temporary index of a file; null where its lists have moved to `lists_`.
  [[nodiscard]] std::shared_ptr<const void> keep_index(const OpenedDataset& file,
                                                       ManifestShard& shard);
  void take_classes(const SetMember& member, const Manifest& manifest);
  void take_notes(const SetMember& member, const std::vector<std::string>& notes);
  [[nodiscard]] std::vector<std::string> all_notes() const;
  std::size_t number_of(const Manifest& manifest);
  void drop_keys(const Manifest& manifest);
  [[nodiscard]] std::set<std::string> beside() const;

  std::string place_, first_name_, fingerprints_;
  bool takes_labels_ = true;
  std::vector<std::string> classes_;        // the longest list of a file's
  std::string named_by_, without_classes_;  // the file that it is of; one that has labels only
  Manifest manifest_;
  std::set<std::string> beside_;      // what lies in the values of some file (IndexedAs)
  std::vector<IndexedAs> kinds_;      // of the files' indexes, each once
  std::vector<std::size_t> kind_of_;  // of each file, among those
  std::vector<ManifestShard> shards_;
  std::vector<FileFingerprint> states_;
  std::vector<Note> notes_;
  std::uint64_t rows_ = 0, rows_with_keys_ = 0;
  bool are_keys_dropped_ = false, are_keys_fields_ = false;
  std::vector<LostSamples> lost_;
  std::vector<std::shared_ptr<const void>> kept_;  // a temporary index of each file
  std::shared_ptr<const NamelessFile> lists_;      // small temporary ones, one after the other
  std::uint64_t lists_bytes_ = 0;
};

}  // namespace shale
