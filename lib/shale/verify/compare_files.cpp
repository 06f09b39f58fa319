#include "shale/verify/compare_files.hpp"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/hashed_rows.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/open_shards.hpp"
#include "shale/verify/compare_pairs.hpp"
#include "shale/verify/compared_entry.hpp"

// Both sides are lists of (key, where): one of the source's files, one of the set's rows and of
// what was skipped. Sorted by key they are joined; the pairs are compared byte by byte in the
// workers.
// A stream is read once, in its own order: its files are compared as they come, each with the row
// that its key leads to; the lists are joined afterwards.

namespace shale {
namespace {

constexpr std::size_t kPairsAtOnce = 64;
constexpr std::uint64_t kPairBytesAtOnce = 4 << 20;  // of pairs that are read together
constexpr std::uint64_t kSkipped = ~std::uint64_t{0};
constexpr std::uint32_t kKnownField = std::uint32_t{1} << 31;  // in a list of files: it is none
constexpr std::uint64_t kLacksSomething = 1;  // of a sample of the source: ComparedEntry::second

bool keeps_bad(const Manifest& manifest) {
  return std::ranges::any_of(manifest.options, [](const auto& option) {
    return option.first == "on_error" && option.second == "keep";
  });
}

class Comparison {
 public:
  Comparison(const FilesToCompare& compared, const FindingSink& sink, const Events& events)
      : request_(compared.request),
        tree_(compared.tree),
        manifest_(compared.dataset.manifest),
        shards_(compared.dataset.shards),
        compares_labels_(compared.compares_labels),
        compares_payload_(!compared.work.is_by_other_codec),
        sink_(sink),
        events_(events),
        open_(compared.dataset.paths, manifest_, shards_),
        transform_(compared.work.transform),
        readers_(std::max(1U, compared.request.jobs)),
        pipeline_(std::max(1U, compared.request.jobs)) {}

  [[nodiscard]] FilesCompared run(Source& source) {
    is_stream_ = source.info().is_stream;
    const std::uint64_t list_bytes =
        std::max<std::uint64_t>(1 << 20, request_.memory_bytes / (is_stream_ ? 8 : 4));
    const std::string scratch = temporary_folder();
    ExternalSorter theirs(scratch, list_bytes), ours(scratch, list_bytes);
    find_fields(source.info());
    if (is_stream_) {
      HashedRows rows(scratch, list_bytes);
      list_dataset(ours, &rows);
      rows.finish([this] { events_.stop_if_asked(); });
      compare_stream(source, theirs, rows);
    } else {
      list_source(source, theirs);
      list_dataset(ours, nullptr);
    }
    join(theirs, ours);
    submit();
    drain(0);
    if (how_.archive) how_.archive->refuse_changes();
    return result_;
  }

 private:
  void list_source(Source& source, ExternalSorter& list) {
    const std::optional<std::size_t> label = source.info().schema.find("label");
    while (const std::optional<PendingSample> sample = source.next(1)) {
      events_.stop_if_asked();
      list_sample(*sample, label, list);
    }
    list.finish();
  }

  void list_sample(const PendingSample& sample, std::optional<std::size_t> label,
                   ExternalSorter& list) const {
    const std::int64_t number = label ? sample.cells[*label].integer : 0;
    const std::uint64_t more = sample.lacks.empty() ? 0 : kLacksSomething;
    std::string entry = entry_of(sample.key, static_cast<std::uint64_t>(number), more);
    // Of a list they are its frames, which the folder tells.
    if (how_.frames == nullptr) append_files(entry, sample);
    list.add(entry);
  }

  // Each file as it comes, with the row of its key; whatever else there is to say is known when
  // both lists are.
  void compare_stream(Source& source, ExternalSorter& list, HashedRows& rows) {
    const std::optional<std::size_t> label = source.info().schema.find("label");
    while (std::optional<PendingSample> sample = next_of_stream(source)) {
      events_.stop_if_asked();
      list_sample(*sample, label, list);
      if (!sample->lacks.empty()) continue;
      for (const auto& [shard, row] : rows.find(sample->key)) {
        if (shard != kSkipped && compare_known(*sample, shard, row)) break;
      }
      drain(std::size_t{std::max(1U, request_.jobs)} * 2);
    }
    submit();
    list.finish();
  }

  // Damage of the stream is not one of the dataset.
  [[nodiscard]] static std::optional<PendingSample> next_of_stream(Source& source) try {
    return source.next(1);
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    Error again(Code::bad_content, "{}", error.message());
    if (!error.cause().empty()) again.because(error.cause());
    again.at(error.file(), error.offset());
    if (error.sample()) again.for_sample(error.sample()->key);
    throw again.hint("the source is damaged, which says nothing of the dataset: get it again");
  }

  // False: it is the row of another key with the same hash.
  bool compare_known(PendingSample& sample, std::uint64_t number, std::uint64_t row_number) {
    ShardCursor& shard = open_.at(number);
    const IndexRow row = shard.index->row(row_number);
    if (as_text(shard.keys->view(row.key.offset, row.key.length)) != sample.key) return false;
    const std::uint64_t most = request_.memory_bytes / 8, bytes = sample.bytes;
    const std::uint64_t most_of_batch = most / (std::max(1U, request_.jobs) * 2 + 1);
    if (bytes_of_pairs_ + bytes > most_of_batch) submit();
    while (pipeline_.pending() > 0 && bytes_in_tasks_ + bytes > most)
      drain(pipeline_.pending() - 1);
    bytes_of_pairs_ += bytes;
    shards_of_pairs_.insert(number);
    pairs_.push_back({.key = sample.key,
                      .path = {},
                      .offset = 0,
                      .bytes = bytes,
                      .frames = {},
                      .row = row_number,
                      .place = row.cells[how_.field].place,
                      .shard = shard.reader,
                      .field = how_.field,
                      .known = std::move(sample.known.front().bytes)});
    submit_if_full();
    return true;
  }

  // u64 offset, u64 bytes of the file with the key's name; of each file behind it u32 field of the
  // dataset, u64 offset, u64 bytes, u32 length, path; then, of each value from a row of metadata,
  // u32 field and kKnownField, u32 length, bytes; those of a number are its own.
  void append_files(std::string& entry, const PendingSample& sample) const {
    for (const PendingFile& file : sample.files) {
      const bool is_first = file.field == 0;
      if (!is_first)
        entry.append(as_text(bytes_of(static_cast<std::uint32_t>(field_of_[file.field]))));
      entry.append(as_text(bytes_of(file.offset))).append(as_text(bytes_of(file.bytes)));
      if (is_first) continue;
      entry.append(as_text(bytes_of(static_cast<std::uint32_t>(file.path.size()))));
      entry.append(file.path);
    }
    if (is_stream_) return;
    const auto append_known = [&](std::size_t field, std::string_view bytes) {
      entry.append(as_text(bytes_of(static_cast<std::uint32_t>(field_of_[field]) | kKnownField)));
      entry.append(as_text(bytes_of(static_cast<std::uint32_t>(bytes.size())))).append(bytes);
    };
    for (const KnownValue& value : sample.known) append_known(value.field, value.bytes);
    for (const std::size_t field : numbers_) {
      const IndexCell& cell = sample.cells[field];
      const bool is_real = manifest_.schema.fields[field_of_[field]].kind == Kind::real;
      append_known(field, as_text(is_real ? bytes_of(cell.real) : bytes_of(cell.integer)));
    }
  }

  void add_files(const ComparedEntry& source, const IndexRow& row, ComparedPair pair) {
    ByteReader files(as_bytes(source.more));
    pair.offset = files.read_u64();
    pair.bytes = files.read_u64();
    pair.place = row.cells[pair.field].place;
    pairs_.push_back(pair);
    while (!files.at_end()) {
      pair.field = files.read_u32();
      if ((pair.field & kKnownField) != 0) {
        pair.field &= ~std::size_t{kKnownField};
        compare_known_value(as_text(files.read_bytes(files.read_u32())), row, pair);
        continue;
      }
      pair.offset = files.read_u64();
      pair.bytes = files.read_u64();
      pair.path = as_text(files.read_bytes(files.read_u32()));
      pair.place = row.cells[pair.field].place;
      pairs_.push_back(pair);
    }
  }

  // A value from a row of metadata.
  void compare_known_value(std::string_view expected, const IndexRow& row, ComparedPair pair) {
    const Field& field = manifest_.schema.fields[pair.field];
    if (is_located(field.kind)) {
      pair.known = expected;
      pair.place = row.cells[pair.field].place;
      pairs_.push_back(std::move(pair));
      return;
    }
    const IndexCell& cell = row.cells[pair.field];
    const bool is_real = field.kind == Kind::real;
    if (expected == as_text(is_real ? bytes_of(cell.real) : bytes_of(cell.integer))) return;
    ByteReader number(as_bytes(expected));
    Finding finding = finding_of(pair.key, "value differs from the source");
    finding.shard = pair.shard->shard().name;
    finding.row = pair.row;
    finding.field = field.name;
    finding.found = is_real ? fmt::format("{}", cell.real) : std::to_string(cell.integer);
    finding.expected =
        is_real ? fmt::format("{}", number.read_f64()) : std::to_string(number.read_i64());
    sink_(std::move(finding));
  }

  // `rows`: null, or what finds them again.
  void list_dataset(ExternalSorter& list, HashedRows* rows) {
    for (std::uint64_t number = 0; number < shards_.size(); ++number) {
      ShardCursor& shard = open_.at(number);
      const std::uint64_t position = shard.reader->columns().position_of(std::nullopt);
      for (std::uint64_t row = 0; row < shards_.samples(number); ++row) {
        events_.stop_if_asked();
        const FieldPlace key = shard.index->place(row, position);
        const std::string_view text = as_text(shard.keys->view(key.offset, key.length));
        list.add(entry_of(text, number, row));
        if (rows != nullptr) rows->add(text, number, row);
      }
    }
    for (const ManifestFile& file : manifest_.files) {
      if (!is_list_name(file.name, kSkippedName)) continue;
      read_csv(join_path(request_.dataset, file.name),
               [&](std::uint64_t row, const std::vector<std::string>& fields) {
                 events_.stop_if_asked();
                 if (row > 1 && !fields.empty()) list.add(entry_of(fields[0], kSkipped, 0));
               });
    }
    list.finish();
  }

  [[nodiscard]] Error lacks_field(const std::string& name, const std::string& kind = {}) const {
    return Error(Code::mismatch, "dataset has no field '{}'{} to compare with files",
                 printable(name), kind)
        .at(request_.dataset);
  }

  void find_fields(const SourceInfo& source) {
    const Field& compared = source.schema.fields.front();
    const std::optional<std::size_t> image = manifest_.schema.find(compared.name);
    const Kind kind =
        transform_ == nullptr ? compared.kind : transform_->output().fields.front().kind;
    if (!image || manifest_.schema.fields[*image].kind != kind)
      throw lacks_field(compared.name, fmt::format(" of kind {}", name_of(kind)));
    how_ = {
        .field = *image,
        .frames = compared.kind == Kind::list ? &format_of(manifest_) : nullptr,
        .keeps_hidden = hidden_policy_of(manifest_) == HiddenPolicy::keep,
        .order =
            manifest_.layout.dialect == Dialect::coclr ? FrameOrder::bytewise : FrameOrder::natural,
        .memory_bytes = request_.memory_bytes / 2 / std::max(1U, request_.jobs),
        .archive = tree_ ? tree_->archive() : nullptr,
        .compares_payload = compares_payload_,
        .readers = readers_,
        .bytes_at_once = std::min(kPairBytesAtOnce, request_.memory_bytes / 8 / readers_.size())};
    if (transform_ != nullptr && compares_payload_) {
      how_.memory_bytes /= 2;
      work_.emplace(transform_, keeps_bad(manifest_), request_.memory_bytes / (is_stream_ ? 4 : 2),
                    std::max(1U, request_.jobs));
      how_.work = &*work_;
      how_.source_field = transform_->fields().front().field;
    }
    for (const Field& field : source.schema.fields) {
      const std::optional<std::size_t> same = manifest_.schema.find(field.name);
      if (!same && field.name != "label") throw lacks_field(field.name);
      field_of_.push_back(same.value_or(0));
      if (source.metadata.empty() || field.name == "label" || !same) continue;
      const Kind found = manifest_.schema.fields[*same].kind;
      if (is_located(found) != is_located(field.kind) ||
          (!is_located(found) && found != field.kind))
        throw lacks_field(field.name, fmt::format(" of kind {}", name_of(field.kind)));
      if (!is_located(found)) numbers_.push_back(field_of_.size() - 1);
    }
    how_.worked_field = field_of_[how_.source_field];
    if (compares_labels_) label_ = manifest_.schema.find("label");
    source_classes_ = source.classes;
  }

  void join(ExternalSorter& theirs, ExternalSorter& ours) {
    std::optional<ComparedEntry> source = next_entry(theirs), sample = next_entry(ours);
    std::string last;  // key of the source
    while (source || sample) {
      events_.stop_if_asked();
      if (!sample || (source && source->sort_key < sample->sort_key)) {
        if (source->sort_key == last) {
          sink_(finding_of(source->key(), "source has two files of this name"));
        } else if (is_subset_) {
          ++result_.left_out;
        } else {
          sink_(finding_of(source->key(), "source file is not in the dataset, nor in " +
                                              std::string(kSkippedName)));
        }
        last = source->sort_key;
        source = next_entry(theirs);
      } else if (!source || sample->sort_key < source->sort_key) {
        sink_(finding_of(sample->key(), "sample is not in the source"));
        sample = next_entry(ours);
      } else {
        if (sample->first != kSkipped && source->second == kLacksSomething) {
          sink_(finding_of(sample->key(),
                           "sample is incomplete in the source: a file or a label "
                           "that belongs to it is missing"));
        } else if (sample->first != kSkipped) {
          compare(*source, *sample);
        }
        last = source->sort_key;
        source = next_entry(theirs);
        sample = next_entry(ours);
      }
      drain(std::size_t{std::max(1U, request_.jobs)} * 2);
    }
  }

  void compare(const ComparedEntry& source, const ComparedEntry& sample) {
    ShardCursor& shard = open_.at(sample.first);
    const IndexRow row = shard.index->row(sample.second);
    std::string key = source.key();
    const auto label = static_cast<std::int64_t>(source.first);
    const bool is_unknown =
        is_stream_ && label < 0 && manifest_.classes.empty() && request_.labels_file.empty();
    result_.has_unknown_labels = result_.has_unknown_labels || is_unknown;
    if (label_ && !is_unknown)
      compare_label(key, label, row.cells[*label_].integer, shard, sample.second);
    if (is_stream_) return;  // the file itself was compared when it came
    const bool is_listed = request_.against.front() == kStdin;
    std::string path = is_listed ? key : join_path(request_.against.front(), key);
    shards_of_pairs_.insert(sample.first);
    if (how_.frames != nullptr) {
      std::vector<ArchivedFrame> frames;
      if (tree_) frames = archived_frames(*tree_, key, how_.keeps_hidden, how_.order);
      pairs_.push_back({std::move(key), std::move(path), 0, 0, std::move(frames), sample.second,
                        row.cells[how_.field].place, shard.reader, how_.field});
    } else {
      add_files(
          source, row,
          {std::move(key), std::move(path), 0, 0, {}, sample.second, {}, shard.reader, how_.field});
    }
    submit_if_full();
  }

  void submit_if_full() {
    if (pairs_.size() >= kPairsAtOnce || shards_of_pairs_.size() == OpenShards::kMost) submit();
  }

  void compare_label(const std::string& key, std::int64_t expected, std::int64_t found,
                     const ShardCursor& shard, std::uint64_t row) {
    // Two tables may number classes differently; what counts is the name, where there is one.
    const auto name = [](const std::vector<std::string>& classes, std::int64_t label) {
      const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
      return has_name ? fmt::format("{} ({})", printable(classes[static_cast<std::size_t>(label)]),
                                    label)
                      : std::to_string(label);
    };
    const auto text = [](const std::vector<std::string>& classes, std::int64_t label) {
      const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
      return has_name ? classes[static_cast<std::size_t>(label)] : std::to_string(label);
    };
    // A single file has no room for names of classes: its index has them.
    const bool is_number =
        source_classes_.empty() || (manifest_.classes.empty() && manifest_.layout.is_of_one_file());
    if (is_number ? expected == found
                  : text(source_classes_, expected) == text(manifest_.classes, found))
      return;
    Finding finding = finding_of(key, "label differs from the source");
    finding.shard = shard.reader->shard().name;
    finding.row = row;
    finding.field = "label";
    finding.found = name(manifest_.classes, found);
    finding.expected = name(source_classes_, expected);
    sink_(std::move(finding));
  }

  void submit() {
    if (pairs_.empty()) return;
    auto pairs = std::make_shared<std::vector<ComparedPair>>(std::exchange(pairs_, {}));
    shards_of_pairs_.clear();
    bytes_in_tasks_ += bytes_of_pairs_;
    bytes_of_tasks_.push(std::exchange(bytes_of_pairs_, 0));
    pipeline_.submit(
        [pairs, how = how_](unsigned thread) { return compare_pairs(*pairs, how, thread); });
  }

  void drain(std::size_t left) {
    while (pipeline_.pending() > left) {
      for (Finding& finding : pipeline_.take()) sink_(std::move(finding));
      bytes_in_tasks_ -= bytes_of_tasks_.front();
      bytes_of_tasks_.pop();
      events_.stop_if_asked();
    }
  }

  const VerifyRequest& request_;
  const std::shared_ptr<FileTree> tree_;  // of an archive; null: a folder
  const Manifest& manifest_;
  const ShardList& shards_;
  bool compares_labels_, compares_payload_;
  const bool is_subset_ = has_chosen_samples(manifest_);
  FilesCompared result_;
  const FindingSink& sink_;
  const Events& events_;
  OpenShards open_;
  const std::shared_ptr<const Transform> transform_;
  std::optional<ImageWorkAgain> work_;
  std::vector<PairReader> readers_;  // one per thread
  std::vector<ComparedPair> pairs_;
  std::set<std::uint64_t> shards_of_pairs_;  // bounded: each keeps its files open
  bool is_stream_ = false;
  // Files of a stream in memory: of pairs_, of all tasks, of each task.
  std::uint64_t bytes_of_pairs_ = 0, bytes_in_tasks_ = 0;
  std::queue<std::uint64_t> bytes_of_tasks_;
  PairComparison how_ = {};
  std::optional<std::size_t> label_;
  std::vector<std::string> source_classes_;
  std::vector<std::size_t> field_of_;  // of the dataset, for each of the source
  std::vector<std::size_t> numbers_;   // fields of the source that are numbers, but labels
  OrderedPipeline<std::vector<Finding>> pipeline_;  // last: its tasks use the others
};

}  // namespace

HiddenPolicy hidden_policy_of(const Manifest& manifest) {
  for (const auto& [name, value] : manifest.options) {
    if (name == "hidden" && value == "keep") return HiddenPolicy::keep;
  }
  return HiddenPolicy::skip;
}

FilesCompared compare_files(Source& source, const FilesToCompare& compared, const FindingSink& sink,
                            const Events& events) {
  return Comparison(compared, sink, events).run(source);
}

}  // namespace shale
