#include "shale/verify/small_shards.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <unistd.h>

#include "shale/base/path_text.hpp"
#include "shale/verify/shard_verifier.hpp"

namespace shale {
namespace {

// A shard that is larger has more than one range: see ShardTasks.
constexpr std::uint64_t kMostBytes = 8 << 20;
constexpr std::uint64_t kMostShards = 32, kMostDescriptors = 384, kReadAhead = 1 << 20;

std::uint64_t usable_descriptors() {
  const long limit = ::sysconf(_SC_OPEN_MAX);
  return limit < 0 ? kMostDescriptors
                   : std::min(kMostDescriptors, static_cast<std::uint64_t>(limit) / 4);
}

std::uint64_t files_of_shard(const ShardLayout& layout) {
  constexpr std::uint64_t kLists = 3;
  return kLists + std::max<std::uint64_t>(1, layout.file_suffixes.size());
}

// Calls `visit` for each file that is open.
template <class Visit>
void for_each_file(const ShardFiles& files, const Visit& visit) {
  for (const std::optional<InputFile>* list : {&files.index, &files.elements, &files.blocks})
    if (*list) visit(**list);
  for (const InputFile& file : files.data) visit(file);
}

}  // namespace

bool SmallShards::can_prove(const VerifyRequest& request, const OpenedDataset& dataset) {
  const ShardLayout& layout = dataset.manifest.layout;
  return request.depth != VerifyDepth::deep && layout.dialect == Dialect::own &&
         layout.has_checksums && dataset.shards.size() > 1 &&
         files_of_shard(layout) * std::max(1U, request.jobs) <= usable_descriptors();
}

SmallShards::SmallShards(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log)
    : request_(request),
      dataset_(dataset),
      log_(log),
      jobs_(std::max(1U, request.jobs)),
      readers_(jobs_),
      pipeline_(jobs_) {}

// As many as make one that is just small, and may be open.
std::uint64_t SmallShards::shards_at_once() const {
  const std::uint64_t mean = log_.expected() / dataset_.shards.size() + 1;
  const std::uint64_t most_open =
      usable_descriptors() / jobs_ / files_of_shard(dataset_.manifest.layout);
  return std::clamp<std::uint64_t>(kMostBytes / mean, 1, std::min(kMostShards, most_open));
}

void SmallShards::prove_all(const Visit& visit) {
  const std::uint64_t count = dataset_.shards.size(), at_once = shards_at_once();
  std::uint64_t taken = 0;
  for (std::uint64_t begin = 0; begin < count; begin += std::min(at_once, count - begin)) {
    const std::uint64_t end = begin + std::min(at_once, count - begin);
    pipeline_.submit([this, begin, end](unsigned worker) { return prove(begin, end, worker); });
    while (pipeline_.pending() > 2 * std::size_t{jobs_}) taken = take(taken, visit);
  }
  while (pipeline_.pending() > 0) taken = take(taken, visit);
}

// The oldest result, of the shards from `number` on; returns the number behind them.
std::uint64_t SmallShards::take(std::uint64_t number, const Visit& visit) {
  while (!pipeline_.has_result(kBetweenSteps)) log_.step();
  for (const Proof& proof : pipeline_.take()) {
    if (proof.is_whole) {
      log_.report().bytes += proof.bytes;
      log_.finish(proof.done);
    }
    visit(number++, proof.is_whole);
  }
  log_.step();
  return number;
}

std::vector<SmallShards::Proof> SmallShards::prove(std::uint64_t begin, std::uint64_t end,
                                                   unsigned worker) {
  std::vector<Proof> proofs(end - begin);
  std::vector<Candidate> candidates;
  for (std::uint64_t number = begin; number < end && !is_over_; ++number)
    if (std::optional<Candidate> candidate = open(number))
      candidates.push_back(std::move(*candidate));
  read_ahead(candidates, worker);
  for (Candidate& candidate : candidates) {
    if (is_over_) break;
    Proof& proof = proofs[candidate.number - begin];
    proof = prove(std::move(candidate));
  }
  return proofs;
}

// nullopt: it is not small, or not whole.
std::optional<SmallShards::Candidate> SmallShards::open(std::uint64_t number) const try {
  Candidate candidate{number, dataset_.shards[number], {}};
  const ManifestShard& shard = candidate.shard;
  if (bytes_of_files(shard) + shard.list_bytes() > kMostBytes) return std::nullopt;
  const auto open_list = [&](const ManifestFile& list, std::optional<InputFile>& file) {
    if (!list.name.empty()) file.emplace(join_path(dataset_.paths.lists, list.name));
  };
  open_list(shard.index, candidate.files.index);
  open_list(shard.elements, candidate.files.elements);
  open_list(shard.blocks, candidate.files.blocks);
  for (const ManifestFile& file : shard.files)
    candidate.files.data.emplace_back(join_path(dataset_.paths.shards, file.name));
  return candidate;
} catch (const std::exception&) {
  return std::nullopt;
}

// Brings what the files begin with into the page cache, all at once: one after the other, a disk or
// a server would make each of these small reads wait.
void SmallShards::read_ahead(const std::vector<Candidate>& candidates, unsigned worker) {
  if (request_.depth == VerifyDepth::quick) return;
  std::uint64_t files = 0, all_bytes = 0;
  for (const Candidate& candidate : candidates) {
    for_each_file(candidate.files, [&](const InputFile& file) {
      ++files;
      all_bytes += file.size();
    });
  }
  if (files == 0) return;
  std::vector<std::byte> unseen(std::min(kReadAhead, all_bytes));
  std::span<std::byte> left = unseen;
  std::vector<ReadRequest> requests;
  for (const Candidate& candidate : candidates) {
    for_each_file(candidate.files, [&](const InputFile& file) {
      const std::uint64_t bytes = std::min(file.size(), kReadAhead / files);
      requests.push_back({.descriptor = file.descriptor(), .into = left.first(bytes)});
      left = left.subspan(bytes);
    });
  }
  if (!readers_[worker]) readers_[worker] = std::make_unique<BatchReader>(BatchReader::Options{});
  (void)readers_[worker]->read(requests);
}

SmallShards::Proof SmallShards::prove(Candidate candidate) const try {
  const FindingSink no_sink;
  Events events;
  events.should_stop = [this] { return is_over_.load(); };
  VerifyLog log(no_sink, events);
  (void)ShardVerifier(request_, dataset_, log, 0)
      .verify(candidate.shard, dataset_.shards.first_row(candidate.number),
              std::move(candidate.files));
  return {.is_whole = log.findings() == 0, .bytes = log.report().bytes, .done = log.finished()};
} catch (const std::exception&) {
  return {};  // it is met again by whoever finds out what is wrong
}

}  // namespace shale
