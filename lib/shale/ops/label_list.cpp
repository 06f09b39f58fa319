#include "shale/ops/label_list.hpp"

#include <charconv>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/ops/csv.hpp"

namespace shale {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_header(const std::vector<std::string>& fields) {
  return fields.size() == 2 && fields[0] == "path" && fields[1] == "label";
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
                     std::uint64_t memory_bytes)
    : path_(path), rows_(scratch_folder, memory_bytes) {
  read_csv(path, [&](std::uint64_t row, const std::vector<std::string>& fields) {
    if (row == 1 && is_header(fields)) return;
    if (fields.size() != 2) {
      throw Error(Code::bad_content, "row {} has {} fields, expected path,label", row,
                  fields.size())
          .at(path_)
          .hint("quote a path or a label that holds a comma");
    }
    are_numbers_ = are_numbers_ && parse_integer(fields[1]).has_value();
    rows_.add(place_of(fields[0]) + fields[1]);
  });
  rows_.finish();
  if (are_numbers_) return;
  while (const std::optional<Row> row = next()) names_.insert(row->text);
  rows_.rewind();
  previous_.clear();
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
        .hint("keep one of them");
  }
  previous_ = row.place;
  if (are_numbers_) row.number = parse_integer(row.text).value_or(0);
  return row;
}

Error LabelList::unmatched(const Row& row, const std::string& root) const {
  return Error(Code::bad_content, "path '{}' is no image below {}", printable(path_of(row.place)),
               printable(root))
      .at(path_)
      .hint("paths count from the folder that is converted; remove the row if the image is gone");
}

}  // namespace shale
