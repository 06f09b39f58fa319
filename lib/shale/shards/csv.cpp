#include "shale/shards/csv.hpp"

#include <algorithm>
#include <utility>

#include <csv.h>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"
#include "shale/shards/naming.hpp"

namespace shale {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kNoBreakSpace = "\xC2\xA0";
constexpr std::uint64_t kChunkBytes = 256 * 1024, kLargestRowBytes = 1 << 20;

// libcsv calls back through C: the first exception waits here until csv_parse has returned.
struct RowBuilder {
  const std::function<void(std::uint64_t, const std::vector<std::string>&)>& use;
  const std::string& path;
  std::vector<std::string> fields = {};
  std::uint64_t row = 0, row_bytes = 0;
  std::exception_ptr failure = nullptr;

  void end_field(std::string_view text) {
    row_bytes += text.size() + sizeof(std::string);  // empty fields take memory, too
    limit(row_bytes);
    if (!failure) fields.emplace_back(text);
  }
  void limit(std::uint64_t bytes) {
    if (bytes <= kLargestRowBytes || failure) return;
    Error error(Code::bad_content, "row {} takes more than {} bytes of memory", row + 1,
                kLargestRowBytes);
    error.at(path).hint("a quote that is never closed joins all rows after it into one field");
    failure = std::make_exception_ptr(error);
  }
  void end_row() {
    ++row;
    row_bytes = 0;
    try {
      if (!failure) use(row, fields);
    } catch (...) {
      failure = std::current_exception();
    }
    fields.clear();
  }
};

unsigned char delimiter_of(const InputFile& file) {
  std::string line(std::min<std::uint64_t>(file.size(), 64 * 1024), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(line)));
  line.resize(std::min(line.find('\n'), line.size()));
  const bool is_tsv = line.find('\t') != std::string::npos && line.find(',') == std::string::npos;
  return is_tsv ? '\t' : ',';
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

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  for (;;) {
    const std::size_t before = text.size();
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text.remove_suffix(text.size() - (text.find_last_not_of(kBlanks) + 1));
    if (text.starts_with(kNoBreakSpace)) text.remove_prefix(kNoBreakSpace.size());
    if (text.ends_with(kNoBreakSpace)) text.remove_suffix(kNoBreakSpace.size());
    if (text.size() == before) return text;
  }
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

void read_csv(const std::string& path,
              const std::function<void(std::uint64_t, const std::vector<std::string>&)>& use) {
  const InputFile file(path);
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
    throw Error(Code::bug, "libcsv did not start");
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> freed(&parser, csv_free);
  csv_set_delim(&parser, delimiter_of(file));
  csv_set_space_func(&parser,
                     [](unsigned char) { return 0; });  // blanks around a name belong to it

  RowBuilder builder{.use = use, .path = path};
  const auto end_field = [](void* text, std::size_t length, void* data) {
    static_cast<RowBuilder*>(data)->end_field({static_cast<const char*>(text), length});
  };
  const auto end_row = [](int, void* data) { static_cast<RowBuilder*>(data)->end_row(); };
  const auto check = [&](bool parsed) {
    builder.limit(csv_get_buffer_size(&parser));
    if (builder.failure) std::rethrow_exception(builder.failure);
    if (parsed) return;
    throw Error(Code::bad_content, "row {} is not valid CSV", builder.row + 1)
        .at(path)
        .hint("double each quote inside a quoted field");
  };
  std::vector<std::byte> chunk(kChunkBytes);
  for (std::uint64_t offset = begin_of_rows(file); offset < file.size();) {
    const std::uint64_t read = file.read_some(offset, chunk);
    if (read == 0) break;
    offset += read;
    check(csv_parse(&parser, chunk.data(), read, end_field, end_row, &builder) == read);
  }
  check(csv_fini(&parser, end_field, end_row, &builder) == 0);
}

CsvList::CsvList(std::string folder, std::string name, std::vector<std::string> header)
    : folder_(std::move(folder)), name_(std::move(name)), header_(std::move(header)) {}

void CsvList::add(const std::vector<std::string>& fields) {
  if (!file_) {
    file_.emplace(
        join_path(folder_, name_),
        OutputFile::Options{.io = IoMode::buffered, .buffer_bytes = 64 * 1024, .buffers = 1});
    write_row(header_);
  }
  write_row(fields);
}

void CsvList::write_row(const std::vector<std::string>& fields) {
  std::string row, quoted;
  for (const std::string& field : fields) {
    if (!row.empty() || &field != &fields.front()) row += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      row += field;
      continue;
    }
    quoted.resize(csv_write(nullptr, 0, field.data(), field.size()));
    csv_write(quoted.data(), quoted.size(), field.data(), field.size());
    row += quoted;
  }
  row += '\n';
  file_->append(as_bytes(row));
}

std::optional<ManifestFile> CsvList::finish() {
  if (!file_) return std::nullopt;
  const FileSummary written = file_->finish();
  return ManifestFile{name_, written.bytes, written.hash};
}

}  // namespace shale
