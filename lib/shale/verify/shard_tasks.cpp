#include "shale/verify/shard_tasks.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/verify/verify_fixed.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRangeBytes = 8 * kBlockBytes, kRowsAtOnce = 32;
constexpr std::chrono::milliseconds kBetweenLooks{50};

}  // namespace

ShardTasks::ShardTasks(const VerifyRequest& request, const Format& format, VerifyLog& log)
    : request_(request),
      format_(format),
      log_(log),
      jobs_(std::max(1U, request.jobs)),
      pipeline_(jobs_) {}

void ShardTasks::settle() {
  walk_.settle();
  pipeline_.settle();
}

// The next result. A task that damage has stopped (a file that shrinks) is a finding
// like any other, and those after it are still of this shard.
template <class Result>
std::optional<Result> ShardTasks::take_result(OrderedPipeline<Result>& pipeline,
                                              const std::string& shard) {
  while (!pipeline.has_result(kBetweenLooks)) log_.step();
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
  begin_walk(check, request_.depth == VerifyDepth::deep ||
                        (!check->has_ordered_places && check->reader.has_checksums()));
  for (std::size_t file = 0; file < check->reader.files().size(); ++file) {
    const std::uint64_t size =
        check->manifest.layout.has_checksums ? check->reader.files()[file].size() : 0;
    for (std::uint64_t begin = 0; begin < size; begin += kRangeBytes) {
      const ByteRange range{file, begin, std::min(size, begin + kRangeBytes)};
      pipeline_.submit([check, range](unsigned) {
        TaskResult result;
        result.range = verify_range(*check, range);
        return result;
      });
      take_ranges(*check, join, most_in_flight());
    }
  }
  take_ranges(*check, join, 0);
  if (walk_.pending() > 0) {
    std::optional<TaskFindings> found = take_result(walk_, check->reader.shard().name);
    if (found) log_.add_all(*found);
  }
  log_.walked_to(0);
  log_.finish(bytes_of_files(check->reader.shard()));
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
void ShardTasks::take_ranges(const ShardCheck& check, StraddlingJoin& join, std::size_t left) {
  while (pipeline_.pending() > left) {
    if (std::optional<TaskResult> result = take_result(pipeline_, check.reader.shard().name)) {
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
  check->limits.small_bytes = check->limits.large_bytes / jobs_;
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
