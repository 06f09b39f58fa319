#include "shale/labels/label_list.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/composed_text.hpp"
#include "shale/labels/several_labels.hpp"

namespace shale {
namespace {

std::string header_hint(std::string_view key, std::string_view label) {
  return fmt::format(
      "if it is a header, pass --key-column '{}' --label-column '{}'; if its image is gone, remove "
      "the row",
      printable(key), printable(label));
}

std::string name_of_number(std::uint64_t number) { return fmt::format("{:020}", number); }

std::string_view without_suffix(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

void append_path(std::string& into, const LabelPlace& place) {
  if (!place.folder.empty()) into.append(place.folder) += '/';
  into.append(place.name);
}

// The name first: it differs.
bool is_path_of(std::string_view path, const LabelPlace& place) {
  if (!path.ends_with(place.name)) return false;
  path.remove_suffix(place.name.size());
  if (place.folder.empty()) return path.empty();
  return path.ends_with('/') && path.substr(0, path.size() - 1) == place.folder;
}

}  // namespace

LabelPlace place_in(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {.name = path};
  return {.folder = path.substr(0, slash), .name = path.substr(slash + 1)};
}

std::string_view KeyShapes::note(std::string_view key, bool is_windows,
                                 const std::function<bool(std::string_view)>& is_sample) {
  if (is_windows && key.find('\\') != std::string_view::npos) {
    with_slashes_ = key;
    std::ranges::replace(with_slashes_, '\\', '/');
    key = with_slashes_;
    have_back_slashes_ = true;
  }
  while (key.starts_with("./")) key.remove_prefix(2);
  have_folders_ = have_folders_ || key.find('/') != std::string_view::npos;
  have_suffixes_ = have_suffixes_ || !is_sample || is_sample(key);
  return key;
}

KeyMatch KeyShapes::match(bool has_nested_files) const {
  if (!have_suffixes_) return have_folders_ ? KeyMatch::path_stem : KeyMatch::stem;
  return !have_folders_ && has_nested_files ? KeyMatch::name : KeyMatch::path;
}

// That on names is the last one.
std::vector<std::string> KeyShapes::notes(const std::string& path, KeyMatch match) const {
  std::vector<std::string> notes;
  if (have_back_slashes_)
    notes.push_back(
        fmt::format("back-slashes in the keys of {} are taken as slashes", printable(path)));
  if (match == KeyMatch::path) return notes;
  notes.push_back(fmt::format(
      "the keys in {} are {}", printable(path),
      match == KeyMatch::name   ? "names of files, whatever folder they are in"
      : match == KeyMatch::stem ? "names of files without suffix, whatever folder they are in"
                                : "paths without suffix"));
  return notes;
}

std::string key_of_file(KeyMatch match, std::string_view folder, std::string_view name) {
  const bool has_folder = match == KeyMatch::path || match == KeyMatch::path_stem;
  const bool has_suffix = match == KeyMatch::path || match == KeyMatch::name;
  return join_path(has_folder ? folder : std::string_view(),
                   has_suffix ? name : without_suffix(name));
}

LabelList::LabelList(const LabelListRequest& request)
    : path_(request.file.path), rows_(request.scratch_folder, request.memory_bytes) {
  read_rows(request);
  are_numbers_ = kinds_.are_numbers() && !(request.has_class_table && kinds_.have_zeros_in_front());
  if (match_ == KeyMatch::position) name_synsets(request);
  are_reals_ = request.may_be_reals && kinds_.are_reals() && match_ != KeyMatch::position;
  if (are_reals_) return;
  if (!are_numbers_ && !request.has_class_table && match_ != KeyMatch::position)
    kinds_.refuse_mixed(path_, "row",
                        has_likely_header_ ? header_hint(first_.key, first_.label) : "");
  if (are_numbers_ && !request.has_class_table && match_ != KeyMatch::position) {
    kinds_.refuse_two_forms(path_, "row");
    if (std::string note = kinds_.note_on_zeros(path_); !note.empty())
      notes_.push_back(std::move(note));
  }
  choose_match(request);
  if (are_numbers_ || match_ == KeyMatch::position || !request.needs_names) return;
  ClassAllowance allowance(request.all_memory_bytes, path_);
  while (const std::optional<Row> row = next()) {
    request.stop_if_asked();
    if (names_.contains(row->text)) continue;
    names_.emplace(row->text);
    allowance.take(row->text);
  }
  rewind();
}

void LabelList::rewind() {
  rows_.rewind();
  has_previous_ = false;
}

std::vector<std::string> LabelList::notes(bool has_nested_files) const {
  std::vector<std::string> notes = notes_;
  const bool has_note_on_names = match_ == KeyMatch::name && rows_.count() > 0;
  if (has_note_on_names && !has_nested_files) notes.pop_back();
  return notes;
}

void LabelList::read_rows(const LabelListRequest& request) {
  std::uint64_t number = 0;
  SeveralLabels several;
  LabelsRead read = read_label_rows(request.file, [&](const LabelRow& row) {
    request.stop_if_asked();
    const bool is_new = several.note(row.label);
    note_header(row, request);
    if (first_.is_held && row.may_be_header) return;
    // What is known of a label does not change where it comes again.
    if (is_new) kinds_.note(row.number, row.label);
    if (!row.key.empty()) return add_row(row.key, row.label, request);
    rows_.add({{.name = name_of_number(number++)}, row.label});
  });
  has_likely_header_ = first_.is_held && first_.others == 0 && rows_.count() > 0;
  // Then its key can be that of no file.
  const bool is_header =
      has_likely_header_ && !first_.has_suffix && first_.rows_with_suffix == rows_.count();
  if (is_header) {
    has_likely_header_ = false;
    notes_.push_back(fmt::format("row 1 of {} is taken as its header: {}, {}", printable(path_),
                                 printable(first_.key), printable(first_.label)));
  } else if (first_.is_held) {
    kinds_.note(1, first_.label);
    add_row(first_.key, first_.label, request);
  }
  rows_.finish();
  std::string note = kinds_.are_numbers() ? "" : several.note_for(path_);
  if (!note.empty()) notes_.push_back(std::move(note));
  left_out_ = std::move(read.left_out);
  if (left_out_.count() > 0)
    notes_.push_back(fmt::format(
        "columns of {} are left out; if the label is all you want of it, pass --label-column with "
        "the name of its column",
        printable(path_)));
  if (read.form == LabelForm::ground_truth) match_ = KeyMatch::position;
  if (read.form == LabelForm::kaggle)
    notes_.push_back(
        fmt::format("{} is Kaggle's list of ILSVRC: the label of an image is the first word of its "
                    "PredictionString",
                    printable(path_)));
}

void LabelList::note_header(const LabelRow& row, const LabelListRequest& request) {
  if (!row.may_be_header && !first_.is_held) return;
  const bool has_suffix = !request.is_sample || request.is_sample(row.key);
  if (!row.may_be_header) {
    first_.others += row.label == first_.label ? 1 : 0;
    first_.rows_with_suffix += has_suffix ? 1 : 0;
    return;
  }
  const bool may_be_header = row.key.find_first_of("./\\") == std::string_view::npos &&
                             is_name_label(row.key) && is_name_label(row.label);
  first_ = {.path = composed_text(row.key),
            .key = std::string(row.key),
            .label = std::string(row.label),
            .is_held = may_be_header,
            .has_suffix = has_suffix};
}

void LabelList::add_row(std::string_view key, std::string_view label,
                        const LabelListRequest& request) {
  const std::string_view path = shapes_.note(key, request.may_be_windows, request.is_sample);
  if (is_ascii(path)) return rows_.add({place_in(path), label});
  const std::string composed = composed_text(path);
  has_marks_ = has_marks_ || composed != path;
  rows_.add({place_in(composed), label});
}

// The numbers of ground truth become the names that they stand for.
void LabelList::name_synsets(const LabelListRequest& request) {
  const SynsetNumbers synsets = synsets_beside(path_);
  SortedTable<PlacedLabel> named(request.scratch_folder, request.memory_bytes);
  for (std::uint64_t row = 1; std::optional<PlacedLabel> next = rows_.next(); ++row) {
    request.stop_if_asked();
    const std::int64_t number = parse_integer_label(next->label).value_or(0);
    if (number < 1 || static_cast<std::uint64_t>(number) > synsets.names.size()) {
      throw Error(Code::bad_content, "row {}: {} is not one of the {} numbers in {}", row, number,
                  synsets.names.size(), synsets.from)
          .at(path_)
          .hint("take both files from the same devkit");
    }
    named.add({next->place, synsets.names[static_cast<std::size_t>(number - 1)]});
  }
  named.finish();
  rows_ = std::move(named);
  are_numbers_ = false;
  names_.insert(synsets.names.begin(), synsets.names.end());
  notes_.push_back(fmt::format(
      "{} is ILSVRC's ground truth, for the images in sorted order: its numbers are names by {}",
      printable(path_), printable(synsets.from)));
}

// The places of the rows are as they were read: a key without folder, or without suffix, is the
// place of any file that it may name.
void LabelList::choose_match(const LabelListRequest& request) {
  if (match_ == KeyMatch::position) return;
  match_ = shapes_.match(request.has_nested_files);
  if (rows_.count() == 0) return;
  for (std::string& note : shapes_.notes(path_, match_)) notes_.push_back(std::move(note));
}

std::string LabelList::path_for(std::string_view folder, std::string_view name,
                                std::uint64_t number) const {
  if (match_ == KeyMatch::position) return name_of_number(number);
  return composed_text(key_of_file(match_, folder, name));
}

Error LabelList::likely_header() const {
  return Error(Code::bad_content,
               "row 1 looks like a header: '{}' is not an image, and no other row has the label "
               "'{}'",
               printable(first_.key), printable(first_.label))
      .at(path_)
      .hint(header_hint(first_.key, first_.label));
}

void LabelList::refuse_none() const {
  if (rows_.count() > 0) return;
  throw Error(Code::bad_content, "has no labels")
      .at(path_)
      .hint("write a row for each image: path,label");
}

std::vector<std::string> LabelList::class_names() const { return {names_.begin(), names_.end()}; }

std::optional<LabelList::Row> LabelList::next() {
  const std::optional<PlacedLabel> next = rows_.next();
  if (!next) return std::nullopt;
  Row row{.place = next->place, .text = next->label};
  if (has_previous_ && is_path_of(previous_, row.place)) {
    throw Error(Code::bad_content, "path '{}' has more than one row", printable(row.place.path()))
        .at(path_)
        .hint("remove all but one of them");
  }
  previous_.clear();
  append_path(previous_, row.place);
  has_previous_ = true;
  if (are_numbers_) row.number = parse_integer_label(row.text).value_or(0);
  return row;
}

std::string& LabelList::append_key(std::string& into, const Row& row) const {
  if (match_ == KeyMatch::position) {
    std::uint64_t number = 0;
    (void)std::from_chars(row.place.name.data(), row.place.name.data() + row.place.name.size(),
                          number);
    return into.append(fmt::format("row {}", number + 1));
  }
  append_path(into, row.place);
  return into;
}

std::string LabelList::key_of(const Row& row) const {
  std::string key;
  return append_key(key, row);
}

Error LabelList::unmatched(const std::string& path, const std::string& root,
                           const std::string& like) const {
  if (path.size() > like.size() && !like.empty()) {
    return Error(Code::bad_content, "'{}' below {} is not '{}': the path has more in front",
                 printable(like), printable(root), printable(path))
        .at(path_)
        .hint(fmt::format("pass --strip-prefix '{}' to read paths without it",
                          printable(path.substr(0, path.size() - like.size()))));
  }
  if (!like.empty()) {
    return Error(Code::bad_content, "'{}' below {} is not '{}': upper and lower case differ",
                 printable(like), printable(root), printable(path))
        .at(path_)
        .hint("write paths as the files are named, or rename the files");
  }
  constexpr std::string_view kBlanks = " \t";
  if (!path.empty() && (kBlanks.find(path.front()) != std::string_view::npos ||
                        kBlanks.find(path.back()) != std::string_view::npos)) {
    return Error(Code::bad_content, "path '{}' is not an image below {}: it has blanks around it",
                 printable(path), printable(root))
        .at(path_)
        .hint("write paths as the files are named: blanks around a path are part of it");
  }
  return Error(Code::bad_content, "path '{}' is not an image below {}", printable(path),
               printable(root))
      .at(path_)
      .hint(
          "write paths relative to the converted folder, and a header as path,label; remove the "
          "row if the image is gone");
}

}  // namespace shale
