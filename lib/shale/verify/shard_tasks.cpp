#include "shale/verify/shard_tasks.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/verify/open_to_verify.hpp"
#include "shale/verify/verify_shard.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRangeBytes = 8 * kBlockBytes, kRowsAtOnce = 32;

}  // namespace

ShardTasks::ShardTasks(const VerifyRequest& request, const Format& format, VerifyLog& log,
                       unsigned workers)
    : request_(request),
      format_(format),
      log_(log),
      workers_(workers),
      walk_(std::min(1U, workers)),
      pipeline_(workers) {}

void ShardTasks::settle() {
  walk_.settle();
  pipeline_.settle();
}

// The next result. A task that damage has stopped (a file that shrinks) is a finding
// like any other, and those after it are still of this shard.
template <class Result>
std::optional<Result> ShardTasks::take_result(OrderedPipeline<Result>& pipeline,
                                              const std::string& shard) {
  while (!pipeline.has_result(kBetweenSteps)) log_.step();
  try {
    return pipeline.take();
  } catch (const Error& error) {
    log_.add_damage(error, shard);
    return std::nullopt;
  }
}

void ShardTasks::prove_bytes(const std::shared_ptr<ShardCheck>& check) {
  StraddlingJoin join;
  // Where values do not lie in the order of the rows, the walk proves their checksums.
  const bool compares_own =
      compares_container(request_, format_, check->manifest.layout, check->reader.files().front());
  const bool reads_payload = request_.depth == VerifyDepth::deep || compares_own ||
                             (!check->has_ordered_places && check->reader.has_checksums());
  log_.report().proves_container = compares_own;
  Walk walk = SplitWalk::open(*check, format_);
  if (!walk) begin_walk(check, reads_payload);
  for (std::size_t file = 0; file < check->reader.shard().files.size(); ++file)
    submit_ranges(check, file, walk, join);
  if (walk && !walk->follows_bytes()) submit_rows(check, walk, join);
  take_ranges(*check, join, walk, 0);
  if (walk && !walk->has_proved_all()) begin_walk(check, reads_payload);
  if (walk_.pending() > 0) {
    std::optional<TaskFindings> found = take_result(walk_, check->reader.shard().name);
    if (found) log_.add_all(*found);
  }
  log_.walked_to(0);
  log_.finish(bytes_of_files(check->reader.shard()));
}

void ShardTasks::prove_blocks(const std::shared_ptr<ShardCheck>& check, const BlockRange& blocks) {
  StraddlingJoin join;
  Walk none;
  const std::vector<ManifestFile>& files = check->reader.shard().files;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const std::uint64_t first_block = check->first_block[file];
    const auto byte_of = [&](std::uint64_t block) {
      return std::min((std::max(block, first_block) - first_block) * kBlockBytes,
                      files[file].bytes);
    };
    const std::uint64_t end = byte_of(blocks.last);
    for (std::uint64_t begin = byte_of(blocks.first); begin < end;) {
      const ByteRange range{file, begin, begin + std::min(kRangeBytes, end - begin)};
      pipeline_.submit([check, range](unsigned) {
        TaskResult result;
        result.range = verify_range(*check, range);
        return result;
      });
      take_ranges(*check, join, none, most_in_flight());
      begin = range.end;
    }
  }
  take_ranges(*check, join, none, 0);
}

// A task for each range, with the rows of a split walk that lie in it.
void ShardTasks::submit_ranges(const std::shared_ptr<ShardCheck>& check, std::size_t file,
                               Walk& walk, StraddlingJoin& join) {
  const std::uint64_t size =
      check->manifest.layout.has_checksums ? check->reader.files()[file].size() : 0;
  const bool is_split = walk && walk->follows_bytes();
  const std::uint64_t at_once = is_split ? walk->range_bytes(kRangeBytes) : kRangeBytes;
  for (std::uint64_t begin = 0; begin < size; begin += std::min(at_once, size - begin)) {
    ByteRange range{file, begin, begin + std::min(at_once, size - begin)};
    std::optional<ScanRows> rows;
    if (is_split) rows = walk->part_up_to(range.end);
    if (rows) range.near_row = rows->begin.row;
    const SplitScan scan = rows ? walk->scan() : SplitScan();
    pipeline_.submit([this, check, range, rows, scan](unsigned) {
      TaskResult result;
      if (!rows) {
        result.range = verify_range(*check, range);
        return result;
      }
      result.is_part_sound = false;
      result.walked_to = range.end;
      const RangeWalk walk_part = [&](const ViewBytes& view, IndexWindow& index) {
        result.is_part_sound = is_sound(*check, scan, {rows->begin, rows->end, view}, index);
      };
      result.range = verify_range(*check, range, walk_part);
      return result;
    });
    take_ranges(*check, join, walk, most_in_flight());
  }
}

void ShardTasks::begin_walk(const std::shared_ptr<ShardCheck>& check, bool reads_payload) {
  if (format_.can.forks && check->manifest.layout.dialect != Dialect::own)
    return walk_now(*check, reads_payload);
  walk_.submit([this, check, reads_payload](unsigned) {
    return verify_structure(*check, format_, reads_payload, [&](std::uint64_t done, auto) {
      check->stop_if_over();
      log_.walked_to(done);
    });
  });
}

// Of rows of a split walk; what is damaged is met by the whole walk. Payload is read for the
// container's own checksums, and where the ranges do not prove those of the index.
bool ShardTasks::is_sound(const ShardCheck& check, const SplitScan& scan, const ScanRows& rows,
                          IndexWindow& index) const {
  const bool reads_payload =
      (request_.depth == VerifyDepth::deep && format_.can.self_checksummed) ||
      compares_container(request_, format_, check.manifest.layout, check.reader.files().front()) ||
      (check.reader.has_checksums() && !check.has_ordered_places);
  try {
    return verify_split_rows(check, format_, scan, rows, reads_payload, index,
                             [&](auto, auto) { check.stop_if_over(); });
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    return false;
  }
}

// Rows whose bytes lie all over the file.
void ShardTasks::submit_rows(const std::shared_ptr<ShardCheck>& check, Walk& walk,
                             StraddlingJoin& join) {
  const auto bytes = static_cast<double>(check->reader.files()[0].size());
  while (const std::optional<ScanRows> rows = walk->next_rows()) {
    const auto samples = static_cast<double>(walk->scan().samples);
    pipeline_.submit([this, check, scan = walk->scan(), rows = *rows, bytes, samples](unsigned) {
      TaskResult result;
      result.walked_to =
          static_cast<std::uint64_t>(bytes * static_cast<double>(rows.end.row) / samples);
      IndexWindow index(check->reader);
      result.is_part_sound = is_sound(*check, scan, rows, index);
      return result;
    });
    take_ranges(*check, join, walk, most_in_flight());
  }
}

// The walk, here and now, while no task is under way: see settle().
void ShardTasks::walk_now(const ShardCheck& check, bool reads_payload) {
  settle();
  try {
    TaskFindings found =
        verify_structure(check, format_, reads_payload,
                         [this](std::uint64_t done, std::uint64_t) { log_.step(done); });
    log_.add_all(found);
  } catch (const Error& error) {
    log_.add_damage(error, check.reader.shard().name);
  }
}

// Takes results until no more than `left` tasks are in flight.
void ShardTasks::take_ranges(const ShardCheck& check, StraddlingJoin& join, Walk& walk,
                             std::size_t left) {
  while (pipeline_.pending() > left) {
    std::optional<TaskResult> result = take_result(pipeline_, check.reader.shard().name);
    if (walk) {
      const bool has_part = !result || result->is_part_sound.has_value();
      if (has_part) walk->append(result && *result->is_part_sound);
      if (result) log_.walked_to(result->walked_to);
    }
    if (result) {
      log_.add_all(result->range.findings);
      for (Finding& finding : join.add(check, result->range.pieces)) log_.add(std::move(finding));
      log_.report().bytes += result->range.bytes;
      log_.finish(result->range.bytes);
    }
    log_.step();
  }
}

void ShardTasks::prove_digests(const std::shared_ptr<ShardCheck>& check) {
  const std::uint64_t rows = check->reader.shard().digest.samples;
  DatasetDigest digest;
  // Half of the memory for the small samples, one per worker; half for one large sample at a time.
  check->limits.large_bytes = request_.memory_bytes / 2;
  check->limits.small_bytes = check->limits.large_bytes / std::max(1U, workers_);
  const bool is_fixed = check->manifest.layout.rows.takes_runs();
  const std::uint64_t at_once = is_fixed ? fixed_rows_at_once(*check) : kRowsAtOnce;
  for (std::uint64_t begin = 0; begin < rows; begin += at_once) {
    const std::uint64_t end = begin + std::min(at_once, rows - begin);
    pipeline_.submit([this, check, begin, end, is_fixed](unsigned) {
      TaskResult result;
      result.deep = is_fixed ? verify_fixed_rows(*check, begin, end)
                             : verify_rows(*check, format_, begin, end);
      return result;
    });
    take_digests(*check, digest, most_in_flight());
  }
  take_digests(*check, digest, 0);
  if (check->manifest.layout.has_checksums) compare_digest(*check, digest);
}

void ShardTasks::take_digests(const ShardCheck& check, DatasetDigest& digest, std::size_t left) {
  while (pipeline_.pending() > left) {
    if (std::optional<TaskResult> result = take_result(pipeline_, check.reader.shard().name)) {
      log_.add_all(result->deep.findings);
      digest.append(result->deep.digest);
      log_.report().undecoded += result->deep.undecodable_types;
      log_.report().bad_when_written += result->deep.bad_when_written;
      log_.finish(result->deep.bytes);
    }
    log_.step();
  }
}

void ShardTasks::compare_digest(const ShardCheck& check, DatasetDigest digest) {
  if (!check.manifest.layout.has_keys) digest.keys = {};
  const DatasetDigest& expected = check.reader.shard().digest;
  if (digest == expected) return;
  const auto text = [](const DatasetDigest& of) {
    return fmt::format("{} samples, content {}, ordered {}, keys {}", of.samples, of.content.hex(),
                       of.ordered.hex(), of.keys.hex());
  };
  Finding finding = check.finding("digests of the samples are wrong",
                                  check.reader.shard().files[0].name, std::nullopt);
  finding.found = text(digest);
  finding.expected = text(expected);
  log_.add(std::move(finding));
}

}  // namespace shale
