#include "shale/io/external_sorter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/io/string_sort.hpp"

// A run in the scratch file: u32 length and the bytes of each entry, sorted.

namespace shale {
namespace {

constexpr std::uint64_t kLeastMemory = 1 << 20;
constexpr std::uint64_t kLongestEntry = 1 << 20;
constexpr std::uint64_t kScratchBuffers = 2 * 256 * 1024;  // of the two scratch files of a merge
constexpr std::uint64_t kLeastRunBuffer = 64 * 1024, kRunBlockBytes = 32 * 1024;
constexpr std::uint64_t kLengthBytes = sizeof(std::uint32_t);
// Smaller pieces are sorted faster, and make more runs to be merged.
constexpr std::uint64_t kPieceBytes = 4 << 20, kMostPieces = 16;

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

/// Gathers the entries of runs, so that the file, which takes a lock, is given blocks.
class RunWriter {
 public:
  explicit RunWriter(ScratchFile& file) : file_(file) {}

  void append(std::string_view entry) {
    const auto length = static_cast<std::uint32_t>(entry.size());
    block_.append(as_text(bytes_of(length))).append(entry);
    if (block_.size() >= kRunBlockBytes) flush();
  }
  void flush() {
    file_.append(as_bytes(block_));
    block_.clear();
  }

 private:
  ScratchFile& file_;
  std::string block_;
};

/// Merges runs in a tree of losers: each node keeps the run that came second there.
class Merge {
 public:
  Merge(ScratchFile& file, std::span<const Run> runs, std::span<std::byte> memory)
      : losers_(runs.size(), runs.size()) {
    const std::uint64_t share = memory.size() / runs.size();
    readers_.reserve(runs.size());
    for (std::size_t run = 0; run < runs.size(); ++run)
      readers_.emplace_back(file, runs[run], memory.subspan(run * share, share));
    for (std::size_t run = 0; run < runs.size(); ++run) play(run);
  }

  std::optional<std::string_view> next() {
    if (has_given_) {
      readers_[winner_].advance();
      play(winner_);
    }
    has_given_ = !readers_[winner_].at_end();
    return has_given_ ? std::optional(readers_[winner_].entry()) : std::nullopt;
  }

 private:
  [[nodiscard]] bool comes_before(std::size_t left, std::size_t right) const {
    const RunReader &one = readers_[left], &other = readers_[right];
    return !one.at_end() && (other.at_end() || one.entry() < other.entry());
  }

  /// Lets a run play its way up; the first one at a node waits there for the other.
  void play(std::size_t run) {
    for (std::size_t node = (run + losers_.size()) / 2; node > 0; node /= 2) {
      std::size_t& loser = losers_[node];
      if (loser == losers_.size()) {
        loser = run;
        return;
      }
      if (comes_before(loser, run)) std::swap(loser, run);
    }
    winner_ = run;
  }

  std::vector<RunReader> readers_;
  std::vector<std::size_t> losers_;
  std::size_t winner_ = 0;
  bool has_given_ = false;
};

}  // namespace

struct ExternalSorter::Impl {
  Impl(std::string directory_, std::uint64_t memory_bytes);

  [[nodiscard]] std::span<StringPlace> places() const {
    return {reinterpret_cast<StringPlace*>(memory.get()), in_memory};
  }
  void add(std::string_view entry);
  [[nodiscard]] std::string_view entry_at(const StringPlace& place) const {
    return as_text(Bytes(memory.get() + place.offset, place.length));
  }
  void spill();
  void write_run(std::span<const StringPlace> sorted);
  void merge_down();
  void begin_reading();
  std::optional<std::string_view> next();

  const std::string directory;
  const std::uint64_t longest_allowed;
  const std::uint64_t memory_size;
  // One piece: places grow from its front, their strings from its back, full where they meet. Once
  // everything is spilled it is cut up into the buffers of the merge. Never larger than the budget,
  // and nothing moves when it grows.
  const std::unique_ptr<std::byte[]> memory;
  std::uint64_t string_bytes = 0;
  std::uint64_t in_memory = 0;
  std::uint64_t count = 0;
  std::uint64_t longest = 0;
  std::optional<ScratchFile> scratch;
  std::vector<Run> runs;
  std::string last;  // of the last run
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
  string_bytes += entry.size();
  const std::uint64_t offset = memory_size - string_bytes;
  if (!entry.empty()) std::memcpy(memory.get() + offset, entry.data(), entry.size());
  ++in_memory;
  new (&places().back()) StringPlace{0, offset, entry.size()};
  longest = std::max<std::uint64_t>(longest, entry.size());
  ++count;
}

/// Writes what is in memory as sorted runs. All CPUs sort pieces of it, which their caches hold
/// better than the whole.
void ExternalSorter::Impl::spill() {
  if (!scratch) scratch.emplace(directory);
  const std::uint64_t pieces = std::clamp<std::uint64_t>(memory_size / kPieceBytes, 1, kMostPieces);
  const auto piece = [&](std::uint64_t number) {
    const std::uint64_t begin = in_memory * number / pieces;
    return places().subspan(begin, in_memory * (number + 1) / pieces - begin);
  };
  std::atomic<std::uint64_t> unsorted = 0;
  const auto sort = [&] {
    for (std::uint64_t next = unsorted++; next < pieces; next = unsorted++)
      sort_strings(piece(next), memory.get());
  };
  {
    std::vector<std::jthread> others;
    for (std::uint64_t i = 1; i < std::min(usable_cpus().value, pieces); ++i)
      others.emplace_back(sort);
    sort();
  }
  for (std::uint64_t i = 0; i < pieces; ++i) write_run(piece(i));
  string_bytes = in_memory = 0;
}

/// What is sorted already becomes one run, however long it is.
void ExternalSorter::Impl::write_run(std::span<const StringPlace> sorted) {
  if (sorted.empty()) return;
  const std::uint64_t begin = scratch->size();
  RunWriter writer(*scratch);
  for (const StringPlace& place : sorted) writer.append(entry_at(place));
  writer.flush();
  if (runs.empty() || entry_at(sorted.front()) < last) runs.push_back({begin, begin});
  runs.back().end = scratch->size();
  last = entry_at(sorted.back());
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
      RunWriter writer(merged);
      while (const auto entry = merging.next()) writer.append(*entry);
      writer.flush();
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
  return entry_at(places()[position++]);
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
