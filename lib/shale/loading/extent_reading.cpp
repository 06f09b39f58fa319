#include "shale/loading/extent_reading.hpp"

#include <algorithm>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/read_errors.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kArenaBytes = 16 << 20;
// Small extents that lie close to one another are read as one and copied: below these sizes a copy
// costs less than a read of its own.
constexpr std::uint64_t kSmallBytes = 8192, kGapBytes = 4096;
constexpr std::uint64_t kJoinedBytes = 256 << 10, kJoinedArenaBytes = 4 << 20;
// Neighbours in the file are read as one, each to where it belongs, up to this: several threads or
// requests still have something to do. More where they are neighbours in memory too.
constexpr std::uint64_t kScatteredBytes = 1 << 20, kNeighbourBytes = 4 << 20;
// An extent, and what lies between it and the one before.
constexpr std::size_t kMostScattered = ReadRequest::kMostPieces / 2;

enum class Into { arena, place, places };

// Bytes of one file that are read at once, and the extents [first, last) that lie in them.
struct Run {
  const InputFile* file;
  std::uint64_t begin, end;
  std::size_t first, last;
  Into into = Into::arena;
};

void require_all(const Extent& extent, const ReadResult& result) {
  require_all(result, extent.file->path(), extent.offset, extent.into.size());
}

// Where the bytes of a run belong; those between two extents are nobody's.
void add_pieces(const Run& run, std::span<const Extent> extents, std::span<std::byte> nobodys,
                std::vector<iovec>& pieces) {
  std::uint64_t at = run.begin;
  for (const Extent& extent : extents.subspan(run.first, run.last - run.first)) {
    if (extent.offset > at) pieces.push_back({nobodys.data(), extent.offset - at});
    if (!extent.into.empty()) pieces.push_back({extent.into.data(), extent.into.size()});
    at = extent.offset + extent.into.size();
  }
}

void read_runs(std::span<const Run> runs, std::span<const Extent> extents, BatchReader& reader,
               std::span<std::byte> arena) {
  std::size_t most_pieces = 0, scattered = 0;
  for (const Run& run : runs) {
    if (run.into != Into::places) continue;
    most_pieces += 2 * (run.last - run.first);
    ++scattered;
  }
  // For each its own: several threads may read at once.
  std::vector<std::byte> nobodys(scattered * kGapBytes);
  std::vector<iovec> pieces;
  pieces.reserve(most_pieces);  // requests point into it
  std::vector<ReadRequest> requests;
  requests.reserve(runs.size());
  std::uint64_t used = 0;
  for (const Run& run : runs) {
    ReadRequest request{.descriptor = run.file->descriptor(), .offset = run.begin};
    const std::uint64_t bytes = run.end - run.begin;
    if (run.into == Into::places) {
      const std::size_t first = pieces.size();
      add_pieces(run, extents, std::span(nobodys).subspan(--scattered * kGapBytes, kGapBytes),
                 pieces);
      request.pieces = std::span(pieces).subspan(first);
    } else if (run.into == Into::place) {
      request.into = {extents[run.first].into.data(), bytes};
    } else {
      request.into = arena.subspan(used, bytes);
      used += bytes;
    }
    requests.push_back(request);
  }
  const std::vector<ReadResult> results = reader.read(requests);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t k = runs[i].first; k < runs[i].last; ++k) {
      const Extent& extent = extents[k];
      if (results[i].error != 0 && runs[i].last - runs[i].first > 1) {
        read_extent(extent);  // says which of them it is
        continue;
      }
      const std::uint64_t skipped = extent.offset - runs[i].begin;
      const std::uint64_t there = results[i].bytes > skipped ? results[i].bytes - skipped : 0;
      const std::uint64_t got = std::min<std::uint64_t>(there, extent.into.size());
      require_all(extent, {.bytes = got, .error = results[i].error});
      if (runs[i].into != Into::arena) continue;
      std::copy_n(requests[i].into.begin() + static_cast<std::ptrdiff_t>(skipped), got,
                  extent.into.begin());
    }
  }
}

bool continues(const Run& run, std::span<const Extent> extents, const Extent& extent) {
  const std::span<std::byte> before = extents[run.last - 1].into;
  return run.into == Into::place && run.file == extent.file && run.end == extent.offset &&
         before.data() + before.size() == extent.into.data() &&
         run.end - run.begin + extent.into.size() <= kNeighbourBytes;
}

bool lies_close_behind(const Run& run, const Extent& extent) {
  return run.into != Into::arena && run.file == extent.file && extent.offset >= run.end &&
         extent.offset - run.end <= kGapBytes && run.last - run.first < kMostScattered &&
         extent.offset - run.begin + extent.into.size() <= kScatteredBytes;
}

// An extent that is larger than the arena, piece by piece.
void read_large(const Extent& extent, BatchReader& reader, std::span<std::byte> arena) {
  for (std::uint64_t done = 0; done < extent.into.size();) {
    const std::uint64_t begin = aligned_down(extent.offset + done);
    const std::uint64_t room = arena.size() - (extent.offset + done - begin);
    const std::uint64_t count = std::min<std::uint64_t>(extent.into.size() - done, room);
    const Extent piece{extent.file, extent.offset + done, extent.into.subspan(done, count)};
    const Run run{extent.file, begin, aligned_up(piece.offset + count), 0, 1};
    read_runs({&run, 1}, {&piece, 1}, reader, arena);
    done += count;
  }
}

}  // namespace

void read_extent(const Extent& extent) {
  require_all(extent, {.bytes = extent.file->read_some(extent.offset, extent.into)});
}

void read_extents(std::span<const Extent> extents, BatchReader& reader, AlignedBuffer& arena) {
  std::vector<Run> runs;
  std::uint64_t used = 0;  // of the arena
  const auto flush = [&] {
    read_runs(runs, extents, reader,
              used > 0 ? arena.require(kJoinedArenaBytes) : std::span<std::byte>());
    runs.clear();
    used = 0;
  };
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i];
    const std::uint64_t end = extent.offset + extent.into.size();
    Run* last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && continues(*last, extents, extent)) {
      last->end = end;
      last->last = i + 1;
      continue;
    }
    const bool joins = last != nullptr && last->into != Into::places && last->file == extent.file &&
                       extent.into.size() <= kSmallBytes &&
                       extents[last->first].into.size() <= kSmallBytes &&
                       extent.offset >= last->begin && extent.offset <= last->end + kGapBytes &&
                       end - last->begin <= kJoinedBytes;
    if (joins) {
      const std::uint64_t joined_end = std::max(end, last->end);
      const std::uint64_t more = joined_end - (last->into == Into::arena ? last->end : last->begin);
      if (used + more <= kJoinedArenaBytes) {
        used += more;
        last->end = joined_end;
        last->last = i + 1;
        last->into = Into::arena;
        continue;
      }
      flush();
    } else if (last != nullptr && lies_close_behind(*last, extent)) {
      last->end = end;
      last->last = i + 1;
      last->into = Into::places;
      continue;
    }
    runs.push_back({extent.file, extent.offset, end, i, i + 1, Into::place});
  }
  flush();
}

void read_extents_direct(std::span<const Extent> extents, BatchReader& reader,
                         AlignedBuffer& arena) {
  const std::span<std::byte> memory = arena.require(kArenaBytes);
  std::vector<Run> runs;
  std::uint64_t used = 0;
  const auto flush = [&] {
    read_runs(runs, extents, reader, memory);
    runs.clear();
    used = 0;
  };
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i];
    if (extent.into.empty()) continue;
    const std::uint64_t begin = aligned_down(extent.offset);
    const std::uint64_t end = aligned_up(extent.offset + extent.into.size());
    if (end - begin > memory.size()) {
      flush();
      read_large(extent, reader, memory);
      continue;
    }
    const bool joins = !runs.empty() && runs.back().file == extent.file && begin <= runs.back().end;
    const std::uint64_t more =
        joins ? std::max(end, runs.back().end) - runs.back().end : end - begin;
    if (used + more > memory.size()) {
      flush();
      runs.push_back({extent.file, begin, end, i, i + 1});
      used = end - begin;
    } else if (joins) {
      runs.back().end += more;
      runs.back().last = i + 1;
      used += more;
    } else {
      runs.push_back({extent.file, begin, end, i, i + 1});
      used += more;
    }
  }
  flush();
}

void read_past_cache(const Extent& extent) {
  const InputFile file(extent.file->path());
  const Extent again{&file, extent.offset, extent.into};
  if (file.go_direct()) {
    BatchReader reader({.depth = 1, .threads = 1, .backend = BatchReader::Backend::threads});
    AlignedBuffer arena;
    read_extents_direct({&again, 1}, reader, arena);
  } else {
    file.drop_cache(extent.offset, extent.into.size());
    read_extent(again);
  }
}

}  // namespace shale
