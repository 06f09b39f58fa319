#include "shale/shards/shard_set_writer.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/naming.hpp"
#include "shale/shards/record_spool.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostRowsAShard = std::uint64_t{1} << 62;
constexpr std::uint64_t kBuffers = 3, kIndexBufferBytes = 256 * 1024, kKeyCheckBytes = 4 << 20;

// Data buffers of 1 to 4 MiB: three of 4 MiB keep this disk busy (bench/README.md), small budgets
// get smaller ones.
std::uint64_t data_buffer_bytes(std::uint64_t memory_bytes) {
  const std::uint64_t share = memory_bytes / 16 / kBlockBytes * kBlockBytes;
  return std::clamp<std::uint64_t>(share, kBlockBytes, 4 * kBlockBytes);
}

std::vector<std::uint64_t> part_sizes(const Record& record) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(record.parts.size());
  for (const Blob& part : record.parts) sizes.push_back(part.size());
  return sizes;
}

void append_big_endian(std::string& into, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) into += static_cast<char>(value >> shift);
}

// One shard under way: its files, its index, and the rows whose places the format has not told yet.
struct OpenShard {
  std::string name;
  std::vector<OutputFile> files;
  std::unique_ptr<ShardWriter> writer;
  std::unique_ptr<IndexWriter> index;
  std::deque<IndexRow> unplaced;
};

// Finds two samples with the same key: sorts (hash, length, key) of all keys, on disk where they
// are many.
class KeyCheck {
 public:
  explicit KeyCheck(const std::string& work_folder) : keys_(work_folder, kKeyCheckBytes) {}

  void add(const Record& record) {
    entry_.clear();
    append_big_endian(entry_, record.row.key_hash);
    append_big_endian(entry_, record.key.size());
    entry_ += record.key;
    keys_.add(entry_);
  }

  void finish() {
    keys_.finish();
    std::string previous;
    while (const std::optional<std::string_view> entry = keys_.next()) {
      if (*entry == previous) {
        const std::string key = previous.substr(16);
        throw Error(Code::schema, "the key is not unique: two samples have it")
            .for_sample(key)
            .hint("keys name samples; rename one of the two in the source");
      }
      previous = *entry;
    }
  }

 private:
  ExternalSorter keys_;
  std::string entry_;
};

}  // namespace

struct ShardSetWriter::Impl {
  const Format& format;
  const Schema& schema;
  const OptionSet& format_options;
  WorkFolder& work;
  Options options;
  ShardLayout layout;
  IndexColumns columns;
  const std::uint64_t empty_block_list_bytes = block_list_bytes({}).size();

  std::unique_ptr<ShardSizer> sizer;
  std::optional<OpenShard> open;
  std::optional<RecordSpool> spool;
  std::optional<KeyCheck> key_check;
  ShardPlan plan;  // what the current shard holds so far
  DatasetDigest shard_digest;
  std::uint64_t shard_payload = 0;
  Summary summary;
  std::optional<std::uint64_t> rows_a_shard;
  std::vector<std::uint64_t> field_bases_;

  Impl(const Format& format_row, const Schema& the_schema, const OptionSet& set, WorkFolder& folder,
       Options the_options)
      : format(format_row),
        schema(the_schema),
        format_options(set),
        work(folder),
        options(std::move(the_options)),
        layout(format.layout(schema, format_options)),
        columns(schema, layout) {
    if (format.can.needs_plan) spool.emplace(work.path(), columns);
    if (layout.has_keys && !options.keys_are_unique) key_check.emplace(work.path());
    if (layout.has_fixed_rows) count_rows_a_shard();
    start_shard();
  }

  // The most rows whose files are within the limits: they are all of one size. Zero: not even one.
  void count_rows_a_shard() {
    const std::unique_ptr<ShardSizer> empty = format.create_sizer(schema, format_options);
    std::vector<std::uint64_t> parts(schema.fields.size());
    const auto fits = [&](std::uint64_t rows) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::uint64_t stride = fixed_bytes_of(schema.fields[i]).value();
        if (stride > 0 && rows > options.limit_bytes / stride) return false;
        parts[i] = rows * stride;
      }
      return largest_file(empty->size_with(parts, rows), rows) <= options.limit_bytes;
    };
    std::uint64_t most = std::min(options.limit_samples, kMostRowsAShard), least = 0;
    while (least < most) {
      const std::uint64_t middle = most - (most - least) / 2;
      if (fits(middle)) {
        least = middle;
      } else {
        most = middle - 1;
      }
    }
    rows_a_shard = least;
  }

  void start_shard() {
    sizer = format.create_sizer(schema, format_options);
    plan = {.samples = 0, .part_bytes = std::vector<std::uint64_t>(layout.part_file.size())};
    shard_digest = {};
    shard_payload = 0;
  }

  // The largest file of a shard of so many samples, with data files of these sizes.
  [[nodiscard]] std::uint64_t largest_file(std::span<const std::uint64_t> sizes,
                                           std::uint64_t samples) const {
    std::uint64_t largest = layout.has_fixed_rows ? 0 : columns.file_bytes(samples), blocks = 0;
    for (const std::uint64_t size : sizes) {
      largest = std::max(largest, size);
      blocks += block_count(size);
    }
    return std::max(largest, empty_block_list_bytes + blocks * 16);
  }

  // The same if one more record with these parts were added to the current one.
  [[nodiscard]] std::uint64_t largest_file_with(std::span<const std::uint64_t> parts,
                                                std::uint64_t samples) const {
    return largest_file(sizer->size_with(parts, samples), plan.samples + samples);
  }

  void append(const Record& record) {
    const std::vector<std::uint64_t> parts = part_sizes(record);
    const std::uint64_t samples = record.digest.samples;
    const bool is_full = plan.samples + samples > options.limit_samples ||
                         largest_file_with(parts, samples) > options.limit_bytes;
    if (plan.samples > 0 && is_full) {
      commit_shard();
      start_shard();
    }
    if (const std::uint64_t needed = largest_file_with(parts, samples);
        needed > options.limit_bytes) {
      throw Error(Code::limit, "a shard with this sample alone is {} bytes, --shard-size is {}",
                  needed, options.limit_bytes)
          .for_sample(record.key, summary.digest.samples)
          .hint(fmt::format("pass --shard-size {} or more", needed));
    }
    if (key_check) key_check->add(record);
    if (spool) {
      spool->add(record);
    } else {
      if (!open) open_shard(nullptr);
      write(record);
    }
    count(record, parts);
  }

  void count(const Record& record, std::span<const std::uint64_t> parts) {
    sizer->add(parts, record.digest.samples);
    plan.samples += record.digest.samples;
    for (std::size_t i = 0; i < parts.size(); ++i) plan.part_bytes[i] += parts[i];
    shard_digest.append(record.digest);
    shard_payload += record.payload_bytes;
    summary.digest.append(record.digest);
    summary.payload_bytes += record.payload_bytes;
  }

  void open_shard(const ShardPlan* shard_plan) {
    open.emplace();
    open->name = shard_name(summary.shards);
    const OutputFile::Options data_options{options.io, data_buffer_bytes(options.memory_bytes),
                                           kBuffers};
    for (const std::string& suffix : layout.file_suffixes) {
      open->files.emplace_back(join_path(work.path(), open->name + suffix), data_options);
    }
    open->writer = format.create_shard(open->files, schema, format_options, shard_plan);
    if (layout.has_fixed_rows) return;
    const std::string index_path = join_path(work.path(), open->name + std::string(kIndexSuffix));
    open->index = std::make_unique<IndexWriter>(
        OutputFile(index_path, {.io = options.io, .buffer_bytes = kIndexBufferBytes, .buffers = 1}),
        columns);
  }

  void write(const Record& record) {
    if (!layout.has_fixed_rows) open->unplaced.push_back(record.row);
    place(open->writer->append(record));
  }

  // For each field of the schema, the number of the part it lies in. Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> field_bases(std::span<const std::uint64_t> parts) {
    field_bases_.clear();
    for (const std::uint32_t part : layout.field_part) field_bases_.push_back(parts[part]);
    return field_bases_;
  }

  // Gives the oldest unplaced rows their places: `offsets` says where the parts of each begin.
  void place(std::span<const std::uint64_t> offsets) {
    const std::size_t parts = layout.part_file.size();
    for (; !offsets.empty(); offsets = offsets.subspan(parts)) {
      if (offsets.size() < parts || open->unplaced.empty()) {
        throw Error(Code::bug, "format '{}' placed {} parts that it was not given", format.name,
                    offsets.size());
      }
      IndexRow row = std::move(open->unplaced.front());
      open->unplaced.pop_front();
      move_places(row, offsets[layout.key_part], field_bases(offsets), offsets[0]);
      open->index->append(row);
    }
  }

  void commit_shard() {
    if (spool) {
      open_shard(&plan);
      spool->drain([&](const Record& record) { write(record); });
    }
    const ClosedShard closed = open->writer->close();
    place(closed.late_offsets);
    if (!open->unplaced.empty()) {
      throw Error(Code::bug, "format '{}' closed a shard with {} samples unplaced", format.name,
                  open->unplaced.size());
    }
    if (!closed.part_bases.empty() && !layout.has_fixed_rows) rebase(closed.part_bases);

    ManifestShard shard;
    shard.name = open->name;
    shard.payload_bytes = shard_payload;
    shard.digest = shard_digest;
    std::vector<Hash128> blocks;
    for (std::size_t i = 0; i < open->files.size(); ++i) {
      const FileSummary file = open->files[i].finish();
      shard.files.push_back({open->name + layout.file_suffixes[i], file.bytes, file.hash});
      blocks.insert(blocks.end(), file.blocks.begin(), file.blocks.end());
    }
    if (layout.has_fixed_rows) {
      const std::span<const std::uint64_t> bases = field_bases(closed.part_bases);
      shard.bases.assign(bases.begin(), bases.end());
    } else {
      const FileSummary index = open->index->finish();
      shard.index = {open->name + std::string(kIndexSuffix), index.bytes, index.hash};
    }
    shard.blocks = write_block_list(blocks);
    open.reset();
    publish(shard);
  }

  void rebase(std::span<const std::uint64_t> bases) {
    open->index->rebase(bases[layout.key_part], field_bases(bases), bases[0]);
  }

  ManifestFile write_block_list(std::span<const Hash128> blocks) {
    const std::string name = open->name + std::string(kBlocksSuffix);
    OutputFile file(join_path(work.path(), name),
                    {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
    file.append(block_list_bytes(blocks));
    const FileSummary written = file.finish();
    return {name, written.bytes, written.hash};
  }

  // All files of the shard are whole and durable: give them their names, then say so in the
  // journal.
  void publish(const ManifestShard& shard) {
    std::vector<const ManifestFile*> written;
    for (const ManifestFile& file : shard.files) written.push_back(&file);
    if (!shard.index.name.empty()) written.push_back(&shard.index);
    written.push_back(&shard.blocks);
    for (const ManifestFile* file : written) {
      if (file->bytes <= options.limit_bytes) continue;
      throw Error(Code::bug, "format '{}' wrote {} bytes, announced at most {}", format.name,
                  file->bytes, options.limit_bytes)
          .at(file->name);
    }
    for (const ManifestFile* file : written) {
      rename_file(join_path(work.path(), file->name), join_path(options.directory, file->name));
      summary.file_bytes += file->bytes;
    }
    sync_directory(options.directory);
    work.add_shard(shard);
    ++summary.shards;
  }
};

ShardSetWriter::ShardSetWriter(const Format& format, const Schema& schema,
                               const OptionSet& format_options, WorkFolder& work, Options options)
    : impl_(std::make_unique<Impl>(format, schema, format_options, work, std::move(options))) {}

ShardSetWriter::~ShardSetWriter() = default;

const ShardLayout& ShardSetWriter::layout() const { return impl_->layout; }

std::optional<std::uint64_t> ShardSetWriter::rows_a_shard() const { return impl_->rows_a_shard; }

void ShardSetWriter::append(const Record& record) { impl_->append(record); }

ShardSetWriter::Summary ShardSetWriter::finish() {
  if (impl_->plan.samples > 0) impl_->commit_shard();
  impl_->plan.samples = 0;
  if (impl_->key_check) impl_->key_check->finish();
  return impl_->summary;
}

std::uint64_t ShardSetWriter::buffer_bytes(std::uint64_t memory_bytes) {
  return kBuffers * data_buffer_bytes(memory_bytes) + kIndexBufferBytes + kKeyCheckBytes;
}

}  // namespace shale
