#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/label_rows.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/stored_listing.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/partners/pair_patterns.hpp"

namespace shale {

class FileTree;

/// What is known of a list of samples when all of it has been seen: totals, the fingerprint, the
/// hash of the labels, and whether those are in order. The samples come in the order of the list,
/// before any shuffle; each is its files, then its end. One thread.
class SourceTotals {
 public:
  explicit SourceTotals(std::string_view kind) { add_text(kind); }

  /// A file of the next sample: its name in the list, and its bytes.
  void add_file(std::string_view name, std::uint64_t bytes);
  /// The sample of these files is complete; it has no label if it lacks one. True: it has more
  /// bytes than any before it.
  bool end_sample(std::optional<std::int64_t> label);

  /// In the order of their labels, of more than one class.
  [[nodiscard]] bool are_sorted() const { return is_sorted_ && !is_one_class_; }
  [[nodiscard]] Hash128 labels() const { return labels_.digest(); }
  /// Samples, bytes and fingerprint of `info.manifest`.
  void give_totals(SourceInfo& info) const;
  /// The hash of the labels, and whether the samples are in their order.
  void give_labels(SourceInfo& info, bool is_shuffled) const;

 private:
  void add_text(std::string_view text);

  Hasher128 fingerprint_, labels_;
  std::uint64_t samples_ = 0, bytes_ = 0, bytes_of_sample_ = 0, most_ = 0;
  std::int64_t last_label_ = 0;
  bool is_sorted_ = true, is_one_class_ = true;
};

/// A sample as the list of an input has it: its file, with partners and row, or its frames.
using ListedSample = std::vector<ListedFile>;

/// What is passed over, and why.
struct IgnoredEntry {
  std::string_view entry, reason;
  static auto columns(auto& row) { return std::tie(row.entry, row.reason); }
};

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
  /// The rows of its files become fields: they are in the fingerprint, too.
  [[nodiscard]] virtual bool has_rows() const { return false; }
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

/// What is the same for all files of a list.
struct ListedFolder {
  const std::string& root;
  const LabelFile& labels;
  const std::string& pairs;            ///< suffixes of the partners
  const PairPatterns& patterns;        ///< instead
  std::span<const Field> fields = {};  ///< the file, its label if it has one, its partners
  /// Of each field the tensor that its .npy files hold, or null; none: there is no such field.
  std::span<const std::shared_ptr<const Field>> arrays = {};
  bool has_labels = true;      ///< there is a field for labels
  std::size_t own_fields = 1;  ///< that the file itself has: the first, and those behind the label
  bool has_named_arrays = false;  ///< these are arrays in it, by their names
  FileTree* archives = nullptr;   ///< that all of its files lie in; null: they are in folders
  std::vector<NamedFolder> folders = {};  ///< that the partners lie in, behind `root`; or none
  /// The last fields, which come from rows of metadata; null: there are no such rows.
  const std::vector<Field>* metadata = nullptr;
};

/// Where a partner is, with what its name has behind the part that both share.
[[nodiscard]] std::string partner_path(const std::string& root, std::string_view path,
                                       std::string_view suffix);

/// A listed file, and its partners, as a sample that is still to be read.
[[nodiscard]] PendingSample pending_sample(ListedFile file, const ListedFolder& folder);

}  // namespace shale
