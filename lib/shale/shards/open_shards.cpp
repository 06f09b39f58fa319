#include "shale/shards/open_shards.hpp"

#include <algorithm>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kKeyWindowBytes = 4096;

}  // namespace

ShardCursor::ShardCursor(std::uint64_t the_number, std::shared_ptr<const ShardReader> the_reader)
    : number(the_number), reader(std::move(the_reader)) {
  if (reader->index_file() == nullptr) return;
  index.emplace(reader->open_index());
  keys.emplace(reader->file_of_key(), kKeyWindowBytes);
}

OpenShards::OpenShards(const DatasetPaths& paths, const Manifest& manifest, const ShardList& shards,
                       std::function<void(const ShardReader&)> prove, bool takes_any_size)
    : paths_(paths),
      manifest_(manifest),
      shards_(shards),
      prove_(std::move(prove)),
      takes_any_size_(takes_any_size),
      is_proved_(shards.size()) {}

ShardCursor& OpenShards::at(std::uint64_t number) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& shard) { return shard->number == number; });
  if (found != open_.end()) return **found;
  if (open_.size() == kMost) open_.pop_front();
  ShardFiles files;
  files.are_of_any_size = takes_any_size_;
  open_.push_back(std::make_unique<ShardCursor>(
      number, std::make_shared<const ShardReader>(paths_, manifest_, shards_[number], true,
                                                  std::move(files))));
  ShardCursor& opened = *open_.back();
  if (prove_ && !is_proved_[number]) prove_(*opened.reader);
  is_proved_[number] = true;
  return opened;
}

}  // namespace shale
