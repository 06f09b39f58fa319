#include "shale/manifest/csv_chunks.hpp"

#include <algorithm>
#include <utility>

namespace shale {
namespace {

constexpr std::size_t kCsvPieceBytes = 256 * 1024;
// More than any row takes that can be parsed, with all its quotes doubled.
constexpr std::size_t kMostBytes = 4 * RowParser::kLargestRowBytes;

// Where the last row ends that does so outside quotes; 0: none. `text` begins with a row. Where a
// quote is wrong, this may be wrong behind it: but nothing behind it is used.
std::size_t end_of_rows(std::string_view text) {
  bool is_quoted = false;
  std::size_t end = 0;
  for (std::size_t begin = 0;; is_quoted = !is_quoted) {
    const std::size_t quote = std::min(text.find('"', begin), text.size());
    if (!is_quoted) {
      const std::size_t last = text.substr(begin, quote - begin).find_last_of("\r\n");
      if (last != std::string_view::npos) end = begin + last + 1;
    }
    if (quote == text.size()) return end;
    begin = quote + 1;
  }
}

}  // namespace

CsvChunks::Rows::Rows(char delimiter, std::string text) : parser(delimiter, std::move(text)) {
  try {
    parser.finish([this](CsvRow row) {
      fields.insert(fields.end(), row.begin(), row.end());
      ends.push_back(fields.size());
    });
  } catch (const BadRow& row) {
    bad = row;
  }
}

CsvChunks::CsvChunks(const std::string& path, char delimiter, unsigned threads,
                     const UseCsvRow& use)
    : path_(path),
      delimiter_(delimiter),
      use_(use),
      threads_(threads),
      here_(delimiter),
      pieces_(threads) {}

void CsvChunks::take(std::string_view text) {
  if (threads_ < 2) return parse_here(text, false);
  text_.append(text);
  if (text_.size() < kCsvPieceBytes) return;
  if (const std::size_t end = end_of_rows(text_); end > 0) {
    std::string rest = text_.substr(end);
    text_.resize(end);
    submit(std::exchange(text_, std::move(rest)));
  } else if (text_.size() > kMostBytes) {
    use_all();
    threads_ = 0;
  }
}

void CsvChunks::finish() {
  use_all();
  parse_here({}, true);
}

void CsvChunks::submit(std::string piece) {
  pieces_.submit([delimiter = delimiter_, piece = std::move(piece)](unsigned) mutable {
    return std::make_unique<Rows>(delimiter, std::move(piece));
  });
  if (pieces_.pending() > 2 * threads_) use_oldest();
}

void CsvChunks::use_oldest() {
  const std::unique_ptr<Rows> rows = pieces_.take();
  std::size_t begin = 0;
  for (const std::size_t end : rows->ends) {
    use_(++row_, CsvRow(rows->fields).subspan(begin, end - begin));
    begin = end;
  }
  if (rows->bad) throw error_of(*rows->bad);
}

void CsvChunks::use_all() {
  while (pieces_.pending() > 0) use_oldest();
  parse_here(std::exchange(text_, {}), false);
}

void CsvChunks::parse_here(std::string_view text, bool at_end) {
  const auto use = [this](CsvRow fields) { use_(++row_, fields); };
  try {
    here_.take(text, use);
    if (at_end) here_.finish(use);
  } catch (const BadRow& bad) {
    throw error_of(bad);
  }
}

Error CsvChunks::error_of(const BadRow& bad) const {
  if (!bad.is_too_large) {
    return Error(Code::bad_content, "row {} is not valid CSV", row_ + 1)
        .at(path_)
        .hint("double each quote inside a quoted field");
  }
  return Error(Code::bad_content, "row {} takes more than {} bytes of memory", row_ + 1,
               RowParser::kLargestRowBytes)
      .at(path_)
      .hint("a quote that is never closed joins all rows after it into one field");
}

}  // namespace shale
