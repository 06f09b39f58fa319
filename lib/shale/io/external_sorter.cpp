#include "shale/io/external_sorter.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/io/string_sort.hpp"

// A run in the scratch file: u32 length and the bytes of each entry, sorted.

namespace shale {
namespace {

constexpr std::uint64_t kLeastMemory = 1 << 20;
constexpr std::uint64_t kLongestEntry = 1 << 20;
constexpr std::uint64_t kScratchBuffers = 2 * 256 * 1024;  // of the two scratch files of a merge
constexpr std::uint64_t kLeastRunBuffer = 64 * 1024;
constexpr std::uint64_t kLengthBytes = sizeof(std::uint32_t);

struct Run {
  std::uint64_t begin = 0, end = 0;  // in the scratch file
};

/// Goes through one run with a buffer of its own, which holds its longest entry.
class RunReader {
 public:
  RunReader(ScratchFile& file, Run run, std::span<std::byte> buffer)
      : file_(&file), unread_(run), buffer_(buffer) {
    advance();
  }

  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] std::string_view entry() const { return entry_; }

  void advance() {
    at_end_ = !has(kLengthBytes);
    if (at_end_) return;
    std::uint32_t length = 0;
    std::memcpy(&length, buffer_.data() + position_, kLengthBytes);
    // The length is ours, and add() bounded it: the buffer holds it.
    (void)has(kLengthBytes + length);
    entry_ = as_text(Bytes(buffer_).subspan(position_ + kLengthBytes, length));
    position_ += kLengthBytes + length;
  }

 private:
  /// Makes `count` bytes lie in the buffer from position_ on; false if the run ends before.
  bool has(std::uint64_t count) {
    if (filled_ - position_ >= count) return true;
    std::memmove(buffer_.data(), buffer_.data() + position_, filled_ - position_);
    filled_ -= position_;
    position_ = 0;
    const std::uint64_t more = std::min(buffer_.size() - filled_, unread_.end - unread_.begin);
    file_->read_exact(unread_.begin, buffer_.subspan(filled_, more));
    unread_.begin += more;
    filled_ += more;
    return filled_ >= count;
  }

  ScratchFile* file_;
  Run unread_;
  std::span<std::byte> buffer_;
  std::uint64_t position_ = 0, filled_ = 0;
  std::string_view entry_;
  bool at_end_ = false;
};

/// Merges runs.
class Merge {
 public:
  Merge(ScratchFile& file, std::span<const Run> runs, std::span<std::byte> memory) {
    const std::uint64_t share = memory.size() / runs.size();
    readers_.reserve(runs.size());
    for (std::size_t run = 0; run < runs.size(); ++run) {
      readers_.emplace_back(file, runs[run], memory.subspan(run * share, share));
      if (!readers_.back().at_end()) heap_.push_back(run);
    }
    std::make_heap(heap_.begin(), heap_.end(), Later{this});
  }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  std::optional<std::string_view> next() {
    if (has_given_) step();
    has_given_ = true;
    if (heap_.empty()) return std::nullopt;
    return readers_[heap_.front()].entry();
  }

 private:
  struct Later {
    const Merge* merge;
    bool operator()(std::size_t left, std::size_t right) const {
      return merge->comes_before(right, left);
    }
  };
  [[nodiscard]] bool comes_before(std::size_t left, std::size_t right) const {
    return readers_[left].entry() < readers_[right].entry();
  }

  /// Moves the first run on and lets it sink to its new place.
  void step() {
    if (heap_.empty()) return;
    readers_[heap_.front()].advance();
    if (readers_[heap_.front()].at_end()) {
      std::swap(heap_.front(), heap_.back());
      heap_.pop_back();
    }
    for (std::size_t at = 0, child = 1; child < heap_.size(); at = child, child = 2 * at + 1) {
      if (child + 1 < heap_.size() && comes_before(heap_[child + 1], heap_[child])) ++child;
      if (!comes_before(heap_[child], heap_[at])) break;
      std::swap(heap_[at], heap_[child]);
    }
  }

  std::vector<RunReader> readers_;
  std::vector<std::size_t> heap_;  // of those that have an entry; the first one first
  bool has_given_ = false;
};

}  // namespace

struct ExternalSorter::Impl {
  Impl(std::string directory_, std::uint64_t memory_bytes);

  [[nodiscard]] std::span<StringPlace> places() const {
    return {reinterpret_cast<StringPlace*>(memory.get() + memory_size) - in_memory, in_memory};
  }
  void add(std::string_view entry);
  void append_entry(ScratchFile& file, std::string_view entry) const;
  void spill();
  void merge_down();
  void begin_reading();
  std::optional<std::string_view> next();

  const std::string directory;
  const std::uint64_t longest_allowed;
  const std::uint64_t memory_size;
  // One piece: strings grow from its front, their places from its back, full where they meet. Once
  // everything is spilled it is cut up into the buffers of the merge. Never larger than the budget,
  // and nothing moves when it grows.
  const std::unique_ptr<std::byte[]> memory;
  std::uint64_t string_bytes = 0;
  std::uint64_t in_memory = 0;
  std::uint64_t count = 0;
  std::uint64_t longest = 0;
  std::optional<ScratchFile> scratch;
  std::vector<Run> runs;
  bool is_finished = false;
  std::uint64_t position = 0;  // of the next entry, if all are in memory
  std::optional<Merge> merge;
};

ExternalSorter::Impl::Impl(std::string directory_, std::uint64_t memory_bytes)
    : directory(std::move(directory_)),
      longest_allowed(std::min(kLongestEntry, std::max(memory_bytes, kLeastMemory) / 16)),
      memory_size((std::max(memory_bytes, kLeastMemory) - kScratchBuffers) / alignof(StringPlace) *
                  alignof(StringPlace)),
      memory(std::make_unique_for_overwrite<std::byte[]>(memory_size)) {}

void ExternalSorter::Impl::add(std::string_view entry) {
  if (is_finished) throw Error(Code::bug, "an entry was added to a sort that is finished");
  if (entry.size() > longest_allowed) {
    throw Error(Code::limit,
                "cannot sort an entry of {} bytes; this memory budget allows at most {}",
                entry.size(), longest_allowed)
        .hint("raise --memory");
  }
  if (string_bytes + entry.size() + (in_memory + 1) * sizeof(StringPlace) > memory_size) spill();
  if (!entry.empty()) std::memcpy(memory.get() + string_bytes, entry.data(), entry.size());
  ++in_memory;
  new (places().data()) StringPlace{0, string_bytes, entry.size()};
  string_bytes += entry.size();
  longest = std::max<std::uint64_t>(longest, entry.size());
  ++count;
}

void ExternalSorter::Impl::append_entry(ScratchFile& file, std::string_view entry) const {
  file.append(bytes_of(static_cast<std::uint32_t>(entry.size())));
  file.append(as_bytes(entry));
}

/// Writes what is in memory as one sorted run.
void ExternalSorter::Impl::spill() {
  if (!scratch) scratch.emplace(directory);
  sort_strings(places(), memory.get());
  const std::uint64_t begin = scratch->size();
  for (const StringPlace& place : places()) {
    append_entry(*scratch, as_text(Bytes(memory.get() + place.offset, place.length)));
  }
  runs.push_back({begin, scratch->size()});
  string_bytes = in_memory = 0;
}

/// Merges neighbouring runs into longer ones until one merge can take all of them.
void ExternalSorter::Impl::merge_down() {
  const std::uint64_t buffer_bytes = std::max(kLeastRunBuffer, longest + kLengthBytes);
  const std::uint64_t fan_in = memory_size / buffer_bytes;
  while (runs.size() > fan_in) {
    ScratchFile merged(directory);
    std::vector<Run> longer;
    for (std::size_t first = 0; first < runs.size(); first += fan_in) {
      const std::size_t group = std::min<std::size_t>(fan_in, runs.size() - first);
      Merge merging(*scratch, std::span(runs).subspan(first, group), {memory.get(), memory_size});
      const std::uint64_t begin = merged.size();
      while (const auto entry = merging.next()) append_entry(merged, *entry);
      longer.push_back({begin, merged.size()});
    }
    scratch = std::move(merged);
    runs = std::move(longer);
  }
}

void ExternalSorter::Impl::begin_reading() {
  position = 0;
  if (scratch) merge.emplace(*scratch, runs, std::span(memory.get(), memory_size));
}

std::optional<std::string_view> ExternalSorter::Impl::next() {
  if (!is_finished) throw Error(Code::bug, "a sort was read before it was finished");
  if (merge) return merge->next();
  if (position == in_memory) return std::nullopt;
  const StringPlace& place = places()[position++];
  return as_text(Bytes(memory.get() + place.offset, place.length));
}

ExternalSorter::ExternalSorter(std::string directory, std::uint64_t memory_bytes)
    : impl_(std::make_unique<Impl>(std::move(directory), memory_bytes)) {}
ExternalSorter::~ExternalSorter() = default;
ExternalSorter::ExternalSorter(ExternalSorter&&) noexcept = default;
ExternalSorter& ExternalSorter::operator=(ExternalSorter&&) noexcept = default;

void ExternalSorter::add(std::string_view entry) { impl_->add(entry); }
std::uint64_t ExternalSorter::count() const { return impl_->count; }

void ExternalSorter::finish() {
  Impl& sorter = *impl_;
  if (sorter.scratch) {
    if (sorter.in_memory > 0) sorter.spill();
    sorter.merge_down();
  } else {
    sort_strings(sorter.places(), sorter.memory.get());
  }
  sorter.is_finished = true;
  sorter.begin_reading();
}

std::optional<std::string_view> ExternalSorter::next() { return impl_->next(); }

void ExternalSorter::rewind() {
  if (!impl_->is_finished) throw Error(Code::bug, "a sort was rewound before it was finished");
  impl_->begin_reading();
}

}  // namespace shale
