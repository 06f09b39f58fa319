#include "shale/sources/label_list.hpp"

#include <charconv>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/shards/csv.hpp"
#include "shale/sources/class_table.hpp"

namespace shale {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// 2.0, 1e3, +5, 99999999999999999999: a number to whoever wrote it, but not an integer of 64 bits.
bool is_odd_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;
  return has_digit && error != std::errc::invalid_argument && end == text.data() + text.size();
}

bool is_header(const std::vector<std::string>& fields) {
  return fields.size() == 2 && trimmed(fields[0]) == "path" && trimmed(fields[1]) == "label";
}

// "./a/b.jpg" -> "a" NUL "b.jpg" NUL
std::string place_of(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  const std::size_t slash = path.rfind('/');
  std::string place(slash == std::string_view::npos ? "" : path.substr(0, slash));
  place.append(1, '\0')
      .append(path.substr(slash == std::string_view::npos ? 0 : slash + 1))
      .append(1, '\0');
  return place;
}

std::string path_of(std::string_view place) {
  const std::size_t folder_end = place.find('\0');
  std::string path(place.substr(0, folder_end));
  if (!path.empty()) path += '/';
  return path.append(place.substr(folder_end + 1, place.size() - folder_end - 2));
}

}  // namespace

LabelList::LabelList(const std::string& path, const std::string& scratch_folder,
                     std::uint64_t memory_bytes, std::uint64_t all_memory_bytes,
                     bool has_class_table, const std::function<void()>& stop_if_asked)
    : path_(path), rows_(scratch_folder, memory_bytes) {
  read_rows(stop_if_asked);
  are_numbers_ = odd_number_.row == 0 && name_.row == 0;
  if (are_numbers_) return;
  if (!has_class_table) refuse_mixed_labels();
  ClassAllowance allowance(all_memory_bytes, path);
  while (const std::optional<Row> row = next()) {
    stop_if_asked();
    if (names_.insert(row->text).second) allowance.take(row->text);
  }
  rows_.rewind();
  previous_.clear();
}

void LabelList::read_rows(const std::function<void()>& stop_if_asked) {
  read_csv(path_, [&](std::uint64_t row, const std::vector<std::string>& fields) {
    stop_if_asked();
    if (row == 1 && is_header(fields)) return;
    if (fields.size() != 2) {
      throw Error(Code::bad_content, "row {} has {}, expected path,label", row,
                  format_counted(fields.size(), "field", "fields"))
          .at(path_)
          .hint("quote paths and labels that contain a comma");
    }
    const std::string_view label = trimmed(fields[1]);
    const bool is_empty = fields[0].empty() || label.empty();
    if (is_empty || fields[0].find('\0') != std::string::npos) {
      throw Error(Code::bad_content, "row {}: {}", row,
                  !is_empty           ? "the path contains a NUL byte"
                  : fields[0].empty() ? "the path is empty"
                                      : "the label is empty")
          .at(path_)
          .hint("write path,label in every row, or remove the row together with its image");
    }
    if (parse_integer(label)) {
      integer_.note(row, label);
    } else if (is_odd_number(label)) {
      odd_number_.note(row, label);
    } else {
      name_.note(row, label);
    }
    rows_.add(place_of(fields[0]).append(label));
  });
  rows_.finish();
}

// Taken as names, numbers would sort bytewise, 10 before 2: no label would be what its row says.
void LabelList::refuse_mixed_labels() const {
  const FirstLabel& number = integer_.row > 0 ? integer_ : odd_number_;
  if (number.row == 0) return;
  const FirstLabel& other = odd_number_.row > 0 ? odd_number_ : name_;
  const std::string fact = &number == &other
                               ? "is a number, but not an integer of 64 bits"
                               : fmt::format("is not an integer, but row {} has the number {}",
                                             number.row, printable(number.text));
  throw Error(Code::bad_content, "row {}: label '{}' {}; labels are all integers or all names",
              other.row, printable(other.text), fact)
      .at(path_)
      .hint(
          "write integers without sign, point or exponent; if these are class names, list all "
          "of them in a file for --classes-from");
}

std::vector<std::string> LabelList::class_names() const { return {names_.begin(), names_.end()}; }

std::optional<LabelList::Row> LabelList::next() {
  const std::optional<std::string_view> entry = rows_.next();
  if (!entry) return std::nullopt;
  const std::size_t place_end = entry->find('\0', entry->find('\0') + 1) + 1;
  Row row{.place = std::string(entry->substr(0, place_end)),
          .text = std::string(entry->substr(place_end))};
  if (row.place == previous_) {
    throw Error(Code::bad_content, "path '{}' has more than one row", printable(path_of(row.place)))
        .at(path_)
        .hint("remove all but one of them");
  }
  previous_ = row.place;
  if (are_numbers_) row.number = parse_integer(row.text).value_or(0);
  return row;
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
