#include "shale/ops/dataset_source.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

constexpr std::size_t kOpenShards = 4;

// A shard and what one thread reads its rows with.
struct OpenShard {
  std::uint64_t number;
  std::shared_ptr<const ShardReader> reader;
  IndexReader index;
  WindowReader keys;

  OpenShard(std::uint64_t the_number, std::shared_ptr<const ShardReader> the_reader)
      : number(the_number),
        reader(std::move(the_reader)),
        index(reader->open_index()),
        keys(reader->file_of_key(), 4096) {}
};

class DatasetSource final : public Source {
 public:
  DatasetSource(OpenedDataset dataset, bool is_shuffled, std::uint64_t seed)
      : dataset_(std::move(dataset)) {
    for (const ManifestShard& shard : dataset_.shards) {
      first_row_.push_back(rows_);
      rows_ += shard.digest.samples;
    }
    if (is_shuffled) order_.emplace(rows_, seed);
    const bool is_ours = manifest_.layout.dialect == Dialect::own;
    if (is_ours) {
      info_.manifest = {.kind = "shale dataset",
                        .samples = rows_,
                        .bytes = manifest_.payload_bytes,
                        .fingerprint = manifest_.digest.keys};
    } else {
      info_.manifest = manifest_.source;
      info_.manifest.mtime_ns.reset();
      info_.notes = dataset_.notes;
    }
    info_.schema = manifest_.schema;
    info_.classes = manifest_.classes;
    info_.holds_images = manifest_.images.has_value();
    info_.keys_are_unique = is_ours || !manifest_.layout.has_keys;
    info_.split_list = format_of(manifest_).split_list;
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    if (position_ == rows_) return std::nullopt;
    const std::uint64_t row = order_ ? order_->at(position_) : position_;
    ++position_;
    const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
    const auto number = static_cast<std::uint64_t>(after - first_row_.begin()) - 1;
    OpenShard& shard = open_shard(number);
    return pending(shard, shard.index.row(row - first_row_[number]), row);
  }

 private:
  PendingSample pending(OpenShard& shard, IndexRow row, std::uint64_t number) {
    PendingSample sample;
    sample.has_crc32c = manifest_.layout.has_checksums;
    sample.keeps_open = shard.reader;
    sample.key = row.key.offset == kMissing
                     ? std::to_string(number)
                     : std::string(as_text(shard.keys.view(row.key.offset, row.key.length)));
    sample.cells = std::move(row.cells);
    for (std::size_t i = 0; i < sample.cells.size(); ++i) {
      const InputFile& file = shard.reader->file_of_field(i);
      sample.descriptors.push_back(file.descriptor());
      const FieldPlace& place = sample.cells[i].place;
      if (!is_located(manifest_.schema.fields[i].kind)) continue;
      if (place.offset == kMissing) {
        throw Error(Code::schema, "field '{}' is absent in this sample, a dataset has it in all",
                    printable(manifest_.schema.fields[i].name))
            .for_sample(sample.key, number);
      }
      if (place.length > file.size() || place.offset > file.size() - place.length) {
        throw Error(Code::damaged, "field '{}' lies outside the file's {} bytes",
                    manifest_.schema.fields[i].name, file.size())
            .at(file.path(), place.offset)
            .for_sample(sample.key, number);
      }
      sample.bytes += place.length;
    }
    return sample;
  }

  OpenShard& open_shard(std::uint64_t number) {
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const auto& shard) { return shard->number == number; });
    if (found != open_.end()) return **found;
    // Oldest out: the readers stay open as long as samples in flight refer to them.
    if (open_.size() == kOpenShards) open_.pop_front();
    open_.push_back(std::make_unique<OpenShard>(
        number,
        std::make_shared<const ShardReader>(dataset_.paths, manifest_, dataset_.shards[number])));
    return *open_.back();
  }

  OpenedDataset dataset_;
  const Manifest& manifest_ = dataset_.manifest;
  std::vector<std::uint64_t> first_row_;
  std::uint64_t rows_ = 0, position_ = 0;
  std::optional<Permutation> order_;
  std::deque<std::unique_ptr<OpenShard>> open_;
  SourceInfo info_;
};

}  // namespace

std::unique_ptr<Source> make_dataset_source(OpenedDataset dataset, bool is_shuffled,
                                            std::uint64_t seed) {
  return std::make_unique<DatasetSource>(std::move(dataset), is_shuffled, seed);
}

}  // namespace shale
