#include "shale/wire/zip_directory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50, kLocatorSignature = 0x07064b50,
                        kEnd64Signature = 0x06064b50, kEntrySignature = 0x02014b50,
                        kLocalSignature = 0x04034b50;
constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46,
                        kMostCommentBytes = 65'535;
constexpr std::uint16_t kIn64 = 0xffff;  // "see the zip64 record"
constexpr std::uint32_t kIn64Wide = 0xffffffff;
constexpr std::uint16_t kStored = 0, kDeflated = 8;
// Flags: encrypted, compressed patch data, strongly encrypted, directory encrypted.
constexpr std::uint16_t kEncryptedFlags = 1U << 0 | 1U << 6 | 1U << 13, kPatchFlag = 1U << 5,
                        kUtf8Flag = 1U << 11;

// Where the central directory lies.
struct Directory {
  std::uint64_t members = 0, begin = 0, bytes = 0;
  std::uint64_t limit = 0;  // where the first end record begins
};

using Entry = ZipEntryOfDirectory;

// The characters of bytes from 128 on in names that are not UTF-8.
constexpr std::u16string_view kCodePage437 =
    u"\u00c7\u00fc\u00e9\u00e2\u00e4\u00e0\u00e5\u00e7\u00ea\u00eb\u00e8\u00ef\u00ee\u00ec\u00c4"
    u"\u00c5"
    u"\u00c9\u00e6\u00c6\u00f4\u00f6\u00f2\u00fb\u00f9\u00ff\u00d6\u00dc\u00a2\u00a3\u00a5\u20a7"
    u"\u0192"
    u"\u00e1\u00ed\u00f3\u00fa\u00f1\u00d1\u00aa\u00ba\u00bf\u2310\u00ac\u00bd\u00bc\u00a1\u00ab"
    u"\u00bb"
    u"\u2591\u2592\u2593\u2502\u2524\u2561\u2562\u2556\u2555\u2563\u2551\u2557\u255d\u255c\u255b"
    u"\u2510"
    u"\u2514\u2534\u252c\u251c\u2500\u253c\u255e\u255f\u255a\u2554\u2569\u2566\u2560\u2550\u256c"
    u"\u2567"
    u"\u2568\u2564\u2565\u2559\u2558\u2552\u2553\u256b\u256a\u2518\u250c\u2588\u2584\u258c\u2590"
    u"\u2580"
    u"\u03b1\u00df\u0393\u03c0\u03a3\u03c3\u00b5\u03c4\u03a6\u0398\u03a9\u03b4\u221e\u03c6\u03b5"
    u"\u2229"
    u"\u2261\u00b1\u2265\u2264\u2320\u2321\u00f7\u2248\u00b0\u2219\u00b7\u221a\u207f\u00b2\u25a0"
    u"\u00a0";

std::string utf8_of_code_page(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const std::uint32_t code = byte < 128 ? byte : kCodePage437[byte - 128U];
    if (code < 0x80) {
      text += static_cast<char>(code);
      continue;
    }
    if (code >= 0x800) text += static_cast<char>(0xe0U | code >> 12U);
    text += static_cast<char>(code >= 0x800 ? 0x80U | (code >> 6U & 0x3fU) : 0xc0U | code >> 6U);
    text += static_cast<char>(0x80U | (code & 0x3fU));
  }
  return text;
}

class DirectoryReader {
 public:
  DirectoryReader(std::uint64_t size, const ViewBytes& view, std::string_view where)
      : size_(size), view_(view), where_(where) {}

  std::vector<ZipMember> read() {
    const Directory directory = find();
    if (directory.members > kMostZipMembers) {
      throw Error(Code::limit, "zip archive of {} members, more than the limit of {}",
                  directory.members, kMostZipMembers)
          .at(where_, directory.limit);
    }
    std::vector<Entry> entries;
    entries.reserve(directory.members);
    read_entries(directory.begin, directory.bytes, directory.members, [&](const Entry& entry) {
      check_kind(entry);
      entries.push_back(entry);
      return true;
    });
    for (Entry& entry : entries) find_data(entry, directory);
    check_overlaps(entries);
    refuse_archive_before(entries);
    mark_repeated(entries);
    std::vector<ZipMember> members;
    members.reserve(entries.size());
    for (Entry& entry : entries) members.push_back(std::move(entry.member));
    return members;
  }

  [[nodiscard]] Directory find() const {
    const Directory directory = find_directory();
    refuse_archive_before(directory);
    return directory;
  }

  void read_entries(std::uint64_t begin, std::uint64_t bytes, std::uint64_t members,
                    const std::function<bool(const Entry&)>& use) const {
    std::uint64_t at = begin;
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t i = 0; i < members; ++i) {
      if (end - at < kEntryBytes) throw cut_directory(at);
      ByteReader lengths = reader(at + 28, 6);
      std::uint64_t length = kEntryBytes;
      for (int part = 0; part < 3; ++part) length += lengths.read_u16();
      if (length > end - at) throw cut_directory(at);
      if (!use(read_entry(at, length))) return;
      at += length;
    }
    if (at != end) throw damaged(at, "zip directory has {} extra bytes", end - at);
  }

  [[nodiscard]] ZipMember member_at(const Entry& entry, Bytes head, std::uint64_t end) const {
    ZipMember member = entry.member;
    const std::uint64_t begin = entry.local_offset;
    if (begin > end || end - begin < kZipLocalBytes) throw out_of_file(entry);
    ByteReader in(head.first(kZipLocalBytes), where_, begin);
    if (in.read_u32() != kLocalSignature) {
      throw damaged(begin, "expected the local header of member '{}' here", printable(member.name));
    }
    in.skip(4);  // version, flags
    const std::uint16_t method = in.read_u16();
    in.skip(16);  // time, checksum and sizes, which may follow the data
    const std::uint64_t name_bytes = in.read_u16(), extra_bytes = in.read_u16();
    const std::uint64_t head_bytes = kZipLocalBytes + name_bytes + extra_bytes;
    if (head_bytes > end - begin || member.data_bytes > end - begin - head_bytes) {
      throw out_of_file(entry);
    }
    const std::string_view name = as_text(head.subspan(kZipLocalBytes));
    if (name_bytes != member.name.size() || name != member.name || method != entry.method) {
      throw damaged(begin, "local header is for '{}' (method {}), but the directory says '{}' ({})",
                    printable(name.substr(0, name_bytes)), method, printable(member.name),
                    entry.method);
    }
    if (!member.is_deflated && member.data_bytes != member.bytes) {
      throw damaged(entry.place, "stored member '{}' of {} bytes takes {} in the archive",
                    printable(member.name), member.bytes, member.data_bytes);
    }
    member.data_offset = begin + head_bytes;
    return member;
  }

 private:
  template <class... Args>
  [[nodiscard]] Error damaged(std::uint64_t offset, fmt::format_string<Args...> format,
                              Args&&... args) const {
    Error error(Code::damaged, format, std::forward<Args>(args)...);
    error.at(where_, offset);
    return error;
  }
  template <class... Args>
  [[nodiscard]] Error unsupported(std::uint64_t offset, fmt::format_string<Args...> format,
                                  Args&&... args) const {
    Error error(Code::unsupported, format, std::forward<Args>(args)...);
    error.at(where_, offset);
    return error;
  }

  [[nodiscard]] ByteReader reader(std::uint64_t offset, std::uint64_t length) const {
    return ByteReader(view_(offset, length), where_, offset);
  }

  // The end record is the last one whose comment reaches to the end of the file exactly.
  [[nodiscard]] std::uint64_t find_end_record() const {
    if (size_ >= kEndBytes) {
      const std::uint64_t length = std::min(size_, kEndBytes + kMostCommentBytes);
      const Bytes tail = view_(size_ - length, length);
      for (std::uint64_t comment = 0; comment + kEndBytes <= length; ++comment) {
        ByteReader in(tail.last(kEndBytes + comment));
        if (in.read_u32() != kEndSignature) continue;
        in.skip(kEndBytes - 6);
        if (in.read_u16() == comment) return size_ - kEndBytes - comment;
      }
    }
    throw damaged(size_, "zip archive has no end record")
        .hint("the file was probably truncated; copy it again");
  }

  [[nodiscard]] Directory find_directory() const {
    const std::uint64_t end = find_end_record();
    ByteReader in = reader(end, kEndBytes);
    in.skip(4);
    std::uint64_t disk = in.read_u16(), first_disk = in.read_u16();
    const std::uint16_t here = in.read_u16(), members = in.read_u16();
    const std::uint32_t bytes = in.read_u32(), begin = in.read_u32();
    const bool is_zip64 = disk == kIn64 || first_disk == kIn64 || here == kIn64 ||
                          members == kIn64 || bytes == kIn64Wide || begin == kIn64Wide;
    if (is_zip64) {
      if (const auto found = find_zip64_directory(end)) return checked(*found);
    }
    if (disk != 0 || first_disk != 0 || here != members) throw several_disks(end);
    return checked({members, begin, bytes, end});
  }

  // Nullopt without a locator: 65,535 members also fit an archive that has none.
  [[nodiscard]] std::optional<Directory> find_zip64_directory(std::uint64_t end) const {
    if (end < kLocatorBytes + kEnd64Bytes) return std::nullopt;
    ByteReader locator = reader(end - kLocatorBytes, kLocatorBytes);
    if (locator.read_u32() != kLocatorSignature) return std::nullopt;
    const std::uint32_t disk = locator.read_u32();
    const std::uint64_t place = locator.read_u64();
    const std::uint32_t disks = locator.read_u32();
    if (disk != 0 || disks > 1) throw several_disks(end - kLocatorBytes);
    if (place > end - kLocatorBytes - kEnd64Bytes) {
      throw damaged(end - kLocatorBytes, "zip64 end record at byte {} lies behind its locator",
                    place);
    }
    const std::uint64_t usual = end - kLocatorBytes - kEnd64Bytes;
    if (place < usual && begins_at(0, kLocalSignature) && begins_at(usual, kEnd64Signature))
      throw several_archives();
    ByteReader in = reader(place, kEnd64Bytes);
    if (in.read_u32() != kEnd64Signature) throw damaged(place, "expected a zip64 end record here");
    in.skip(12);  // its length, and versions
    const bool is_one_disk = in.read_u32() == 0 && in.read_u32() == 0;
    const std::uint64_t here = in.read_u64(), members = in.read_u64();
    if (!is_one_disk || here != members) throw several_disks(place);
    const std::uint64_t bytes = in.read_u64(), begin = in.read_u64();
    return Directory{members, begin, bytes, place};
  }

  [[nodiscard]] Error several_disks(std::uint64_t offset) const {
    return unsupported(offset, "zip archive spans several disks");
  }

  [[nodiscard]] Directory checked(const Directory& directory) const {
    if (directory.begin > directory.limit || directory.bytes > directory.limit - directory.begin) {
      throw damaged(directory.limit,
                    "zip directory of {} bytes at byte {} does not lie before its end record",
                    directory.bytes, directory.begin)
          .hint("the file was probably truncated, or something was put in front of the archive");
    }
    // Checked before memory is taken for them.
    if (directory.members > directory.bytes / kEntryBytes) {
      throw damaged(directory.limit, "zip directory of {} bytes cannot hold {} members",
                    directory.bytes, directory.members);
    }
    return directory;
  }

  [[nodiscard]] Error cut_directory(std::uint64_t at) const {
    return damaged(at, "zip directory ends inside an entry");
  }

  [[nodiscard]] Entry read_entry(std::uint64_t place, std::uint64_t length) const {
    ByteReader in = reader(place, length);
    if (in.read_u32() != kEntrySignature)
      throw damaged(place, "expected a zip directory entry here");
    Entry entry;
    entry.place = place;
    ZipMember& member = entry.member;
    entry.made_by = in.read_u16();
    in.skip(2);  // the version that it needs
    entry.flags = in.read_u16();
    entry.method = in.read_u16();
    in.skip(4);  // time
    member.crc32 = in.read_u32();
    member.data_bytes = in.read_u32();
    member.bytes = in.read_u32();
    const std::uint16_t name_bytes = in.read_u16(), extra_bytes = in.read_u16();
    in.skip(2);  // length of the comment
    const std::uint16_t disk = in.read_u16();
    in.skip(2);  // attributes of the content
    entry.attributes = in.read_u32();
    entry.local_offset = in.read_u32();
    member.name = as_text(in.read_bytes(name_bytes));
    member.is_deflated = entry.method == kDeflated;
    const std::uint64_t extra_offset = in.offset();
    const Bytes extra = in.read_bytes(extra_bytes);
    read_zip64_extra(entry, ByteReader(extra, where_, extra_offset));
    entry.name = name_of(entry, extra);
    if (disk != 0 && disk != kIn64) throw several_disks(place);
    return entry;
  }

  [[nodiscard]] static std::string name_of(const Entry& entry, Bytes extra) {
    constexpr std::uint16_t kUnicodePath = 0x7075;
    const std::string& name = entry.member.name;
    if ((entry.flags & kUtf8Flag) != 0) return name;
    for (ByteReader in(extra); in.remaining() >= 4;) {
      const std::uint16_t id = in.read_u16(), bytes = in.read_u16();
      if (bytes > in.remaining()) break;
      const Bytes content = in.read_bytes(bytes);
      if (id != kUnicodePath || bytes < 5) continue;
      ByteReader path(content);
      path.skip(1);  // its version
      const bool is_of_name = path.read_u32() == crc32(as_bytes(name));
      const std::string_view text = as_text(content.subspan(5));
      if (is_of_name && is_utf8(text)) return std::string(text);
    }
    return is_utf8(name) ? name : utf8_of_code_page(name);
  }

  void check_kind(const Entry& entry) const {
    const ZipMember& member = entry.member;
    if (!is_utf8(member.name)) {
      throw unsupported(entry.place, "name of member '{}' is not UTF-8", printable(member.name))
          .hint("write the archive again with numpy.savez, whose names are UTF-8");
    }
    if (entry.is_encrypted()) {
      throw unsupported(entry.place, "member '{}' is encrypted", printable(member.name))
          .hint("write the archive again without a password");
    }
    if (!entry.is_readable()) {
      throw unsupported(entry.place, "member '{}' is compressed by method {}, not deflate",
                        printable(member.name), entry.method)
          .hint("write the archive again with numpy.savez or numpy.savez_compressed");
    }
  }

  void read_zip64_extra(Entry& entry, ByteReader extra) const {
    ZipMember& member = entry.member;
    std::uint64_t* const wide[] = {&member.bytes, &member.data_bytes, &entry.local_offset};
    const bool is_complete =
        std::none_of(std::begin(wide), std::end(wide),
                     [](const std::uint64_t* number) { return *number == kIn64Wide; });
    // Fewer than four bytes are what some writers pad with.
    while (!is_complete && extra.remaining() >= 4) {
      const std::uint16_t id = extra.read_u16();
      const std::uint16_t bytes = extra.read_u16();
      if (id != 1) {
        extra.skip(bytes);
        continue;
      }
      ByteReader in(extra.read_bytes(bytes), where_, extra.offset());
      for (std::uint64_t* number : wide) {
        if (*number == kIn64Wide) *number = in.read_u64();
      }
      return;
    }
    // Without the extra field all ones is the number itself: whether it fits the file is seen
    // later.
  }

  // The local header has lengths of its own for name and extra field.
  void find_data(Entry& entry, const Directory& directory) const {
    const std::uint64_t begin = entry.local_offset, end = directory.begin;
    const std::uint64_t left = end - std::min(begin, end);
    const std::uint64_t bytes = std::min(left, kZipLocalBytes + entry.member.name.size());
    entry.member = member_at(entry, bytes == 0 ? Bytes() : view_(begin, bytes), end);
  }

  [[nodiscard]] Error out_of_file(const Entry& entry) const {
    return damaged(entry.place,
                   "member '{}' of {} bytes at byte {} does not lie before the directory",
                   printable(entry.member.name), entry.member.data_bytes, entry.local_offset);
  }

  void check_overlaps(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> ordered = pointers(entries);
    std::sort(ordered.begin(), ordered.end(),
              [](const Entry* a, const Entry* b) { return a->local_offset < b->local_offset; });
    for (std::size_t i = 1; i < ordered.size(); ++i) {
      const ZipMember& before = ordered[i - 1]->member;
      if (before.data_offset + before.data_bytes <= ordered[i]->local_offset) continue;
      throw damaged(ordered[i]->local_offset, "members '{}' and '{}' overlap",
                    printable(before.name), printable(ordered[i]->member.name));
    }
  }

  [[nodiscard]] bool begins_at(std::uint64_t offset, std::uint32_t mark) const {
    const bool is_inside = offset <= size_ && size_ - offset >= sizeof mark;
    return is_inside && reader(offset, sizeof mark).read_u32() == mark;
  }

  // numpy.savez and torch.save, called twice on one open file: a reader that goes by the last
  // directory sees one of the archives alone, or the data of one by the names of the other. Its
  // offsets count from the beginning of the file or of that archive.
  void refuse_archive_before(const Directory& directory) const {
    // PyTorch writes the records of zip64 where nobody needs them.
    constexpr std::uint64_t kOf64 = kLocatorBytes + kEnd64Bytes;
    const std::uint64_t here = directory.begin + directory.bytes, limit = directory.limit;
    const bool has_64 = limit - here >= kOf64 && begins_at(limit - kOf64, kEnd64Signature);
    const std::uint64_t gap = limit - here - (has_64 ? kOf64 : 0);
    if (gap > 0 && begins_at(0, kLocalSignature) &&
        begins_at(directory.begin + gap, kEntrySignature))
      throw several_archives();
  }
  void refuse_archive_before(const std::vector<Entry>& entries) const {
    const bool has_first =
        std::ranges::any_of(entries, [](const Entry& entry) { return entry.local_offset == 0; });
    if (!entries.empty() && !has_first && begins_at(0, kLocalSignature)) throw several_archives();
  }
  [[nodiscard]] Error several_archives() const {
    return unsupported(0, "holds several zip archives, one behind the other")
        .hint(
            "save each to a file of its own: numpy.savez or torch.save was called more than once "
            "on one open file");
  }

  static void mark_repeated(std::vector<Entry>& entries) {
    std::vector<Entry*> ordered;
    ordered.reserve(entries.size());
    for (Entry& entry : entries) ordered.push_back(&entry);
    std::ranges::sort(ordered, {},
                      [](const Entry* entry) -> const std::string& { return entry->member.name; });
    for (std::size_t i = 1; i < ordered.size(); ++i) {
      if (ordered[i - 1]->member.name != ordered[i]->member.name) continue;
      ordered[i - 1]->member.is_repeated = ordered[i]->member.is_repeated = true;
    }
  }

  [[nodiscard]] static std::vector<const Entry*> pointers(const std::vector<Entry>& entries) {
    std::vector<const Entry*> all;
    all.reserve(entries.size());
    for (const Entry& entry : entries) all.push_back(&entry);
    return all;
  }

  std::uint64_t size_;
  const ViewBytes& view_;
  std::string_view where_;
};

}  // namespace

bool ZipEntryOfDirectory::is_encrypted() const { return (flags & kEncryptedFlags) != 0; }

bool ZipEntryOfDirectory::is_readable() const {
  return (flags & kPatchFlag) == 0 && (method == kStored || method == kDeflated);
}

std::uint32_t ZipEntryOfDirectory::unix_mode() const {
  constexpr unsigned kUnix = 3;
  return made_by >> 8U == kUnix ? attributes >> 16U : 0;
}

ZipDirectory::ZipDirectory(std::uint64_t size, ViewBytes view, std::string_view where)
    : size_(size), view_(std::move(view)), where_(where) {
  const Directory directory = DirectoryReader(size_, view_, where_).find();
  begin_ = directory.begin;
  bytes_ = directory.bytes;
  members_ = directory.members;
}

void ZipDirectory::for_each(const std::function<bool(const ZipEntryOfDirectory&)>& use) const {
  DirectoryReader(size_, view_, where_).read_entries(begin_, bytes_, members_, use);
}

ZipMember zip_member_at(const ZipEntryOfDirectory& entry, Bytes head, std::uint64_t directory_begin,
                        std::string_view where) {
  const ViewBytes none;
  return DirectoryReader(0, none, where).member_at(entry, head, directory_begin);
}

std::string name_in_local_header(const ZipEntryOfDirectory& entry, Bytes head) {
  const std::size_t bytes = entry.member.name.size();
  if (head.size() < kZipLocalBytes + bytes) return {};
  ByteReader in(head.first(kZipLocalBytes));
  if (in.read_u32() != kLocalSignature) return {};
  in.skip(22);
  if (in.read_u16() != bytes) return {};
  const std::string name(as_text(head.subspan(kZipLocalBytes, bytes)));
  return (entry.flags & kUtf8Flag) != 0 || is_utf8(name) ? name : utf8_of_code_page(name);
}

std::vector<ZipMember> read_zip_directory(std::uint64_t size, const ViewBytes& view,
                                          std::string_view where) {
  return DirectoryReader(size, view, where).read();
}

std::optional<Error> first_damaged_member(
    std::uint64_t size, const ViewBytes& view, std::string_view where,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  for (const ZipMember& member : read_zip_directory(size, view, where)) {
    if (member.is_deflated) continue;
    std::uint32_t found = 0;
    for (std::uint64_t done = 0; done < member.bytes;) {
      const std::uint64_t some = std::min(kAtOnce, member.bytes - done);
      found = crc32(view(member.data_offset + done, some), found);
      done += some;
      if (progress) progress(member.data_offset + done, size);
    }
    if (found != member.crc32) return member_checksum_error(member, found, where);
  }
  return std::nullopt;
}

Error member_checksum_error(const ZipMember& member, std::uint32_t found, std::string_view where) {
  Error error(Code::damaged,
              "checksum mismatch in member '{}': found crc32 {:#010x}, expected {:#010x}",
              printable(member.name), found, member.crc32);
  error.at(where, member.data_offset)
      .hint("the archive changed after it was written; copy it again");
  return error;
}

Error repeated_member(const ZipMember& member, std::string_view where) {
  return Error(Code::unsupported, "member '{}' is in the archive more than once",
               printable(member.name))
      .at(where, member.data_offset);
}

}  // namespace shale
