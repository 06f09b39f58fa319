#include "shale/shards/shard_set_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_syncs.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/key_check.hpp"
#include "shale/shards/shard_bounds.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLeastBufferBytes = 4 * 1024, kLeastDirectBytes = 16 * 1024;
// Of shards that become durable together.
constexpr std::uint64_t kMostUnsyncedBytes = 64 << 20;
constexpr std::uint64_t kBuffers = 3, kIndexBufferBytes = 256 * 1024, kKeyCheckBytes = 4 << 20;

// Where the rows of a shard under way come to lie, as its format tells it: a row of an index for
// each sample, written as soon as its place is known, or where each field begins.
class ShardPlaces {
 public:
  // No `index`: rows are fixed, or nobody wants one.
  ShardPlaces(const ShardLayout& layout, std::string_view format, std::optional<IndexWriter> index)
      : layout_(layout), format_(format), index_(std::move(index)) {}

  // The row of a record that was given to the format, and what ShardWriter::append returned.
  void add(const IndexRow& row, std::span<const std::uint64_t> offsets) {
    if (!index_) return;
    if (unplaced_.empty() && offsets.size() == layout_.part_file.size()) {
      row_ = row;  // into memory that it has
      return append(row_, offsets);
    }
    unplaced_.push_back(row);
    place(offsets);
  }

  // What the format said last. Fills in index or bases of the shard, whose name is known.
  void finish(const ClosedShard& closed, ManifestShard& shard) {
    place(closed.late_offsets);
    if (!unplaced_.empty()) {
      throw Error(Code::bug, "format '{}' closed a shard with {} samples unplaced", format_,
                  unplaced_.size());
    }
    const std::span<const std::uint64_t> bases = closed.part_bases;
    if (!index_) {
      if (layout_.rows.has_index()) return;
      const std::span<const std::uint64_t> of_fields = field_bases(bases);
      shard.bases.assign(of_fields.begin(), of_fields.end());
      return;
    }
    if (!bases.empty()) index_->rebase(bases[layout_.key_part], field_bases(bases), bases[0]);
    const auto list_of = [&](std::string_view suffix, const FileSummary& file) {
      return ManifestFile{shard.name + std::string(suffix), file.bytes, file.hash};
    };
    const WrittenIndex written = index_->finish();
    shard.index = list_of(kIndexSuffix, written.index);
    if (written.elements) shard.elements = list_of(kElementsSuffix, *written.elements);
  }

 private:
  // Gives the oldest rows without places theirs.
  void place(std::span<const std::uint64_t> offsets) {
    if (!index_) return;
    const std::size_t parts = layout_.part_file.size();
    for (; !offsets.empty(); offsets = offsets.subspan(parts)) {
      if (offsets.size() < parts || unplaced_.empty()) {
        throw Error(Code::bug, "format '{}' placed {} parts that it was not given", format_,
                    offsets.size());
      }
      append(unplaced_.front(), offsets);
      unplaced_.pop_front();
    }
  }

  void append(IndexRow& row, std::span<const std::uint64_t> offsets) {
    move_places(row, offsets[layout_.key_part], field_bases(offsets), offsets[0]);
    index_->append(row);
  }

  // For each field of the schema, the number of the part it lies in. Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> field_bases(std::span<const std::uint64_t> parts) {
    field_bases_.clear();
    for (const std::uint32_t part : layout_.field_part) field_bases_.push_back(parts[part]);
    return field_bases_;
  }

  const ShardLayout& layout_;
  std::string_view format_;
  std::optional<IndexWriter> index_;
  std::deque<IndexRow> unplaced_;
  IndexRow row_;
  std::vector<std::uint64_t> field_bases_;
};

// Data buffers of 1 to 4 MiB: three of 4 MiB keep this disk busy (bench/README.md), small budgets
// get smaller ones.
std::uint64_t data_buffer_bytes(std::uint64_t memory_bytes) {
  const std::uint64_t share = memory_bytes / 16 / kBlockBytes * kBlockBytes;
  return std::clamp<std::uint64_t>(share, kBlockBytes, 4 * kBlockBytes);
}

// What the class names add to the first file of each shard; 0: they are not in there.
std::uint64_t bytes_of_classes(const Format& format, const ShardSetWriter::Options& options) {
  const std::vector<std::string>& names = options.classes.names;
  const bool has_place = format.classes != nullptr && options.keeps_classes && !names.empty();
  return has_place ? format.classes->bytes(names) : 0;
}

ShardLayout layout_with(ShardLayout layout, const Format& format,
                        const ShardSetWriter::Options& options) {
  layout.has_elements = layout.has_elements && options.lists_elements && options.writes_index;
  layout.has_classes = bytes_of_classes(format, options) > 0;
  return layout;
}

// All files of a shard are open until it is closed. Said before anything is written, not by the
// open that fails.
void refuse_more_files_than_may_be_open(std::size_t files) {
  constexpr std::uint64_t kOtherFiles = 24;
  rlimit limit{};
  const bool is_known = files > kOtherFiles && ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (!is_known || files + kOtherFiles <= limit.rlim_cur) return;
  throw Error(Code::limit, "a shard has {} files, one per column, and this process may open {}",
              files, limit.rlim_cur)
      .hint(
          fmt::format("raise the limit to {} (ulimit -n), or choose a format that is one file per "
                      "shard, such as hdf5",
                      files + kOtherFiles));
}

// One shard under way: its files, and where its rows come to lie.
struct WrittenShard {
  std::string name;
  std::vector<OutputFile> files;
  std::unique_ptr<ShardWriter> writer;
  std::optional<ShardPlaces> places;
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
  std::uint64_t sample_bytes = kAnySize;  // of options.limit_bytes

  std::unique_ptr<ShardSizer> sizer;
  FileSyncs syncs;
  std::size_t most_waiting = 0;  // files in there; 0: each is made durable as soon as it is whole
  std::optional<WrittenShard> open;
  std::optional<KeyCheck> key_check;
  std::optional<NameCheck> name_check;  // of the current shard, as all that follows
  std::uint64_t shard_elements = 0;
  DatasetDigest shard_digest;
  std::uint64_t shard_payload = 0;
  std::int64_t divider = 0;          // of options.divided_by, in the current shard
  std::vector<std::uint64_t> parts;  // of the record that is added: how large
  Summary summary;
  std::optional<std::uint64_t> rows_a_shard;

  Impl(const Format& format_row, const Schema& the_schema, const OptionSet& set, WorkFolder& folder,
       Options the_options)
      : format(format_row),
        schema(the_schema),
        format_options(set),
        work(folder),
        options(std::move(the_options)),
        layout(layout_with(format.layout(schema, format_options), format, options)),
        columns(schema, layout) {
    refuse_more_files_than_may_be_open(layout.file_suffixes.size());
    if (layout.has_keys && !options.keys_are_unique) key_check.emplace(work.path(), kKeyCheckBytes);
    if (is_one_file()) {
      if (!options.keeps_suffixes) layout = as_one_file(std::move(layout));
      options.limit_bytes = options.limit_samples = kAnySize;
    } else {
      sample_bytes = bytes_for_samples(format, options);
      rows_a_shard =
          rows_within({sample_bytes, options.limit_samples}, format, schema, format_options);
    }
    if (can_share_syncs()) most_waiting = FileSyncs::most_files();
    if (options.continues) take_over();
    start_shard();
  }

  // The shards of the run before.
  void take_over() {
    work.for_each_shard([this](const ManifestShard& shard) {
      for (const ManifestFile& file : shard.files) summary.file_bytes += file.bytes;
      summary.file_bytes += shard.list_bytes();
      summary.payload_bytes += shard.payload_bytes;
      summary.digest.append(shard.digest);
      ++summary.shards;
    });
  }

  [[nodiscard]] bool is_one_file() const { return !options.file_name.empty(); }

  void start_shard() {
    sizer = format.create_sizer(schema, format_options);
    shard_digest = {};
    shard_payload = shard_elements = 0;
  }

  // The largest file of the shard if one more record with these parts were added.
  [[nodiscard]] std::uint64_t largest_file_with(const Record& record) const {
    const std::uint64_t samples = record.digest.samples;
    return largest_file_of(sizer->size_with(parts, samples), shard_digest.samples + samples,
                           shard_elements + record.row.elements.size(), columns);
  }

  void append(const Record& record) {
    parts.clear();
    for (const Blob& part : record.parts) parts.push_back(part.size());
    const std::uint64_t samples = record.digest.samples;
    std::uint64_t needed = largest_file_with(record);
    const bool is_full = shard_digest.samples + samples > options.limit_samples ||
                         is_divided(record) || needed > sample_bytes;
    if (shard_digest.samples > 0 && is_full) {
      if (is_one_file()) {
        throw Error(Code::limit, "one {} file holds no more than {} samples", format.name,
                    shard_digest.samples)
            .for_sample(record.key, shard_digest.samples)
            .hint("write shards: choose an output without a suffix, and pass --to");
      }
      // What is encoded already may be many shards: the run stops between two of them.
      if (options.stop_if_asked) options.stop_if_asked();
      commit_shard(false);
      start_shard();
      needed = largest_file_with(record);
    }
    if (needed > sample_bytes) {
      throw sample_too_large(needed + options.limit_bytes - sample_bytes, options.limit_bytes)
          .for_sample(record.key, summary.digest.samples);
    }
    if (key_check) key_check->add(record.row.key_hash, record.key);
    note_name(record.key);
    if (!open) open_shard();
    open->places->add(record.row, open->writer->append(record));
    count(record);
  }

  void note_name(const std::string& key) {
    if (format.sample_name == nullptr) return;
    const std::string name = format.sample_name(key, format_options);
    if (name.empty()) return;
    if (!name_check) name_check.emplace(work.path(), kKeyCheckBytes);
    name_check->add(name, key);
  }

  [[nodiscard]] bool is_divided(const Record& record) const {
    return options.divided_by && record.row.cells[*options.divided_by].integer != divider;
  }

  void count(const Record& record) {
    if (options.divided_by) divider = record.row.cells[*options.divided_by].integer;
    sizer->add(parts, record.digest.samples);
    shard_digest.append(record.digest);
    shard_payload += record.payload_bytes;
    shard_elements += record.row.elements.size();
    summary.digest.append(record.digest);
    summary.payload_bytes += record.payload_bytes;
  }

  void open_shard() {
    open.emplace();
    open->name =
        is_one_file() ? options.file_name : shard_name(options.first_shard + summary.shards);
    if (options.stream)
      open->files.emplace_back(::fcntl(*options.stream, F_DUPFD_CLOEXEC, 0), options.file_name,
                               file_options(0));
    for (std::size_t i = 0; i < layout.file_suffixes.size() && !options.stream; ++i) {
      open->files.emplace_back(join_path(work.path(), open->name + layout.file_suffixes[i]),
                               file_options(i));
    }
    open->writer = format.create_shard(open->files, schema, format_options);
    if (layout.has_classes) open->writer->name_labels(options.classes);
    open->places.emplace(layout, format.name, create_index());
  }

  [[nodiscard]] std::optional<IndexWriter> create_index() {
    if (!layout.rows.has_index() || !options.writes_index) return std::nullopt;
    const auto create = [this](std::string_view suffix) {
      return OutputFile(join_path(work.path(), open->name + std::string(suffix)),
                        {.io = options.io,
                         .buffer_bytes = kIndexBufferBytes,
                         .buffers = 1,
                         .syncs = joined_syncs()});
    };
    std::optional<OutputFile> elements;
    if (layout.has_elements) elements.emplace(create(kElementsSuffix));
    return IndexWriter(create(kIndexSuffix), columns, std::move(elements));
  }

  // The buffers of one file, which share what one file alone would have: by the bytes of their
  // rows where those are fixed. A share that is too small for three buffers is one, which the page
  // cache collects, and no ring.
  [[nodiscard]] OutputFile::Options file_options(std::size_t file) {
    const std::uint64_t all = data_buffer_bytes(options.memory_bytes);
    const std::size_t files = layout.file_suffixes.size();
    if (files == 1) return {options.io, all, kBuffers, joined_syncs()};
    double share = 1.0 / static_cast<double>(files);
    if (layout.rows.has_strides()) {
      std::uint64_t of_file = 1, of_all = 1;
      for (std::size_t i = 0; i < schema.fields.size(); ++i) {
        const std::uint64_t stride = fixed_bytes_of(schema.fields[i]).value();
        of_all += stride;
        if (layout.part_file[layout.field_part[i]] == file) of_file += stride;
      }
      share = static_cast<double>(of_file) / static_cast<double>(of_all);
    }
    const auto bytes = static_cast<std::uint64_t>(share * static_cast<double>(all)) /
                       kLeastBufferBytes * kLeastBufferBytes;
    if (bytes >= kLeastDirectBytes) return {options.io, bytes, kBuffers, joined_syncs()};
    const IoMode io = options.io == IoMode::automatic ? IoMode::buffered : options.io;
    return {io, std::max(bytes * kBuffers, kLeastBufferBytes), 1, joined_syncs()};
  }

  [[nodiscard]] FileSyncs* joined_syncs() { return most_waiting > 0 ? &syncs : nullptr; }

  // Two shards or more must fit in.
  [[nodiscard]] bool can_share_syncs() const {
    const std::size_t files = layout.file_suffixes.size() + std::size(kListSuffixes);
    return !is_one_file() && !options.divided_by && !options.on_shard &&
           2 * files <= FileSyncs::most_files();
  }

  void commit_shard(bool is_last) {
    if (!open) open_shard();  // one file of no samples
    if (name_check) name_check->finish(format);
    name_check.reset();
    const ClosedShard closed = open->writer->close();
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
    open->places->finish(closed, shard);
    shard.blocks = write_block_list(blocks);
    open.reset();
    publish(shard, is_last);
  }

  ManifestFile write_block_list(std::span<const Hash128> blocks) {
    const std::string name = open->name + std::string(kBlocksSuffix);
    OutputFile file(
        join_path(work.path(), name),
        {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1, .syncs = joined_syncs()});
    file.append(block_list_bytes(blocks));
    const FileSummary written = file.finish();
    return {name, written.bytes, written.hash};
  }

  // All files of the shard are whole: make them and their names durable, then say so in the
  // journal. A shard whose files others can wait with does, and is in the tail of the journal.
  void publish(const ManifestShard& shard, bool is_last) {
    std::vector<const ManifestFile*> written;
    for (const ManifestFile& file : shard.files) written.push_back(&file);
    for (const ManifestFile* list : shard.lists()) written.push_back(list);
    for (const ManifestFile* file : written) {
      if (file->bytes <= options.limit_bytes) continue;
      throw Error(Code::bug, "format '{}' wrote {} bytes, but announced at most {}", format.name,
                  file->bytes, options.limit_bytes)
          .at(file->name);
    }
    for (const ManifestFile* file : written) summary.file_bytes += file->bytes;
    const bool waits = !is_last && syncs.bytes() <= kMostUnsyncedBytes &&
                       syncs.files() + written.size() <= most_waiting;
    if (waits) {
      work.add_whole_shard(shard, options.state ? options.state(false) : "");
    } else {
      work.add_shard(shard, make_durable());
    }
    ++summary.shards;
    if (options.on_shard) options.on_shard(shard);
  }

  // All shards that are whole: their files, the lists beside them, the names. Gives the state of
  // the run. A sync that failed is not repeated, by the run that continues this one neither.
  [[nodiscard]] std::string make_durable() try {
    syncs.sync();
    std::string state = options.state ? options.state(true) : "";
    sync_directory(work.path());
    return state;
  } catch (...) {
    work.forget_whole_shards();
    throw;
  }
};

std::uint64_t bytes_for_samples(const Format& format, const ShardSetWriter::Options& options) {
  if (!options.file_name.empty()) return kAnySize;
  return options.limit_bytes - std::min(bytes_of_classes(format, options), options.limit_bytes);
}

OutputFile::Options data_file_options(IoMode io, std::uint64_t memory_bytes) {
  return {io, data_buffer_bytes(memory_bytes), kBuffers};
}

ShardSetWriter::ShardSetWriter(const Format& format, const Schema& schema,
                               const OptionSet& format_options, WorkFolder& work, Options options)
    : impl_(std::make_unique<Impl>(format, schema, format_options, work, std::move(options))) {}

ShardSetWriter::~ShardSetWriter() = default;

const ShardLayout& ShardSetWriter::layout() const { return impl_->layout; }

std::optional<std::uint64_t> ShardSetWriter::rows_a_shard() const { return impl_->rows_a_shard; }

void ShardSetWriter::append(const Record& record) { impl_->append(record); }

ShardSetWriter::Summary ShardSetWriter::finish() {
  if (impl_->shard_digest.samples > 0 || impl_->is_one_file()) {
    impl_->commit_shard(true);
  } else if (impl_->syncs.files() > 0) {  // the last record was refused
    (void)impl_->make_durable();
    impl_->work.keep_whole_shards();
  }
  impl_->shard_digest.samples = 0;
  if (impl_->key_check) impl_->key_check->finish();
  return impl_->summary;
}

std::uint64_t ShardSetWriter::buffer_bytes(std::uint64_t memory_bytes) {
  return kBuffers * data_buffer_bytes(memory_bytes) + 2 * kIndexBufferBytes + kKeyCheckBytes;
}

}  // namespace shale
