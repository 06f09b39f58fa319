#include "shale/labels/label_rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/synset_table.hpp"
#include "shale/labels/text_lines.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/json_lines.hpp"

namespace shale {
namespace {

constexpr std::array<std::string_view, 3> kKeyColumns = {"path", "file_name", "filename"};
// Parts of the names of columns that are likely to name files, the likeliest first.
constexpr std::array<std::string_view, 6> kLikelyKeys = {"path", "file", "image",
                                                         "img",  "name", "id"};
constexpr std::string_view kLabelColumn = "label", kKaggleKey = "ImageId",
                           kKaggleLabel = "PredictionString";

bool is_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Whoever names the column of keys has a table.
AnnotationForm form_of(const LabelFile& file) {
  return file.key_column.empty() ? annotation_form(file.path) : AnnotationForm::none;
}

bool begins_like_zip(const std::string& path) {
  constexpr std::string_view kMagic = "PK\x03\x04";
  const InputFile file(path);
  std::string head(std::min<std::uint64_t>(file.size(), kMagic.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  return head == kMagic;
}

void refuse_others(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(Code::bad_content, "is a folder without annotations, which are .xml or .txt files")
        .at(path)
        .hint("name the folder of the files of Pascal VOC or YOLO, or a file of labels");
  }
  if (!begins_like_zip(path)) return;
  throw Error(Code::bad_content, "is an Excel workbook or another ZIP archive, not a table")
      .at(path)
      .hint("save its sheet as 'CSV UTF-8', and pass that");
}

using Names = std::vector<std::string_view>;

std::vector<std::size_t> positions_of(CsvRow names, std::string_view wanted) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (trimmed(names[i]) == wanted) found.push_back(i);
  }
  return found;
}

bool is_blank(CsvRow fields) {
  return std::ranges::all_of(fields, [](std::string_view one) { return trimmed(one).empty(); });
}

Names words_in(std::string_view line) {
  Names words;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

// The names in CelebA's list_attr_celeba.txt: a count, a line of names, and a line of one word more
// for each image.
struct Attributes {
  std::string count;
  std::vector<std::string> names;
};
std::optional<Attributes> attributes_of(const std::string& path) {
  Attributes found;
  std::vector<std::string>& names = found.names;
  bool is_one = false;
  const InputFile file(path);
  std::array<std::byte, 32> head{};  // the count, which is alone in its line
  const std::string_view start = as_text(std::span(head).first(file.read_some(0, head)));
  if (!is_integer(trimmed(start.substr(0, start.find('\n'))))) return std::nullopt;
  TextLines(path, "an image and its attributes").for_each([&](auto line, auto text) {
    if (line == 1) found.count = trimmed(text);
    if (line == 1) return is_integer(found.count);
    if (line == 3) is_one = words_in(text).size() == names.size() + 1;
    if (line == 2) {
      for (const std::string_view word : words_in(text)) names.emplace_back(word);
    }
    return line == 2 && !names.empty() && !is_integer(names[0]);
  });
  return is_one ? std::optional(std::move(found)) : std::nullopt;
}

// The rows of one file, while it is read.
class RowReader {
 public:
  RowReader(const LabelFile& file, const std::function<void(const LabelRow&)>& use, bool with_cells,
            const LabelScratch& scratch)
      : file_(file), use_(use), with_cells_(with_cells), scratch_(scratch) {}

  LabelsRead read() {
    if (const AnnotationForm form = form_of(file_); form != AnnotationForm::none)
      return read_annotations(form);
    refuse_others(file_.path);
    if (has_json_lines_suffix(file_.path) || begins_like_json(file_.path)) {
      read_json_lines(file_.path, [this](std::uint64_t line, const std::vector<JsonMember>& all) {
        use_members(line, all);
      });
    } else if (const auto attributes = attributes_of(file_.path)) {
      read_attributes(*attributes);
    } else {
      read_csv(file_.path, [this](std::uint64_t row, CsvRow fields) { use_fields(row, fields); },
               {.may_use_blanks = true});
    }
    return {form_, std::move(left_out_)};
  }

 private:
  [[nodiscard]] bool names_columns() const {
    return !file_.key_column.empty() || !file_.label_column.empty();
  }

  [[nodiscard]] LabelsRead read_annotations(AnnotationForm form) {
    if (form == AnnotationForm::label_pairs || form == AnnotationForm::label_vectors) {
      read_label_pairs(file_.path, [this](const LabelPair& pair) {
        if (with_cells_) return use_cells(pair.number, pair.key, {&pair.label, 1});
        use_row({pair.number, pair.key, pair.label.text});
      });
      return {};
    }
    refuse_idle_options();
    const auto read_form = form == AnnotationForm::voc    ? read_voc
                           : form == AnnotationForm::yolo ? read_yolo
                                                          : read_coco;
    AnnotationsRead read =
        read_form({.path = file_.path,
                   .fields = file_.columns(),
                   .group = file_.group_column,
                   .scratch_folder = scratch_.folder.empty() ? temporary_folder() : scratch_.folder,
                   .memory_bytes = scratch_.memory_bytes,
                   .stop_if_asked = scratch_.stop_if_asked},
                  [this](const AnnotationRow& row) {
                    use_row({.number = row.number,
                             .key = row.key,
                             .label = "-",
                             .cells = row.cells,
                             .types = row.types});
                  });
    return {.form = LabelForm::annotations,
            .left_out = std::move(read.left_out),
            .classes = std::move(read.classes),
            .sorts_classes = read.sorts_classes,
            .is_complete = read.is_complete,
            .notes = std::move(read.notes)};
  }

  void refuse_idle_options() const {
    const std::string_view idle = !file_.separator.empty() ? "--label-separator"
                                  : file_.has_vector()     ? "--label-column label="
                                                           : "";
    if (idle.empty()) return;
    throw Error(Code::usage, "{} is for labels in columns, and these are annotations", idle)
        .at(file_.path)
        .hint("leave it out");
  }

  void use_fields(std::uint64_t row, CsvRow fields) {
    // As spreadsheets write them: what divides the cells, and rows of which nothing is left.
    const bool is_sheet = fields.size() > 1 && is_blank(fields.subspan(1));
    if (is_sheet && (trimmed(fields[0]).empty() || (row == 1 && fields[0] == "sep="))) return;
    const bool is_first = std::exchange(is_first_, false);
    if (is_first && take_header(fields)) {
      width_ = fields.size();
      return;
    }
    if (form_ == LabelForm::ground_truth) return use_number(row, fields);
    const bool has_all = has_header_ ? last_column() < fields.size() : fields.size() == 2;
    if (!has_all) throw other_width(row, fields);
    if (width_ > 0 && fields.size() > width_ && !is_blank(fields.subspan(width_)))
      throw too_wide(row, fields);
    if (with_cells_) return use_cells(row, fields[key_], cells_of(row, fields));
    std::string_view label = trimmed(fields[label_]);
    if (form_ == LabelForm::kaggle) label = label.substr(0, label.find(' '));
    use_row({row, fields[key_], label, is_first});
  }

  // The last that a row must have.
  [[nodiscard]] std::size_t last_column() const {
    std::size_t last = std::max(key_, label_);
    for (const Wanted& one : wanted_) last = std::max(last, one.at);
    return last;
  }

  [[nodiscard]] Error other_width(std::uint64_t row, CsvRow fields) const {
    const std::string found = format_counted(fields.size(), "field", "fields");
    return Error(Code::bad_content, "row {} has {}, expected {}", row, found,
                 has_header_ ? fmt::format("at least {}", last_column() + 1) : "path,label")
        .at(file_.path)
        .hint(fields.size() == 1 ? "write a comma, a tab or a semicolon between path and label"
              : row == 1         ? hint_on_header(fields)
                                 : "quote paths and labels that contain a comma");
  }

  // Which of its cells belong together nobody knows.
  [[nodiscard]] Error too_wide(std::uint64_t row, CsvRow fields) const {
    return Error(Code::bad_content, "row {} has {}, but the header has {}", row,
                 format_counted(fields.size(), "field", "fields"), width_)
        .at(file_.path)
        .hint("quote what contains a comma: \"New York, NY\"");
  }

  // Of a first row with other than two fields.
  static std::string hint_on_header(CsvRow fields) {
    const bool are_names = std::ranges::all_of(fields, [](std::string_view name) {
      return is_name_label(trimmed(name)) && name.find_first_of("./\\,='") == std::string::npos;
    });
    if (!are_names)
      return "if row 1 is a header, pass --key-column and --label-column with the names of its "
             "columns; else quote paths and labels that contain a comma";
    std::size_t key = 0;
    for (auto part = kLikelyKeys.rbegin(); part != kLikelyKeys.rend(); ++part) {
      for (std::size_t i = fields.size(); i-- > 0;) {
        if (fields[i].find(*part) != std::string::npos) key = i;
      }
    }
    std::string others;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i != key) others.append(others.empty() ? "" : ",").append(trimmed(fields[i]));
    }
    return fmt::format("if row 1 is a header, pass --key-column '{}' --label-column '{}'",
                       printable(trimmed(fields[key])), printable(others));
  }

  // False if it is a row like the others.
  bool take_header(CsvRow fields) {
    if (names_columns() || with_cells_) {
      const bool is_tiny = is_tiny_imagenet(fields);
      if (is_tiny || !has_two_columns(fields)) {
        choose_columns(fields);
        has_header_ = true;
        return !is_by_number_ || fields[key_].find('.') == std::string::npos;
      }
      // Two fields that nobody named: real numbers beside paths.
      wanted_ = {{1, std::string(kLabelColumn)}};
      const bool has_value = fields[1].find_first_of("0123456789") != std::string::npos;
      return !has_value && is_name_label(trimmed(fields[1]));
    }
    if (fields.size() == 2 && trimmed(fields[0]) == kKaggleKey &&
        trimmed(fields[1]) == kKaggleLabel) {
      form_ = LabelForm::kaggle;
      return has_header_ = true;
    }
    if (fields.size() == 1 && is_integer(trimmed(fields[0]))) {
      form_ = LabelForm::ground_truth;
      return false;
    }
    if (is_tiny_imagenet(fields)) {
      form_ = LabelForm::tiny;
      has_header_ = true;
      return false;
    }
    // A table that says itself which column is which.
    const auto labels = positions_of(fields, kLabelColumn);
    std::vector<std::size_t> keys;
    for (const std::string_view name : kKeyColumns) {
      for (const std::size_t at : positions_of(fields, name)) keys.push_back(at);
    }
    if (labels.empty() || keys.empty()) return false;
    choose_columns(fields);
    return has_header_ = true;
  }

  // File, class, and the four sides of a box, without header.
  [[nodiscard]] static bool is_tiny_imagenet(CsvRow fields) {
    return fields.size() == 6 && fields[0].find('.') != std::string::npos &&
           !is_integer(trimmed(fields[1])) &&
           std::all_of(fields.begin() + 2, fields.end(),
                       [](std::string_view side) { return is_integer(trimmed(side)); });
  }

  [[nodiscard]] bool has_two_columns(CsvRow fields) const {
    const bool has_names = !positions_of(fields, kLabelColumn).empty();
    return !names_columns() && file_.group_column.empty() && fields.size() == 2 && !has_names;
  }

  // By the names in a header, or those of the members of a line.
  void choose_columns(CsvRow names) {
    wanted_.clear();
    key_ = column(names, file_.key_column, kKeyColumns, "key");
    const bool is_one =
        !file_.label_column.empty() && positions_of(names, file_.label_column).size() == 1;
    const std::vector<std::string> asked =
        is_one ? std::vector{file_.label_column} : file_.columns();
    for (const std::string& name : asked) {
      const std::size_t at = column(names, name, {}, "label");
      const bool is_class = asked.size() == 1;
      const std::string shown = is_by_number_ ? "column_" + name : std::string(trimmed(names[at]));
      wanted_.push_back({at, is_class ? std::string(kLabelColumn) : shown});
    }
    if (asked.empty())
      wanted_ = {{column(names, "", {&kLabelColumn, 1}, "label"), std::string(kLabelColumn)}};
    label_ = wanted_.front().at;
    if (!file_.group_column.empty()) {
      const std::size_t at = column(names, file_.group_column, {}, "group");
      const bool is_taken = std::ranges::find(wanted_, at, &Wanted::at) != wanted_.end();
      if (!is_taken) wanted_.push_back({at, std::string(trimmed(names[at]))});
    }
    leave_out_others(names);
  }

  // Whoever names the label has said what he wants of the file.
  void leave_out_others(CsvRow names) {
    if (!file_.label_column.empty()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = trimmed(names[i]);
      if (i == key_ || name.empty()) continue;
      if (std::ranges::find(wanted_, i, &Wanted::at) != wanted_.end()) continue;
      left_out_.add({.kind = "column", .name = std::string(name), .reason = "not_a_label"});
    }
  }

  // The position of the column `asked`, or of the only one with a usual name.
  [[nodiscard]] std::size_t column(CsvRow header, const std::string& asked,
                                   std::span<const std::string_view> usual, std::string_view what) {
    std::vector<std::size_t> found;
    if (!asked.empty()) {
      found = positions_of(header, asked);
    } else {
      for (const std::string_view name : usual) {
        for (const std::size_t at : positions_of(header, name)) found.push_back(at);
      }
    }
    if (found.size() == 1) return found.front();
    const std::int64_t number = found.empty() ? parse_integer_label(asked).value_or(0) : 0;
    if (number > 0 && static_cast<std::uint64_t>(number) <= header.size() && line_ == 0) {
      is_by_number_ = true;
      return static_cast<std::size_t>(number - 1);
    }
    throw no_column(asked, what, found.size(), header);
  }

  [[nodiscard]] Error no_column(const std::string& asked, std::string_view what, std::size_t found,
                                CsvRow names) const {
    std::string shown;
    for (const std::string_view name : names)
      shown.append(shown.empty() ? "" : ", ").append(printable(trimmed(name)));
    const std::string name =
        asked.empty() ? fmt::format("for the {}", what) : "'" + printable(asked) + "'";
    const std::string where = line_ == 0 ? "" : fmt::format("line {} ", line_);
    return (found == 0
                ? Error(Code::bad_content, "{}has no column {}, but: {}", where, name, shown)
                : Error(Code::bad_content, "{}has {} columns {}: {}", where, found, name, shown))
        .at(file_.path)
        .hint(line_ == 1 && !names_columns()
                  ? "write one object per line, with 'path' and 'label', or pass --key-column and "
                    "--label-column with the names of others"
              : what == "group" ? "name one of these"
                                : fmt::format("pass --{}-column with the name of one column{}",
                                              what, line_ == 0 ? ", or its number" : ""));
  }

  void use_members(std::uint64_t line, const std::vector<JsonMember>& members) {
    line_ = line;
    // Most lines have the members of the one before.
    if (!names_ || !std::ranges::equal(*names_, members, {}, {}, &JsonMember::name)) {
      Names names;
      for (const JsonMember& member : members) names.emplace_back(member.name);
      choose_columns(names);
      names_.emplace(names.begin(), names.end());
    }
    const JsonMember &label = members[label_], &key = members[key_];
    using Kind = JsonMember::Kind;
    if (with_cells_ && key.kind == Kind::text) {
      std::vector<JsonMember> cells;
      for (const Wanted& one : wanted_)
        cells.push_back({one.name, members[one.at].kind, members[one.at].text});
      return use_cells(line, key.text, vector_of(line, std::move(cells)));
    }
    const bool is_label =
        label.kind == Kind::integer || label.kind == Kind::real || label.kind == Kind::text;
    if (!is_label || key.kind != Kind::text) {
      const JsonMember& wrong = is_label ? key : label;
      throw Error(Code::bad_content, "line {}: '{}' is {}, expected a string{}", line,
                  printable(wrong.name), name_of(wrong.kind), is_label ? "" : " or a number")
          .at(file_.path)
          .hint("write a path and a label in every line");
    }
    use_row({line, key.text, trimmed(label.text)});
  }

  void use_number(std::uint64_t row, CsvRow fields) {
    const std::string_view number = trimmed(fields.front());
    if (fields.size() != 1 || !is_integer(number)) {
      throw Error(Code::bad_content, "row {} is not one integer, as the rows before are", row)
          .at(file_.path)
          .hint(
              "ground truth has the number of a class in each line; labels by name are path,label");
    }
    use_({row, {}, number});
  }

  // Lines of words, behind a count and a line of names.
  void read_attributes(const Attributes& found) {
    const std::vector<std::string>& attributes = found.names;
    if (file_.label_column.empty()) {
      throw Error(Code::bad_content, "has {} for each image: {}",
                  format_counted(attributes.size(), "attribute", "attributes"),
                  printable(fmt::format("{}", fmt::join(attributes, ", "))))
          .at(file_.path)
          .hint(fmt::format("pass --label-column '{}' for one of them as the label, or several "
                            "with commas for a field of each",
                            printable(attributes.front())));
    }
    Names header = {kKeyColumns[0]};
    header.insert(header.end(), attributes.begin(), attributes.end());
    choose_columns(header);
    has_header_ = true;
    is_first_ = false;
    std::uint64_t rows = 0;
    TextLines(file_.path, "an image and its attributes").for_each([&](auto line, auto text) {
      if (line <= 2 || trimmed(text).empty()) return true;
      ++rows;
      use_fields(line, words_in(text));
      return true;
    });
    if (parse_integer_label(found.count) == static_cast<std::int64_t>(rows)) return;
    throw Error(Code::bad_content, "has {} rows, but its first line says {}", rows,
                printable(found.count))
        .at(file_.path)
        .hint(
            "the file was probably truncated: restore it from an intact copy, or correct the "
            "count");
  }

  // A value of CSV.
  [[nodiscard]] JsonMember cell_of(const std::string& name, std::string_view value) const {
    using Kind = JsonMember::Kind;
    value = trimmed(value);
    if (!file_.separator.empty() && name == kLabelColumn)
      return {name, Kind::text, std::string(value)};
    const bool is_padded = value.size() > 1 && value[0] == '0' && is_integer(value);
    if (value.empty()) return {name, Kind::null, {}};
    if (is_integer(value) && !is_padded) return {name, Kind::integer, std::string(value)};
    if (std::optional<std::string> real = real_number_in(value))
      return {name, Kind::real, std::move(*real)};
    return {name, Kind::text, std::string(value)};
  }

  [[nodiscard]] std::vector<JsonMember> cells_of(std::uint64_t row, CsvRow fields) const {
    std::vector<JsonMember> cells;
    cells.reserve(wanted_.size());
    for (const Wanted& one : wanted_) cells.push_back(cell_of(one.name, fields[one.at]));
    return vector_of(row, std::move(cells));
  }

  // The same, or one array of them.
  [[nodiscard]] std::vector<JsonMember> vector_of(std::uint64_t row,
                                                  std::vector<JsonMember> cells) const {
    if (!file_.has_vector()) return cells;
    const std::size_t sides = file_.columns().size();
    std::string array;
    for (std::size_t i = 0; i < sides; ++i) {
      const bool is_number =
          cells[i].kind == JsonMember::Kind::integer || cells[i].kind == JsonMember::Kind::real;
      if (!is_number)
        throw Error(Code::bad_content, "row {} has no number as '{}', a part of the label", row,
                    printable(wanted_[i].name))
            .at(file_.path)
            .hint("write a number in every row, or leave out label= for a field of each column");
      array.append(array.empty() ? "[" : ",").append(cells[i].text);
    }
    cells.erase(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(sides));
    cells.push_back({std::string(kLabelColumn), JsonMember::Kind::nested, array + "]"});
    return cells;
  }

  void use_cells(std::uint64_t row, std::string_view key, std::span<const JsonMember> cells) {
    use_row({.number = row, .key = key, .label = "-", .cells = cells});
  }

  void use_row(LabelRow row) {
    const auto is_same = [](char a, char b) {
      return a == b || (std::min(a, b) == '/' && std::max(a, b) == '\\');
    };
    const std::string& prefix = file_.strip_prefix;
    if (!prefix.empty() && std::ranges::equal(row.key.substr(0, prefix.size()), prefix, is_same)) {
      row.key.remove_prefix(prefix.size());
      row.key.remove_prefix(std::min(row.key.find_first_not_of("/\\"), row.key.size()));
    }
    const bool is_empty = row.key.empty() || row.label.empty();
    if (is_empty || row.key.find('\0') != std::string::npos) {
      throw Error(Code::bad_content, "row {}: {}", row.number,
                  !is_empty         ? "the path contains a NUL byte"
                  : row.key.empty() ? "the path is empty"
                                    : "the label is empty")
          .at(file_.path)
          .hint("write path,label in every row, or remove the row together with its image");
    }
    use_(row);
  }

  const LabelFile& file_;
  const std::function<void(const LabelRow&)>& use_;
  // A column that is taken, and what its cells are called.
  struct Wanted {
    std::size_t at = 0;
    std::string name;
  };
  const bool with_cells_;
  const LabelScratch& scratch_;
  std::vector<Wanted> wanted_;
  bool is_by_number_ = false;
  LabelForm form_ = LabelForm::table;
  bool has_header_ = false, is_first_ = true;
  std::size_t width_ = 0;  // of the header, if there is one
  std::size_t key_ = 0, label_ = 1;
  std::uint64_t line_ = 0;                         // of JSON lines
  std::optional<std::vector<std::string>> names_;  // of the members of the last one
  LeftOutList left_out_;
};

}  // namespace

std::vector<std::string> LabelFile::columns() const {
  std::string_view names = label_column;
  if (has_vector()) names.remove_prefix(names.find('=') + 1);
  std::vector<std::string> columns;
  for (std::size_t end = 0; !names.empty() && end != std::string_view::npos;) {
    end = names.find(',');
    columns.emplace_back(trimmed(names.substr(0, end)));
    names.remove_prefix(std::min(end, names.size() - 1) + 1);
  }
  return columns;
}

LabelsRead read_label_rows(const LabelFile& file, const std::function<void(const LabelRow&)>& use,
                           bool with_cells, const LabelScratch& scratch) {
  return RowReader(file, use, with_cells, scratch).read();
}

bool become_fields(const LabelFile& file) {
  if (file.has_fields()) return true;
  const AnnotationForm form = form_of(file);
  return form != AnnotationForm::none && form != AnnotationForm::label_pairs;
}

SynsetNumbers synsets_beside(const std::string& ground_truth) {
  const std::filesystem::path folder = std::filesystem::path(ground_truth).parent_path();
  for (const char* name : {"map_clsloc.txt", "meta.mat"}) {
    const std::string path = (folder / name).string();
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const bool is_text = std::string_view(name).ends_with(".txt");
    return {path, is_text ? synsets_of_map(path) : synsets_of_devkit(path)};
  }
  throw Error(Code::bad_content,
              "has only numbers, and the file that says which classes they stand for is not "
              "beside it")
      .at(ground_truth)
      .hint("copy the devkit's meta.mat, or map_clsloc.txt, into the same folder");
}

}  // namespace shale
