#include "shale/archives/tar_members.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/wire/tar_reader.hpp"

namespace shale {
namespace {

// Archives that are read at once: each has to wait for one header before it knows where the next
// one is.
constexpr std::size_t kMostChains = 32;
constexpr std::uint64_t kPageBytes = 4096, kMostWindowBytes = 64 * 1024;
constexpr std::string_view kArchiveSuffix = ".tar";

std::uint64_t end_of_page(std::uint64_t offset) {
  return (offset + kPageBytes - 1) / kPageBytes * kPageBytes;
}

MemberType type_of(const TarMember& member) {
  switch (member.type) {
    case TarMember::Type::file:
      return MemberType::file;
    case TarMember::Type::folder:
      return MemberType::folder;
    case TarMember::Type::hard_link:
      return MemberType::hard_link;
    case TarMember::Type::symbolic_link:
      return MemberType::symbolic_link;
    case TarMember::Type::special:
      return MemberType::special;
  }
  return MemberType::special;
}

std::string joined(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.empty()) return folder + path;
  return folder + '\0' + path;
}

// One archive on its way through its headers.
struct Chain {
  TarReader reader;
  Member self;  // of an archive in the archive: what it is there; its path is the folder
  std::uint64_t members = 0;
  bool is_inner = false, is_tar = false;
  std::vector<std::byte> window;
  std::uint64_t begin, end;  // of the archive
  std::uint64_t window_begin = 0, usual_step = kMostWindowBytes * 2;

  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t bytes) const {
    return offset >= window_begin && offset + bytes <= window_begin + window.size();
  }
  [[nodiscard]] Bytes view(std::uint64_t offset, std::uint64_t bytes) const {
    return Bytes(window).subspan(offset - window_begin, bytes);
  }
};

class Listing {
 public:
  Listing(const MemberListing& request, MemberTable& table)
      : request_(request),
        file_(request.archive.file->file()),
        table_(table),
        most_window_(std::clamp(request.memory_bytes / kMostChains / kPageBytes * kPageBytes,
                                kPageBytes, kMostWindowBytes)),
        reader_({}) {}

  ListedMembers run() {
    const SparseReading sparse(file_);
    chains_.push_back(std::make_unique<Chain>(Chain{.reader = {0, file_.size(), file_.path()},
                                                    .self = {.path = request_.archive.folder},
                                                    .is_tar = true,
                                                    .window = {},
                                                    .begin = 0,
                                                    .end = file_.size()}));
    while (!chains_.empty() && wants_more_) {
      request_.stop_if_asked();
      // The first one is the archive itself: it adds to the others, while there is room.
      for (std::size_t i = 0; i < chains_.size() && wants_more_;) {
        if (advance(*chains_[i])) {
          ++i;
        } else {
          chains_.erase(chains_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (wants_more_) fetch();
    }
    return {
        .is_complete = wants_more_, .has_end_marks = has_end_marks_, .back_slashes = back_slashes_};
  }

 private:
  // As far as its window goes; false at its end.
  bool advance(Chain& chain) try {
    if (!chain.is_tar) {
      if (chain.window.empty()) return true;
      const Bytes block = chain.view(chain.begin, kTarBlockBytes);
      const bool is_empty = std::all_of(block.begin(), block.end(),
                                        [](std::byte byte) { return byte == std::byte{0}; });
      if (!is_empty && !is_tar_header(block))
        throw not_an_archive(chain.self.path + std::string(kArchiveSuffix))
            .at(file_.path(), chain.begin);
      chain.is_tar = true;
      chain.self.type = MemberType::archive;
      keep(chain.self);
    }
    while (chain.reader.wanted() > 0 && wants_more_) {
      if (!chain.is_inner && chains_.size() >= kMostChains) return true;  // waits for the others
      const std::uint64_t offset = chain.reader.offset(), wanted = chain.reader.wanted();
      if (!chain.has(offset, wanted)) return true;
      const std::optional<TarMember> member = chain.reader.take(chain.view(offset, wanted));
      chain.usual_step = (chain.usual_step * 3 + chain.reader.offset() - offset) / 4;
      if (member) add(chain, *member);
    }
    if (!wants_more_) return false;
    chain.reader.finish();
    has_end_marks_ = has_end_marks_ && chain.reader.has_end_mark();
    return false;
  } catch (Error& error) {
    if (chain.is_inner && chain.is_tar)
      error.because(
          fmt::format("in its member {}{}", printable(last_part(chain.self.path)), kArchiveSuffix));
    throw;
  }

  static std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('\0') + 1);
  }

  void add(Chain& chain, const TarMember& found) try {
    Member member;
    const std::string path = path_in_archive(found.path);
    if (has_back_slashes_only(found.path)) ++back_slashes_;
    if (path.empty()) return;  // the root
    member.path = joined(chain.self.path, path);
    member.number = chain.is_inner ? chain.self.number + ++chain.members : ++chain.members << 32;
    member.type = type_of(found);
    member.is_inner = chain.is_inner;
    member.offset = found.offset;
    member.bytes = found.bytes;
    member.target = found.target;
    if (member.type == MemberType::hard_link)
      member.target = joined(chain.self.path, path_in_archive(found.target));
    if (!chain.is_inner && begin_inner(member)) return;
    keep(std::move(member));
  } catch (Error& error) {
    if (error.file().empty()) error.at(file_.path(), found.header);
    throw;
  }

  void keep(Member member) {
    member.offset += request_.archive.base;
    wants_more_ = wants_more_ && (!request_.wants_more || request_.wants_more(member));
    if (wants_more_) table_.add(member);
  }

  // True for a member that may be an archive: it is listed when its first block has been read.
  bool begin_inner(const Member& member) {
    const std::string_view path = member.path, name = last_part(path);
    if (member.type != MemberType::file || !is_tar_name(name)) return false;
    const std::string_view folder =
        path.substr(0, path.size() - std::min(path.size(), name.size() + 1));
    const std::vector<std::string>& folders = request_.folders_of_archives;
    if (std::ranges::find(folders, folder) == folders.end()) return false;
    if (member.bytes < kTarBlockBytes) throw not_an_archive(path);
    const std::uint64_t end = member.offset + member.bytes;
    auto chain = std::make_unique<Chain>(Chain{.reader = {member.offset, end, file_.path()},
                                               .self = member,
                                               .is_inner = true,
                                               .window = {},
                                               .begin = member.offset,
                                               .end = end});
    chain->self.path = path.substr(0, path.size() - kArchiveSuffix.size());
    chains_.push_back(std::move(chain));
    return true;
  }

  // What each chain needs next, all at once.
  void fetch() {
    std::vector<ReadRequest> requests;
    std::vector<Chain*> fetched;
    for (const std::unique_ptr<Chain>& chain : chains_) {
      const std::uint64_t offset = chain->reader.offset(), wanted = chain->reader.wanted();
      if (chain->has(offset, wanted)) continue;  // it waits for the others
      // Where most of a window would be data that nobody wants, the page with the header.
      const bool is_dense = chain->usual_step < most_window_ / 2;
      const std::uint64_t least = end_of_page(offset + wanted) - offset;
      const std::uint64_t bytes =
          std::min(is_dense ? std::max(least, most_window_) : least, chain->end - offset);
      chain->window.resize(bytes);
      chain->window_begin = offset;
      requests.push_back(request_of({.archive = request_.archive.file, .offset = offset}));
      requests.back().into = chain->window;
      fetched.push_back(chain.get());
    }
    const std::vector<ReadResult> results = reader_.read(requests);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ReadRequest& request = requests[i];
      if (results[i].error != 0)
        throw read_failed(file_.path(), request.offset, request.into.size(), results[i].error);
      if (results[i].bytes == request.into.size()) continue;
      request_.archive.file->refuse_changes();
      throw read_ends_early(file_.path(), request.offset, request.into.size(), results[i].bytes);
    }
  }

  const MemberListing& request_;
  const InputFile& file_;
  MemberTable& table_;
  std::uint64_t most_window_;
  BatchReader reader_;
  bool has_end_marks_ = true, wants_more_ = true;
  std::uint64_t back_slashes_ = 0;
  std::vector<std::unique_ptr<Chain>> chains_;
};

}  // namespace

Error no_folder_of_archive(const std::string& path) {
  return Error(Code::not_found, "is not a folder of the archive")
      .at(path)
      .hint("list what it holds with 'tar --list'");
}

bool is_tar_name(std::string_view name) {
  return name.size() > kArchiveSuffix.size() && name.ends_with(kArchiveSuffix) &&
         !name.starts_with('.');
}

Error not_an_archive(std::string_view path) {
  std::string shown(path);
  std::replace(shown.begin(), shown.end(), '\0', '/');
  return Error(Code::damaged, "member {} is not the archive that its name says it is",
               printable(shown))
      .hint(
          "compare its size and checksum with those of the original; leave it out of the archive "
          "if "
          "it is something else");
}

bool has_back_slashes_only(std::string_view name) {
  return name.find('\\') != name.npos && name.find('/') == name.npos;
}

std::string path_in_archive(std::string_view name) {
  std::string slashed;
  if (has_back_slashes_only(name)) {
    slashed = name;
    std::ranges::replace(slashed, '\\', '/');
    name = slashed;
  }
  const auto leads_out = [name] {
    return Error(Code::bad_content, "{} leads out of the archive", printable(name))
        .hint(
            "unpack the archive with a program that says what it makes of it, and convert the "
            "folder");
  };
  if (name.starts_with('/')) throw leads_out();
  std::string path;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part == "..") throw leads_out();
    if (!part.empty() && part != ".") {
      if (!path.empty()) path += '\0';
      path += part;
    }
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return path;
}

ListedMembers list_tar(const MemberListing& listing, MemberTable& table) {
  return Listing(listing, table).run();
}

}  // namespace shale
