#include "shale/archives/zip_members.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/wire/zip_directory.hpp"

namespace shale {
namespace {

constexpr std::size_t kHeadersAtOnce = 64;
constexpr std::uint64_t kMostTargetBytes = 4096;        // of a symbolic link
constexpr std::uint64_t kMostInflation = 1032;          // what deflate can make of a byte
constexpr std::uint64_t kMostBytesOfNames = 1U << 20U;  // of members with two names
constexpr std::string_view kUnpackHint =
    "unpack it with a program that can, such as 7z, and convert the folder";

std::string hint_of_fault(const Error& fault, OnDamage on_damage) {
  const bool is_damaged = fault.code() == Code::damaged;
  if (on_damage != OnDamage::suggest)
    return is_damaged ? "copy the archive again; 'unzip -t' lists all the damage"
                      : std::string(kUnpackHint);
  if (is_damaged)
    return "copy the archive again, or pass --on-error skip to leave out what is damaged; 'unzip "
           "-t' lists all the damage";
  return "unpack it with '7z x', which asks for passwords, and convert the folder; or pass "
         "--on-error skip to leave such members out";
}

std::string hint_of_directory(const std::string& path) {
  return "copy the archive again; if there is no other copy, 'zip -FF " + printable(path) +
         " -O whole.zip' makes an archive of the members that it finds";
}

// A directory entry, by where its local header is.
struct EntryRow {
  std::uint64_t local_offset = 0, number = 0, place = 0, data_bytes = 0, bytes = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0, flags = 0;
  bool is_link = false;
  bool is_special = false;
  std::string stored_name;
  std::string name;  // UTF-8
  static auto columns(auto& row) {
    return std::tie(row.local_offset, row.number, row.place, row.data_bytes, row.bytes, row.crc32,
                    row.method, row.flags, row.is_link, row.is_special, row.stored_name, row.name);
  }
};

ZipEntryOfDirectory entry_of(const EntryRow& row) {
  ZipEntryOfDirectory entry;
  entry.name = row.name;
  entry.place = row.place;
  entry.local_offset = row.local_offset;
  entry.method = row.method;
  entry.flags = row.flags;
  entry.member = {.name = row.stored_name,
                  .is_deflated = row.method != 0,
                  .data_bytes = row.data_bytes,
                  .bytes = row.bytes,
                  .crc32 = row.crc32};
  return entry;
}

bool is_folder_name(std::string_view name) {
  return name.ends_with('/') || (name.ends_with('\\') && has_back_slashes_only(name));
}

// A path of the MemberTable; nullopt for the name of nothing in the archive.
std::optional<std::string> usable_path(std::string_view name) {
  if (name.find('\0') != name.npos) return std::nullopt;
  try {
    std::string path = path_in_archive(name);
    return path.empty() ? std::nullopt : std::optional(std::move(path));
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string_view path_above(std::string_view path) {
  const std::size_t end = path.rfind('\0');
  return path.substr(0, end == path.npos ? 0 : end);
}

// Members whose header and entry have different names: one of the two is damaged. A folder that is
// made of a damaged name would be a class, and move the labels of those behind it.
class TwoNames {
 public:
  struct Doubt {
    EntryRow row;
    std::string other;  // the name in its header
    Error fault;
  };

  void add(Doubt doubt) {
    bytes_ += doubt.row.name.size() + doubt.row.stored_name.size() + doubt.other.size();
    if (bytes_ > kMostBytesOfNames) throw doubt.fault;
    for (const std::string& name : {doubt.row.name, doubt.other}) {
      const std::optional<std::string> path = usable_path(name);
      if (!path) continue;
      is_seen_.emplace(*path, false);
      is_seen_.emplace(path_above(*path), false);
    }
    places_.insert(doubt.row.place);
    doubts_.push_back(std::move(doubt));
  }

  [[nodiscard]] bool empty() const { return doubts_.empty(); }

  // Of every entry.
  void see(const ZipEntryOfDirectory& entry) {
    if (places_.contains(entry.place)) return;
    const std::optional<std::string> whole = usable_path(entry.name);
    if (!whole) return;
    for (std::string_view path = *whole; !path.empty(); path = path_above(path)) {
      if (const auto found = is_seen_.find(path); found != is_seen_.end()) found->second = true;
    }
  }

  // use(doubt, path) for each path that one of the files may have. Errors: the fault of a member
  // whose folder is in doubt, too.
  template <class Use>
  void for_each_path(const Use& use) const {
    for (const Doubt& doubt : doubts_) {
      const Name names[] = {named(doubt.row.name), named(doubt.other)};
      if (!is_its(names[0], names[1]) && !is_its(names[1], names[0])) throw doubt.fault;
      for (const Name& name : names) {
        const Name& other = &name == names ? names[1] : names[0];
        if (is_its(name, other) && !name.is_folder) use(doubt, *name.path);
      }
    }
  }

 private:
  struct Name {
    std::optional<std::string> path;
    bool is_folder = false, is_taken = false, has_folder = false;
  };

  [[nodiscard]] Name named(const std::string& name) const {
    Name found{.path = usable_path(name), .is_folder = is_folder_name(name)};
    if (!found.path) return found;
    const bool is_seen = is_seen_.find(*found.path)->second;
    found.is_taken = is_seen && !found.is_folder;
    found.has_folder = found.is_folder ? is_seen : is_seen_.find(path_above(*found.path))->second;
    return found;
  }

  // A name that others have is not this member's, which then has the other one.
  [[nodiscard]] static bool is_its(const Name& name, const Name& other) {
    const bool is_certain = !other.path || other.is_taken;
    return name.path && !name.is_taken && (is_certain || name.has_folder);
  }

  std::vector<Doubt> doubts_;
  std::set<std::uint64_t> places_;
  std::map<std::string, bool, std::less<>> is_seen_ = {{"", true}};  // among other members
  std::uint64_t bytes_ = 0;
};

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
    for_each_entry([this](const ZipEntryOfDirectory& entry) { add(entry); });
    rows_.finish();
    const SparseReading sparse(file_);
    std::vector<EntryRow> rows;
    while (const std::optional<EntryRow> row = rows_.next()) {
      request_.stop_if_asked();
      rows.push_back(*row);
      if (rows.size() == kHeadersAtOnce) find(rows);
      if (!wants_more_) return result();
    }
    find(rows);
    flush();
    if (wants_more_ && !two_names_.empty()) list_by_both_names();
    return result();
  }

 private:
  // What is listed when the member behind it shows that it ends before.
  struct Listed {
    EntryRow row;
    Member member;
    PackedMember packed;
  };

  [[nodiscard]] ListedMembers result() const {
    return {.is_complete = wants_more_, .has_end_marks = true, .back_slashes = back_slashes_};
  }
  [[nodiscard]] bool leaves_out() const { return request_.on_damage == OnDamage::leave_out; }

  template <class... Args>
  [[nodiscard]] Error fault_at(Code code, std::uint64_t offset, fmt::format_string<Args...> format,
                               Args&&... args) const {
    return with_hint(Error(code, format, std::forward<Args>(args)...).at(file_.path(), offset));
  }
  [[nodiscard]] std::string words_of(const Error& fault) const {
    return fmt::format("{}: byte {}: {}", file_.name(), fault.offset().value_or(0),
                       fault.message());
  }
  [[nodiscard]] Error with_hint(Error error) const {
    return error.hint(hint_of_fault(error, request_.on_damage));
  }

  void for_each_entry(const std::function<void(const ZipEntryOfDirectory&)>& use) {
    WindowReader window(file_);
    std::exception_ptr refused;  // by `use`
    try {
      const ZipDirectory directory(file_.size(), window.views(), file_.path());
      directory_begin_ = directory.begin();
      directory.for_each([&](const ZipEntryOfDirectory& entry) {
        request_.stop_if_asked();
        try {
          use(entry);
        } catch (...) {
          refused = std::current_exception();
        }
        return refused == nullptr;
      });
    } catch (const Error& error) {
      if (error.code() != Code::damaged && error.code() != Code::unsupported) throw;
      throw Error(error.code(), "{}", error.message())
          .at(file_.path(), error.offset())
          .hint(error.code() == Code::damaged ? hint_of_directory(file_.path())
                                              : std::string(kUnpackHint));
    }
    if (refused) std::rethrow_exception(refused);
  }

  // What an entry alone shows; nullopt: it can be read, as far as it says.
  [[nodiscard]] std::optional<Error> fault_of(const ZipEntryOfDirectory& entry) const {
    const ZipMember& member = entry.member;
    if (entry.is_encrypted())
      return fault_at(Code::unsupported, entry.place, "member '{}' is encrypted",
                      printable(entry.name));
    if (!entry.is_readable())
      return fault_at(Code::unsupported, entry.place,
                      "member '{}' is compressed by method {}, not deflate", printable(entry.name),
                      entry.method);
    if (is_folder_name(entry.name) && member.bytes > 0)
      return fault_at(Code::damaged, entry.place,
                      "member '{}' of {} bytes has the name of a folder", printable(entry.name),
                      member.bytes);
    const bool is_too_long =
        member.is_deflated && member.bytes / kMostInflation > member.data_bytes;
    if (is_too_long || (member.data_bytes == 0 && member.bytes > 0))
      return fault_at(Code::damaged, entry.place, "member '{}' cannot inflate from {} bytes to {}",
                      printable(entry.name), member.data_bytes, member.bytes);
    return std::nullopt;
  }

  void refuse_name(const EntryRow& row) const {
    const bool is_empty = row.name.empty();
    if (!is_empty && row.name.find('\0') == std::string::npos) return;
    throw Error(Code::bad_content, "member '{}' {}", printable(row.name),
                is_empty ? "has no name" : "has a NUL byte in its name")
        .at(file_.path(), row.place)
        .hint(kUnpackHint);
  }

  void add(const ZipEntryOfDirectory& entry) {
    const mode_t type = entry.unix_mode() & S_IFMT;
    const EntryRow row{
        .local_offset = entry.local_offset,
        .number = ++number_,
        .place = entry.place,
        .data_bytes = entry.member.data_bytes,
        .bytes = entry.member.bytes,
        .crc32 = entry.member.crc32,
        .method = entry.method,
        .flags = entry.flags,
        .is_link = type == S_IFLNK && entry.member.bytes <= kMostTargetBytes,
        .is_special = entry.member.bytes == 0 &&
                      (type == S_IFCHR || type == S_IFBLK || type == S_IFIFO || type == S_IFSOCK),
        .stored_name = entry.member.name,
        .name = entry.name};
    if (!leaves_out()) {
      if (const std::optional<Error> fault = fault_of(entry)) throw *fault;
    }
    rows_.add(row);
  }

  // The data of these, which are then listed.
  void find(std::vector<EntryRow>& rows) {
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
    for (std::size_t i = 0; i < rows.size() && wants_more_; ++i) {
      if (results[i].error != 0)
        throw read_failed(file_.path(), rows[i].local_offset, heads[i].size(), results[i].error);
      if (results[i].bytes < heads[i].size()) {
        request_.archive.file->refuse_changes();
        throw read_ends_early(file_.path(), rows[i].local_offset, heads[i].size(),
                              results[i].bytes);
      }
      list(rows[i], heads[i]);
    }
    rows.clear();
  }

  void list(const EntryRow& row, Bytes head) {
    const ZipEntryOfDirectory entry = entry_of(row);
    std::optional<Error> fault = fault_of(entry);
    ZipMember found;
    if (!fault) try {
        found = zip_member_at(entry, head, directory_begin_, file_.path());
      } catch (const Error& error) {
        fault = with_hint(error);
      }
    if (fault && !leaves_out()) throw *std::move(fault);
    if (fault) {
      std::string other = name_in_local_header(entry, head);
      if (!other.empty() && other != row.name)
        return two_names_.add({.row = row, .other = std::move(other), .fault = *std::move(fault)});
    }
    refuse_name(row);
    const std::string path = path_of(row);
    if (has_back_slashes_only(row.name)) ++back_slashes_;
    if (fault) return list_unreadable(row, path, *fault);
    if (row.local_offset < end_of_last_) refuse_last(row);
    flush();
    end_of_last_ = found.data_offset + found.data_bytes;
    last_ = listed(row, path, found);
  }

  [[nodiscard]] std::string path_of(const EntryRow& row) const try {
    return path_in_archive(row.name);
  } catch (Error& error) {
    throw error.at(file_.path(), row.local_offset);
  }

  // The member before reaches into this one, whose header is where it should be.
  void refuse_last(const EntryRow& row) {
    const Error overlap = fault_at(Code::damaged, row.local_offset, "members '{}' and '{}' overlap",
                                   printable(last_->row.name), printable(row.name));
    if (!leaves_out()) throw overlap;
    const Listed last = *std::move(last_);
    last_.reset();
    list_unreadable(last.row, last.member.path, overlap);
  }

  void flush() {
    if (last_ && !last_->member.path.empty()) keep(*last_);
    last_.reset();
  }

  void keep(const Listed& one) {
    Member member = one.member;  // its path becomes that in the table
    const std::string& folder = request_.archive.folder;
    if (!folder.empty()) member.path = folder + '\0' + member.path;
    wants_more_ = wants_more_ && (!request_.wants_more || request_.wants_more(member));
    if (!wants_more_) return;
    table_.add(member);
    if (member.type == MemberType::file) packed_.add(one.packed);
  }

  [[nodiscard]] Listed listed(const EntryRow& row, const std::string& path,
                              const ZipMember& found) const {
    const std::uint64_t address = request_.archive.base + found.data_offset;
    const std::uint64_t packed_bytes = found.is_deflated ? found.data_bytes : 0;
    Listed one{.row = row,
               .member = {.path = path, .number = row.number},
               .packed = {.address = address, .packed_bytes = packed_bytes, .crc32 = found.crc32}};
    one.member.offset = address;
    one.member.bytes = found.bytes;
    if (is_folder_name(row.name)) {
      one.member.type = MemberType::folder;
    } else if (row.is_special) {
      one.member.type = MemberType::special;
    } else if (row.is_link) {
      std::string target = target_of(found, packed_bytes);
      if (target.find('\0') != target.npos) return one;
      one.member.type = MemberType::symbolic_link;
      one.member.target = std::move(target);
    }
    return one;
  }

  // A link says where the value of another path lies: one that is damaged is never followed.
  [[nodiscard]] std::string target_of(const ZipMember& found, std::uint64_t packed_bytes) const {
    std::string target(found.bytes, '\0');
    target.resize(read_beginning({.archive = request_.archive.file,
                                  .offset = found.data_offset,
                                  .packed_bytes = packed_bytes},
                                 std::as_writable_bytes(std::span(target))));
    if (const std::uint32_t crc = crc32(as_bytes(target)); crc != found.crc32)
      throw member_checksum_error(found, crc, file_.path());
    return target;
  }

  // Folders have nothing that is read.
  void list_unreadable(const EntryRow& row, const std::string& path, const Error& fault) {
    if (path.empty()) return;
    if (row.is_link) throw fault;
    Listed one{.row = row,
               .member = {.path = path, .number = row.number},
               .packed = {.address = request_.archive.base + row.place,
                          .packed_bytes = 0,
                          .crc32 = 0,
                          .damage = words_of(fault)}};
    one.member.offset = one.packed.address;
    if (is_folder_name(row.name) && row.bytes == 0) one.member.type = MemberType::folder;
    keep(one);
  }

  void list_by_both_names() {
    for_each_entry([this](const ZipEntryOfDirectory& entry) { two_names_.see(entry); });
    two_names_.for_each_path([this](const TwoNames::Doubt& doubt, const std::string& path) {
      EntryRow row = doubt.row;
      row.name = path;
      list_unreadable(row, path, doubt.fault);
    });
  }

  const MemberListing& request_;
  const InputFile& file_;
  MemberTable& table_;
  PackedTable& packed_;
  SortedTable<EntryRow> rows_;
  BatchReader reader_;
  TwoNames two_names_;
  std::optional<Listed> last_;
  bool wants_more_ = true;
  std::uint64_t directory_begin_ = 0, number_ = 0, end_of_last_ = 0, back_slashes_ = 0;
};

}  // namespace

ListedMembers list_zip(const MemberListing& listing, MemberTable& table, PackedTable& packed) {
  return ZipListing(listing, table, packed).run();
}

}  // namespace shale
