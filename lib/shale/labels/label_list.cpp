#include "shale/labels/label_list.hpp"

#include <charconv>
#include <utility>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/labels/class_table.hpp"

namespace shale {
namespace {

std::string header_hint(std::string_view key, std::string_view label) {
  return fmt::format(
      "if it is a header, pass --key-column '{}' --label-column '{}'; if its image is gone, remove "
      "the row",
      printable(key), printable(label));
}

LabelPlace place_of_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {.name = std::string(path)};
  return {.folder = std::string(path.substr(0, slash)),
          .name = std::string(path.substr(slash + 1))};
}

LabelPlace place_of_number(std::uint64_t number) { return {.name = fmt::format("{:020}", number)}; }

std::string_view without_suffix(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

std::string path_of(const LabelPlace& place) { return join_path(place.folder, place.name); }

}  // namespace

LabelList::LabelList(const LabelListRequest& request)
    : path_(request.file.path), rows_(request.scratch_folder, request.memory_bytes) {
  read_rows(request);
  are_numbers_ = kinds_.are_numbers() && !(request.has_class_table && kinds_.have_zeros_in_front());
  if (match_ == KeyMatch::position) name_synsets(request);
  has_likely_header_ = first_.may_be_header && first_.others == 0 && rows_.count() > 1;
  // Then its key can be that of no file.
  if (has_likely_header_ && has_suffixes_ && !first_.has_suffix) throw likely_header();
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
    if (names_.insert(row->text).second) allowance.take(row->text);
  }
  rewind();
}

void LabelList::rewind() {
  rows_.rewind();
  previous_.reset();
}

std::vector<std::string> LabelList::notes(bool has_nested_files) const {
  std::vector<std::string> notes = notes_;
  const bool has_note_on_names = match_ == KeyMatch::name && rows_.count() > 0;
  if (has_note_on_names && !has_nested_files) notes.pop_back();
  return notes;
}

void LabelList::read_rows(const LabelListRequest& request) {
  std::uint64_t number = 0;
  LabelsRead read = read_label_rows(request.file, [&](const LabelRow& row) {
    request.stop_if_asked();
    kinds_.note(row.number, row.label);
    if (row.key.empty()) {
      return rows_.add({place_of_number(number++), std::string(row.label)});
    }
    LabelPlace place = place_of_path(row.key);
    has_folders_ = has_folders_ || !place.folder.empty();
    const bool has_suffix = !request.is_sample || request.is_sample(row.key);
    has_suffixes_ = has_suffixes_ || has_suffix;
    note_header(row, has_suffix);
    rows_.add({std::move(place), std::string(row.label)});
  });
  rows_.finish();
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

void LabelList::note_header(const LabelRow& row, bool has_suffix) {
  if (!row.may_be_header) {
    first_.others += row.label == first_.label ? 1 : 0;
    return;
  }
  first_ = {.place = place_of_path(row.key),
            .key = std::string(row.key),
            .label = std::string(row.label),
            .may_be_header =
                row.key.find_first_of("./") == std::string_view::npos && is_name_label(row.label),
            .has_suffix = has_suffix};
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
    named.add({std::move(next->place), synsets.names[static_cast<std::size_t>(number - 1)]});
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
  if (!has_suffixes_) {
    match_ = has_folders_ ? KeyMatch::path_stem : KeyMatch::stem;
  } else if (!has_folders_ && request.has_nested_files) {
    match_ = KeyMatch::name;
  }
  if (match_ == KeyMatch::path || rows_.count() == 0) return;
  notes_.push_back(fmt::format(
      "the keys in {} are {}", printable(path_),
      match_ == KeyMatch::name   ? "names of files, whatever folder they are in"
      : match_ == KeyMatch::stem ? "names of files without suffix, whatever folder they are in"
                                 : "paths without suffix"));
}

LabelPlace LabelList::place_of(std::string_view folder, std::string_view name,
                               std::uint64_t number) const {
  if (match_ == KeyMatch::position) return place_of_number(number);
  const bool has_folder = match_ == KeyMatch::path || match_ == KeyMatch::path_stem;
  const bool has_suffix = match_ == KeyMatch::path || match_ == KeyMatch::name;
  return {.folder = std::string(has_folder ? folder : std::string_view()),
          .name = std::string(has_suffix ? name : without_suffix(name))};
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
  std::optional<PlacedLabel> next = rows_.next();
  if (!next) return std::nullopt;
  Row row{.place = std::move(next->place), .text = std::move(next->label)};
  if (row.place == previous_) {
    throw Error(Code::bad_content, "path '{}' has more than one row", printable(path_of(row.place)))
        .at(path_)
        .hint("remove all but one of them");
  }
  previous_ = row.place;
  if (are_numbers_) row.number = parse_integer_label(row.text).value_or(0);
  return row;
}

std::string LabelList::key_of(const Row& row) const {
  if (match_ != KeyMatch::position) return path_of(row.place);
  std::uint64_t number = 0;
  (void)std::from_chars(row.place.name.data(), row.place.name.data() + row.place.name.size(),
                        number);
  return fmt::format("row {}", number + 1);
}

Error LabelList::unmatched(const Row& row, const std::string& root) const {
  return Error(Code::bad_content, "path '{}' is not an image below {}",
               printable(path_of(row.place)), printable(root))
      .at(path_)
      .hint(
          "write paths relative to the converted folder, and a header as path,label; remove the "
          "row "
          "if the image is gone");
}

}  // namespace shale
