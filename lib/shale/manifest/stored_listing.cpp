#include "shale/manifest/stored_listing.hpp"

#include <algorithm>
#include <cstring>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/field_type.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"

// A listing, little-endian; a string is u32 length, bytes:
//
//   +0   16 bytes  "shale listing 1\n"
//   +16  head      u32 facts, as many pairs of strings; string kind; u32 classes, strings; u32
//                  notes, strings; i64 modified_ns; if there is more: string pairs, u8 1 if files
//                  have labels; and more: string image folders; and more: u32 strings, name and
//                  type of each field of metadata; u32 strings, each file of metadata and its
//                  stamp; u8 1 if the labels are from there; and more: u32 strings, kind, name and
//                  reason of what is left out; u64 how much more of it there is; and more: string
//                  arrays in the files
//        files     strings: u64 bytes, i64 modified_ns, i64 label, path; if there is more: NUL, u64
//                  offset; and more: u8 1 if it has a label, plus 2 if a string follows, its row
//                  of metadata; its partners, to the end
//        partner   u16 0 if there is none, else 1 and the length of its suffix; that, u64 bytes,
//        i64
//                  modified_ns, u64 offset
//        ignored   strings: entry, NUL, reason
//   -56  trailer   u64 bytes of the head, u64 files, u64 bytes of them, u64 ignored entries, u64
//                  bytes of them, xxh3-128 of all bytes before it

namespace shale {
namespace {

constexpr std::string_view kMagic = "shale listing 1\n", kMagicOfAny = "shale listing ";
constexpr std::uint64_t kListingTrailerBytes = 56, kHashBytes = 16;
constexpr std::uint8_t kHasRow = 2;
constexpr std::uint64_t kMostEntryBytes = 1 << 20, kListingBufferBytes = 256 * 1024;

Error damaged_listing(const std::string& path, std::string_view fact) {
  return Error(Code::damaged, "the listing of the input {}", fact)
      .at(path)
      .hint("make it again; of an unfinished run: pass --overwrite to start again");
}

// Not one that leads out of the folder, whoever wrote the list.
bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos)
    return false;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part == "..") return false;
    path.remove_prefix(std::min(part.size() + 1, path.size()));
  }
  return true;
}

void write_string(ByteWriter& into, std::string_view text) {
  into.write(static_cast<std::uint32_t>(text.size()));
  into.write_text(text);
}

std::string read_string(ByteReader& from) {
  const std::uint32_t length = from.read_u32();
  return std::string(as_text(from.read_bytes(length)));
}

void write_strings(ByteWriter& into, const std::vector<std::string>& texts) {
  into.write(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) write_string(into, text);
}

std::vector<std::string> read_strings(ByteReader& from) {
  std::vector<std::string> texts;
  for (std::uint32_t left = from.read_u32(); left > 0; --left) texts.push_back(read_string(from));
  return texts;
}

// Name and type of each.
std::vector<std::string> texts_of_fields(const std::vector<Field>& fields) {
  std::vector<std::string> texts;
  texts.reserve(fields.size() * 2);
  for (const Field& field : fields) {
    texts.push_back(field.name);
    texts.push_back(field_type_text(field));
  }
  return texts;
}

std::vector<Field> fields_of_texts(const std::vector<std::string>& texts) {
  std::vector<Field> fields;
  fields.reserve(texts.size() / 2);
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
    fields.push_back(parse_field_type(texts[i + 1]));
    fields.back().name = texts[i];
  }
  return fields;
}

ListingHead parse_listing_head(Bytes bytes, const std::string& path) {
  ByteReader from(bytes, path, kMagic.size());
  ListingHead head;
  for (std::uint32_t left = from.read_u32(); left > 0; --left) {
    std::string name = read_string(from);
    head.facts.emplace_back(std::move(name), read_string(from));
  }
  head.kind = read_string(from);
  head.classes = read_strings(from);
  head.notes = read_strings(from);
  head.modified_ns = from.read_i64();
  if (from.at_end()) return head;
  head.pairs = read_string(from);
  head.has_labels = from.read_u8() != 0;
  if (!from.at_end()) head.image_folders = read_string(from);
  if (from.at_end()) return head;
  head.metadata = fields_of_texts(read_strings(from));
  const std::vector<std::string> files = read_strings(from);
  for (std::size_t i = 0; i + 1 < files.size(); i += 2)
    head.metadata_files.emplace_back(files[i], files[i + 1]);
  head.has_metadata_labels = from.read_u8() != 0;
  if (from.at_end()) return head;
  const std::vector<std::string> left_out = read_strings(from);
  for (std::size_t i = 0; i + 2 < left_out.size(); i += 3)
    head.left_out.add({.kind = left_out[i], .name = left_out[i + 1], .reason = left_out[i + 2]});
  head.left_out.more = from.read_u64();
  if (!from.at_end()) head.arrays = read_string(from);
  return head;
}

struct ListingTrailer {
  std::uint64_t head_bytes = 0, files = 0, file_bytes = 0, ignored = 0, ignored_bytes = 0;
};

}  // namespace

void append_listed_partner(std::string& into, const ListedPartner& partner) {
  const std::string_view suffix = partner.suffix ? *partner.suffix : std::string_view();
  const auto length = static_cast<std::uint16_t>(partner.suffix ? suffix.size() + 1 : 0);
  into.append(as_text(bytes_of(length))).append(suffix);
  into.append(as_text(bytes_of(partner.bytes)));
  into.append(as_text(bytes_of(partner.modified_ns)));
  into.append(as_text(bytes_of(partner.offset)));
}

// A suffix that has a slash would lead elsewhere.
ListedPartner read_listed_partner(ByteReader& from) {
  ListedPartner partner;
  if (const std::uint16_t length = from.read_u16(); length > 0)
    partner.suffix = as_text(from.read_bytes(length - 1U));
  partner.bytes = from.read_u64();
  partner.modified_ns = from.read_i64();
  partner.offset = from.read_u64();
  constexpr std::string_view kNever("/\0", 2);
  if (partner.suffix && partner.suffix->find_first_of(kNever) != std::string::npos)
    throw Error(Code::damaged, "a partner that leads out of the folder");
  return partner;
}

void append_listed_file(std::string& into, const ListedFile& file) {
  into.append(as_text(bytes_of(file.bytes)));
  into.append(as_text(bytes_of(file.modified_ns)));
  into.append(as_text(bytes_of(file.label)));
  into.append(file.path);
  // Lists of plain folders stay as they always were.
  const bool has_more = !file.has_label || !file.partners.empty() || !file.row.empty();
  if (file.offset == 0 && !has_more) return;
  into.append(1, '\0').append(as_text(bytes_of(file.offset)));
  if (!has_more) return;
  into.append(1, static_cast<char>((file.has_label ? 1 : 0) + (file.row.empty() ? 0 : kHasRow)));
  if (!file.row.empty())
    into.append(as_text(bytes_of(static_cast<std::uint32_t>(file.row.size())))).append(file.row);
  for (const ListedPartner& partner : file.partners) append_listed_partner(into, partner);
}

ListedFile parse_listed_file(std::string_view entry) {
  ByteReader from(as_bytes(entry));
  ListedFile file;
  file.bytes = from.read_u64();
  file.modified_ns = from.read_i64();
  file.label = from.read_i64();
  const std::string_view rest = as_text(from.read_bytes(from.remaining()));
  file.path = rest.substr(0, rest.find('\0'));
  if (file.path.size() < rest.size()) {
    ByteReader more(as_bytes(rest.substr(file.path.size() + 1)));
    file.offset = more.read_u64();
    const std::uint8_t has = more.at_end() ? 1 : more.read_u8();
    file.has_label = has % kHasRow != 0;
    if (has >= kHasRow) file.row = read_string(more);
    while (!more.at_end()) file.partners.push_back(read_listed_partner(more));
  }
  return file;
}

struct ListingWriter::Impl {
  OutputFile file;
  Hasher128 hasher;
  ListingTrailer trailer;
  std::string entry;

  explicit Impl(const std::string& path)
      : file(path, {.io = IoMode::buffered, .buffer_bytes = kListingBufferBytes, .buffers = 1}) {}

  void write(Bytes bytes) {
    hasher.update(bytes);
    file.append(bytes);
  }
  // Returns its bytes.
  std::uint64_t write_entry() {
    write(bytes_of(static_cast<std::uint32_t>(entry.size())));
    write(as_bytes(entry));
    return sizeof(std::uint32_t) + entry.size();
  }
};

ListingWriter::ListingWriter(const std::string& path, const ListingHead& head)
    : impl_(std::make_unique<Impl>(path)) {
  ByteWriter bytes;
  bytes.write(static_cast<std::uint32_t>(head.facts.size()));
  for (const auto& [name, value] : head.facts) {
    write_string(bytes, name);
    write_string(bytes, value);
  }
  write_string(bytes, head.kind);
  write_strings(bytes, head.classes);
  write_strings(bytes, head.notes);
  bytes.write(head.modified_ns);
  const bool has_left_out = head.left_out.count() > 0 || !head.arrays.empty();
  const bool has_metadata = !head.metadata.empty() || !head.metadata_files.empty() || has_left_out;
  if (!head.pairs.empty() || !head.has_labels || !head.image_folders.empty() || has_metadata) {
    write_string(bytes, head.pairs);
    bytes.write(std::uint8_t{head.has_labels ? std::uint8_t{1} : std::uint8_t{0}});
    if (!head.image_folders.empty() || has_metadata) write_string(bytes, head.image_folders);
  }
  if (has_metadata) {
    write_strings(bytes, texts_of_fields(head.metadata));
    std::vector<std::string> files;
    files.reserve(head.metadata_files.size() * 2);
    for (const auto& [file, stamp] : head.metadata_files) {
      files.push_back(file);
      files.push_back(stamp);
    }
    write_strings(bytes, files);
    bytes.write(std::uint8_t{head.has_metadata_labels ? std::uint8_t{1} : std::uint8_t{0}});
  }
  if (has_left_out) {
    std::vector<std::string> texts;
    for (const LeftOut& one : head.left_out.entries)
      texts.insert(texts.end(), {one.kind, one.name, one.reason});
    write_strings(bytes, texts);
    bytes.write(head.left_out.more);
    if (!head.arrays.empty()) write_string(bytes, head.arrays);
  }
  impl_->write(as_bytes(kMagic));
  impl_->write(bytes.bytes());
  impl_->trailer.head_bytes = bytes.size();
}

ListingWriter::~ListingWriter() = default;

void ListingWriter::add(const ListedFile& file) {
  impl_->entry.clear();
  append_listed_file(impl_->entry, file);
  impl_->trailer.file_bytes += impl_->write_entry();
  ++impl_->trailer.files;
}

void ListingWriter::add_ignored(std::string_view entry, std::string_view reason) {
  impl_->entry.assign(entry).append(1, '\0').append(reason);
  impl_->trailer.ignored_bytes += impl_->write_entry();
  ++impl_->trailer.ignored;
}

void ListingWriter::finish() {
  const ListingTrailer& trailer = impl_->trailer;
  for (const std::uint64_t number : {trailer.head_bytes, trailer.files, trailer.file_bytes,
                                     trailer.ignored, trailer.ignored_bytes})
    impl_->write(bytes_of(number));
  impl_->file.append(impl_->hasher.digest().bytes());
  (void)impl_->file.finish();
}

struct ListingReader::Impl {
  InputFile file;
  ListingTrailer trailer;
  ListingHead head;
  WindowReader window;
  std::uint64_t position = 0;

  explicit Impl(const std::string& path) : file(path), window(file, kListingBufferBytes) {}

  [[nodiscard]] std::uint64_t files_begin() const { return kMagic.size() + trailer.head_bytes; }
  [[nodiscard]] std::uint64_t files_end() const { return files_begin() + trailer.file_bytes; }
  [[nodiscard]] std::uint64_t ignored_end() const { return files_end() + trailer.ignored_bytes; }

  void read_trailer() {
    const std::uint64_t size = file.size();
    std::string magic(std::min<std::uint64_t>(size, kMagic.size()), '\0');
    file.read_exact(0, std::as_writable_bytes(std::span(magic)));
    if (magic != kMagic && magic.starts_with(kMagicOfAny)) {
      throw Error(Code::unsupported,
                  "the listing of the input was made by another version of shale")
          .at(file.path())
          .hint("make it again with this version");
    }
    if (magic != kMagic || size < kMagic.size() + kListingTrailerBytes)
      throw damaged_listing(file.path(), "is truncated, or is something else");
    std::array<std::byte, kListingTrailerBytes> bytes{};
    file.read_exact(size - bytes.size(), bytes);
    ByteReader from(bytes);
    trailer.head_bytes = from.read_u64();
    trailer.files = from.read_u64();
    trailer.file_bytes = from.read_u64();
    trailer.ignored = from.read_u64();
    trailer.ignored_bytes = from.read_u64();
    std::uint64_t left = size - kMagic.size() - kListingTrailerBytes;
    for (const std::uint64_t part :
         {trailer.head_bytes, trailer.file_bytes, trailer.ignored_bytes}) {
      if (part > left) throw damaged_listing(file.path(), "does not add up to its own size");
      left -= part;
    }
    if (left > 0) throw damaged_listing(file.path(), "does not add up to its own size");
  }

  void prove(const std::function<void()>& stop_if_asked) const {
    const std::uint64_t end = file.size() - kHashBytes;
    std::vector<std::byte> piece(kListingBufferBytes);
    Hasher128 hasher;
    for (std::uint64_t at = 0; at < end; at += piece.size()) {
      stop_if_asked();
      const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), end - at));
      file.read_exact(at, part);
      hasher.update(part);
    }
    std::array<std::byte, kHashBytes> found{};
    file.read_exact(end, found);
    if (std::ranges::equal(found, hasher.digest().bytes())) return;
    throw damaged_listing(file.path(), "is damaged: its checksum does not match");
  }

  void read_head(std::uint64_t most_bytes) {
    if (trailer.head_bytes > most_bytes) {
      throw Error(Code::limit, "the class names of the listing take {} bytes, more than {}",
                  trailer.head_bytes, most_bytes)
          .at(file.path())
          .hint("pass a larger --memory");
    }
    std::vector<std::byte> bytes(trailer.head_bytes);
    file.read_exact(kMagic.size(), bytes);
    head = parse_listing_head(bytes, file.path());
  }

  // The string at `at`, which moves behind it; valid until the next call.
  std::string_view entry_at(WindowReader& from, std::uint64_t& at, std::uint64_t end) const {
    std::uint32_t length = 0;
    const std::uint64_t left = end - at;
    if (left >= sizeof(length))
      std::memcpy(&length, from.view(at, sizeof(length)).data(), sizeof(length));
    if (left < sizeof(length) || length > kMostEntryBytes || length > left - sizeof(length))
      throw damaged_listing(file.path(), fmt::format("is damaged at byte {}", at));
    const std::string_view entry = as_text(from.view(at + sizeof(length), length));
    at += sizeof(length) + length;
    return entry;
  }
};

bool may_be_listing(const std::string& path) {
  std::string begin(kMagicOfAny.size(), '\0');
  begin.resize(InputFile(path).read_some(0, std::as_writable_bytes(std::span(begin))));
  return kMagicOfAny.starts_with(begin);
}

ListingReader::ListingReader(const std::string& path, std::uint64_t most_bytes,
                             const std::function<void()>& stop_if_asked)
    : impl_(std::make_unique<Impl>(path)) {
  impl_->read_trailer();
  impl_->prove(stop_if_asked);
  impl_->read_head(most_bytes);
  rewind();
}

ListingReader::~ListingReader() = default;
ListingReader::ListingReader(ListingReader&&) noexcept = default;
ListingReader& ListingReader::operator=(ListingReader&&) noexcept = default;

const ListingHead& ListingReader::head() const { return impl_->head; }
std::uint64_t ListingReader::files() const { return impl_->trailer.files; }
std::uint64_t ListingReader::ignored() const { return impl_->trailer.ignored; }

std::optional<ListedFile> ListingReader::next() {
  Impl& reader = *impl_;
  if (reader.position == reader.files_end()) return std::nullopt;
  const std::uint64_t at = reader.position;
  try {
    ListedFile file =
        parse_listed_file(reader.entry_at(reader.window, reader.position, reader.files_end()));
    if (!stays_inside(file.path)) throw Error(Code::damaged, "a path that leads out of the folder");
    return file;
  } catch (Error& error) {
    error.at(reader.file.path(), at);
    throw;
  }
}

void ListingReader::rewind() { impl_->position = impl_->files_begin(); }

void ListingReader::for_each_ignored(
    const std::function<void(std::string_view, std::string_view)>& use) const {
  WindowReader window(impl_->file, kListingBufferBytes);
  for (std::uint64_t at = impl_->files_end(); at < impl_->ignored_end();) {
    const std::string_view entry = impl_->entry_at(window, at, impl_->ignored_end());
    const std::size_t end = std::min(entry.find('\0'), entry.size());
    use(entry.substr(0, end), entry.substr(std::min(end + 1, entry.size())));
  }
}

Error fewer_than_listed(const std::string& root) {
  return Error(Code::io, "has fewer samples than when it was listed a moment ago")
      .at(root)
      .hint("something is writing to the input; wait until it stops");
}

}  // namespace shale
