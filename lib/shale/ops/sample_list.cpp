#include "shale/ops/sample_list.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/loading/block_proof.hpp"
#include "shale/loading/extent_reading.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRowsAtOnce = 1024;
constexpr std::uint64_t kKeyBytesAtOnce = 1 << 20;

}  // namespace

struct SampleList::Impl {
  // A shard that is being listed.
  struct ListedShard {
    ListedShard(const OpenedDataset& dataset, std::uint64_t number, const Events& events)
        : reader(dataset.paths, dataset.manifest, dataset.shards[number]),
          index(reader.open_index()) {
      const ShardLayout& layout = dataset.manifest.layout;
      reader.prove_index([&](auto) { events.stop_if_asked(); });
      if (layout.has_keys) reader.file_of_key().expect_random_reads();
      if (layout.has_checksums && !layout.rows.has_value_checksums())
        blocks.emplace(dataset.paths, reader.shard());
    }

    ShardReader reader;
    IndexReader index;
    std::optional<BlockHashes> blocks;  // where they are what proves a value
  };

  Impl(const DatasetRequest& request, const Events& the_events)
      : events(the_events),
        standing(request.path),
        dataset(open_dataset(request, events)),
        memory(request.memory_bytes) {
    label = label_of(dataset.manifest);
  }

  void prove_labels(ListedShard& shard, std::uint64_t first, std::uint64_t count);
  [[nodiscard]] std::uint64_t bytes_of(const ShardReader& reader, const IndexRow& row) const;
  [[nodiscard]] std::vector<ListedSample> next();
  void read_keys(const ListedShard& shard, std::vector<ListedSample>& samples,
                 const std::vector<FieldPlace>& places);

  const Events& events;
  StandingState standing;
  OpenedDataset dataset;
  std::uint64_t memory;
  std::uint64_t row = 0, end = 0;
  std::optional<std::size_t> label;
  std::uint64_t shard_number = 0;
  std::unique_ptr<ListedShard> shard;
  BatchReader reader{{}};
  AlignedBuffer arena;
  // What was read when the dataset was opened, or why it could not be.
  std::vector<ListedSample> ahead;
  std::exception_ptr fault;
};

// The number in the index of fixed rows is the one in the shard, which has no checksum of its own.
void SampleList::Impl::prove_labels(ListedShard& shard_to_prove, std::uint64_t first,
                                    std::uint64_t count) {
  if (!label || !shard_to_prove.blocks) return;
  const ShardLayout& layout = dataset.manifest.layout;
  const FixedColumn column = shard_to_prove.reader.fixed_column(*label);
  std::vector<std::byte> values(count * column.stride);
  const Extent extent{column.file, column.place(first).offset, values,
                      shard_to_prove.blocks->of_file(layout.part_file[layout.field_part[*label]])};
  read_proved({&extent, 1}, reader, arena);
}

std::uint64_t SampleList::Impl::bytes_of(const ShardReader& from, const IndexRow& place) const {
  std::uint64_t bytes = 0;
  const Schema& schema = dataset.manifest.schema;
  for (std::size_t i = 0; i < place.cells.size(); ++i) {
    const Kind kind = schema.fields[i].kind;
    const FieldPlace& value = place.cells[i].place;
    if (!is_located(kind) || value.offset == kMissing) continue;
    // Of a list the elements, without what is around them in the shard.
    if (kind == Kind::list && from.elements() != nullptr) {
      for (const FieldPlace& element : from.elements()->read(value.first, value.count))
        bytes += element.length;
    } else {
      bytes += value.length;
    }
  }
  return bytes;
}

void SampleList::Impl::read_keys(const ListedShard& from, std::vector<ListedSample>& samples,
                                 const std::vector<FieldPlace>& places) {
  const InputFile& file = from.reader.file_of_key();
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (places[i].offset == kMissing) {
      samples[i].key = std::to_string(samples[i].row);
      continue;
    }
    samples[i].key.resize(places[i].length);
    extents.push_back({&file, places[i].offset, std::as_writable_bytes(std::span(samples[i].key))});
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& left, const Extent& right) { return left.offset < right.offset; });
  read_extents(extents, reader, arena);
  if (!from.reader.has_checksums()) return;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (places[i].offset != kMissing) prove_value(as_bytes(samples[i].key), places[i], file);
  }
}

std::vector<ListedSample> SampleList::Impl::next() {
  events.stop_if_asked();
  std::vector<ListedSample> samples;
  if (row == end) return samples;
  const ShardList& shards = dataset.shards;
  const std::uint64_t number = shards.holding(row);
  if (!shard || shard_number != number) {
    shard.reset();
    shard = std::make_unique<ListedShard>(dataset, number, events);
    shard_number = number;
  }
  const bool has_keys = dataset.manifest.layout.has_keys;
  const std::uint64_t first = row - shards.first_row(number);
  const std::uint64_t count = std::min({kRowsAtOnce, end - row, shards.samples(number) - first});
  prove_labels(*shard, first, count);
  std::vector<FieldPlace> keys;
  std::uint64_t key_bytes = 0;
  for (std::uint64_t i = 0; i < count && key_bytes < kKeyBytesAtOnce; ++i) {
    const IndexRow place = shard->index.row(first + i);
    ListedSample& sample = samples.emplace_back();
    sample.row = row + i;
    sample.bytes = bytes_of(shard->reader, place);
    if (label && !place.cells[*label].lacks_number) sample.label = place.cells[*label].integer;
    keys.push_back(has_keys ? place.key : FieldPlace{});
    if (keys.back().offset == kMissing) continue;
    const InputFile& file = shard->reader.file_of_key();
    if (place.key.length > file.size() || place.key.offset > file.size() - place.key.length) {
      throw Error(Code::damaged, "the key lies outside the file's {} bytes", file.size())
          .at(file.path(), place.key.offset);
    }
    key_bytes += place.key.length;
    if (place.key.length > memory)
      throw sample_over_limit(place.key.length, memory).hint("pass a larger --memory");
  }
  if (has_keys) {
    read_keys(*shard, samples, keys);
  } else {
    for (ListedSample& sample : samples) sample.key = std::to_string(sample.row);
  }
  row += samples.size();
  return samples;
}

SampleList::SampleList(const DatasetRequest& request, std::uint64_t first, std::uint64_t end,
                       const Events& events)
    : impl_(open_standing(request.path, [&](const DatasetPaths&) {
        auto impl = std::make_unique<Impl>(request, events);
        impl->end = std::min(end, impl->dataset.manifest.digest.samples);
        impl->row = std::min(first, impl->end);
        try {
          impl->ahead = impl->next();
        } catch (const Error&) {
          if (impl->standing.is_replaced()) throw;
          impl->fault = std::current_exception();  // for who asks for samples
        }
        return impl;
      })) {}

SampleList::~SampleList() = default;

const Manifest& SampleList::manifest() const { return impl_->dataset.manifest; }
bool SampleList::has_labels() const { return impl_->label.has_value(); }
const std::vector<std::string>& SampleList::notes() const { return impl_->dataset.notes; }

std::vector<ListedSample> SampleList::next() try {
  if (impl_->fault) std::rethrow_exception(impl_->fault);
  if (!impl_->ahead.empty()) return std::exchange(impl_->ahead, {});
  return impl_->next();
} catch (const Error&) {
  if (impl_->standing.is_replaced()) throw impl_->standing.replaced();
  throw;
}

}  // namespace shale
