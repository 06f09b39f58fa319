#include "shale/manifest/csv.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <span>
#include <tuple>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/text_decoder.hpp"

namespace shale {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uint64_t kChunkBytes = 256 * 1024, kLargestRowBytes = 1 << 20, kFieldBytes = 32;

// Bytes in, rows out: quotes as RFC 4180 has them, nothing else. CR, LF and both end a row; lines
// without a byte are skipped. A row waits in the buffer until it is whole; its fields lie there.
class RowParser {
 public:
  RowParser(const std::string& path, char delimiter, const UseCsvRow& use)
      : path_(path), delimiter_(delimiter), use_(use) {
    constexpr std::size_t kSpecial = std::tuple_size_v<decltype(special_)>;
    const std::array<char, kSpecial> special = {delimiter, '"', '\r', '\n'};
    for (std::size_t i = 0; i < kSpecial; ++i)
      std::memset(&special_[i], special[i], sizeof(Lanes));  // NOLINT
  }

  void take(std::string_view bytes) {
    buffer_.append(bytes);
    use_rows(false);
  }
  void finish() { use_rows(true); }

 private:
  typedef signed char Lanes __attribute__((vector_size(16)));  // NOLINT(modernize-use-using)

  void use_rows(bool at_end) {
    std::size_t begin = begin_of_row(0);
    for (std::size_t end = 0; (end = end_of_row(begin, at_end)) > 0; begin = begin_of_row(end)) {
      for (const std::size_t field : escaped_) fields_[field] = without_escapes(fields_[field]);
      use_(++row_, fields_);
    }
    buffer_.erase(0, begin);
  }

  [[nodiscard]] char at(std::size_t place) const { return buffer_[place]; }
  [[nodiscard]] bool ends_row(std::size_t place) const {
    return at(place) == '\n' || at(place) == '\r';
  }
  // Of blanks several divide like one, and those before and behind a row do not.
  [[nodiscard]] std::size_t behind_blanks(std::size_t place) const {
    if (delimiter_ != ' ') return place;
    return std::min(buffer_.find_first_not_of(' ', place), buffer_.size());
  }
  [[nodiscard]] std::size_t begin_of_row(std::size_t place) const {
    for (place = behind_blanks(place); place < buffer_.size() && ends_row(place);
         place = behind_blanks(place + 1)) {
    }
    return place;
  }

  // Finds the fields of the row that begins there. 0: it has no end yet.
  std::size_t end_of_row(std::size_t place, bool at_end) {
    fields_.clear();
    escaped_.clear();
    row_bytes_ = 0;
    if (place == buffer_.size()) return 0;
    for (;; place = behind_blanks(place + 1)) {
      if (place == buffer_.size() || ends_row(place)) {
        if (delimiter_ != ' ') add_field({});  // behind a delimiter there is a field
        break;
      }
      place = at(place) == '"' ? end_of_quoted(place + 1, at_end) : end_of_plain(place, at_end);
      if (place == kNowhere) return 0;
      if (place == buffer_.size() || ends_row(place)) break;
    }
    return place < buffer_.size() || at_end ? place : 0;
  }

  std::size_t end_of_plain(std::size_t begin, bool at_end) {
    const std::size_t end = next_special(begin);
    limit(end - begin);
    if (end == buffer_.size() && !at_end) return kNowhere;
    if (end < buffer_.size() && at(end) == '"') refuse();
    add_field(std::string_view(buffer_).substr(begin, end - begin));
    return end;
  }

  std::size_t end_of_quoted(std::size_t begin, bool at_end) {
    std::size_t escapes = 0, end = begin;
    for (;; end += 2, ++escapes) {
      end = std::min(buffer_.find('"', end), buffer_.size());
      limit(end - begin - escapes);
      if (end == buffer_.size() && at_end) refuse();
      if (end + 1 >= buffer_.size() && !at_end) return kNowhere;
      if (end + 1 == buffer_.size() || at(end + 1) != '"') break;
    }
    if (escapes > 0) escaped_.push_back(fields_.size());
    row_bytes_ -= escapes;
    add_field(std::string_view(buffer_).substr(begin, end - begin));
    ++end;
    if (end < buffer_.size() && at(end) != delimiter_ && !ends_row(end)) refuse();
    return end;
  }

  // The next byte that is a delimiter, a quote, or the end of a line.
  [[nodiscard]] std::size_t next_special(std::size_t place) const {
    for (; place + sizeof(Lanes) <= buffer_.size(); place += sizeof(Lanes)) {
      Lanes bytes;
      std::memcpy(&bytes, buffer_.data() + place, sizeof bytes);
      const Lanes found = (bytes == special_[0]) | (bytes == special_[1]) | (bytes == special_[2]) |
                          (bytes == special_[3]);
      const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(found);
      if (halves[0] != 0) return place + static_cast<std::size_t>(std::countr_zero(halves[0])) / 8;
      if (halves[1] != 0)
        return place + 8 + static_cast<std::size_t>(std::countr_zero(halves[1])) / 8;
    }
    const char special[] = {delimiter_, '"', '\r', '\n'};
    return std::min(buffer_.find_first_of(special, place, sizeof special), buffer_.size());
  }

  // In place: the row is whole, and nobody reads it again.
  std::string_view without_escapes(std::string_view field) {
    char* const begin = buffer_.data() + (field.data() - buffer_.data());
    char* end = begin;
    for (std::size_t i = 0; i < field.size(); ++i) {
      *end++ = field[i];
      if (field[i] == '"') ++i;
    }
    return {begin, end};
  }

  void add_field(std::string_view field) {
    fields_.push_back(field);
    row_bytes_ += kFieldBytes + field.size();  // empty fields take memory, too
    limit(0);
  }
  void limit(std::size_t more) const {
    if (row_bytes_ + more <= kLargestRowBytes) return;
    throw Error(Code::bad_content, "row {} takes more than {} bytes of memory", row_ + 1,
                kLargestRowBytes)
        .at(path_)
        .hint("a quote that is never closed joins all rows after it into one field");
  }
  [[noreturn]] void refuse() const {
    throw Error(Code::bad_content, "row {} is not valid CSV", row_ + 1)
        .at(path_)
        .hint("double each quote inside a quoted field");
  }

  static constexpr std::size_t kNowhere = std::string::npos;
  const std::string& path_;
  const char delimiter_;
  const UseCsvRow& use_;
  std::array<Lanes, 4> special_;
  std::string buffer_;
  std::vector<std::string_view> fields_;  // of this row
  std::vector<std::size_t> escaped_;      // those that have doubled quotes
  std::uint64_t row_ = 0, row_bytes_ = 0;
};

// The first lines, which tell what divides fields.
std::vector<std::string> first_lines(const InputFile& file) {
  constexpr std::uint64_t kHeadBytes = 64 * 1024;
  constexpr std::size_t kMost = 16;
  TextDecoder decoder(file);
  std::string head(std::min(kHeadBytes, file.size() - decoder.begin()), '\0');
  file.read_exact(decoder.begin(), std::as_writable_bytes(std::span(head)));
  const std::string_view text = decoder.decode(head);
  const bool is_whole = decoder.begin() + head.size() == file.size();
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size() && lines.size() < kMost;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos && !is_whole && !lines.empty()) break;
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    if (!line.empty() || lines.empty()) lines.emplace_back(line);
    begin = std::min(end, text.size() - 1) + 1;
  }
  return lines;
}

std::size_t words_in_line(std::string_view line) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < line.size(); ++i)
    words += line[i] != ' ' && (i == 0 || line[i - 1] == ' ') ? 1 : 0;
  return words;
}

char delimiter_of(const InputFile& file, bool may_use_blanks) {
  const std::vector<std::string> lines = first_lines(file);
  const std::string& line = lines.empty() ? std::string() : lines.front();
  // Where the point is a comma, semicolons divide.
  const auto is_digit = [&](std::size_t at) {
    return at < line.size() && line[at] >= '0' && line[at] <= '9';
  };
  bool divides = false;
  for (std::size_t at = line.find(','); at != std::string::npos; at = line.find(',', at + 1))
    divides = divides || at == 0 || !is_digit(at - 1) || !is_digit(at + 1);
  if (!divides && line.find(';') != std::string::npos) return ';';
  if (!divides && line.find('\t') != std::string::npos) return '\t';
  // What could be in a name or a label divides if it does so in all lines.
  const auto are_alike = [&](const auto& count) {
    return std::ranges::all_of(lines,
                               [&](const std::string& one) { return count(one) == count(line); });
  };
  const auto bars = [](std::string_view one) { return std::ranges::count(one, '|'); };
  if (!divides && bars(line) > 0 && are_alike(bars)) return '|';
  if (line.find(',') != std::string::npos) return ',';
  const std::size_t words = words_in_line(line);
  const bool has_blanks = words == 2 || (words > 2 && lines.size() > 1 && are_alike(words_in_line));
  return may_use_blanks && has_blanks ? ' ' : ',';
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

void read_csv(const std::string& path, const UseCsvRow& use, bool may_use_blanks) {
  const InputFile file(path);
  RowParser parser(path, delimiter_of(file, may_use_blanks), use);
  TextDecoder decoder(file);
  std::string chunk(kChunkBytes, '\0');
  for (std::uint64_t offset = decoder.begin(); offset < file.size();) {
    const std::uint64_t read = file.read_some(offset, std::as_writable_bytes(std::span(chunk)));
    if (read == 0) break;
    offset += read;
    parser.take(decoder.decode(std::string_view(chunk).substr(0, read)));
  }
  decoder.finish();
  parser.finish();
}

void require_rows(const std::string& path, const DurableRows& rows) {
  const auto lost = [&](std::string_view what) {
    return Error(Code::damaged, "{} since the run that wrote it was stopped", what)
        .at(path)
        .hint("pass --overwrite to discard that run and start again");
  };
  if (rows.bytes == 0) return;
  if (!stands(path)) throw lost("has gone");
  const InputFile file(path);
  if (file.size() < rows.bytes) throw lost("has lost rows");
  Hasher128 hasher;
  std::vector<std::byte> chunk(kChunkBytes);
  for (std::uint64_t offset = 0; offset < rows.bytes; offset += chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(kChunkBytes, rows.bytes - offset));
    file.read_exact(offset, chunk);
    hasher.update(chunk);
  }
  if (hasher.digest() != rows.hash) throw lost("has changed");
}

CsvList::CsvList(std::string folder, std::string name, std::vector<std::string> header)
    : folder_(std::move(folder)), name_(std::move(name)), header_(std::move(header)) {}

void CsvList::create(const std::string& name) {
  file_.emplace(
      join_path(folder_, name),
      OutputFile::Options{.io = IoMode::buffered, .buffer_bytes = 64 * 1024, .buffers = 1});
}

// Into a copy that takes the name when it is durable: a kill loses nothing of what was there.
void CsvList::resume(std::uint64_t bytes) {
  const std::string path = join_path(folder_, name_), copy = name_ + ".part";
  if (bytes == 0) {
    std::error_code error;
    std::filesystem::remove(path, error);
    return;
  }
  create(copy);
  const InputFile left(path);
  std::vector<std::byte> chunk(kChunkBytes);
  for (std::uint64_t offset = 0; offset < bytes; offset += chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(kChunkBytes, bytes - offset));
    left.read_exact(offset, chunk);
    hasher_.update(chunk);
    file_->append(chunk);
  }
  (void)sync();
  rename_file(join_path(folder_, copy), path);
}

void CsvList::add(const std::vector<std::string>& fields) {
  if (!file_) {
    create(name_);
    write_row(header_);
  }
  write_row(fields);
}

DurableRows CsvList::sync() {
  const DurableRows rows = flush();
  if (file_ && rows.bytes != durable_bytes_) durable_bytes_ = file_->sync();
  return rows;
}

DurableRows CsvList::flush() {
  if (file_ && file_->size() != written_.bytes) {
    written_.bytes = file_->flush();
    written_.hash = hasher_.digest();
  }
  return written_;
}

void CsvList::write_row(const std::vector<std::string>& fields) {
  std::string row;
  for (const std::string& field : fields) {
    if (!row.empty() || &field != &fields.front()) row += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      row += field;
      continue;
    }
    row += '"';
    for (const char byte : field) row.append(byte == '"' ? 2 : 1, byte);
    row += '"';
  }
  row += '\n';
  hasher_.update(as_bytes(row));
  file_->append(as_bytes(row));
}

std::optional<ManifestFile> CsvList::finish() {
  if (!file_) return std::nullopt;
  const FileSummary written = file_->finish();
  return ManifestFile{name_, written.bytes, written.hash};
}

}  // namespace shale
