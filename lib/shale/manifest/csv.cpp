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
#include "shale/io/machine_limits.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/csv_chunks.hpp"
#include "shale/manifest/text_decoder.hpp"

namespace shale {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uint64_t kChunkBytes = 256 * 1024;
// A file of less is read before threads have begun, and more do not help: one thread uses the rows.
constexpr std::uint64_t kLeastToShare = 1 << 20, kMostThreads = 4;

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

std::size_t marks_outside_quotes(std::string_view line, char mark) {
  bool is_quoted = false;
  std::size_t marks = 0;
  for (const char byte : line) {
    is_quoted = is_quoted != (byte == '"');
    marks += byte == mark && !is_quoted ? 1 : 0;
  }
  return marks;
}

char delimiter_of(const InputFile& file, bool may_use_blanks) {
  const std::vector<std::string> lines = first_lines(file);
  const std::string& line = lines.empty() ? std::string() : lines.front();
  const auto are_alike = [&](const auto& count) {
    return std::ranges::all_of(lines,
                               [&](const std::string& one) { return count(one) == count(line); });
  };
  // Where not all lines have as many commas, they are in names, and what all have as many of
  // divides.
  const auto outside_quotes = [](char mark) {
    return [mark](std::string_view one) { return marks_outside_quotes(one, mark); };
  };
  const auto divides_all = [&](char mark) {
    return marks_outside_quotes(line, mark) > 0 && are_alike(outside_quotes(mark));
  };
  // Where the point is a comma, semicolons divide.
  const auto is_digit = [&](std::size_t at) {
    return at < line.size() && line[at] >= '0' && line[at] <= '9';
  };
  bool divides = false;
  for (std::size_t at = line.find(','); at != std::string::npos; at = line.find(',', at + 1))
    divides = divides || at == 0 || !is_digit(at - 1) || !is_digit(at + 1);
  for (const char mark : {';', '\t', '|'}) {
    if ((!divides || !divides_all(',')) && divides_all(mark)) return mark;
  }
  if (!divides && line.find(';') != std::string::npos) return ';';
  if (!divides && line.find('\t') != std::string::npos) return '\t';
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

void read_csv(const std::string& path, const UseCsvRow& use, const CsvReading& reading) {
  const InputFile file(path);
  const bool is_shared = file.size() >= kLeastToShare;
  const std::uint64_t threads = is_shared ? std::min(usable_cpus().value, kMostThreads) : 1;
  CsvChunks rows(path, delimiter_of(file, reading.may_use_blanks),
                 reading.threads.value_or(static_cast<unsigned>(threads)), use);
  TextDecoder decoder(file);
  std::string chunk(kChunkBytes, '\0');
  for (std::uint64_t offset = decoder.begin(); offset < file.size();) {
    const std::uint64_t read = file.read_some(offset, std::as_writable_bytes(std::span(chunk)));
    if (read == 0) break;
    offset += read;
    std::string_view text;
    try {
      text = decoder.decode(std::string_view(chunk).substr(0, read));
    } catch (const Error&) {
      rows.use_all();  // what is wrong in them comes before
      throw;
    }
    rows.take(text);
  }
  rows.use_all();
  decoder.finish();
  rows.finish();
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
