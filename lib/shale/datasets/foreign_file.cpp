#include "shale/datasets/foreign_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/hub_folder.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kIndexBufferBytes = 256 * 1024, kDigestBytes = 4 << 20;

std::uint64_t mtime_ns_of(const InputFile& file) {
  struct stat status {};
  if (retried(file.path(), [&] { return ::fstat(file.descriptor(), &status); }) != 0) {
    throw Error(Code::io, "cannot determine its time of modification")
        .at(file.path())
        .because_errno(errno);
  }
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}

const OutputFile::Options kListOptions{
    .io = IoMode::buffered, .buffer_bytes = kIndexBufferBytes, .buffers = 1};

OutputFile list_file(const std::string& path) { return OutputFile(path, kListOptions); }

// Where an index is made. Several processes may want the same one at once: each waits its turn.
WorkFolder work_folder_of(const DatasetPaths& paths, const std::string& name,
                          const Events& events) {
  std::error_code cause;
  StorageRetry retry(paths.lists);
  do {
    fs::create_directories(paths.lists, cause);
  } while (cause && retry.again(cause.value()));
  try {
    if (cause) throw Error(Code::io, "cannot write an index here").because(cause.message());
    return WorkFolder(WorkFolder::BesideFile{join_path(paths.lists, name)},
                      [&] { events.stop_if_asked(); });
  } catch (Error& error) {
    if (error.code() == Code::io)
      error.at(paths.lists).hint("pass --index-dir with a directory that can be written to");
    throw;
  }
}

// Where files without names are read and written, by the numbers of their descriptors.
constexpr const char* kNamelessFolder = "/proc/self/fd";

class Indexing {
 public:
  Indexing(const ForeignRequest& request, const Events& events)
      : request_(request),
        events_(events),
        paths_(DatasetPaths::of_file(request.file, request.index_folder)),
        parsing_(request.parsing) {
    files_.emplace_back(request.file);
    mtime_ns_ = mtime_ns_of(files_[0]);
    name_ = fs::path(request.file).filename().string();
  }

  // What run() would make, but for what only the payload tells.
  IndexedFile plan() {
    refuse_inside_dataset(paths_.manifest, paths_.lists);
    if (stands(paths_.lists))
      WorkFolder::refuse_unwritable(WorkFolder::BesideFile{join_path(paths_.lists, name_)});
    adopt_old_index();
    take_state();
    count_samples(describe_file());
    refuse_foreign_files(SetPlace::of_file(paths_.manifest, name_), lists());
    describe_source();
    manifest_.layout.has_checksums = false;  // nothing was read
    return {std::move(manifest_), std::move(notes_)};
  }

  IndexedFile run() {
    if (request_.keeps_fresh && seems_fresh()) return {};
    refuse_inside_dataset(paths_.manifest, paths_.lists);
    WorkFolder work = work_folder_of(paths_, name_, events_);
    const SetPlace place = SetPlace::of_file(paths_.manifest, name_);
    (void)finish_swap(place, work);
    try {
      if (!request_.keeps_fresh || !has_fresh_index()) make_index(place, work);
    } catch (...) {
      if (!is_swapping(place, work)) work.remove();
      throw;
    }
    work.remove();
    return {std::move(manifest_), std::move(notes_)};
  }

  void make_index(const SetPlace& place, WorkFolder& work) {
    work.clear();
    adopt_old_index();
    take_state();
    const Format& format = describe_file();
    refuse_foreign_files(place, lists());
    const auto create_list = [&](ManifestFile& list, std::string_view suffix) {
      list.name = name_ + std::string(suffix);
      return list_file(join_path(work.path(), list.name));
    };
    locate_rows(format, create_list);
    if (request_.with_checksums) digest_rows(format, create_list, work.path());
    describe_source();
    refuse_changed_file();
    events_.stop_if_asked();  // for the last time: what follows takes no time
    write_manifest_file(join_path(work.path(), place.manifest), manifest_,
                        [this](const auto& visit) { visit(shard_); });
    put_in_place(place, work);
  }

  IndexPart run_into(const std::string& folder, const std::string& stem) {
    const Format& format = describe_file();
    FileSyncs closed;  // never synced: whoever asked does it once for all
    const auto create_list = [&](ManifestFile& list, std::string_view suffix) {
      list.name = stem + std::string(suffix);
      const std::string path = join_path(folder, list.name);
      (void)remove_file(path);
      OutputFile::Options options = kListOptions;
      options.syncs = &closed;
      return OutputFile(path, options);
    };
    locate_rows(format, create_list);
    if (request_.with_checksums) digest_rows(format, create_list, folder);
    // Its parts are in the page cache now: before, each would have been a read of its own.
    take_state();
    describe_source();
    refuse_changed_file(false);
    return {std::move(manifest_), std::move(shard_), std::move(notes_)};
  }

  NamelessIndex run_nameless() {
    take_state();
    const Format& format = describe_file();
    const auto create_list = [this](ManifestFile& list, std::string_view) {
      const NamelessFile& file = add_nameless();
      list.name = std::to_string(file.descriptor());
      return OutputFile(file.duplicate(), file.link(), kListOptions);
    };
    locate_rows(format, create_list);
    // There is only memory for the index of one sample at a time.
    const bool is_in_memory = request_.scratch_folder.empty();
    if (request_.with_checksums && !(is_in_memory && manifest_.layout.rows.has_index()))
      digest_rows(format, create_list, kNamelessFolder);
    describe_source();
    refuse_changed_file();
    events_.stop_if_asked();
    paths_.lists = kNamelessFolder;
    return {std::move(manifest_),
            std::move(shard_),
            std::move(paths_),
            std::move(notes_),
            std::move(lost_),
            std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(nameless_))};
  }

 private:
  // The suffixes of those that are made.
  [[nodiscard]] std::vector<std::string> lists() const {
    std::vector<std::string> suffixes;
    if (manifest_.layout.rows.has_index()) suffixes.emplace_back(kIndexSuffix);
    if (manifest_.layout.has_elements) suffixes.emplace_back(kElementsSuffix);
    if (manifest_.layout.has_values) suffixes.emplace_back(kValuesSuffix);
    if (request_.with_checksums) suffixes.emplace_back(kBlocksSuffix);
    return suffixes;
  }

  [[nodiscard]] bool has_fresh_index() const {
    if (!is_manifest(paths_.manifest)) return false;
    ShardList shards;
    try {
      shards = open_shard_list(paths_);
    } catch (const Error& error) {
      if (error.code() == Code::not_found) return false;
      throw;
    }
    return !change_of_indexed(files_[0], shards.manifest(), shards.only(),
                              [this] { events_.stop_if_asked(); });
  }

  // An index that is made again keeps the way in which its samples are read, and what shale knew
  // when it wrote the file. One that cannot be read has neither.
  void adopt_old_index() {
    if (request_.parsing.is_given()) return;
    try {
      const ShardList shards = open_shard_list(paths_);
      const Manifest& manifest = shards.manifest();
      parsing_ = parsing_of(manifest.layout);
      if (manifest.layout.dialect == Dialect::own &&
          !change_of_indexed(files_[0], manifest, shards.only())) {
        known_ = manifest;
        shard_.bases = shards.only()->bases;
        shard_.digest.samples = shards.only()->digest.samples;
      }
    } catch (const Error&) {
    }
  }

  // Without the lock: most who come here find the index made, and only read. Another process may be
  // replacing it, so only a yes counts.
  [[nodiscard]] bool seems_fresh() const {
    try {
      return has_fresh_index();
    } catch (const Error&) {
      return false;
    }
  }

  const NamelessFile& add_nameless() {
    auto file = request_.scratch_folder.empty()
                    ? std::make_shared<const NamelessFile>(NamelessFile::InMemory{name_})
                    : std::make_shared<const NamelessFile>(request_.scratch_folder);
    nameless_.push_back(file);
    return *file;
  }

  const Format& describe_file() {
    events_.stop_if_asked();
    const Format& format =
        request_.format != nullptr ? *request_.format : format_of_file(files_[0], parsing_);
    if (known_) {
      adopt_known();
      return format;
    }
    Survey survey = survey_file(
        format, files_[0], parsing_, events_.of_walk(),
        {.takes_damaged = request_.takes_damaged, .memory_bytes = request_.memory_bytes});
    lost_ = std::move(survey.lost);
    if (request_.schema != nullptr) {
      if (request_.drops_keys) survey.schema.has_keys = survey.layout.has_keys = false;
      widen(survey, *request_.schema, request_.beside);
    }
    validate_schema(survey.schema);
    if (survey.layout.rows.has_strides()) refuse_empty_rows(survey.schema, survey.samples);
    refuse_values_of_rows(survey.layout);
    survey.layout.has_checksums = request_.with_checksums;
    manifest_.generator = request_.generator;
    manifest_.format = format.name;
    manifest_.schema = std::move(survey.schema);
    manifest_.classes = std::move(survey.classes);
    manifest_.layout = std::move(survey.layout);
    manifest_.left_out = std::move(survey.left_out);
    add_hub_classes(manifest_, request_.file);
    shard_.name = name_;
    shard_.files = {{name_, files_[0].size(), {}}};
    shard_.bases = std::move(survey.bases);
    shard_.digest.samples = survey.samples;
    notes_ = std::move(survey.notes);
    return format;
  }

  static void refuse_values_of_rows(const ShardLayout& layout) {
    if (layout.has_values && !layout.rows.has_index())
      throw Error(Code::bug, "values beside a file whose rows are fixed");
  }

  // In a set whose samples are found by an index each file has one.
  static void widen(Survey& survey, const Schema& schema, const std::set<std::string>& beside) {
    survey.schema.fields = schema.fields;
    survey.layout.rows = RowStorage::indexed();
    survey.bases.clear();
    survey.samples = 0;
    place_parts(survey.layout, survey.schema, beside);
    survey.layout.has_elements = survey.schema.has_lists();
  }

  // All but what reading the file again tells.
  void adopt_known() {
    manifest_ = *known_;
    manifest_.generator = request_.generator;
    manifest_.layout.has_checksums = request_.with_checksums;
    origin_ = known_->source.origin;
    shard_.name = name_;
    shard_.files = {{name_, files_[0].size(), {}}};
  }

  void refuse(const Finding& finding) const {
    throw Error(Code::damaged, "the file is damaged, so it was not indexed: {}", describe(finding))
        .hint(fmt::format("run 'shale verify --deep {}' to list all the damage",
                          printable(request_.file)));
  }

  // Creates the file of one of the lists of the shard, index or blocks, and names it.
  using CreateList = std::function<OutputFile(ManifestFile& list, std::string_view suffix)>;

  void locate_rows(const Format& format, const CreateList& create_list) {
    if (manifest_.layout.rows.has_index()) {
      OutputFile index = create_list(shard_.index, kIndexSuffix);
      std::optional<OutputFile> elements;
      if (manifest_.layout.has_elements)
        elements.emplace(create_list(shard_.elements, kElementsSuffix));
      std::optional<OutputFile> values;
      if (manifest_.layout.has_values) values.emplace(create_list(shard_.values, kValuesSuffix));
      write_index(
          format,
          {std::move(index), IndexColumns(manifest_.schema, manifest_.layout), std::move(elements)},
          std::move(values));
    } else {
      place_rows(format);
    }
  }

  void count_samples(const Format& format) {
    if (!manifest_.layout.rows.has_index()) return;
    shard_.digest.samples = 0;
    format.scan(
        {.files = files_,
         .schema = manifest_.schema,
         .layout = manifest_.layout,
         .reads_payload = false,
         .progress = events_.of_walk(),
         .put_value = [](Bytes) { return std::uint64_t{0}; },
         .memory_bytes = request_.memory_bytes},
        OptionSet(format.options), [this](const IndexRow&) { ++shard_.digest.samples; },
        [this](const Finding& finding) { refuse(finding); });
  }

  // Reads all of the file. `lists`: the folder of its index.
  void digest_rows(const Format& format, const CreateList& create_list, const std::string& lists) {
    write_blocks(create_list(shard_.blocks, kBlocksSuffix));
    if (manifest_.layout.rows.takes_runs()) {
      digest_runs();
    } else {
      digest_samples(format, lists);
    }
  }

  // There is no index to be made: the survey has said where the rows begin.
  void place_rows(const Format& format) {
    format.scan(
        {files_, manifest_.schema, manifest_.layout, request_.with_checksums, shard_.digest.samples,
         shard_.bases, events_.of_walk()},
        OptionSet(format.options), [](const IndexRow&) {},
        [this](const Finding& finding) { refuse(finding); });
    const ShardReader reader(paths_, manifest_, shard_);  // proves that the file holds them all
    for (const FixedColumn& column : reader.fixed_columns()) {
      if (is_located(column.field->kind))
        shard_.payload_bytes += shard_.digest.samples * column.stride;
    }
  }

  void write_index(const Format& format, IndexWriter writer, std::optional<OutputFile> values) {
    const ShardInput input{.files = files_,
                           .schema = manifest_.schema,
                           .layout = manifest_.layout,
                           .reads_payload = request_.with_checksums,
                           .progress = events_.of_walk(),
                           .lost = request_.takes_damaged ? &lost_ : nullptr,
                           .put_value =
                               [&values](Bytes value) {
                                 const std::uint64_t offset = values->size();
                                 values->append(value);
                                 return offset;
                               },
                           .memory_bytes = request_.memory_bytes};
    ElementScan scan(format, input);
    const auto take = [&](IndexRow row) {
      scan.locate(row);
      writer.append(row);
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (is_located(manifest_.schema.fields[i].kind))
          shard_.payload_bytes += row.cells[i].place.length;
      }
    };
    format.scan(input, OptionSet(format.options), take,
                [this](const Finding& finding) { refuse(finding); });
    shard_.digest.samples = writer.rows();
    const WrittenIndex written = writer.finish();
    const auto describe_list = [](ManifestFile& list, const FileSummary& made) {
      list.bytes = made.bytes;
      list.hash = made.hash;
    };
    describe_list(shard_.index, written.index);
    if (written.elements) describe_list(shard_.elements, *written.elements);
    if (values) describe_list(shard_.values, values->finish());
  }

  void write_blocks(OutputFile file) {
    const auto progress = [this](std::uint64_t done) { events_.of_walk()(done, files_[0].size()); };
    const FileSummary summary = summarize_file(files_[0], progress);
    shard_.files[0].hash = summary.hash;
    file.append(block_list_bytes(summary.blocks));
    const FileSummary written = file.finish();
    shard_.blocks.bytes = written.bytes;
    shard_.blocks.hash = written.hash;
  }

  void digest_samples(const Format& format, const std::string& lists) {
    DatasetPaths paths = paths_;
    paths.lists = lists;
    const ShardReader reader(paths, manifest_, shard_);
    IndexReader index = reader.open_index();
    DatasetDigest digest;
    const WalkProgress progress = events_.of_walk();
    WalkPace pace(progress, files_[0].size());
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      pace.step_to_row(row, index.rows());
      LoadedSample loaded = load_sample(
          reader, index.row(row), manifest_.schema, format,
          {.bytes = request_.memory_bytes, .step = [this] { events_.stop_if_asked(); }});
      if (!manifest_.layout.has_keys) loaded.sample.key = std::to_string(row);
      check_sample(loaded.sample, manifest_.schema, true);
      digest.add(digest_of(loaded.sample, manifest_.schema));
    }
    if (!manifest_.layout.has_keys) digest.keys = {};  // null: the key of a row is its number
    shard_.digest = digest;
  }

  void digest_runs() {
    const ShardReader reader(paths_, manifest_, shard_);
    const std::vector<FixedColumn> columns = reader.fixed_columns();
    const std::uint64_t row_bytes = row_bytes_of(columns);
    if (row_bytes > request_.memory_bytes) {
      throw Error(Code::limit, "each row is {} bytes, which its digest needs in the {} of memory",
                  row_bytes, request_.memory_bytes)
          .at(request_.file)
          .hint(enough_memory_hint(row_bytes));
    }
    const std::uint64_t rows = shard_.digest.samples;
    const std::uint64_t at_once =
        rows_at_once(row_bytes, std::min(kDigestBytes, request_.memory_bytes));
    DatasetDigest digest;
    for (std::uint64_t row = 0; row < rows;) {
      const std::uint64_t count = std::min(at_once, rows - row);
      digest.append(digest_of_run(columns, row, count));
      row += count;
      events_.stop_if_asked();
      events_.report(row, rows, row * row_bytes);
    }
    shard_.digest = digest;
  }

  [[nodiscard]] DatasetDigest digest_of_run(std::span<const FixedColumn> columns, std::uint64_t row,
                                            std::uint64_t count) const try {
    FixedRun run(row, count);
    for (const FixedColumn& column : columns) run.read(column);
    return digest_of_rows(run.columns(), count, manifest_.schema);
  } catch (Error& error) {
    error.at(request_.file).for_sample({}, row);
    throw;
  }

  void describe_source() {
    manifest_.source = source_of_file(fingerprint_, files_[0].size(), manifest_.format,
                                      shard_.digest.samples, shard_.payload_bytes);
    manifest_.source.origin = origin_;
    manifest_.digest = shard_.digest;
    manifest_.payload_bytes = shard_.payload_bytes;
    manifest_.shard_count = 1;
  }

  void take_state() {
    fingerprint_ = fingerprint_of(files_[0], [this] { events_.stop_if_asked(); });
  }

  // `compares_state`: it was taken before anything was read.
  void refuse_changed_file(bool compares_state = true) const {
    const InputFile now(request_.file);
    const bool has_same_times = now.size() == files_[0].size() && mtime_ns_of(now) == mtime_ns_;
    if (has_same_times && (!compares_state || fingerprint_of(now) == fingerprint_)) return;
    throw Error(Code::mismatch, "the file changed while it was indexed: {} bytes, then {}",
                files_[0].size(), now.size())
        .at(request_.file)
        .hint("wait until nothing writes to it, then run the same command again");
  }

  const ForeignRequest& request_;
  const Events& events_;
  DatasetPaths paths_;
  std::vector<InputFile> files_;  // one: what a scan takes
  std::string name_;
  Parsing parsing_;
  std::optional<Manifest> known_;  // of the old index, which shale made with the file
  std::string origin_;
  std::uint64_t mtime_ns_ = 0;
  FileFingerprint fingerprint_;
  std::vector<std::string> notes_;
  LostRanges lost_;
  Manifest manifest_;
  ManifestShard shard_;
  std::vector<std::shared_ptr<const void>> nameless_;
};

}  // namespace

std::set<std::string> fields_beside(const Manifest& manifest) {
  const ShardLayout& layout = manifest.layout;
  std::set<std::string> beside;
  if (!layout.has_values) return beside;
  const auto is_beside = [&](std::uint32_t part) {
    return layout.part_file[part] == layout.file_suffixes.size();
  };
  if (layout.has_keys && is_beside(layout.key_part)) beside.emplace();
  for (std::size_t i = 0; i < manifest.schema.fields.size(); ++i) {
    if (is_beside(layout.field_part[i])) beside.insert(manifest.schema.fields[i].name);
  }
  return beside;
}

void place_parts(ShardLayout& layout, const Schema& schema, const std::set<std::string>& beside) {
  const auto part_of = [&](const std::string& name) { return beside.contains(name) ? 1U : 0U; };
  layout.key_part = layout.has_keys ? part_of("") : 0;
  layout.field_part.clear();
  for (const Field& field : schema.fields) layout.field_part.push_back(part_of(field.name));
  layout.has_values = layout.key_part == 1 || std::ranges::count(layout.field_part, 1U) > 0;
  layout.part_file = {0};
  if (layout.has_values) layout.part_file.push_back(1);
}

Error no_checksums(const std::string& index) {
  return Error(Code::unsupported, "the index has no checksums: payload bytes cannot be verified")
      .at(index);
}

IndexedFile index_file(const ForeignRequest& request, const Events& events) {
  Indexing indexing(request, events);
  return request.is_only_planned ? indexing.plan() : indexing.run();
}

NamelessIndex index_without_name(const ForeignRequest& request, const Events& events) {
  return Indexing(request, events).run_nameless();
}

IndexPart index_into(const ForeignRequest& request, const std::string& folder,
                     const std::string& stem, const Events& events) {
  return Indexing(request, events).run_into(folder, stem);
}

ManifestSource source_of_file(const InputFile& file, std::string_view format, std::uint64_t samples,
                              std::uint64_t payload_bytes) {
  return source_of_file(fingerprint_of(file), file.size(), format, samples, payload_bytes);
}

ManifestSource source_of_file(const FileFingerprint& state, std::uint64_t bytes,
                              std::string_view format, std::uint64_t samples,
                              std::uint64_t payload_bytes) {
  const std::string facts = fmt::format("{} file\n{}\n{}\n{}\n{}\n", format, bytes, samples,
                                        payload_bytes, hex_of(state));
  return {.kind = fmt::format("{} file", format),
          .samples = samples,
          .bytes = payload_bytes,
          .fingerprint = xxh3_128(as_bytes(facts)),
          .file = state};
}

}  // namespace shale
