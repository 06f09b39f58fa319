#include "shale/archives/member_table.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/bytes.hpp"

// An entry of the sorter: path, NUL NUL, u64 number (big-endian), then the rest. No component is
// empty, so NUL NUL is less than anything that follows a path within a longer one. The file holds
// the same, each entry behind its length, u32.

namespace shale {
namespace {

constexpr std::uint64_t kFirstStep = 32 * 1024, kWindowBytes = 64 * 1024, kMarkBytes = 64;
constexpr std::string_view kPathEnd("\0\0", 2);

Member parse_member(std::string_view entry) {
  Member member;
  const std::size_t end = entry.find(kPathEnd);
  member.path = entry.substr(0, end);
  ByteReader rest(as_bytes(entry.substr(end + kPathEnd.size())));
  member.number = read_big_endian(as_text(rest.read_bytes(sizeof(std::uint64_t))));
  member.type = static_cast<MemberType>(rest.read_u8());
  member.is_inner = rest.read_u8() != 0;
  member.offset = rest.read_u64();
  member.bytes = rest.read_u64();
  member.target = as_text(rest.read_bytes(rest.remaining()));
  return member;
}

}  // namespace

MemberTable::MemberTable(const std::string& scratch_folder, std::uint64_t memory_bytes)
    : memory_bytes_(memory_bytes),
      scratch_folder_(scratch_folder),
      sorter_(std::in_place, scratch_folder, memory_bytes / 2),
      step_(kFirstStep) {}

void MemberTable::add(const Member& member) {
  entry_ = member.path;
  entry_ += kPathEnd;
  append_big_endian(entry_, member.number);
  entry_ += static_cast<char>(member.type);
  entry_ += member.is_inner ? '\1' : '\0';
  entry_.append(as_text(bytes_of(member.offset))).append(as_text(bytes_of(member.bytes)));
  entry_ += member.target;
  sorter_->add(entry_);
}

void MemberTable::finish(const std::function<void()>& stop_if_asked) {
  sorter_->finish();
  file_.emplace(scratch_folder_);
  std::uint64_t next_mark = 0;
  while (const std::optional<std::string_view> entry = sorter_->next()) {
    stop_if_asked();
    const std::string_view path = entry->substr(0, entry->find(kPathEnd));
    const bool is_of_another = marks_.empty() || marks_.back().path != path;
    if (file_->size() >= next_mark && is_of_another) {
      mark(path, file_->size());
      next_mark = file_->size() + step_;
    }
    file_->append(bytes_of(static_cast<std::uint32_t>(entry->size())));
    file_->append(as_bytes(*entry));
  }
  sorter_.reset();
}

// A mark is of the first member of its path: a search may begin there.
void MemberTable::mark(std::string_view path, std::uint64_t place) {
  marks_.push_back({std::string(path), place});
  marks_bytes_ += kMarkBytes + path.size();
  if (marks_bytes_ <= memory_bytes_ / 4) return;
  // Half as many, twice as far from each other.
  step_ *= 2;
  marks_bytes_ = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < marks_.size(); i += 2) {
    if (kept != i) marks_[kept] = std::move(marks_[i]);
    marks_bytes_ += kMarkBytes + marks_[kept++].path.size();
  }
  marks_.resize(kept);
}

std::uint64_t MemberTable::find(std::string_view path) {
  const auto behind = std::upper_bound(
      marks_.begin(), marks_.end(), path,
      [](std::string_view sought, const Mark& mark) { return sought < mark.path; });
  std::uint64_t place = behind == marks_.begin() ? 0 : std::prev(behind)->place;
  for (;;) {
    std::uint64_t behind_it = place;
    const std::optional<Member> member = next(behind_it);
    if (!member || member->path >= path) return place;
    place = behind_it;
  }
}

std::optional<Member> MemberTable::next(std::uint64_t& place) {
  if (place >= file_->size()) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, view(place, sizeof(length)).data(), sizeof(length));
  Member member = parse_member(as_text(view(place + sizeof(length), length)));
  place += sizeof(length) + length;
  return member;
}

Bytes MemberTable::view(std::uint64_t place, std::uint64_t bytes) {
  const bool is_inside = place >= window_begin_ && place + bytes <= window_begin_ + window_.size();
  if (!is_inside) {
    window_.resize(std::min(std::max(kWindowBytes, bytes), file_->size() - place));
    file_->read_exact(place, window_);
    window_begin_ = place;
  }
  return Bytes(window_).subspan(place - window_begin_, bytes);
}

}  // namespace shale
