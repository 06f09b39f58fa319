#include "shale/folders/folder_fields.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "shale/arrays/array_headers.hpp"
#include "shale/arrays/sample_arrays.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/metadata_use.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/partners/pair_patterns.hpp"

namespace shale {
namespace {

// A dataset that stands may have free sides where these are all alike, and fields that some lack.
void widen(std::vector<Field>& own, std::string_view standing) {
  for (const Field& stored : own_arrays_of(recorded_arrays(standing))) {
    const auto field = std::ranges::find(own, stored.name, &Field::name);
    if (field == own.end() || field->dtype != stored.dtype ||
        !shape_fits(field->shape, stored.shape))
      continue;
    field->shape = stored.shape;
    field->is_optional |= stored.is_optional;
  }
}

// Of files that hold several: those of all, in the order in which they are met.
class NamedArrays {
 public:
  void add(const std::string& path, const FolderRow& row, LeftOutList& left_out) {
    try {
      const SampleArrays found = arrays_of_sample(path, row.bytes, row.modified_ns);
      for (const std::vector<SampleArray>* const arrays : {&found.arrays, &found.unread}) {
        for (const SampleArray& array : *arrays) refuse_second_name(path, array);
      }
      for (const SampleArray& array : found.arrays) add(path, array);
      // Bad content where others have the array.
      for (const SampleArray& array : found.unread) {
        ++unread_[array.field].first;
        unread_[array.field].second = array.member;
      }
      for (const std::string& name : found.left_out)
        left_out.add({.kind = "member", .name = name, .reason = "not_an_array"});
      ++files_;
    } catch (const Error& error) {
      // The sample is bad content: that is found when it is read.
      if (error.code() != Code::damaged && error.code() != Code::unsupported) throw;
      if (!first_error_) first_error_ = error;
    }
  }

  // Of files in `folder`.
  [[nodiscard]] std::vector<Field> fields(const std::string& folder, LeftOutList& left_out) const {
    if (names_.empty()) throw no_arrays(folder);
    for (const auto& [field, unread] : unread_) {
      if (std::ranges::find(names_, field) == names_.end())
        left_out.add({.kind = "member", .name = unread.second, .reason = "not_an_array"});
    }
    std::vector<Field> fields;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      fields.push_back(headers_.type_of(i));
      const auto unread = unread_.find(names_[i]);
      const std::uint64_t others = unread == unread_.end() ? 0 : unread->second.first;
      fields.back().is_optional = counts_[i] + others < files_;
    }
    return fields;
  }

 private:
  [[nodiscard]] Error no_arrays(const std::string& folder) const {
    if (first_error_) return *first_error_;
    Error error(Code::bad_content,
                "none of the files holds an array that lies in it as it is read");
    return std::move(error.at(folder).hint(
        "save them as dense arrays in C order (of tensors: x.contiguous()), or pass --pairs bytes "
        "to take every file as the bytes that it is"));
  }

  // Two arrays in one field would be one that is lost, or two that are mixed up.
  void refuse_second_name(const std::string& path, const SampleArray& array) {
    const auto [known, is_new] = member_of_.try_emplace(array.field, array.member, path);
    const auto& [member, first_path] = known->second;
    if (is_new || member == array.member) return;
    throw Error(
        Code::bad_content, "holds an array '{}', and {} holds '{}': both would be field '{}'",
        printable(array.member), printable(first_path), printable(member), printable(array.field))
        .at(path)
        .hint(
            "save one of the two under another name, or pass --pairs bytes to take every file as "
            "the bytes that it is");
  }

  void add(const std::string& path, const SampleArray& array) {
    constexpr std::size_t kMostFields = 64;
    const auto found = std::ranges::find(names_, array.field);
    const auto number = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end()) {
      if (number == kMostFields) {
        throw Error(Code::limit, "the files hold arrays of more than {} names", kMostFields)
            .at(path)
            .hint("pass --pairs bytes to take every file as the bytes that it is");
      }
      names_.push_back(array.field);
      counts_.push_back(0);
    }
    ++counts_[number];
    headers_.add(number, array.field, path, array.dtype, array.shape);
  }

  ArrayHeaders headers_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> counts_;
  std::map<std::string, std::pair<std::string, std::string>> member_of_;  // by field; and its path
  std::map<std::string, std::pair<std::uint64_t, std::string>> unread_;   // how many, and a name
  std::uint64_t files_ = 0;
  std::optional<Error> first_error_;
};

std::string note_on_own(const SoughtFiles& sought, const std::vector<Field>& own) {
  std::string text;
  for (const Field& field : own)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", field.name,
                        array_text(field.dtype, field.shape));
  return fmt::format("{} are arrays: {}; pass --pairs bytes to take the files as they are",
                     sought.described(), text);
}

}  // namespace

std::string own_arrays_text(const std::vector<Field>& own) {
  std::string text;
  for (const Field& field : own) {
    text.append(text.empty() ? "" : ",").append(field.name);
    text.append(":").append(field_type_text(field));
  }
  return text;
}

std::vector<Field> own_arrays_of(std::string_view text) {
  std::vector<Field> own;
  for (const TypedWord& word : typed_words(text)) {
    own.push_back(type_of_partners(word.type));
    own.back().name = word.name;
  }
  return own;
}

std::vector<Field> find_own_arrays(const FolderRequest& request, const SoughtFiles& sought,
                                   SortedTable<FolderRow>& files, FileTree& tree,
                                   SourceInfo& info) {
  if (const std::string_view types = recorded_arrays(request.files.suffixes); !types.empty())
    return own_arrays_of(types);
  const bool are_named = sought.hold_named_arrays() && !tree.is_archive();
  const bool are_wanted =
      request.files.finds_arrays && request.files.pairs.policy != PairPolicy::bytes;
  if (!are_wanted || files.count() == 0 || (!are_named && !sought.are_arrays())) return {};
  std::vector<Field> own;
  ArrayHeaders headers;
  NamedArrays named;
  while (const std::optional<FolderRow> row = files.next()) {
    request.stop_if_asked();
    const std::string path = join_path(request.root, join_path(row->folder, row->name));
    if (are_named)
      named.add(path, *row, info.left_out);
    else
      headers.add(0, sought.field(), {path, row->bytes, tree.place_of(row->offset)});
  }
  files.rewind();
  if (are_named) {
    own = named.fields(request.root, info.left_out);
  } else {
    headers.finish();
    own = {headers.type_of(0)};
    std::ranges::move(headers.notes(), std::back_inserter(info.notes));
  }
  widen(own, request.files.standing);
  info.notes.push_back(note_on_own(sought, own));
  return own;
}

std::vector<std::shared_ptr<const Field>> make_folder_fields(const FolderParts& parts,
                                                             SourceInfo& info) {
  const std::vector<NamedFolder>& folders = parts.request.folders;
  std::vector<Field>& fields = info.schema.fields;
  fields = {{.name = parts.sought.field(), .kind = Kind::bytes}};
  if (!parts.own.empty()) fields.front() = parts.own.front();
  if (parts.has_labels) fields.push_back({.name = "label", .kind = Kind::integer});
  if (parts.sought.are_images()) info.image_fields = {0};
  if (!folders.empty()) fields.front().name = folders.front().field;
  if (const PairPatterns patterns(parts.pairs); !patterns.empty())
    fields.front().name = patterns.all().front().field;
  for (std::size_t i = 1; i < parts.own.size(); ++i) fields.push_back(parts.own[i]);
  const std::vector<std::string> images = suffixes_in(parts.image_folders);
  for (std::size_t i = 1; i < folders.size(); ++i) {
    if (std::ranges::find(images, folders[i].field) != images.end())
      info.image_fields.push_back(fields.size());
    fields.push_back(folders[i].as_field());
  }
  for (const PairField& field : pair_fields_of(parts.pairs)) fields.push_back(field.as_field());
  std::vector<std::shared_ptr<const Field>> arrays;
  arrays.reserve(fields.size());
  for (const Field& field : fields)
    arrays.push_back(field.kind == Kind::tensor ? std::make_shared<Field>(field) : nullptr);
  for (const Field& field : parts.metadata) {
    if (info.schema.find(field.name)) throw is_field_already(field, parts.request.root);
    fields.push_back(field);
  }
  return arrays;
}

}  // namespace shale
