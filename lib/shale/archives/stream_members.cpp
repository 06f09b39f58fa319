#include "shale/archives/stream_members.hpp"

#include <algorithm>
#include <utility>

#include "shale/archives/tar_members.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::string_view kInnerSuffix = ".tar";

std::string slashed(std::string path) {
  std::replace(path.begin(), path.end(), '\0', '/');
  return path;
}

bool is_end_or_header(Bytes block) {
  const bool is_empty =
      std::all_of(block.begin(), block.end(), [](std::byte byte) { return byte == std::byte{0}; });
  return block.size() == kTarBlockBytes && (is_empty || is_tar_header(block));
}

}  // namespace

StreamMembers::StreamMembers(std::unique_ptr<UnpackedStream> stream, const std::string& folder)
    : stream_(std::move(stream)),
      shown_folder_(folder),
      folder_(path_in_archive(folder)),
      has_folder_(folder_.empty()),
      outer_(0, kEndOfTarStream, stream_->name()) {}

std::optional<StreamMember> StreamMembers::next() {
  for (;;) {
    std::optional<TarMember> member = advance();
    if (!member && has_folder_) return std::nullopt;
    if (!member) throw no_folder_of_archive(join_path(name(), shown_folder_));
    const std::uint64_t header = member->header;
    data_begin_ = member->offset;
    data_end_ = member->offset + member->bytes;
    try {
      if (std::optional<StreamMember> found = in_folder(std::move(*member))) return found;
    } catch (Error& error) {
      if (error.file().empty()) error.at(name(), header);
      throw;
    }
  }
}

// The next member, of whatever folder.
std::optional<TarMember> StreamMembers::advance() try {
  for (;;) {
    TarReader& reader = inner_ ? *inner_ : outer_;
    if (reader.wanted() > 0) {
      if (std::optional<TarMember> member = feed(reader)) return member;
      continue;
    }
    reader.finish();
    has_end_marks_ = has_end_marks_ && reader.has_end_mark();
    if (!inner_) return std::nullopt;
    inner_.reset();
  }
} catch (Error& error) {
  if (inner_ && error.cause().empty())
    error.because(fmt::format("in its member {}", printable(inner_name_)));
  throw;
}

// What the reader wants next. An archive in the archive cannot end before the stream does: the
// member that it is would.
std::optional<TarMember> StreamMembers::feed(TarReader& reader) {
  if (!stream_->skip_to(reader.offset())) {
    outer_.end_at(stream_->position());
    return std::nullopt;
  }
  buffer_.resize(reader.wanted());
  const std::uint64_t got = stream_->read(buffer_);
  if (got < buffer_.size()) {
    outer_.end_at(stream_->position());
    if (got == 0) return std::nullopt;
  }
  return reader.take(Bytes(buffer_).first(got));
}

std::optional<StreamMember> StreamMembers::in_folder(TarMember member) {
  std::string path = path_in_archive(member.path);
  if (inner_ && !path.empty()) {
    path.insert(0, 1, '\0').insert(0, inner_folder_);
  } else if (inner_) {
    return std::nullopt;  // the root of the archive in it
  }
  if (!folder_.empty()) {
    const bool is_above = folder_ == path || folder_.starts_with(path + '\0');
    if (is_above && member.type == TarMember::Type::symbolic_link)
      throw link_in_stream(join_path(name(), slashed(path)), member.target);
    if (path == folder_ && member.type == TarMember::Type::folder) has_folder_ = true;
    if (!path.starts_with(folder_ + '\0')) return std::nullopt;
    has_folder_ = true;
    path.erase(0, folder_.size() + 1);
  }
  if (path.empty()) return std::nullopt;  // the root
  StreamMember found{.type = member.type,
                     .path = slashed(path),
                     .target = std::move(member.target),
                     .is_inner = inner_.has_value(),
                     .header = member.header,
                     .bytes = member.bytes};
  if (!begin_inner(member, path)) return found;
  found.type = TarMember::Type::folder;
  found.is_archive = true;
  found.path.resize(found.path.size() - kInnerSuffix.size());
  found.bytes = 0;
  data_end_ = data_begin_;
  return found;
}

// `path`: in the folder.
bool StreamMembers::begin_inner(const TarMember& member, const std::string& path) {
  const bool is_archive = !inner_ && member.type == TarMember::Type::file && is_tar_name(path) &&
                          path.find('\0') == std::string::npos;
  if (!is_archive) return false;
  if (member.bytes < kTarBlockBytes || !is_end_or_header(stream_->peek(kTarBlockBytes)))
    throw not_an_archive(path);
  inner_name_ = path;
  inner_folder_ = folder_.empty() ? "" : folder_ + '\0';
  inner_folder_.append(path, 0, path.size() - kInnerSuffix.size());
  inner_.emplace(member.offset, member.offset + member.bytes, name());
  return true;
}

void StreamMembers::read_data(std::span<std::byte> into) {
  if (!stream_->skip_to(data_begin_) || stream_->read(into) < into.size())
    outer_.end_at(stream_->position());
}

Error link_in_stream(const std::string& path, std::string_view target) {
  return Error(Code::unsupported, "is a link to {}, which a stream cannot follow",
               printable(target))
      .at(path)
      .hint("decompress the archive to a .tar file, which is read in place");
}

void StreamMembers::skip_data() {
  if (!stream_->skip_to(data_end_)) outer_.end_at(stream_->position());
}

}  // namespace shale
