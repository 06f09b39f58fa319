#include "shale/browse/indexed_join.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/arrays/array_file.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/encoding/archived_value.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/rebuild_hint.hpp"
#include "shale/sources/joined_source.hpp"
#include "shale/sources/joined_words.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/tars_of_samples.hpp"
#include "shale/wire/npy_value.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostShards = 65'536;
constexpr std::string_view kDescriptors = "/proc/self/fd/";
constexpr std::uint64_t kBufferBytes = 256 * 1024;
constexpr std::uint64_t kMostCopied = std::uint64_t{256} << 20;

// What opens an open file once more, also after it has lost its name.
std::string opened_again(int descriptor) {
  std::string link = fmt::format("{}{}", kDescriptors, descriptor);
  const std::string path = path_of(descriptor);
  const std::optional<struct stat> there = facts_behind(path), here = facts_behind(link);
  const bool is_same =
      there && here && there->st_dev == here->st_dev && there->st_ino == here->st_ino;
  return is_same ? std::filesystem::absolute(path).string() : link;
}

// The index of a join, shard by shard. File 0 of each shard holds the keys, and copies of what does
// not lie in the inputs as it is read: texts of tables, files of folders, compressed and big-endian
// arrays. Each located field has a file of its own behind it.
class JoinIndexer {
 public:
  JoinIndexer(Source& source, std::string scratch_folder, std::string command_words,
              const Events& events)
      : source_(source),
        schema_(source.info().schema),
        scratch_(std::move(scratch_folder)),
        command_words_(std::move(command_words)),
        events_(events),
        keys_file_(std::make_shared<const NamelessFile>(scratch_)),
        keys_(open(*keys_file_)) {
    kept_.push_back(keys_file_);
  }

  /// The samples are files, of which only these values are wanted.
  void list(const ListedValues& values) {
    listed_ = values;
    const std::uint64_t all = source_.info().manifest.bytes;
    if (values.most_bytes > 0 && all > values.most_bytes)
      step_ = (all + values.most_bytes - 1) / values.most_bytes;
  }

  /// Of rows that lie in their files as they are read: a shard wherever a field goes on in another
  /// file, and no index. Nullopt: some do not, and the source is used up.
  std::optional<OpenedDataset> place_rows(const std::string& place, const std::string& generator) {
    constexpr std::uint64_t kAtOnce = 16 << 20;
    const std::uint64_t rows = std::max<std::uint64_t>(1, kAtOnce / *source_.info().row_bytes);
    while (const std::optional<PendingSample> run = source_.next(rows)) {
      events_.stop_if_asked();
      if (!place_run(*run)) return std::nullopt;
    }
    if (shards_.empty()) return std::nullopt;
    layout_->rows = RowStorage::columns();
    layout_->has_keys = layout_->has_checksums = false;
    (void)keys_.finish();
    for (const ManifestShard& shard : shards_) {
      samples_ += shard.digest.samples;
      payload_bytes_ += shard.payload_bytes;
    }
    return describe(place, generator);
  }

  OpenedDataset index(std::string place, std::string generator, bool is_join) {
    for (std::uint64_t number = 0;; ++number) {
      std::optional<PendingSample> sample = source_.next(1);
      if (!sample) break;
      events_.stop_if_asked();
      if (listed_ && (!sample->lacks.empty() || number % step_ != 0)) continue;
      refuse_damaged(*sample);
      if (!layout_) lay_out(*sample);
      follow_files(*sample);
      append(*sample);
    }
    if (!layout_ && is_join) throw Error(Code::unsupported, "the join has no samples").at(place);
    if (!layout_) lay_out({});
    end_shard();
    const std::uint64_t key_bytes = keys_.finish().bytes;
    for (ManifestShard& shard : shards_) {
      for (ManifestFile& file : shard.files) {
        if (file.name == keys_file_->link()) file.bytes = key_bytes;
      }
    }
    return describe(std::move(place), std::move(generator));
  }

 private:
  static OutputFile open(const NamelessFile& file) {
    return {
        file.duplicate(), file.link(),
        OutputFile::Options{.io = IoMode::buffered, .buffer_bytes = kBufferBytes, .buffers = 1}};
  }

  // An output without a name, which lives as long as the dataset.
  OutputFile create(ManifestFile& list) {
    auto file = std::make_shared<const NamelessFile>(scratch_);
    list.name = file->link();
    kept_.push_back(file);
    return open(*file);
  }

  // False: a value lies elsewhere, or otherwise.
  bool place_run(const PendingSample& run) {
    const std::size_t count = schema_.fields.size();
    if (!run.damage.empty() || !run.lacks.empty() || run.columns.size() != count) return false;
    bool goes_on = !shards_.empty() && run.descriptors == descriptors_;
    for (std::size_t f = 0; f < count; ++f) {
      if (run.descriptors[f] < 0 || run.columns[f] || !run.swaps[f].empty()) return false;
      const std::uint64_t stride = fixed_bytes_of(schema_.fields[f]).value();
      goes_on = goes_on && shards_.back().bases[f] + shards_.back().digest.samples * stride ==
                               run.cells[f].place.offset;
    }
    if (!goes_on) {
      if (!layout_) lay_out(run);
      if (shards_.size() == kMostShards) return false;
      shard_ = {};
      shard_.name = std::to_string(shards_.size());
      add_file(keys_file_->link());
      for (const int descriptor : run.descriptors) {
        std::string path = opened_again(descriptor);
        if (path.starts_with(kDescriptors)) {  // it has no name, and goes with the source
          const auto file = std::make_shared<const InputFile>(path);
          path = fmt::format("{}{}", kDescriptors, file->descriptor());
          kept_.push_back(file);
        }
        add_file(path);
      }
      for (const IndexCell& cell : run.cells) shard_.bases.push_back(cell.place.offset);
      shards_.push_back(std::move(shard_));
      descriptors_ = run.descriptors;
    }
    shards_.back().digest.samples += run.rows;
    for (std::size_t f = 0; f < count; ++f) {
      if (is_located(schema_.fields[f].kind))
        shards_.back().payload_bytes += run.cells[f].place.length;
    }
    return true;
  }

  static void refuse_damaged(const PendingSample& sample) {
    if (sample.damage.empty() && sample.lacks.empty()) return;
    throw Error(Code::damaged, "{}", sample.damage.empty() ? sample.lacks : sample.damage)
        .for_sample(sample.key, sample.first_number);
  }

  void lay_out(const PendingSample& sample) {
    const std::size_t count = schema_.fields.size();
    ShardLayout& layout = layout_.emplace();
    layout.file_suffixes.assign(1 + count, "");
    for (std::uint32_t part = 0; part <= count; ++part) layout.part_file.push_back(part);
    for (std::uint32_t field = 0; field < count; ++field) layout.field_part.push_back(field + 1);
    layout.has_keys = schema_.has_keys;
    layout.dialect = Dialect::plain;
    layout.has_checksums = true;
    for (std::size_t f = 0; f < count; ++f) {
      // Of a table: all its texts are kept. Other values may be, or lie in a file without any.
      const bool is_of_table =
          schema_.fields[f].kind == Kind::text &&
          std::ranges::find(sample.known, f, &KnownValue::field) != sample.known.end();
      const bool is_unproved = !sample.proves(f) || listed_;
      if (is_located(schema_.fields[f].kind) && !is_of_table && is_unproved)
        layout.has_checksums = false;
    }
    const Format* const container = source_.info().container;
    layout.has_elements = schema_.has_lists() && container && container->split_list == nullptr;
    columns_.emplace(schema_, layout);
  }

  // The fields whose values are copied.
  static std::vector<std::size_t> copied_fields(const PendingSample& sample) {
    std::vector<std::size_t> fields;
    for (const KnownValue& known : sample.known) fields.push_back(known.field);
    for (const PendingFile& file : sample.files) fields.push_back(file.field);
    return fields;
  }

  // Ends the shard where a field goes on in another file.
  void follow_files(const PendingSample& sample) {
    std::vector<std::size_t> copied = copied_fields(sample);
    const bool is_as_before = sample.keeps_open == open_ && sample.descriptors == descriptors_ &&
                              copied == copied_fields_;
    if (index_ && is_as_before) return;
    std::vector<std::string> files(schema_.fields.size());
    for (const std::size_t field : copied) files[field] = keys_file_->link();
    bool is_other = !index_;
    for (std::size_t f = 0; f < files.size(); ++f) {
      const bool is_in_file = files[f].empty() && is_located(schema_.fields[f].kind) &&
                              sample.cells[f].place.offset != kMissing &&
                              sample.descriptors[f] >= 0;
      if (is_in_file) files[f] = opened_again(sample.descriptors[f]);
      if (files[f].empty() && index_) files[f] = files_[f];
      is_other = is_other || (!files_[f].empty() && files_[f] != files[f]);
    }
    open_ = sample.keeps_open;
    descriptors_ = sample.descriptors;
    copied_fields_ = std::move(copied);
    if (is_other) {
      end_shard();
      kept_.push_back(open_);
      begin_shard();
    }
    files_ = std::move(files);
  }

  void begin_shard() {
    if (shards_.size() == kMostShards) {
      throw convert_instead(
          Error(Code::limit, "the join changes from file to file more than {} times", kMostShards));
    }
    constexpr std::uint64_t kOtherFiles = 256;
    allow_open_files(4 * shards_.size() + kOtherFiles);
    shard_ = {};
    shard_.name = std::to_string(shards_.size());
    OutputFile index = create(shard_.index);
    std::optional<OutputFile> elements;
    if (layout_->has_elements) elements = create(shard_.elements);
    index_.emplace(std::move(index), *columns_, std::move(elements));
  }

  void end_shard() {
    if (!index_) return;
    shard_.digest.samples = index_->rows();
    const WrittenIndex written = index_->finish();
    index_.reset();
    const auto describe_list = [](ManifestFile& list, const FileSummary& made) {
      list.bytes = made.bytes;
      list.hash = made.hash;
    };
    describe_list(shard_.index, written.index);
    if (written.elements) describe_list(shard_.elements, *written.elements);
    add_file(keys_file_->link());
    // A field that is a number, or absent from all samples, has no file: any will do.
    for (const std::string& file : files_) add_file(file.empty() ? keys_file_->link() : file);
    samples_ += shard_.digest.samples;
    payload_bytes_ += shard_.payload_bytes;
    shards_.push_back(std::move(shard_));
  }

  void add_file(const std::string& path) {
    auto known = facts_.find(path);
    if (known == facts_.end()) {
      const InputFile file(path);
      const bool holds_keys = path == keys_file_->link();
      known = facts_
                  .emplace(path, std::pair(file.size(),
                                           holds_keys ? FileFingerprint{} : fingerprint_of(file)))
                  .first;
    }
    shard_.files.push_back({path, known->second.first, {}});
    states_.push_back(known->second.second);
  }

  [[nodiscard]] Error convert_instead(Error error) const {
    return error.hint(fmt::format(
        "convert it, and read the result: shale convert {} OUT --to record", command_words_));
  }

  // Copies must not fill the disk of whoever only wants to see what is there.
  void refuse_large_copies(std::uint64_t bytes, std::size_t field, const PendingSample& sample) {
    copied_bytes_ += std::min(bytes, kMostCopied + 1);
    if (copied_bytes_ <= kMostCopied) return;
    throw convert_instead(Error(Code::limit,
                                "field '{}' does not lie in its file as it is read, and "
                                "copies of such values take more than {}",
                                printable(schema_.fields[field].name), format_size(kMostCopied))
                              .for_sample(sample.key, sample.first_number));
  }

  static std::string bytes_of(const PendingFile& listed, std::uint64_t number) {
    std::string bytes(listed.bytes, '\0');
    const std::span<std::byte> all = std::as_writable_bytes(std::span(bytes));
    if (const ArchivedFile& in = listed.archived; in.archive) {
      in.archive->refuse_changes();
      std::vector<std::byte> packed(in.packed_bytes > 0 ? in.packed_bytes : listed.bytes);
      in.archive->file().read_exact(in.offset, packed);
      std::span<std::byte> room = all;
      const std::span<std::byte> unpacked = unpacked_file(listed, packed, room);
      return std::string(as_text(unpacked));
    }
    check_listed(listed.path, listed.bytes, listed.modified_ns, number);
    InputFile(listed.path).read_exact(0, all);
    return bytes;
  }

  // A file of a folder or an archive, as it is, or the array in it.
  FieldPlace keep_file(const PendingFile& listed, PendingSample& sample) {
    refuse_large_copies(listed.bytes, listed.field, sample);
    std::string bytes = bytes_of(listed, sample.first_number);
    if (!listed.array) return keep(bytes);
    std::string room(listed.bytes, '\0');
    const NpyValue array = read_npy_value(*listed.array, std::as_writable_bytes(std::span(bytes)),
                                          std::as_writable_bytes(std::span(room)), listed.path);
    set_shape(sample.sides, schema_, listed.field, array.shape);
    return keep(std::string(as_text(array.elements)));
  }

  // The files of a sample, wherever they are, if its values are wanted; else their sizes.
  void keep_listed(PendingSample& sample) {
    for (const PendingFile& file : sample.files)
      sample.cells[file.field].place = {.offset = 0, .length = file.bytes};
    if (listed_->takes && !listed_->takes(sample.key, samples_ + index_->rows())) return;
    Batch batch;
    batch.first = sample.first_number;
    batch.bytes = sample.bytes;
    batch.pending.push_back(sample);
    const std::vector<Sample> read = load_batch(batch, source_.info(), reader_);
    if (!batch.pending.front().bad_array.empty()) return;
    for (const PendingFile& file : sample.files) {
      const auto* value = std::get_if<Bytes>(&read.front().values[file.field]);
      if (value == nullptr) {
        throw convert_instead(Error(Code::unsupported, "field '{}' is a list of files",
                                    printable(schema_.fields[file.field].name))
                                  .for_sample(sample.key, sample.first_number));
      }
      sample.cells[file.field].place = keep(std::string(as_text(*value)));
    }
    sample.sides = batch.pending.front().sides;
  }

  // Where a key, or a value that lies nowhere else, is written to.
  FieldPlace keep(const std::string& text) {
    const Bytes bytes = as_bytes(text);
    const FieldPlace place{.offset = key_bytes_, .length = bytes.size(), .crc32c = crc32c(bytes)};
    key_bytes_ += bytes.size();
    keys_.append(bytes);
    return place;
  }

  void append(PendingSample& sample) {
    IndexRow row;
    if (schema_.has_keys) {
      row.key = keep(sample.key);
      row.key_hash = xxh3_64(as_bytes(sample.key));
    }
    for (const KnownValue& known : sample.known) {
      if (schema_.fields[known.field].kind != Kind::text)
        refuse_large_copies(known.bytes.size(), known.field, sample);
      sample.cells[known.field].place = keep(known.bytes);
    }
    if (listed_) keep_listed(sample);
    for (const PendingFile& file : sample.files) {
      if (listed_) break;
      if (schema_.fields[file.field].kind == Kind::list) {
        throw convert_instead(
            Error(Code::unsupported,
                  "field '{}' of the join is a list of files, which is not read in place",
                  printable(schema_.fields[file.field].name))
                .for_sample(sample.key, sample.first_number));
      }
      sample.cells[file.field].place = keep_file(file, sample);
    }
    row.cells = std::move(sample.cells);
    row.elements = std::move(sample.elements);
    row.sides = std::move(sample.sides);
    for (std::size_t f = 0; f < row.cells.size(); ++f) {
      if (is_located(schema_.fields[f].kind) && row.cells[f].place.offset != kMissing)
        shard_.payload_bytes += row.cells[f].place.length;
    }
    index_->append(row);
  }

  OpenedDataset describe(std::string place, std::string generator) {
    const SourceInfo& info = source_.info();
    Manifest manifest;
    manifest.generator = std::move(generator);
    // Only lists are read as their container lays them out.
    manifest.format =
        info.container != nullptr ? info.container->name : all_formats().front()->name;
    manifest.schema = schema_;
    manifest.layout = *layout_;
    manifest.classes = info.classes;
    manifest.source = info.manifest;
    if (!listed_) manifest.source.kind = kJoined;
    manifest.source.samples = samples_;
    manifest.source.bytes = payload_bytes_;
    manifest.left_out = info.left_out;
    manifest.digest.samples = samples_;
    manifest.payload_bytes = payload_bytes_;
    manifest.shard_count = shards_.size();
    OpenedDataset joined;
    joined.paths.manifest = std::move(place);
    joined.manifest = manifest;
    joined.notes = info.notes;
    if (step_ > 1) {
      joined.notes.push_back(
          fmt::format("{} of the {} samples are shown, evenly spread: the rest would take more "
                      "than {} of copies; 'shale info' counts all",
                      format_count(samples_), format_count(info.manifest.samples),
                      format_size(listed_->most_bytes)));
    }
    joined.file_states = std::move(states_);
    joined.temporary_index =
        std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(kept_));
    joined.shards = ShardList(std::move(manifest), std::move(shards_));
    return joined;
  }

  Source& source_;
  const Schema schema_;
  const std::string scratch_;
  const std::string command_words_;
  const Events& events_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::shared_ptr<const NamelessFile> keys_file_;
  OutputFile keys_;
  std::uint64_t key_bytes_ = 0, copied_bytes_ = 0, samples_ = 0, payload_bytes_ = 0;
  std::optional<ShardLayout> layout_;
  std::optional<IndexColumns> columns_;
  std::optional<IndexWriter> index_;  // of the shard that has begun
  ManifestShard shard_;
  std::vector<std::string> files_;    // of its fields; empty: not known yet
  std::shared_ptr<const void> open_;  // of the last sample
  std::vector<int> descriptors_;
  std::vector<std::size_t> copied_fields_;
  std::map<std::string, std::pair<std::uint64_t, FileFingerprint>> facts_;  // by path
  std::vector<ManifestShard> shards_;
  std::vector<FileFingerprint> states_;
  std::optional<ListedValues> listed_;
  std::uint64_t step_ = 1;
  BatchReader reader_{BatchReader::Options{}};
};

// What says which files of a folder are samples, and what their labels are.
std::string words_of_files(const InputRequest& request) {
  std::string words;
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) words += fmt::format("--{} {} ", option, shell_word(value));
  };
  const FileRequest& files = request.files;
  const LabelFile& labels = request.labels;
  add("ext", files.suffixes);
  if (files.pairs.is_given)
    add("pairs", !files.pairs.suffixes.empty()             ? files.pairs.suffixes
                 : files.pairs.policy == PairPolicy::on    ? "on"
                 : files.pairs.policy == PairPolicy::bytes ? "bytes"
                                                           : "off");
  if (files.hidden != HiddenPolicy::unset)
    add("hidden", files.hidden == HiddenPolicy::keep ? "keep" : "skip");
  if (files.groups_frames) add("group", "frames");
  if (files.allow_empty) words += "--allow-empty ";
  add("labels", labels.is_given() || request.fields.takes(kLabelField) ? labels.path : "none");
  add("label-from", labels.pattern);
  add("label-column", labels.label_column);
  add("key-column", labels.key_column);
  add("label-separator", labels.separator);
  add("strip-prefix", labels.strip_prefix);
  add("classes-from", request.classes.from);
  if (request.classes.order != ClassOrder::bytewise)
    add("class-order", request.classes.order == ClassOrder::natural ? "natural" : "number");
  return words;
}

}  // namespace

bool are_inputs_with_names(const std::vector<std::string>& words) {
  const auto has_name = [](const std::string& word) {
    return path_in_word(word).size() != word.size();
  };
  return (words.size() > 1 && std::ranges::all_of(words, has_name)) ||
         !joined_by_fields(words).empty();
}

std::string text_of_inputs(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string command_words_of(const InputRequest& request) {
  std::string words;
  if (request.join.on != JoinOn::unset)
    words += request.join.on == JoinOn::key ? "--on key " : "--on row ";
  if (request.join.partners != Partners::unset)
    words += request.join.partners == Partners::any ? "--partners any " : "--partners all ";
  if (!request.axes.empty()) words += "--axis " + shell_word(axes_text(request.axes)) + " ";
  if (request.raw.is_given()) words += options_of(request.raw) + " ";
  words += words_of_files(request);
  for (const std::string& word : request.inputs) words += shell_word(word) + " ";
  words.pop_back();
  return words;
}

OpenedDataset open_joined_inputs(const InputRequest& request, const Events& events) {
  const std::string scratch = temporary_folder();
  std::string place = text_of_inputs(request.inputs);
  std::unique_ptr<Source> source = open_input(request, scratch, events);
  const std::string command_words = command_words_of(request);
  if (source->info().row_bytes.value_or(0) > 0) {
    std::optional<OpenedDataset> rows =
        JoinIndexer(*source, scratch, command_words, events).place_rows(place, request.generator);
    if (rows) return *std::move(rows);
    source = open_input(request, scratch, events);
  }
  // Arrays alone are one table, whose rows come in runs.
  if (source->info().row_bytes) {
    std::vector<std::string> names;
    for (const Field& field : source->info().schema.fields) names.push_back(field.name);
    std::vector<JoinedPart> parts;
    parts.push_back({.name = {}, .path = place, .source = std::move(source), .named = names});
    source = make_joined_source(std::move(parts), {}, events);
  }
  return JoinIndexer(*source, scratch, command_words, events)
      .index(std::move(place), request.generator, request.inputs.size() > 1);
}

bool are_arrays_alone(const std::vector<std::string>& words) {
  return !words.empty() && std::ranges::all_of(words, [](const std::string& word) {
    const std::optional<struct stat> facts = facts_behind(word);
    return facts && S_ISREG(facts->st_mode) && is_array_file_alone(InputFile(word));
  });
}

bool is_listed_input(const std::string& path) {
  if (archive_of_path(path)) return true;
  // A compressed archive is read once: for a survey that is enough.
  if (const std::optional<StreamPath> stream = stream_of_path(path, TarsAs::files)) {
    const std::optional<struct stat> facts =
        is_stdin(*stream) ? std::nullopt : facts_behind(stream->file);
    return facts && S_ISREG(facts->st_mode);
  }
  const Place place = look_at(path);
  if (place == Place::absent) return are_compressed_samples(path);  // by a pattern or a list
  if (place != Place::other_folder || file_of_path(path) || has_shards(path)) return false;
  if (several_datasets(path)) return false;
  const std::optional<struct stat> manifest = facts_behind(join_path(path, kManifestName));
  if (manifest && !S_ISREG(manifest->st_mode)) return false;
  if (stands(join_path(join_path(path, kSetIndexFolder), kManifestName))) return false;
  try {
    const std::optional<std::vector<SetMember>> files = files_of_set(path);
    // Of samples: as one compressed archive is.
    return !files || stream_of_path(files->front().path, TarsAs::files);
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
    return false;  // of several sets
  }
}

OpenedDataset open_listed_input(const InputRequest& request, const ListedValues& values,
                                const Events& events) {
  const std::string scratch = temporary_folder();
  const std::unique_ptr<Source> source = open_input(request, scratch, events);
  if (source->info().is_stream) {
    throw Error(Code::unsupported, "is a stream, of which no sample is found again")
        .at(request.inputs.front())
        .hint("convert it, or unpack it, and read the result");
  }
  JoinIndexer indexer(*source, scratch, command_words_of(request), events);
  indexer.list(values);
  return indexer.index(request.inputs.front(), request.generator, false);
}

}  // namespace shale
