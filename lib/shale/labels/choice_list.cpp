#include "shale/labels/choice_list.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::pair<std::string_view, KeyForm> kKeyForms[] = {{"auto", KeyForm::automatic},
                                                              {"escaped", KeyForm::escaped},
                                                              {"raw", KeyForm::raw},
                                                              {"nul", KeyForm::nul},
                                                              {"rows", KeyForm::rows}};
constexpr std::string_view kKeyColumn = "key", kRowColumn = "row",
                           kHeldByLine = "one key or row number";
// Of `shale ls --tsv`: row, key, label, class, bytes.
constexpr std::size_t kListedColumns = 5, kListedRow = 0, kListedKey = 1;

std::vector<std::string_view> pieces_of(std::string_view line, char delimiter) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = std::min(line.find(delimiter), line.size());
    pieces.push_back(line.substr(0, end));
    if (end == line.size()) return pieces;
    line.remove_prefix(end + 1);
  }
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_listed_row(const std::vector<std::string_view>& pieces) {
  return pieces.size() == kListedColumns && plain_number(pieces[0]) && is_integer_text(pieces[2]) &&
         plain_number(pieces[4]);
}

// The position of a column in the first row of a table.
std::optional<std::size_t> column_in(std::string_view header, std::string_view name) {
  const bool has_tabs =
      header.find('\t') != std::string_view::npos && header.find(',') == std::string_view::npos;
  const std::vector<std::string_view> names = pieces_of(header, has_tabs ? '\t' : ',');
  const auto found = std::ranges::find_if(names, [&](std::string_view piece) {
    piece = trimmed(piece);
    if (piece.size() > 1 && piece.starts_with('"') && piece.ends_with('"'))
      piece = piece.substr(1, piece.size() - 2);
    return piece == name;
  });
  if (names.size() < 2 || found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// What -print0 writes.
char ending_of(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> head(std::min<std::uint64_t>(file.size(), 64 * 1024));
  file.read_exact(0, head);
  return std::ranges::find(head, std::byte{0}) == head.end() ? '\n' : '\0';
}

}  // namespace

std::optional<KeyForm> key_form_of(std::string_view word) {
  const auto found =
      std::ranges::find(kKeyForms, word, [](const auto& form) { return form.first; });
  return found == std::end(kKeyForms) ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint64_t> plain_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_plain = error == std::errc() && end == text.data() + text.size() &&
                        (text == "0" || !text.starts_with('0'));
  return is_plain ? std::optional(number) : std::nullopt;
}

ChoiceList::ChoiceList(const std::string& name, KeyForm form, bool has_keys, ListCopies& copies)
    : path_(copies.path_of(name)),
      form_(form),
      ending_(form == KeyForm::nul         ? '\0'
              : form == KeyForm::automatic ? ending_of(path_)
                                           : '\n'),
      lines_(name, kHeldByLine, copies, ending_) {
  if (ending_ == '\0') form_ = KeyForm::raw;
  are_rows_ = form_ == KeyForm::rows;
  if (ending_ == '\n') look_at_lines(has_keys);
}

void ChoiceList::look_at_lines(bool has_keys) {
  bool are_numbers = true, is_first = true;
  lines_.for_each([&](std::uint64_t line, std::string_view text) {
    if (std::exchange(is_first, false)) {
      if (text == kKeyColumn || text == kRowColumn) {
        header_line_ = line;
        are_rows_ = are_rows_ || text == kRowColumn;
        return false;
      }
      if (take_header(text)) return false;
      if (is_listed_row(pieces_of(text, '\t'))) {
        shape_ = Shape::listing;
        are_rows_ = are_rows_ || !has_keys;
        column_ = are_rows_ ? kListedRow : kListedKey;
        if (form_ == KeyForm::automatic) form_ = KeyForm::escaped;
        return false;
      }
    }
    are_numbers = are_numbers && plain_number(text);
    return are_numbers;
  });
  if (form_ != KeyForm::automatic || header_line_ > 0 || is_table()) return;
  are_rows_ = are_numbers;
  may_be_keys_ = are_numbers && has_keys && !is_first;
}

// Keys of a table are raw bytes, unless somebody says otherwise.
bool ChoiceList::take_header(std::string_view line) {
  std::optional<std::size_t> column;
  if (!are_rows_) column = column_in(line, kKeyColumn);
  if (!column && (column = column_in(line, kRowColumn))) are_rows_ = true;
  if (!column) return false;
  shape_ = Shape::csv;
  column_ = *column;
  if (form_ == KeyForm::automatic) form_ = KeyForm::raw;
  return true;
}

void ChoiceList::for_each(
    const std::function<void(std::uint64_t place, std::string_view text)>& use) const {
  if (shape_ == Shape::csv) {
    return read_csv(path_, [&](std::uint64_t row, CsvRow fields) {
      if (row == 1) return;
      if (fields.size() > column_) return use(row, fields[column_]);
      throw Error(Code::bad_content,
                  "row {} has {} fields, but row 1 has a name "
                  "for number {}",
                  row, fields.size(), column_ + 1)
          .at(name())
          .hint("write the list again");
    });
  }
  lines_.for_each([&](std::uint64_t line, std::string_view text) {
    if (line == header_line_) return true;
    if (shape_ == Shape::lines) {
      use(line, text);
      return true;
    }
    const std::vector<std::string_view> pieces = pieces_of(text, '\t');
    if (!is_listed_row(pieces)) {
      throw Error(Code::bad_content, "line {} is not a line of 'shale ls --tsv', as line 1 is",
                  line)
          .at(name())
          .hint("leave out lines, not columns; or list the keys alone, one per line");
    }
    use(line, pieces[column_]);
    return true;
  });
}

std::string ChoiceList::text_of(std::uint64_t place) const {
  std::string found;
  for_each([&](std::uint64_t at, std::string_view text) {
    if (at == place) found = text;
  });
  return found;
}

}  // namespace shale
