#include "shale/archives/zip_members.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/wire/zip_directory.hpp"

namespace shale {
namespace {

constexpr std::size_t kHeadersAtOnce = 64;
constexpr std::uint64_t kMostTargetBytes = 4096;  // of a symbolic link
constexpr std::uint64_t kMostInflation = 1032;    // what deflate can make of a byte
constexpr std::string_view kUnpackHint =
    "unpack it with a program that can, such as 7z, and convert the folder";

// A directory entry, by where its local header is.
struct EntryRow {
  std::uint64_t local_offset = 0, number = 0, place = 0, data_bytes = 0, bytes = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0;
  bool is_link = false, is_special = false;
  std::string stored_name;
  std::string name;  // UTF-8
  static auto columns(auto& row) {
    return std::tie(row.local_offset, row.number, row.place, row.data_bytes, row.bytes, row.crc32,
                    row.method, row.is_link, row.is_special, row.stored_name, row.name);
  }
};

bool is_folder_name(std::string_view name) {
  return name.ends_with('/') || (name.ends_with('\\') && has_back_slashes_only(name));
}

class ZipListing {
 public:
  ZipListing(const MemberListing& request, MemberTable& table, PackedTable& packed)
      : request_(request),
        file_(request.archive.file->file()),
        table_(table),
        packed_(packed),
        rows_(request.scratch_folder, request.memory_bytes),
        reader_({}) {}

  ListedMembers run() {
    WindowReader window(file_);
    const ZipDirectory directory(file_.size(), window.views(), file_.path());
    directory_begin_ = directory.begin();
    directory.for_each([this](const ZipEntryOfDirectory& entry) {
      request_.stop_if_asked();
      add(entry);
      return true;
    });
    rows_.finish();
    const SparseReading sparse(file_);
    std::vector<EntryRow> rows;
    while (const std::optional<EntryRow> row = rows_.next()) {
      request_.stop_if_asked();
      rows.push_back(*row);
      if (rows.size() == kHeadersAtOnce && !find(rows)) return result(false);
    }
    return result(find(rows));
  }

 private:
  [[nodiscard]] ListedMembers result(bool is_complete) const {
    return {.is_complete = is_complete, .has_end_marks = true, .back_slashes = back_slashes_};
  }

  [[nodiscard]] Error refused(const ZipEntryOfDirectory& entry, Code code,
                              std::string_view fact) const {
    return Error(code, "member '{}' {}", printable(entry.name), fact)
        .at(file_.path(), entry.place)
        .hint(kUnpackHint);
  }

  void add(const ZipEntryOfDirectory& entry) {
    const ZipMember& member = entry.member;
    if (entry.name.empty() || entry.name.find('\0') != std::string::npos)
      throw refused(entry, Code::bad_content,
                    entry.name.empty() ? "has no name" : "has a NUL byte in its name");
    if (entry.is_encrypted())
      throw Error(Code::unsupported, "member '{}' is encrypted", printable(entry.name))
          .at(file_.path(), entry.place)
          .hint(
              "unpack it with '7z x' or 'unzip', which ask for the password, and convert the "
              "folder");
    if (!entry.is_readable())
      throw refused(entry, Code::unsupported,
                    fmt::format("is compressed by method {}, not deflate", entry.method));
    const bool is_too_long =
        member.is_deflated && member.bytes / kMostInflation > member.data_bytes;
    if (is_too_long || (member.data_bytes == 0 && member.bytes > 0))
      throw Error(Code::damaged, "member '{}' cannot inflate from {} bytes to {}",
                  printable(entry.name), member.data_bytes, member.bytes)
          .at(file_.path(), entry.place);
    const mode_t type = entry.unix_mode() & S_IFMT;
    rows_.add(
        {.local_offset = entry.local_offset,
         .number = number_++,
         .place = entry.place,
         .data_bytes = member.data_bytes,
         .bytes = member.bytes,
         .crc32 = member.crc32,
         .method = entry.method,
         .is_link = type == S_IFLNK,
         .is_special = type == S_IFCHR || type == S_IFBLK || type == S_IFIFO || type == S_IFSOCK,
         .stored_name = member.name,
         .name = entry.name});
  }

  // The data of these, which are then kept. False: no more are wanted.
  bool find(std::vector<EntryRow>& rows) {
    std::vector<std::vector<std::byte>> heads;
    std::vector<ReadRequest> requests;
    heads.reserve(rows.size());
    for (const EntryRow& row : rows) {
      const std::uint64_t left = directory_begin_ - std::min(directory_begin_, row.local_offset);
      heads.emplace_back(std::min(left, kZipLocalBytes + row.stored_name.size()));
      requests.push_back(
          request_of({.archive = request_.archive.file, .offset = row.local_offset}));
      requests.back().into = heads.back();
    }
    const std::vector<ReadResult> results = reader_.read(requests);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (results[i].error != 0)
        throw read_failed(file_.path(), rows[i].local_offset, heads[i].size(), results[i].error);
      if (results[i].bytes < heads[i].size()) {
        request_.archive.file->refuse_changes();
        throw read_ends_early(file_.path(), rows[i].local_offset, heads[i].size(),
                              results[i].bytes);
      }
      if (!keep(rows[i], heads[i])) return false;
    }
    rows.clear();
    return true;
  }

  bool keep(const EntryRow& row, Bytes head) try {
    ZipEntryOfDirectory entry;
    entry.place = row.place;
    entry.local_offset = row.local_offset;
    entry.method = row.method;
    entry.member = {.name = row.stored_name,
                    .is_deflated = row.method != 0,
                    .data_bytes = row.data_bytes,
                    .bytes = row.bytes,
                    .crc32 = row.crc32};
    const ZipMember found = zip_member_at(entry, head, directory_begin_, file_.path());
    if (row.local_offset < end_of_last_)
      throw Error(Code::damaged, "members '{}' and '{}' overlap", printable(last_name_),
                  printable(row.name))
          .at(file_.path(), row.local_offset);
    end_of_last_ = found.data_offset + found.data_bytes;
    last_name_ = row.name;
    const std::string path = path_in_archive(row.name);
    if (has_back_slashes_only(row.name)) ++back_slashes_;
    if (path.empty()) return true;  // the root
    const std::string& folder = request_.archive.folder;
    Member member{.path = folder.empty() ? path : folder + '\0' + path, .number = row.number};
    member.offset = request_.archive.base + found.data_offset;
    member.bytes = found.bytes;
    const ArchivedFile place{.archive = request_.archive.file,
                             .offset = found.data_offset,
                             .packed_bytes = found.is_deflated ? found.data_bytes : 0};
    if (is_folder_name(row.name)) {
      member.type = MemberType::folder;
    } else if (row.is_special) {
      member.type = MemberType::special;
    } else if (row.is_link) {
      member.type = MemberType::symbolic_link;
      member.target.resize(std::min(member.bytes, kMostTargetBytes));
      member.target.resize(read_beginning(place, std::as_writable_bytes(std::span(member.target))));
    }
    if (request_.wants_more && !request_.wants_more(member)) return false;
    table_.add(member);
    if (member.type == MemberType::file)
      packed_.add(
          {.address = member.offset, .packed_bytes = place.packed_bytes, .crc32 = found.crc32});
    return true;
  } catch (Error& error) {
    if (error.file().empty()) error.at(file_.path(), row.local_offset);
    throw;
  }

  const MemberListing& request_;
  const InputFile& file_;
  MemberTable& table_;
  PackedTable& packed_;
  SortedTable<EntryRow> rows_;
  BatchReader reader_;
  std::uint64_t directory_begin_ = 0, number_ = 0, end_of_last_ = 0, back_slashes_ = 0;
  std::string last_name_;
};

}  // namespace

ListedMembers list_zip(const MemberListing& listing, MemberTable& table, PackedTable& packed) {
  return ZipListing(listing, table, packed).run();
}

}  // namespace shale
