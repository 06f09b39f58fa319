#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/stored_listing.hpp"

namespace shale {

/// The option of manifests that holds the names of the folders that samples were joined from; of
/// arrays also their type; with a question mark behind those that samples may have no file in:
/// "image,mask?", "image,pose:float32 (?, 2)".
inline constexpr std::string_view kFoldersOption = "folders";

/// One of several folders whose files belong together: those of one name become one sample, each a
/// field of it.
struct NamedFolder {
  std::string field, root;
  /// Called for each folder below the root that is entered (WalkOptions::enters): may throw.
  std::function<void(std::uint64_t device, std::uint64_t inode)> enters = nullptr;
  bool is_optional = false;  ///< a sample without a file in it lacks the field
  /// What the files hold. Nullopt: nobody has looked, or said it.
  std::optional<Field> type = {};
  [[nodiscard]] Field as_field() const;
};

/// The names of folders, as the option has them.
[[nodiscard]] std::string names_text(const std::vector<NamedFolder>& folders);
/// The same folders with the types that the option has: of bytes where it has none.
[[nodiscard]] std::vector<NamedFolder> with_recorded_types(std::vector<NamedFolder> folders,
                                                           std::string_view names);

/// A word of an option: "pose:float32 (?, 2)" in its parts; no type, no colon.
struct TypedWord {
  std::string name, type;
};
/// The type of a word: bytes, text, JSON or an array. Errors: Code::damaged for another.
[[nodiscard]] Field type_of_partners(std::string_view text);
/// Those of "image,pose:float32 (?, 2)?,mask?": each as it stands there.
[[nodiscard]] std::vector<TypedWord> typed_words(std::string_view text);

/// Which files beside an image become fields of its sample.
enum class PairPolicy {
  automatic,  ///< those of a suffix that most images have a partner of
  on,         ///< those of every suffix that some image has a partner of
  bytes,      ///< the same, each as the bytes of its file, whatever it is
  off,        ///< none
};

/// "on", "off", "bytes".
[[nodiscard]] constexpr PairPolicy pair_policy_named(std::string_view word) {
  return word == "on" ? PairPolicy::on : word == "bytes" ? PairPolicy::bytes : PairPolicy::off;
}
[[nodiscard]] constexpr bool takes_every(PairPolicy policy) {
  return policy == PairPolicy::on || policy == PairPolicy::bytes;
}

/// The option of manifests that holds the suffixes of the partners, and what they are if that is
/// not text for txt and bytes for the rest: "json:json,mask,npy:float32 (?, 4),txt:text?". With
/// patterns, that of the samples first: "image=*.jpg,mask=*_mask.png".
inline constexpr std::string_view kPairsOption = "pairs";

/// True if the option has patterns, and not suffixes or a word.
[[nodiscard]] constexpr bool has_pair_patterns(std::string_view text) {
  return text.find('=') != std::string_view::npos;
}

/// A field that the partners of one suffix become, or the files of one folder.
struct PairField {
  std::string name;
  std::string suffix;  ///< lower case, without the dot in front; of a folder: its name
  Kind kind = Kind::bytes;
  std::string root = {};  ///< of a folder: where it is
  bool is_json = false;   ///< of kind text
  DType dtype = {};       ///< of a tensor, which .npy files hold
  std::vector<std::uint64_t> shape = {};
  bool is_optional = false;  ///< some samples have no partner
  std::string share = {};    ///< of an optional field: how many have one, "2 of 3"
  std::string pattern = {};  ///< that its files are found by (PairPatterns); empty: by their suffix
  [[nodiscard]] Field as_field() const;
};

/// The part of a file's name that partners share: what is before the first dot.
[[nodiscard]] std::string_view pair_name_of(std::string_view name);
/// What is behind that dot, in lower case.
[[nodiscard]] std::string pair_suffix_of(std::string_view name);
/// The field that partners of a suffix become: txt is text, json JSON, the rest bytes; dots become
/// underscores, and a name that the index or an image folder uses itself gets "_file" behind it.
/// Nullopt: the suffix cannot be the name of a field.
[[nodiscard]] std::optional<PairField> pair_field_of(std::string_view suffix);
/// "json,txt" as its words.
[[nodiscard]] std::vector<std::string> suffixes_in(std::string_view text);
/// The value of kPairsOption as the fields, and back. Errors: Code::damaged for another type than
/// bytes, text, json and arrays.
[[nodiscard]] std::vector<PairField> pair_fields_of(std::string_view text);
[[nodiscard]] std::string suffixes_text(const std::vector<PairField>& fields);
/// What the user is told who did not ask for them; `one` is the word for a sample's file.
[[nodiscard]] std::string note_on_pairs(const std::vector<PairField>& fields, std::string_view one);

/// And of those that only some samples have; `partial`: FilePairs::partial.
[[nodiscard]] std::string note_on_partial_pairs(std::string_view partial, std::string_view one);

/// A file that may belong to samples, and a sample: joined by folder and name.
struct PairFile {
  std::string_view folder, name, suffix, file;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t offset = 0;
  static auto columns(auto& row) {
    return std::tie(row.folder, row.name, row.suffix, row.file, row.bytes, row.modified_ns,
                    row.offset);
  }
};
struct PairSample {
  std::string_view folder, name;
  std::uint64_t number = 0;
  std::string_view suffix;
  static auto columns(auto& row) { return std::tie(row.folder, row.name, row.number, row.suffix); }
};
/// What a sample has, by its number: a ListedPartner for each field.
struct PairMatch {
  std::uint64_t number = 0;
  std::string_view partners;
  static auto columns(auto& row) { return std::tie(row.number, row.partners); }
};

/// Joins samples with the files that belong to them, by folder and name, on disk. Memory: the given
/// budget, and the partners of one name.
class FilePairs {
 public:
  using Stop = std::function<void()>;
  /// A file that belongs to no sample: where it is, and what it is known by.
  struct Surplus {
    std::string_view folder, file, suffix;
    std::uint64_t offset;       ///< as ListedFile::offset
    bool has_name_of_a_sample;  ///< it was not taken all the same
  };
  using Unused = std::function<void(const Surplus&)>;
  FilePairs(const std::string& scratch_folder, std::uint64_t memory_bytes, Stop stop_if_asked);

  /// A file that may belong to a sample: `name` is what it shares with it, `suffix` what it is
  /// known by (PairField::suffix), `file` the file itself.
  void add_file(std::string_view folder, std::string_view name, std::string_view suffix,
                const WalkedFile& file);
  [[nodiscard]] bool has_files() const { return files_.count() > 0; }
  /// The samples, in their order, after all files. `suffix` is what tells them from others of the
  /// name.
  void add_sample(std::string_view folder, std::string_view name, std::string_view suffix);

  /// Decides which suffixes are fields, sorted bytewise, and joins. `unused` is told of each file
  /// that belongs to no sample. `root` is for errors. Errors: Code::bad_content, naming both, for
  /// two files of one name and suffix; under PairPolicy::on also for two suffixes of one field, and
  /// for one that cannot be the name of a field; Code::limit for more than 64 suffixes.
  void match_all(const Unused& unused, PairPolicy policy, const std::string& root);
  /// The same with the fields given.
  void match_fields(const Unused& unused, std::vector<PairField> fields, const std::string& root);
  /// The same with the folders given, of which the first one has the samples. Errors:
  /// Code::bad_content, naming both, also for two samples of one name; and for a folder that has no
  /// file with the name of a sample, if there are samples.
  void match_folders(const Unused& unused, const std::vector<NamedFolder>& folders);

  [[nodiscard]] const std::vector<PairField>& fields() const { return fields_; }
  /// What the .npy files of a field hold, which their headers have said.
  void set_array(std::size_t field, const Field& type);
  /// Fields are as those of a dataset (kPairsOption or kFoldersOption) where these take their
  /// values, too.
  void widen(std::string_view standing);
  /// True if all files that belong to a sample as this field are .npy files.
  [[nodiscard]] bool has_only_arrays(std::size_t field) const;
  /// Under PairPolicy::automatic, what only some samples have, and not most, in words: "txt (1 of
  /// 3)"; empty: there is none.
  [[nodiscard]] std::string partial() const;
  /// How many samples lack a field that is not optional.
  [[nodiscard]] std::uint64_t incomplete() const { return incomplete_; }
  /// Of folders: the names of those whose files are images by their suffixes, "mask,depth".
  [[nodiscard]] std::string image_folders() const;
  /// Of the files that belong to a sample, when the last one was modified.
  [[nodiscard]] std::int64_t modified_ns() const { return modified_ns_; }

  /// The partners of the next sample, a field each; one that is not there has no suffix.
  [[nodiscard]] std::vector<ListedPartner> next();
  void rewind() { matched_.rewind(); }

 private:
  struct Partner {
    std::string suffix, file;
    ListedPartner listed;
  };
  class Groups;
  struct Candidates;
  void take_fields(const Candidates& candidates, PairPolicy policy, const std::string& root);
  void choose_suffixes(PairPolicy policy, const std::string& root);
  void join(const Unused& unused, const std::string& root);

  Stop stop_if_asked_;
  SortedTable<PairFile> files_;
  SortedTable<PairSample> samples_;
  SortedTable<PairMatch> matched_;
  std::uint64_t sample_count_ = 0, incomplete_ = 0;
  std::int64_t modified_ns_ = 0;
  std::vector<PairField> fields_;
  bool are_folders_ = false;
  std::vector<std::uint64_t> matches_;  // of each field, and those of them that are not images
  std::vector<std::uint64_t> no_images_, no_arrays_;
  std::vector<std::pair<std::string, std::uint64_t>> partial_;  // suffixes, and samples with them
  std::string partners_;
};

}  // namespace shale
