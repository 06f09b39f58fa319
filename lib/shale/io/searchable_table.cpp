#include "shale/io/searchable_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kFirstStep = 32 * 1024, kSearchWindowBytes = 64 * 1024, kMarkBytes = 64;

}  // namespace

SearchableEntries::SearchableEntries(const std::string& scratch_folder, std::uint64_t memory_bytes)
    : memory_bytes_(memory_bytes),
      sorter_(std::in_place, scratch_folder, memory_bytes / 2),
      file_(scratch_folder),
      step_(kFirstStep) {}

void SearchableEntries::finish(const std::function<void()>& stop_if_asked) {
  sorter_->finish();
  while (const std::optional<std::string_view> entry = sorter_->next()) {
    stop_if_asked();
    if (file_.size() >= next_mark_) mark(*entry);
    file_.append(bytes_of(static_cast<std::uint32_t>(entry->size())));
    file_.append(as_bytes(*entry));
  }
  sorter_.reset();
}

void SearchableEntries::mark(std::string_view entry) {
  marks_.push_back({std::string(entry), file_.size()});
  marks_bytes_ += kMarkBytes + entry.size();
  if (marks_bytes_ > memory_bytes_ / 4) {
    // Half as many, twice as far from each other.
    step_ *= 2;
    marks_bytes_ = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < marks_.size(); i += 2) {
      if (kept != i) marks_[kept] = std::move(marks_[i]);
      marks_bytes_ += kMarkBytes + marks_[kept++].entry.size();
    }
    marks_.resize(kept);
  }
  next_mark_ = file_.size() + step_;
}

std::uint64_t SearchableEntries::find(std::string_view sought) {
  const auto behind = std::ranges::lower_bound(marks_, sought, {}, &Mark::entry);
  std::uint64_t place = behind == marks_.begin() ? 0 : std::prev(behind)->place;
  for (;;) {
    std::uint64_t behind_it = place;
    const std::optional<std::string_view> entry = next(behind_it);
    if (!entry || *entry >= sought) return place;
    place = behind_it;
  }
}

std::optional<std::string_view> SearchableEntries::next(std::uint64_t& place) {
  if (place >= file_.size()) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, view(place, sizeof(length)).data(), sizeof(length));
  const std::string_view entry = as_text(view(place + sizeof(length), length));
  place += sizeof(length) + length;
  return entry;
}

Bytes SearchableEntries::view(std::uint64_t place, std::uint64_t bytes) {
  const bool is_inside = place >= window_begin_ && place + bytes <= window_begin_ + window_.size();
  if (!is_inside) {
    window_.resize(std::min(std::max(kSearchWindowBytes, bytes), file_.size() - place));
    file_.read_exact(place, window_);
    window_begin_ = place;
  }
  return Bytes(window_).subspan(place - window_begin_, bytes);
}

}  // namespace shale
