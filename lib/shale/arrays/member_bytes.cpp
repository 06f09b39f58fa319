#include "shale/arrays/member_bytes.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::size_t kPieceBytes = 128 * 1024;  // compressed bytes read at once

}  // namespace

Error in_member(const Error& error, const ZipMember& member, const std::string& path) {
  if (error.code() == Code::io) return error;
  const std::uint64_t inside = member.is_deflated ? 0 : error.offset().value_or(0);
  Error named(error.code(), "{} in member '{}'", error.message(), printable(member.name));
  named.at(path, member.data_offset + inside);
  if (!error.hint().empty()) named.hint(error.hint());
  return named;
}

MemberBytes::MemberBytes(const InputFile& file, const ZipMember& member)
    : file_(&file), member_(member) {
  if (!member.is_deflated) return;
  inflater_.emplace();
  buffer_.resize(std::min<std::uint64_t>(kPieceBytes, member.data_bytes));
}

void MemberBytes::read(std::span<std::byte> into) {
  if (into.size() > member_.bytes - given_) {
    throw Error(Code::bug, "{} bytes requested from a member that has {} left", into.size(),
                member_.bytes - given_);
  }
  if (inflater_) {
    inflate(into);
  } else {
    file_->read_exact(member_.data_offset + given_, into);
  }
  given_ += into.size();
  crc32_ = crc32(into, crc32_);
  if (given_ == member_.bytes) prove();
}

template <class... Args>
Error MemberBytes::damaged(fmt::format_string<Args...> format, Args&&... args) const {
  Error error(Code::damaged, format, std::forward<Args>(args)...);
  error.at(file_->path(), member_.data_offset + taken_);
  error.hint("the archive changed after it was written; copy it again");
  return error;
}

void MemberBytes::inflate(std::span<std::byte> into) {
  for (std::size_t done = 0; done < into.size();) {
    const std::size_t given = inflate_some(into.subspan(done));
    done += given;
    if (has_stalled_) {
      throw damaged("member '{}' inflates to {} bytes, but the archive's directory says {}",
                    printable(member_.name), given_ + done, member_.bytes);
    }
  }
}

// Gives what one piece holds. Stalled: nothing more will come.
std::size_t MemberBytes::inflate_some(std::span<std::byte> into) {
  has_stalled_ = has_ended_;
  if (has_ended_) return 0;
  if (piece_.empty() && taken_ < member_.data_bytes) {
    const std::uint64_t bytes =
        std::min<std::uint64_t>(buffer_.size(), member_.data_bytes - taken_);
    file_->read_exact(member_.data_offset + taken_, std::span(buffer_).first(bytes));
    piece_ = Bytes(buffer_).first(bytes);
  }
  try {
    const Inflater::Progress progress = inflater_->inflate(piece_, into);
    piece_ = piece_.subspan(progress.taken);
    taken_ += progress.taken;
    has_ended_ = progress.has_ended;
    has_stalled_ = progress.taken + progress.given == 0;
    return progress.given;
  } catch (const Error& error) {
    throw in_member(error, member_, file_->path());
  }
}

void MemberBytes::prove() {
  if (inflater_) prove_end();
  if (crc32_ == member_.crc32) return;
  throw member_checksum_error(member_, crc32_, file_->path());
}

// The stream ends where the array does, and fills the room that the directory says.
void MemberBytes::prove_end() {
  std::byte further{};
  // Also where all is taken: the inflater may not have looked at its last bits yet.
  while (!has_ended_ && !has_stalled_) {
    if (inflate_some({&further, 1}) == 0) continue;
    throw damaged("member '{}' inflates to more than {} bytes", printable(member_.name),
                  member_.bytes);
  }
  if (has_ended_ && inflater_->stream_bytes() == member_.data_bytes) return;
  throw damaged("compressed data of member '{}' ends after {} bytes, expected {}",
                printable(member_.name), inflater_->stream_bytes(), member_.data_bytes);
}

}  // namespace shale
