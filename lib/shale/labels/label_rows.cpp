#include "shale/labels/label_rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>

#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/input_file.hpp"
#include "shale/labels/synset_table.hpp"
#include "shale/labels/text_lines.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/json_lines.hpp"

namespace shale {
namespace {

// 2.0, 1e3, +5, 99999999999999999999: a number to whoever wrote it, but not an integer of 64 bits.
bool is_odd_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;
  return has_digit && error != std::errc::invalid_argument && end == text.data() + text.size();
}

// Digits alone, behind a sign or not.
bool is_long_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

constexpr std::size_t kMostComparedLabels = 16'384;

constexpr std::array<std::string_view, 3> kKeyColumns = {"path", "file_name", "filename"};
constexpr std::string_view kLabelColumn = "label", kKaggleKey = "ImageId",
                           kKaggleLabel = "PredictionString";

bool is_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool begins_like_zip(const std::string& path) {
  constexpr std::string_view kMagic = "PK\x03\x04";
  const InputFile file(path);
  std::string head(std::min<std::uint64_t>(file.size(), kMagic.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  return head == kMagic;
}

using Names = std::vector<std::string>;

std::vector<std::size_t> positions_of(const Names& names, std::string_view wanted) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (trimmed(names[i]) == wanted) found.push_back(i);
  }
  return found;
}

// The rows of one file, while it is read.
class RowReader {
 public:
  RowReader(const LabelFile& file, const std::function<void(const LabelRow&)>& use)
      : file_(file), use_(use) {}

  LabelsRead read() {
    if (has_json_lines_suffix(file_.path) || begins_like_json(file_.path)) {
      read_json_lines(file_.path, [this](std::uint64_t line, const std::vector<JsonMember>& all) {
        use_members(line, all);
      });
    } else {
      read_csv(
          file_.path, [this](std::uint64_t row, const Names& fields) { use_fields(row, fields); },
          true);
    }
    return {form_, std::move(left_out_)};
  }

 private:
  [[nodiscard]] bool names_columns() const {
    return !file_.key_column.empty() || !file_.label_column.empty();
  }

  void use_fields(std::uint64_t row, const Names& fields) {
    if (row == 1 && take_header(fields)) return;
    if (form_ == LabelForm::ground_truth) return use_number(row, fields);
    const bool has_all = has_header_ ? std::max(key_, label_) < fields.size() : fields.size() == 2;
    if (!has_all) {
      const std::string found = format_counted(fields.size(), "field", "fields");
      throw Error(
          Code::bad_content, "row {} has {}, expected {}", row, found,
          has_header_ ? fmt::format("at least {}", std::max(key_, label_) + 1) : "path,label")
          .at(file_.path)
          .hint(fields.size() == 1 ? "write a comma, a tab or a semicolon between path and label"
                : row == 1
                    ? "if row 1 is a header, pass --key-column and --label-column with the "
                      "names of its columns; else quote paths and labels that contain a comma"
                    : "quote paths and labels that contain a comma");
    }
    std::string_view label = trimmed(fields[label_]);
    if (form_ == LabelForm::kaggle) label = label.substr(0, label.find(' '));
    use_row({row, fields[key_], label, row == 1});
  }

  // False if it is a row like the others.
  bool take_header(const Names& fields) {
    if (names_columns()) {
      label_ = column(fields, file_.label_column, {&kLabelColumn, 1}, "label");
      key_ = column(fields, file_.key_column, kKeyColumns, "key");
      leave_out_others(fields);
      return has_header_ = true;
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
    // A table that says itself which column is which.
    const auto labels = positions_of(fields, kLabelColumn);
    std::vector<std::size_t> keys;
    for (const std::string_view name : kKeyColumns) {
      for (const std::size_t at : positions_of(fields, name)) keys.push_back(at);
    }
    if (labels.empty() || keys.empty()) return false;
    label_ = column(fields, "", {&kLabelColumn, 1}, "label");
    key_ = column(fields, "", kKeyColumns, "key");
    leave_out_others(fields);
    return has_header_ = true;
  }

  // Whoever names the label has said what he wants of the file.
  void leave_out_others(const Names& names) {
    if (!file_.label_column.empty()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = trimmed(names[i]);
      if (i == key_ || i == label_ || name.empty()) continue;
      left_out_.add({.kind = "column", .name = std::string(name), .reason = "not_a_label"});
    }
  }

  // The position of the column `asked`, or of the only one with a usual name.
  [[nodiscard]] std::size_t column(const Names& header, const std::string& asked,
                                   std::span<const std::string_view> usual,
                                   std::string_view what) const {
    std::vector<std::size_t> found;
    if (!asked.empty()) {
      found = positions_of(header, asked);
    } else {
      for (const std::string_view name : usual) {
        for (const std::size_t at : positions_of(header, name)) found.push_back(at);
      }
    }
    if (found.size() == 1) return found.front();
    throw no_column(asked, what, found.size(), header);
  }

  [[nodiscard]] Error no_column(const std::string& asked, std::string_view what, std::size_t found,
                                const Names& names) const {
    std::string shown;
    for (const std::string& name : names)
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
                  : fmt::format("pass --{}-column with the name of one column", what));
  }

  void use_members(std::uint64_t line, const std::vector<JsonMember>& members) {
    Names names;
    for (const JsonMember& member : members) names.push_back(member.name);
    line_ = line;
    // Most lines have the members of the one before.
    if (names_ != names) {
      label_ = column(names, file_.label_column, {&kLabelColumn, 1}, "label");
      key_ = column(names, file_.key_column, kKeyColumns, "key");
      leave_out_others(names);
      names_ = std::move(names);
    }
    const JsonMember &label = members[label_], &key = members[key_];
    using Kind = JsonMember::Kind;
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

  void use_number(std::uint64_t row, const Names& fields) {
    const std::string_view number = trimmed(fields.front());
    if (fields.size() != 1 || !is_integer(number)) {
      throw Error(Code::bad_content, "row {} is not one integer, as the rows before are", row)
          .at(file_.path)
          .hint(
              "ground truth has the number of a class in each line; labels by name are path,label");
    }
    use_({row, {}, number});
  }

  void use_row(const LabelRow& row) {
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
  LabelForm form_ = LabelForm::table;
  bool has_header_ = false;
  std::size_t key_ = 0, label_ = 1;
  std::uint64_t line_ = 0;      // of JSON lines
  std::optional<Names> names_;  // of the members of the last one
  LeftOutList left_out_;
};

}  // namespace

std::optional<std::int64_t> parse_integer_label(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_name_label(std::string_view text) {
  return !parse_integer_label(text) && !is_odd_number(text);
}

void LabelKinds::note(std::uint64_t row, std::string_view label) {
  First& first = parse_integer_label(label) ? integer_ : is_odd_number(label) ? odd_number_ : name_;
  if (first.row == 0) first = {row, std::string(label)};
  if (&first != &integer_) return;
  if (padded_.row == 0 && label.size() > 1 && label.starts_with('0'))
    padded_ = {row, std::string(label)};
  const std::int64_t number = *parse_integer_label(label);
  const auto form = forms_.find(number);
  if (form == forms_.end()) {
    if (forms_.size() < kMostComparedLabels) forms_[number] = {row, std::string(label)};
  } else if (two_forms_.row == 0 && form->second.text != label) {
    one_form_ = form->second;
    two_forms_ = {row, std::string(label)};
  }
}

void LabelKinds::refuse_two_forms(const std::string& path, std::string_view row) const {
  if (two_forms_.row == 0) return;
  throw Error(Code::bad_content,
              "{} {}: label '{}' is the same integer as '{}' in {} {}: both would be one label",
              row, two_forms_.row, two_forms_.text, one_form_.text, row, one_form_.row)
      .at(path)
      .hint(
          "write each label in one way; if they are class names, list all of them in a file for "
          "--classes-from");
}

std::string LabelKinds::note_on_zeros(const std::string& path) const {
  if (padded_.row == 0 || !are_numbers()) return {};
  return fmt::format(
      "labels in {} have zeros in front, '{}': they are integers, without them; list them in a "
      "file "
      "for --classes-from to take them as class names",
      printable(path), padded_.text);
}

void LabelKinds::refuse_mixed(const std::string& path, std::string_view row,
                              std::string hint) const {
  const First& number = integer_.row > 0 ? integer_ : odd_number_;
  if (number.row == 0 || are_numbers()) return;
  const First& other = odd_number_.row > 0 ? odd_number_ : name_;
  constexpr std::string_view kNames =
      "if these are class names, list all of them in a file for --classes-from";
  if (is_long_integer(other.text)) {
    throw Error(Code::bad_content, "{} {}: label '{}' does not fit into an integer of 64 bits", row,
                other.row, printable(other.text))
        .at(path)
        .hint(kNames);
  }
  const std::string fact = &number == &other
                               ? "is a number, but not an integer of 64 bits"
                               : fmt::format("is not an integer, but {} {} has the number {}", row,
                                             number.row, printable(number.text));
  if (hint.empty())
    hint = fmt::format("write integers without plus sign, point or exponent; {}", kNames);
  throw Error(Code::bad_content, "{} {}: label '{}' {}; labels are all integers or all names", row,
              other.row, printable(other.text), fact)
      .at(path)
      .hint(hint);
}

LabelsRead read_label_rows(const LabelFile& file, const std::function<void(const LabelRow&)>& use) {
  if (begins_like_zip(file.path)) {
    throw Error(Code::bad_content, "is an Excel workbook or another ZIP archive, not a table")
        .at(file.path)
        .hint("save its sheet as 'CSV UTF-8', and pass that");
  }
  return RowReader(file, use).read();
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
