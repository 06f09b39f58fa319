#include "shale/folders/metadata_rows.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/labels/composed_text.hpp"
#include "shale/labels/label_rows.hpp"
#include "shale/manifest/csv.hpp"

// A cell: u16 column, u32 length (little-endian), so many bytes of text; none of null

namespace shale {
namespace {

constexpr std::size_t kMostMetadataFiles = 4096, kMostColumns = 256;
constexpr std::uint64_t kMostRowBytes = 512 * 1024, kRoomForPath = 8 * 1024;
constexpr std::size_t kOriginBytes = 12;  // of a row: its file and its number
constexpr std::string_view kLabelColumnName = "label", kAsText = "a string", kAsNumber = "a number",
                           kAsJson = "true, false, a list or an object";

std::uint64_t most_row_bytes(std::uint64_t sorter_bytes) {
  const std::uint64_t most = std::max<std::uint64_t>(sorter_bytes, 1 << 20) / 16;
  return std::min(kMostRowBytes, most - kRoomForPath);
}

}  // namespace

std::string metadata_stamp(const std::string& path) {
  const FileStamp stamp = stamp_of(path).value_or(FileStamp{});
  return fmt::format("{} bytes, {}", stamp.bytes, stamp.modified_ns);
}

std::string metadata_field_name(std::string_view column, std::string_view sample_field) {
  std::string name(column);
  std::ranges::replace(name, '.', '_');
  std::ranges::replace(name, '/', '_');
  const bool is_taken = is_reserved_name(name) || name == sample_field ||
                        name == kLabelColumnName || name == "frames";
  return is_taken ? name + "_column" : name;
}

MetadataRows::MetadataRows(Request request)
    : request_(std::move(request)),
      rows_(request_.scratch_folder, request_.memory_bytes / 3),
      samples_(request_.scratch_folder, request_.memory_bytes / 3),
      matched_(request_.scratch_folder, request_.memory_bytes / 3) {}

void MetadataRows::add_file(std::string_view folder, std::string_view name) {
  const bool is_known = std::ranges::any_of(
      files_, [&](const File& file) { return file.folder == folder && file.name == name; });
  if (is_known) return;
  if (files_.size() == kMostMetadataFiles) {
    throw Error(Code::limit, "has more than {} files metadata.csv or metadata.jsonl",
                kMostMetadataFiles)
        .at(request_.root)
        .hint("write one with the rows of all, or pass --pairs off to leave them out");
  }
  const std::string path = join_path(request_.root, join_path(folder, name));
  files_.push_back({.folder = std::string(folder),
                    .name = std::string(name),
                    .stamp = metadata_stamp(path),
                    .modified_ns = stamp_of(path).value_or(FileStamp{}).modified_ns});
}

std::string MetadataRows::path_of(std::uint64_t file) const {
  return join_path(request_.root, join_path(files_[file].folder, files_[file].name));
}

// A file of labels may lie anywhere: what is written about it does not say where.
std::string MetadataRows::place_of(std::uint64_t file, std::uint64_t row) const {
  const auto& [folder, name, stamp, modified] = files_[file];
  return fmt::format(
      "{}:{}", are_of_labels_ ? name.substr(name.rfind('/') + 1) : join_path(folder, name), row);
}

Error MetadataRows::at_row(std::uint64_t file, std::uint64_t row, const std::string& fact) const {
  const bool is_json = has_json_lines_suffix(files_[file].name);
  return Error(Code::bad_content, "{} {} {}", is_json ? "line" : "row", row, fact)
      .at(path_of(file));
}

bool MetadataRows::is_one_of_them(const std::string& path) const {
  const std::optional<FileStamp> stamp = stamp_of(path);
  for (std::uint64_t file = 0; stamp && file < files_.size(); ++file) {
    if (stamp_of(path_of(file)) == stamp) return true;
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> MetadataRows::stamps() const {
  std::vector<std::pair<std::string, std::string>> stamps;
  stamps.reserve(files_.size());
  for (const File& file : files_)
    stamps.emplace_back(join_path(file.folder, file.name), file.stamp);
  return stamps;
}

std::int64_t MetadataRows::modified_ns() const {
  std::int64_t last = 0;
  for (const File& file : files_) last = std::max(last, file.modified_ns);
  return last;
}

void MetadataRows::read(
    const std::function<void(std::string_view folder, std::string_view name)>& other) {
  std::ranges::sort(files_, {}, [](const File& file) { return std::pair(file.folder, file.name); });
  for (std::size_t i = 1; i < files_.size(); ++i) {
    if (files_[i].folder != files_[i - 1].folder) continue;
    throw Error(Code::bad_content, "lies in one folder with {}", files_[i - 1].name)
        .at(path_of(i))
        .hint("remove one of the two, or pass --pairs off to leave both out");
  }
  std::vector<File> taken;
  const std::vector<File> all = std::exchange(files_, {});
  for (const File& file : all) {
    files_.push_back(file);
    const std::uint64_t number = files_.size() - 1;
    if (read_metadata_file(path_of(number),
                           [&](const MetadataRow& row) { add_row(number, row); })) {
      continue;
    }
    notes_.push_back(
        fmt::format("{} has no column file_name: ignored", printable(path_of(number))));
    other(file.folder, file.name);
    files_.pop_back();
  }
  rows_.finish();
  if (has_files()) choose_fields();
  if (!has_numbers() || request_.has_class_table) return;
  kinds_.refuse_two_forms(path_of(numbers_.file), "row");
  if (std::string note = kinds_.note_on_zeros(path_of(numbers_.file)); !note.empty())
    notes_.push_back(std::move(note));
}

std::size_t MetadataRows::column_of(const std::string& name, std::uint64_t file,
                                    std::uint64_t row) {
  const auto found = column_by_name_.find(name);
  if (found != column_by_name_.end()) return found->second;
  if (columns_.size() == kMostColumns)
    throw at_row(file, row, fmt::format("has more than {} columns with those before", kMostColumns))
        .hint(are_of_labels_ ? "name fewer of them"
                             : "keep what is used in training, or pass --pairs off to leave all "
                               "out");
  columns_.push_back({.name = name, .seen = {}, .field = {}});
  if (name == kLabelColumnName) label_ = columns_.size() - 1;
  column_by_name_.emplace(name, columns_.size() - 1);
  return columns_.size() - 1;
}

void MetadataRows::note_label(std::uint64_t file, std::uint64_t row, const JsonMember& cell) {
  using Of = JsonMember::Kind;
  if (are_of_labels_ && cell.kind == Of::nested) return;
  if (cell.kind == Of::boolean || cell.kind == Of::nested)
    throw at_row(file, row, fmt::format("has a label that is {}", name_of(cell.kind)))
        .hint("write a string or an integer, or give the column another name than label");
  const std::string label(trimmed(cell.text));
  const bool is_name = is_name_label(label), is_number = parse_integer_label(label).has_value();
  if (!is_name && !is_number && !request_.has_class_table && !are_of_labels_)
    throw at_row(file, row,
                 fmt::format("has the label '{}', a number that is not an integer of 64 bits",
                             printable(label)))
        .hint("write integers without plus sign, point or exponent, or names");
  Seen& first = is_number ? numbers_ : names_;
  if (first.row == 0) first = {file, row, label};
  kinds_.note(row, label);
  if (numbers_.row == 0 || names_.row == 0 || request_.has_class_table || are_of_labels_) return;
  throw at_row(
      names_.file, names_.row,
      fmt::format("has the label '{}', but {} has the number {}; labels are all integers "
                  "or all names",
                  printable(names_.text), place_of(numbers_.file, numbers_.row), numbers_.text))
      .hint("write all as integers, or list all names in a file for --classes-from");
}

void MetadataRows::add_row(std::uint64_t file, const MetadataRow& row) {
  request_.stop_if_asked();
  add_cells(file, row.number, join_path(files_[file].folder, row.path), row.cells);
}

void MetadataRows::read_labels(const LabelFile& file,
                               const std::function<bool(std::string_view)>& is_sample,
                               bool is_windows) {
  are_of_labels_ = true;
  files_ = {{.folder = {}, .name = file.path, .stamp = {}}};
  LabelsRead read = read_label_rows(
      file,
      [&](const LabelRow& row) {
        request_.stop_if_asked();
        add_cells(0, row.number, std::string(shapes_.note(row.key, is_windows, is_sample)),
                  row.cells, row.types);
      },
      true,
      {.folder = request_.scratch_folder,
       .memory_bytes = request_.memory_bytes / 3,
       .stop_if_asked = request_.stop_if_asked});
  left_out_ = std::move(read.left_out);
  written_classes_ = std::move(read.classes);
  class_names_ = written_classes_;
  if (read.sorts_classes) std::ranges::sort(class_names_);
  fills_ = read.is_complete;
  are_class_numbers_ = read.form == LabelForm::annotations && written_classes_.empty() &&
                       column_by_name_.contains(kCategories);
  notes_.insert(notes_.end(), read.notes.begin(), read.notes.end());
  rows_.finish();
  use_labels_as_field();
  choose_fields();
}

// Neither real numbers nor lists are classes.
void MetadataRows::use_labels_as_field() {
  if (!label_) return;
  const bool are_arrays = columns_[*label_].seen[kJson].row > 0;
  const bool are_reals = kinds_.are_reals() && !request_.has_class_table;
  if (request_.separator.empty() && !are_reals && !are_arrays) {
    if (!request_.has_class_table && !kinds_.are_numbers()) kinds_.refuse_mixed(path_of(0), "row");
    return;
  }
  if (!request_.separator.empty())
    list_ = label_;
  else if (are_reals)
    notes_.push_back(
        fmt::format("labels in {} are real numbers: the field 'label' is real, without classes",
                    printable(path_of(0))));
  label_.reset();
}

void MetadataRows::add_cells(std::uint64_t file, std::uint64_t row, const std::string& path,
                             std::span<const JsonMember> cells, std::span<const Field> types) {
  cells_.clear();
  for (std::size_t number = 0; number < cells.size(); ++number) {
    const JsonMember& cell = cells[number];
    using Of = JsonMember::Kind;
    const std::size_t at = column_of(cell.name, file, row);
    const bool is_known = number < types.size();
    if (is_known && !columns_[at].type) columns_[at].type = types[number];
    const bool is_label = label_ == at;
    const bool is_list = is_label && !request_.separator.empty();
    if (cell.kind == Of::null || (is_label && !is_list && trimmed(cell.text).empty())) continue;
    if (is_list) note_list(file, row, cell);
    if (is_label && !is_list) note_label(file, row, cell);
    ++columns_[at].values;
    std::int64_t integer = 0;
    const char* const end = cell.text.data() + cell.text.size();
    const bool is_long = cell.kind == Of::integer &&
                         std::from_chars(cell.text.data(), end, integer).ec != std::errc();
    const Class kind = cell.kind == Of::text      ? kText
                       : is_long                  ? kLongInteger
                       : cell.kind == Of::integer ? kInteger
                       : cell.kind == Of::real    ? kReal
                                                  : kJson;
    auto& seen = columns_[at].seen;
    if (seen[kind].row == 0) seen[kind] = {file, row, {}};
    if (kind == kJson && !is_known) columns_[at].nested.note(cell.text);
    if (cell.kind == Of::integer && seen[kInexact].row == 0 &&
        fmt::format("{:.0f}", real_in(cell.text)) != cell.text)
      seen[kInexact] = {file, row, {}};
    cells_.append(as_text(bytes_of(static_cast<std::uint16_t>(at))));
    cells_.append(as_text(bytes_of(static_cast<std::uint32_t>(cell.text.size()))));
    cells_.append(cell.text);
  }
  if (path.size() >= kRoomForPath / 2) {
    throw Error(Code::limit, "{} has a file_name of {} bytes, at most {} are possible",
                place_of(file, row), path.size(), kRoomForPath / 2 - 1)
        .at(path_of(file))
        .hint("no file can have such a name: correct the row");
  }
  const std::uint64_t most = most_row_bytes(request_.memory_bytes / 3);
  if (const std::uint64_t bytes = kOriginBytes + cells_.size(); bytes > most) {
    throw Error(Code::limit, "{} is too large: {} bytes, of at most {}", place_of(file, row),
                path.size() + 1 + bytes, most)
        .at(path_of(file))
        .hint(bytes > kMostRowBytes
                  ? "no --memory helps: leave out its largest column, of annotations with "
                    "--label-column"
                  : "pass a larger --memory; at most 512 KiB of a row fit");
  }
  const std::string composed = composed_text(path);
  rows_have_marks_ = rows_have_marks_ || composed != path;
  rows_.add({.path = composed, .row = {static_cast<std::uint32_t>(file), row, cells_}});
}

Field MetadataRows::field_of(const Column& column) const {
  if (column.type) return *column.type;
  if (list_ && &column == &columns_[*list_])
    return {.name = {}, .kind = Kind::tensor, .dtype = DType::parse("<i8"), .shape = {kFreeSide}};
  const auto& seen = column.seen;
  const Seen* number = nullptr;
  for (const Class one : {kInteger, kReal, kLongInteger}) {
    if (number == nullptr && seen[one].row > 0) number = &seen[one];
  }
  struct Group {
    const Seen* seen;
    std::string_view name;
  };
  std::vector<Group> groups;
  if (number != nullptr) groups.push_back({number, kAsNumber});
  if (seen[kText].row > 0) groups.push_back({&seen[kText], kAsText});
  if (seen[kJson].row > 0) groups.push_back({&seen[kJson], kAsJson});
  if (groups.size() > 1 && are_of_labels_ && seen[kJson].row == 0)
    return {.name = {}, .kind = Kind::text};
  if (groups.size() > 1) {
    throw at_row(
        groups[1].seen->file, groups[1].seen->row,
        fmt::format("has {} as '{}', but {} has {}", groups[1].name, printable(column.name),
                    place_of(groups[0].seen->file, groups[0].seen->row), groups[0].name))
        .hint("write all values of a column alike; null where there is none");
  }
  if (number == nullptr) return column.nested.field();
  if (seen[kReal].row > 0 && seen[kInexact].row > 0)
    throw at_row(seen[kInexact].file, seen[kInexact].row,
                 fmt::format("has an integer as '{}' that no double is, but {} has a number that "
                             "is not an integer",
                             printable(column.name), place_of(seen[kReal].file, seen[kReal].row)))
        .hint("write all values of the column as strings, or as integers");
  if (seen[kReal].row > 0) return {.name = {}, .kind = Kind::real};
  if (seen[kLongInteger].row > 0)
    throw at_row(seen[kLongInteger].file, seen[kLongInteger].row,
                 fmt::format("has an integer of more than 64 bits as '{}'", printable(column.name)))
        .hint("write it as a string");
  return {.name = {}, .kind = Kind::integer};
}

void MetadataRows::choose_fields() {
  std::map<std::string, std::string> by_field;
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    Column& column = columns_[at];
    if (label_ == at) continue;
    const bool has_values =
        std::ranges::any_of(column.seen, [](const Seen& seen) { return seen.row > 0; });
    if (!has_values && rows_.count() > 0) {
      notes_.push_back(fmt::format("the column '{}' of the metadata has no value: left out",
                                   printable(column.name)));
      continue;
    }
    Field field = field_of(column);
    field.name = metadata_field_name(column.name, request_.sample_field);
    if (are_of_labels_ && column.name == kLabelColumnName) field.name = kLabelColumnName;
    field.is_optional = column.values < rows_.count();
    const Seen& text = column.seen[kText];
    const bool has_numbers = column.seen[kInteger].row > 0 || column.seen[kReal].row > 0;
    if (are_of_labels_ && text.row > 0 && has_numbers)
      notes_.push_back(fmt::format("the column '{}' is text: its cell in {} is not a number",
                                   printable(column.name), place_of(text.file, text.row)));
    try {
      validate_schema({.fields = {field}});
    } catch (const Error&) {
      throw Error(Code::bad_content, "the column '{}' cannot be the name of a field",
                  printable(column.name))
          .at(first_path())
          .hint(are_of_labels_ ? "rename the column"
                               : "rename the column, or pass --pairs off to leave all out");
    }
    const auto [other, is_new] = by_field.emplace(field.name, column.name);
    if (!is_new)
      throw Error(Code::bad_content, "the columns '{}' and '{}' both become the field '{}'",
                  printable(other->second), printable(column.name), printable(field.name))
          .at(first_path())
          .hint("rename one of the two");
    column.field = fields_.size();
    fields_.push_back(std::move(field));
  }
}

void MetadataRows::add_sample(std::string_view path) {
  const std::string composed = composed_text(path);
  samples_have_marks_ = samples_have_marks_ || composed != path;
  samples_.add({.path = composed, .number = sample_count_++});
}

std::string MetadataRows::match(const std::function<void(const std::string& entry)>& unused) {
  samples_.finish();
  rows_.rewind();
  samples_.rewind();
  ClassAllowance allowance(request_.all_memory_bytes, first_path());
  std::set<std::string> names;
  std::string last, last_place;  // of the row before: its path, and where it is
  std::uint64_t matched = 0;
  const auto end_sample = [&](const CellsOfRow& row) {
    matched_.add({.number = samples_.row()->number, .row = row});
    samples_.step();
  };
  const auto is_before = [&](const StoredMetadata& row) {
    return samples_.row() != nullptr && samples_.row()->path < row.path;
  };
  for (bool is_first = true; const std::optional<StoredMetadata> next = rows_.next();
       is_first = false) {
    request_.stop_if_asked();
    const CellsOfRow& row = next->row;
    if (!is_first && next->path == last)
      throw at_row(row.file, row.number,
                   fmt::format("is of the same file as {}: {}", last_place, printable(last)))
          .hint("remove one of the two rows");
    last = next->path;
    last_place = place_of(row.file, row.number);
    while (is_before(*next)) end_sample({});
    if (samples_.row() == nullptr || samples_.row()->path != next->path) {
      ++unused_;
      unused(last_place);
      continue;
    }
    ++matched;
    ByteReader cells(as_bytes(row.cells));
    const bool has_names =
        (label_ && !has_numbers()) || (has_lists_of_names() && written_classes_.empty());
    while (has_names && !cells.at_end()) {
      const std::size_t column = cells.read_u16();
      const std::string_view text = as_text(cells.read_bytes(cells.read_u32()));
      if (column != label_ && column != list_) continue;
      const std::vector<std::string_view> labels =
          list_ ? labels_in(text) : std::vector{trimmed(text)};
      for (const std::string_view label : labels) {
        if (const auto [name, is_new] = names.emplace(label); is_new) allowance.take(*name);
      }
    }
    end_sample(row);
    // Of labels, keys without suffix may be those of two files.
    if (samples_.row() != nullptr && samples_.row()->path == next->path)
      throw at_row(row.file, row.number,
                   fmt::format("has the key '{}', which names two files", printable(next->path)))
          .hint("write paths with suffixes, relative to the converted folder");
  }
  while (samples_.row() != nullptr) end_sample({});
  if (fills_ && matched < sample_count_)
    notes_.push_back(
        fmt::format("{} no file in {}: they have no boxes",
                    format_counted(sample_count_ - matched, "image has", "images have"),
                    printable(first_path())));
  matched_.finish();
  matched_.rewind();
  if (written_classes_.empty()) class_names_.assign(names.begin(), names.end());
  if (matched == 0 && sample_count_ > 0) {
    Error error(Code::bad_content, "{}",
                rows_.count() == 0 ? "has no rows"
                : are_of_labels_   ? "no path is that of a file here"
                                   : "no file_name is that of a file here");
    if (are_of_labels_)
      throw error.at(first_path()).hint("write paths relative to the converted folder");
    throw error.at(first_path())
        .hint(
            "file_name is relative to the folder of this file, with the suffix; or pass --pairs "
            "off to leave it out");
  }
  return samples_have_marks_ == rows_have_marks_ ? ""
                                                 : note_on_marks(first_path(), samples_have_marks_);
}

void MetadataRows::take_label(const std::string& text, std::uint64_t file, std::uint64_t row,
                              ListedFile& sample) const {
  const std::optional<std::int64_t> number = parse_integer_label(text);
  if (has_numbers() || (list_ && !has_lists_of_names())) {
    sample.label = number.value_or(0);
    const auto classes = static_cast<std::int64_t>(table_ ? table_->names().size() : 0);
    if (!table_ || (sample.label >= 0 && sample.label < classes)) return;
    throw at_row(file, row,
                 fmt::format("has the label {}, but there are {} classes", text, classes))
        .hint("pass --classes-from with all classes, or leave it out");
  }
  const std::optional<std::int64_t> label = table_ ? table_->label_of(text) : std::nullopt;
  if (!label)
    throw at_row(file, row,
                 fmt::format("has the label '{}', which the class table lacks", printable(text)))
        .hint(request_.extends_set
                  ? "pass --new-classes append to add it behind the others, or correct the label"
                  : "pass --classes-from with all classes, or correct the label");
  sample.label = *label;
}

void MetadataRows::next(ListedFile& sample) {
  sample.row.clear();
  sample.has_label = false;
  const std::optional<MatchedMetadata> match = matched_.next();
  if (match && match->row.number == 0 && fills_) {
    for (const Field& field : fields_) append_metadata_value(sample.row, field, "[]");
    sample.has_label = true;
  }
  if (!match || match->row.number == 0) return;
  ByteReader cells(as_bytes(match->row.cells));
  std::vector<std::optional<std::string>> values(fields_.size());
  std::optional<std::string> label;
  while (!cells.at_end()) {
    const std::size_t column = cells.read_u16();
    std::string text(as_text(cells.read_bytes(cells.read_u32())));
    if (label_ == column) {
      label = trimmed(text);
    } else if (list_ == column) {
      values[*columns_[column].field] = numbers_of(text, match->row.file, match->row.number);
    } else if (renumbers_ && columns_[column].name == kCategories) {
      values[*columns_[column].field] = renumbered(text, match->row.file, match->row.number);
    } else if (columns_[column].field) {
      values[*columns_[column].field] = std::move(text);
    }
  }
  if (label_ && !label) {
    sample.row = fmt::format("value for '{}' in {}", kLabelColumnName,
                             printable(place_of(match->row.file, match->row.number)));
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    append_metadata_value(sample.row, fields_[i], values[i]);
  if (label) take_label(*label, match->row.file, match->row.number, sample);
  sample.has_label = true;
}

void MetadataRows::use_table(std::optional<ClassTable> table) {
  table_ = std::move(table);
  if (!table_) return;
  renumbers_ = are_class_numbers_ ? !table_->names().empty() : table_->names() != written_classes_;
  for (const std::string& name : written_classes_)
    label_of_written_.push_back(table_->label_of(name));
}

// The numbers of annotations, as those of the table.
std::string MetadataRows::renumbered(std::string_view numbers, std::uint64_t file,
                                     std::uint64_t row) const {
  std::string array = "[";
  const std::optional<JsonList> written = parse_json_list(numbers);
  for (std::int64_t number : written.value_or(JsonList()).integers) {
    const auto at = static_cast<std::size_t>(number);
    if (are_class_numbers_ && at >= table_->names().size())
      throw at_row(
          file, row,
          fmt::format("has the class {}, but there are {}", number, table_->names().size()))
          .hint("pass --classes-from with all classes, or leave it out");
    if (!are_class_numbers_ && !label_of_written_.at(at)) {
      ListedFile one;
      take_label(written_classes_[at], file, row, one);
    }
    if (!are_class_numbers_) number = *label_of_written_[at];
    array.append(array.size() > 1 ? "," : "").append(std::to_string(number));
  }
  return array + "]";
}

std::vector<std::string_view> MetadataRows::labels_in(std::string_view cell) const {
  std::vector<std::string_view> labels;
  for (std::size_t end = 0; !cell.empty() && end != std::string_view::npos;) {
    end = cell.find(request_.separator);
    if (const std::string_view label = trimmed(cell.substr(0, end)); !label.empty())
      labels.push_back(label);
    if (end != std::string_view::npos) cell.remove_prefix(end + request_.separator.size());
  }
  return labels;
}

void MetadataRows::note_list(std::uint64_t file, std::uint64_t row, const JsonMember& cell) {
  if (cell.kind != JsonMember::Kind::text && cell.kind != JsonMember::Kind::integer)
    throw at_row(file, row, fmt::format("has labels that are {}", name_of(cell.kind)))
        .hint("write them as one string");
  for (const std::string_view label : labels_in(cell.text)) {
    Seen& first = parse_integer_label(label) ? numbers_ : names_;
    if (first.row == 0) first = {file, row, std::string(label)};
  }
}

// A cell of several labels as an array of their numbers.
std::string MetadataRows::numbers_of(std::string_view cell, std::uint64_t file,
                                     std::uint64_t row) const {
  std::string array = "[";
  for (const std::string_view text : labels_in(cell)) {
    if (array.size() > 1) array += ',';
    ListedFile one;
    take_label(std::string(text), file, row, one);
    array += std::to_string(one.label);
  }
  return array + "]";
}

}  // namespace shale
