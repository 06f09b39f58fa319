#include "formats/webdataset/webdataset_walk.hpp"

#include <algorithm>
#include <utility>

#include "shale/format/finding_draft.hpp"

#include "formats/webdataset/webdataset_names.hpp"

namespace shale {
namespace {

// Where headers are closer than this, reading all of the file in large pieces is faster than
// waiting for each header.
constexpr std::uint64_t kDenseStep = 32 * 1024;
constexpr std::uint64_t kReadAhead = 4 << 20;

void count(MembersAside& aside, const std::string& name) {
  if (aside.count++ == 0) aside.first = name;
}

char lower(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); }

// Without a single block of zeros nothing says that no members followed.
Error no_end(const InputFile& file) {
  return Error(Code::damaged,
               "the archive has no end: found 0 bytes behind the last member, expected {} zeros or "
               "more",
               kTarBlockBytes)
      .at(file.path(), file.size());
}

std::uint64_t end_of_blocks(std::uint64_t end) {
  return (end + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

}  // namespace

SampleWalk::SampleWalk(const InputFile& file, WalkPace& pace, const LostRanges* lost,
                       std::uint64_t begin)
    : file_(file),
      pace_(pace),
      lost_(lost),
      reader_(begin, file.size(), file.path()),
      window_(file),
      sparse_(file),
      position_(begin),
      fetched_(begin),
      usual_step_(kDenseStep) {}

std::optional<SampleMember> SampleWalk::next() {
  while (!damage_) {
    pass_lost();
    const std::uint64_t offset = reader_.offset(), wanted = reader_.wanted();
    pace_.step_to(offset);
    try {
      if (wanted == 0) {
        reader_.finish();
        if (!reader_.has_end_mark() && !is_end_lost_) throw no_end(file_);
        return std::nullopt;
      }
      read_ahead(offset);
      std::optional<TarMember> member = reader_.take(window_.view(offset, wanted));
      if (!member) continue;
      member_ = *std::move(member);
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      damage_ = error;
      return std::nullopt;
    }
    const std::uint64_t begin = std::exchange(position_, reader_.offset());
    usual_step_ = (usual_step_ * 7 + position_ - begin) / 8;
    if (std::optional<SampleMember> value = value_of(begin)) return value;
  }
  return std::nullopt;
}

void SampleWalk::pass_lost() {
  if (lost_ == nullptr || next_lost_ == lost_->size()) return;
  const LostRange& lost = (*lost_)[next_lost_];
  if (reader_.offset() != position_ || position_ < lost.offset) return;
  ++next_lost_;
  position_ = lost.offset + lost.length;
  is_end_lost_ = position_ == file_.size();
  reader_ = TarReader(position_, file_.size(), file_.path());
  has_key_ = false;
}

void SampleWalk::read_ahead(std::uint64_t offset) {
  if (usual_step_ >= kDenseStep || offset + kReadAhead / 2 < fetched_) return;
  fetched_ = std::max(fetched_, offset);
  file_.prefetch(fetched_, std::min(kReadAhead, file_.size() - fetched_));
  fetched_ = std::min(fetched_ + kReadAhead, file_.size());
}

MembersAside* SampleWalk::aside_of(std::size_t base, std::size_t dot) {
  const std::string& path = member_.path;
  switch (member_.type) {
    case TarMember::Type::folder:
      return &folders_;
    case TarMember::Type::hard_link:
    case TarMember::Type::symbolic_link:
      return &links_;
    case TarMember::Type::special:
      return &specials_;
    case TarMember::Type::file:
      break;
  }
  if (base < path.size() && path[base] == '.') return &hidden_;
  const bool has_extension = dot != path.npos && dot + 1 < path.size();
  return has_extension && split_member_name(path) ? nullptr : &nameless_;
}

std::optional<SampleMember> SampleWalk::value_of(std::uint64_t begin) {
  const std::string& path = member_.path;
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == path.npos ? 0 : slash + 1, dot = path.find('.', base);
  if (MembersAside* const aside = aside_of(base, dot)) {
    if (aside != &folders_ || (path != "./" && path != ".")) count(*aside, path);
    return std::nullopt;
  }
  const std::string_view key = std::string_view(path).substr(0, dot);
  SampleMember value;
  value.is_first = !has_key_ || key != key_;
  if (value.is_first) key_ = key;
  has_key_ = true;
  extension_ = path.substr(dot + 1);
  std::ranges::transform(extension_, extension_.begin(), lower);
  value.key = key_;
  value.extension = extension_;
  if (member_.path_offset != kInTwoPieces)
    value.key_place = {.offset = member_.path_offset, .length = key.size()};
  value.place = {.offset = member_.offset, .length = member_.bytes};
  value.begin = begin;
  value.end = std::min(end_of_blocks(member_.offset + member_.bytes), file_.size());
  return value;
}

}  // namespace shale
