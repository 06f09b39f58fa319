#include "shale/manifest/csv.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uint64_t kChunkBytes = 256 * 1024, kLargestRowBytes = 1 << 20;

// Bytes in, rows out: quotes as RFC 4180 has them, nothing else. CR, LF and both end a row; lines
// without a byte are skipped.
class RowParser {
 public:
  using Use = std::function<void(std::uint64_t, const std::vector<std::string>&)>;
  RowParser(const std::string& path, char delimiter, const Use& use)
      : path_(path), delimiter_(delimiter), use_(use) {}

  void take(std::string_view bytes) {
    for (const char byte : bytes) take(byte);
  }
  void finish() {
    if (state_ == State::quoted) refuse();
    if (state_ != State::row_begin) end_row();
  }

 private:
  enum class State { row_begin, field_begin, plain, quoted, quote_in_quoted };

  void take(char byte) {
    const bool ends_row = byte == '\n' || byte == '\r';
    switch (state_) {
      case State::quoted:
        if (byte == '"') {
          state_ = State::quote_in_quoted;
        } else {
          append(byte);
        }
        return;
      case State::quote_in_quoted:
        if (byte == '"') return append(byte, State::quoted);
        if (byte != delimiter_ && !ends_row) refuse();
        break;
      case State::plain:
        if (byte == '"') refuse();
        break;
      case State::row_begin:
        if (ends_row) return;
        [[fallthrough]];
      case State::field_begin:
        if (byte == '"') {
          state_ = State::quoted;
          return;
        }
        break;
    }
    if (ends_row) return end_row();
    if (byte == delimiter_) return end_field();
    append(byte, State::plain);
  }
  void append(char byte) {
    field_ += byte;
    limit();
  }
  void append(char byte, State next) {
    append(byte);
    state_ = next;
  }
  void end_field() {
    row_bytes_ += sizeof(std::string) + field_.size();  // empty fields take memory, too
    fields_.push_back(std::exchange(field_, {}));
    limit();
    state_ = State::field_begin;
  }
  void end_row() {
    end_field();
    ++row_;
    use_(row_, fields_);
    fields_.clear();
    row_bytes_ = 0;
    state_ = State::row_begin;
  }
  void limit() const {
    if (row_bytes_ + field_.size() <= kLargestRowBytes) return;
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

  const std::string& path_;
  const char delimiter_;
  const Use& use_;
  State state_ = State::row_begin;
  std::string field_;
  std::vector<std::string> fields_;
  std::uint64_t row_ = 0, row_bytes_ = 0;
};

char delimiter_of(const InputFile& file, bool may_use_blanks) {
  std::string line(std::min<std::uint64_t>(file.size(), 64 * 1024), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(line)));
  line.resize(std::min(line.find('\n'), line.size()));
  // Where the point is a comma, semicolons divide.
  const auto is_digit = [&](std::size_t at) {
    return at < line.size() && line[at] >= '0' && line[at] <= '9';
  };
  bool divides = false;
  for (std::size_t at = line.find(','); at != std::string::npos; at = line.find(',', at + 1))
    divides = divides || at == 0 || !is_digit(at - 1) || !is_digit(at + 1);
  if (!divides && line.find(';') != std::string::npos) return ';';
  if (line.find(',') != std::string::npos) return ',';
  if (line.find('\t') != std::string::npos) return '\t';
  return may_use_blanks && std::ranges::count(trimmed(line), ' ') == 1 ? ' ' : ',';
}

// Where the rows begin: behind the byte order mark that spreadsheets write.
std::uint64_t begin_of_rows(const InputFile& file) {
  std::string head(std::min<std::uint64_t>(file.size(), kByteOrderMark.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    throw Error(Code::bad_content, "is UTF-16, expected UTF-8")
        .at(file.path())
        .hint("save it as 'CSV UTF-8', or convert it with iconv -f UTF-16 -t UTF-8");
  }
  return head.size() - without_byte_order_mark(head).size();
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

void read_csv(const std::string& path,
              const std::function<void(std::uint64_t, const std::vector<std::string>&)>& use,
              bool may_use_blanks) {
  const InputFile file(path);
  RowParser parser(path, delimiter_of(file, may_use_blanks), use);
  std::string chunk(kChunkBytes, '\0');
  for (std::uint64_t offset = begin_of_rows(file); offset < file.size();) {
    const std::uint64_t read = file.read_some(offset, std::as_writable_bytes(std::span(chunk)));
    if (read == 0) break;
    offset += read;
    parser.take(std::string_view(chunk).substr(0, read));
  }
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
