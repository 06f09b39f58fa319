#include "shale/verify/compare_samples.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/open_shards.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/sources/transformed_source.hpp"
#include "shale/verify/sample_measure.hpp"
#include "shale/verify/source_verdict.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostHeldFindings = 1000, kBytesOfFinding = 512;

Finding finding_of(std::string message) {
  Finding finding;
  finding.message = std::move(message);
  return finding;
}

// About the sample of a key.
Finding finding_of(const std::string& key, std::string message) {
  Finding finding = finding_of(std::move(message));
  finding.sample = SampleId{key, std::nullopt};
  return finding;
}

struct ContentHash {
  std::string hash;
  static auto columns(auto& row) { return std::tie(row.hash); }
};

class SampleComparison {
 public:
  SampleComparison(Source& source, const ComparedSamples& compared, VerifyLog& log)
      : source_(source),
        request_(compared.request),
        dataset_(compared.dataset),
        joined_by_(compared.joined_by),
        log_(log),
        events_{Callbacks{.note = {}, .progress = {}, .should_stop = log.events().should_stop}},
        classes_(source.info().classes),
        open_(dataset_.paths, manifest_, dataset_.shards) {
    if (compared.compares_labels && is_by_key()) label_ = label_of(manifest_);
    if (compared.does_image_work) find_work(compared.against);
    find_fields();
    facts_.has_other_order_of_fields |= compared.has_other_order_of_fields;
    facts_.fields_besides = compared.fields_besides;
  }

  void run() {
    const std::uint64_t list_bytes = (request_.memory_bytes - memory_of_source()) / 2;
    ComparedRows theirs(temporary_folder(), list_bytes), ours(temporary_folder(), list_bytes);
    if (is_by_key()) list_skipped(ours);
    const DatasetDigest stored = list_dataset(ours);
    SourceSide files(source_, transform_, schema_, joined_by_, manifest_, theirs);
    const DatasetDigest read = list(files, theirs);
    join(theirs, ours);
    const bool has_same_content =
        compares_payload_ && stored.samples == read.samples && stored.content == read.content;
    facts_.is_in_other_order = has_same_content && stored.ordered != read.ordered;
    if (facts_.same + facts_.different == 0 && is_by_key() && compares_payload_)
      facts_.under_other_keys = count_common_content(theirs, ours);
    report();
  }

 private:
  [[nodiscard]] bool is_by_key() const { return joined_by_ == JoinedBy::key; }
  [[nodiscard]] std::uint64_t memory_of_source() const {
    return memory_beside_keys(request_.memory_bytes);
  }

  void find_work(const std::string& against) {
    if (manifest_.transform.empty()) return;
    std::vector<std::string> ignored;
    transform_ =
        transform_for(source_.info(), image_request_of(manifest_.transform), against, ignored);
    if (const std::optional<std::string> codec = other_codec(manifest_.transform)) {
      compares_payload_ = false;
      log_.note(fmt::format(
          "the images were made by {}: they were not compared, only keys and labels", *codec));
    }
  }

  [[nodiscard]] Error lacks_field(const Field& field) const {
    return Error(Code::mismatch, "dataset has no field '{}' to compare with files",
                 printable(field.name))
        .at(request_.dataset)
        .hint("compare it with the dataset that its fields were chosen from");
  }

  // By key texts and tensors are compared as the bytes that they are: a file of another tool may
  // not say what they were, and a damaged one may hold any bytes.
  void find_fields() {
    schema_ = transform_ ? transform_->output() : source_.info().schema;
    const std::optional<std::size_t> their_label = label_of(schema_, source_.info().fields);
    std::optional<std::size_t> last;
    for (Field& field : schema_.fields) {
      const std::optional<std::size_t> same = manifest_.schema.find(field.name);
      const bool is_label = field_of_.size() == their_label, is_first = field_of_.empty();
      field_of_.push_back(same);
      if (!same && !is_label) throw lacks_field(field);
      if (same && !is_label) refuse_other_kind(field, manifest_.schema.fields[*same], is_first);
      if (same) {
        facts_.has_other_order_of_fields |= last && *last > *same;
        last = same;
      }
      if (same && !is_label && field.is_ragged()) {
        const Field& stored = manifest_.schema.fields[*same];
        for (std::size_t axis = 0; axis < field.shape.size(); ++axis) {
          if (field.shape[axis] != stored.shape[axis]) field.shape[axis] = kFreeSide;
        }
      }
      // What one of the two may lack, both may.
      if (same) field.is_optional |= manifest_.schema.fields[*same].is_optional;
      if (is_by_key() && is_located(field.kind) && field.kind != Kind::list && !field.is_ragged())
        field = {.name = field.name, .kind = Kind::bytes, .is_optional = field.is_optional};
    }
    for (std::size_t i = 0; const Field& field : manifest_.schema.fields) {
      if (i++ != label_of(manifest_) && !schema_.find(field.name))
        facts_.fields_uncompared.push_back(field.name);
    }
  }

  void refuse_other_kind(const Field& field, const Field& stored, bool is_first) const {
    const bool is_run = is_located(field.kind) && field.kind != Kind::list;
    const bool is_same = is_run && !is_first ? is_located(stored.kind) && stored.kind != Kind::list
                                             : stored.kind == field.kind;
    const bool are_tensors = field.kind == Kind::tensor && stored.kind == Kind::tensor;
    if (is_same && !are_tensors && !field.is_ragged()) return;
    if (is_same && are_tensors && field.dtype == stored.dtype && may_have_shapes_of(field, stored))
      return;
    Error error(Code::mismatch, "the dataset has {}, but the source {}", field_text(stored),
                field_text(field));
    if (manifest_.layout.dialect != Dialect::own)
      error.hint(
          "a file alone may not say what its fields are: 'shale convert --with-index' writes it "
          "with an index that does");
    throw error.at(request_.dataset);
  }

  // A file of another tool may not say which sides are free; those of each sample are compared.
  static bool may_have_shapes_of(const Field& field, const Field& stored) {
    return field.shape == stored.shape ||
           (field.is_ragged() &&
            std::ranges::equal(field.shape, stored.shape, [](auto side, auto other) {
              return side == other || side == kFreeSide || other == kFreeSide;
            }));
  }

  [[nodiscard]] DatasetDigest list_dataset(ComparedRows& ours) {
    if (!manifest_.layout.rows.has_index()) {
      RowsSide rows(dataset_, schema_);
      return list(rows, ours);
    }
    StoredSide stored(dataset_, schema_, joined_by_, field_of_, label_, ours);
    const DatasetDigest digest = list(stored, ours);
    facts_.lost_shards = stored.lost().names;
    facts_.lost_rows = stored.lost().rows;
    return digest;
  }

  DatasetDigest list(ComparedSide& side, ComparedRows& list) const {
    DatasetDigest digest;
    if (!compares_payload_) {
      while (const std::optional<PendingSample> sample = side.next(1)) {
        events_.stop_if_asked();
        const ComparedSide::Known known = side.take_known();
        list.add({sample->key, known.place, known.label});
      }
    } else {
      digest = encode(side, list);
    }
    list.finish();
    return digest;
  }

  DatasetDigest encode(ComparedSide& side, ComparedRows& list) const {
    const Format& format = format_of(manifest_);
    const OptionSet options(format.options);
    const bool keeps_bad = option_of(manifest_, "on_error") == "keep";
    Encoding encoding{format, options, format.layout(schema_, options),
                      keeps_bad ? OnError::keep : OnError::skip};
    encoding.layout.has_elements = schema_.has_lists();
    encoding.takes_bad_images = !side.info().transform;
    const std::uint64_t least = request_.memory_bytes / 8;
    DatasetDigest digest;
    encode_all(
        side, encoding,
        {.jobs = std::max(1U, request_.jobs),
         .memory_bytes = memory_of_source() - std::max(least, source_.info().memory_bytes)},
        events_, [&](const EncodedSample& sample) {
          const auto [place, label] = side.take_known();
          if (sample.record) digest.append(sample.record->digest);
          if (is_by_key()) {
            const bool is_bad = place == kUnread && !sample.fault.empty();
            list.add({sample.key,
                      !sample.record ? kUnmade
                      : is_bad       ? kBad
                                     : place,
                      label,
                      sample.record ? measure_of(*sample.record, schema_) : sample.fault.text});
          } else if (sample.record) {
            list.add({std::string(as_text(sample.record->digest.content.bytes())), place});
          }
        });
    return digest;
  }

  void list_skipped(ComparedRows& list) const {
    for (const ManifestFile& file : manifest_.files) {
      if (!is_list_name(file.name, kSkippedName)) continue;
      read_csv(join_path(request_.dataset, file.name), [&](std::uint64_t row, CsvRow fields) {
        events_.stop_if_asked();
        if (row > 1 && !fields.empty()) list.add({std::string(fields[0]), kSkipped});
      });
    }
  }

  void join(ComparedRows& theirs, ComparedRows& ours) {
    std::optional<ComparedRow> source = theirs.next(), sample = ours.next();
    std::string last;  // key of the source
    while (source || sample) {
      events_.stop_if_asked();
      if (source && (!sample || source->key < sample->key)) {
        report_additional(*source, is_by_key() && source->key == last);
        last = std::move(source->key);
        source = theirs.next();
      } else if (!source || sample->key < source->key) {
        report_absent(*sample);
        sample = ours.next();
      } else {
        compare(*source, *sample);
        last = std::move(source->key);
        source = theirs.next();
        sample = ours.next();
      }
    }
  }

  // Of samples that have no keys in common: those that both lists have, whatever their keys.
  [[nodiscard]] static std::uint64_t count_common_content(ComparedRows& theirs,
                                                          ComparedRows& ours) {
    constexpr std::uint64_t kSortBytes = 4 << 20;
    SortedTable<ContentHash> one(temporary_folder(), kSortBytes);
    SortedTable<ContentHash> other(temporary_folder(), kSortBytes);
    const auto sort = [](ComparedRows& rows, SortedTable<ContentHash>& hashes) {
      rows.rewind();
      while (const std::optional<ComparedRow> row = rows.next()) {
        if (row->place < kLacking && !row->measure.empty())
          hashes.add({row->measure.substr(0, kMeasuredHashBytes)});
      }
      hashes.finish();
    };
    sort(theirs, one);
    sort(ours, other);
    std::uint64_t common = 0;
    for (const ContentHash* hash = one.row(); hash != nullptr; hash = one.row()) {
      other.pass_below(&ContentHash::hash, hash->hash);
      if (other.row() != nullptr && other.row()->hash == hash->hash) {
        ++common;
        other.step();
      }
      one.step();
    }
    return common;
  }

  void report_additional(const ComparedRow& source, bool is_twice) {
    if (is_twice) {
      hold(finding_of(source.key, is_of_files() ? "source has two files of this name"
                                                : "source has two samples of this key"));
    } else if (is_of_some_samples(manifest_)) {
      return void(++facts_.left_out);
    } else if (facts_.in_lost_shards < facts_.lost_rows) {
      return void(++facts_.in_lost_shards);
    } else if (manifest_.layout.is_of_one_file() && source.place > kUnread) {
      return void(++facts_.skipped);
    } else if (is_by_key()) {
      const bool has_skipped_list = is_of_files() && !manifest_.layout.is_of_one_file();
      hold(
          finding_of(source.key,
                     fmt::format("{} is not in the dataset{}",
                                 is_of_files() ? "source file" : "sample of the source",
                                 has_skipped_list ? ", nor in " + std::string(kSkippedName) : "")));
    } else {
      hold(finding_of(
               fmt::format("the dataset lacks row {} of the source", format_count(source.place))),
           std::nullopt, source.place);
    }
    ++facts_.not_in_dataset;
  }

  void report_absent(const ComparedRow& sample) {
    if (sample.place == kSkipped) return;  // and gone from the source by now
    const bool is_damaged = is_by_key() && sample.key.empty();
    Finding finding = finding_of(sample.key, "sample is not in the source");
    if (!is_by_key() || is_damaged) {
      const std::uint64_t number = dataset_.shards.holding(sample.place);
      finding = finding_of(is_damaged ? "sample has a damaged key" : "row is not in the source");
      finding.shard = dataset_.shards[number].name;
      finding.row = sample.place - dataset_.shards.first_row(number);
    }
    if (is_damaged) {
      ++facts_.different;
      return hold(std::move(finding));
    }
    runs_.count_absent(sample.place);
    hold(std::move(finding), runs_.holding(sample.place), sample.place);
  }

  // What is found is said when all is known: it may be no finding then.
  void hold(Finding finding, std::optional<std::size_t> absent_of_run = std::nullopt,
            std::uint64_t row = 0) {
    if (!absent_of_run) ++found_;
    if (held_.size() < most_held_) held_.push_back({std::move(finding), absent_of_run, row});
  }

  // Instead of all that is held.
  void hold_only(std::string message) {
    held_.clear();
    held_.push_back({finding_of(std::move(message)), std::nullopt, 0});
    found_ = 1;
  }

  // Of rows, which were found by their hashes.
  void sort_held() {
    std::ranges::sort(held_, {}, [](const Held& one) {
      return std::pair(!one.absent_of_run.has_value(), one.row);
    });
  }

  void report() {
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      const bool is_other = runs_.count() > 1 && runs_.is_absent(run) && facts_.same > 0;
      (is_other ? facts_.of_other_runs : facts_.not_in_source) += runs_.absent(run);
      facts_.runs_found += is_other ? 0 : 1;
    }
    facts_.is_damaged = log_.damage() > 0;
    SourceComparison comparison = judge(facts_, manifest_);
    const bool is_one_finding = comparison.verdict == SourceVerdict::other_keys ||
                                comparison.verdict == SourceVerdict::another_source;
    if (comparison.verdict == SourceVerdict::other_keys)
      hold_only("keys differ from those of the source");
    if (comparison.verdict == SourceVerdict::another_source)
      hold_only("no sample of the dataset is in the source");
    if (!is_by_key()) sort_held();
    std::uint64_t told = 0;
    for (auto& [finding, run, row] : held_) {
      if (run && runs_.count() > 1 && runs_.is_absent(*run) && facts_.same > 0) continue;
      log_.add(std::move(finding));
      ++told;
    }
    comparison.findings = found_ + (is_one_finding ? 0 : facts_.not_in_source);
    log_.count(comparison.findings - told);
    log_.report().comparison = std::move(comparison);
  }

  void compare(const ComparedRow& source, const ComparedRow& sample) {
    const std::uint64_t before = found_;
    compare_both(source, sample);
    std::uint64_t& as_it_was = sample.place == kSkipped ? facts_.skipped : facts_.same;
    ++(found_ == before ? as_it_was : facts_.different);
  }

  void compare_both(const ComparedRow& source, const ComparedRow& sample) {
    if (!is_by_key() || sample.place == kSkipped) return;
    if (source.place == kLacking) {
      return hold(finding_of(source.key,
                             "sample is incomplete in the source: a file or a label that belongs "
                             "to it is missing"));
    }
    const bool is_unknown = source_.info().is_stream && source.label < 0 &&
                            manifest_.classes.empty() && request_.labels.path.empty();
    if (is_unknown && !std::exchange(has_unknown_labels_, true)) {
      log_.note(
          "labels were not compared: the dataset has no names of classes, and the class folders of "
          "the stream have no numbers");
    }
    if (label_ && !is_unknown) compare_label(source, sample);
    if (!compares_payload_) return;
    if (source.place == kUnmade) {
      return hold(finding_in(sample, std::nullopt,
                             "sample is not " + what() + ", which " + source.measure));
    }
    if (source.measure != sample.measure) report_difference(source, sample);
  }

  [[nodiscard]] Finding finding_in(const ComparedRow& sample, std::optional<std::size_t> field,
                                   std::string message) {
    Finding finding = finding_of(sample.key, std::move(message));
    const std::uint64_t number = dataset_.shards.holding(sample.place);
    ShardCursor& shard = open_.at(number);
    finding.shard = shard.reader->shard().name;
    finding.row = sample.place - dataset_.shards.first_row(number);
    if (!field) return finding;
    finding.field = manifest_.schema.fields[*field].name;
    if (!is_located(manifest_.schema.fields[*field].kind)) return finding;
    finding.file =
        std::filesystem::path(shard.reader->file_of_field(*field).path()).filename().string();
    const std::uint64_t offset = shard.index->row(*finding.row).cells[*field].place.offset;
    if (offset != kMissing) finding.offset = offset;
    return finding;
  }

  // Of the first field that differs.
  void report_difference(const ComparedRow& source, const ComparedRow& sample) {
    if (sample.measure.empty()) {
      return hold(finding_in(sample, std::nullopt,
                             "a value of the sample is missing, or lies outside of its file"));
    }
    const std::optional<MeasuredDifference> differs =
        difference_of(sample.measure, source.measure, schema_, what());
    if (!differs) return hold(finding_in(sample, std::nullopt, "sample differs from " + what()));
    Finding finding = finding_in(sample, field_of_[differs->field], differs->message);
    finding.found = differs->found;
    finding.expected = differs->expected;
    hold(std::move(finding));
  }

  [[nodiscard]] bool is_of_files() const {
    return made_from(source_.info().manifest.kind).is_files;
  }
  [[nodiscard]] std::string what() const {
    return std::string(transform_ ? "what image work makes of " : "") +
           (is_of_files() ? "the source file" : "the source");
  }

  // Two tables may number classes differently; what counts is the name, where there is one.
  void compare_label(const ComparedRow& source, const ComparedRow& sample) {
    const auto name = [](const std::vector<std::string>& classes, std::int64_t label) {
      const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
      return has_name ? classes[static_cast<std::size_t>(label)] : std::string();
    };
    const bool is_number = classes_.empty() || manifest_.classes.empty();
    const std::string ours = name(manifest_.classes, sample.label);
    const std::string theirs = name(classes_, source.label);
    const bool is_same = is_number || (ours.empty() && theirs.empty())
                             ? sample.label == source.label
                             : ours == theirs;
    if (is_same) return;
    const auto text = [](const std::string& class_name, std::int64_t label) {
      return class_name.empty() ? std::to_string(label)
                                : fmt::format("{} ({})", printable(class_name), label);
    };
    Finding finding = finding_in(sample, label_, "label differs from the source");
    finding.found = text(ours, sample.label);
    finding.expected = text(theirs, source.label);
    hold(std::move(finding));
  }

  struct Held {
    Finding finding;
    std::optional<std::size_t> absent_of_run;  // the run of a sample that is not in the source
    std::uint64_t row = 0;                     // of the dataset or the source
  };

  Source& source_;
  const VerifyRequest& request_;
  const OpenedDataset& dataset_;
  const Manifest& manifest_ = dataset_.manifest;
  const JoinedBy joined_by_;
  VerifyLog& log_;
  const Events events_;
  const std::vector<std::string> classes_;  // of the source, before its end
  bool compares_payload_ = true;
  std::shared_ptr<const Transform> transform_;
  Schema schema_;                                     // that both sides are read with
  std::vector<std::optional<std::size_t>> field_of_;  // of the dataset, for each of it
  std::optional<std::size_t> label_;                  // of the dataset, if labels are compared
  OpenShards open_;                                   // for what findings say
  RunsOfDataset runs_{manifest_};
  ComparedFacts facts_;
  // More where all are wanted: an eighth of the memory.
  const std::uint64_t most_held_ = std::max(
      kMostHeldFindings, request_.lists_findings ? request_.memory_bytes / 8 / kBytesOfFinding : 0);
  std::vector<Held> held_;
  std::uint64_t found_ = 0;  // held or not, but for samples that are not in the source
  bool has_unknown_labels_ = false;
};

}  // namespace

JoinedBy joined_by(const Manifest& dataset, bool source_has_keys) {
  const bool has_keys = dataset.layout.has_keys && dataset.schema.has_keys;
  return has_keys && source_has_keys ? JoinedBy::key : JoinedBy::content;
}

void compare_samples(Source& source, const ComparedSamples& compared, VerifyLog& log) {
  SampleComparison(source, compared, log).run();
}

}  // namespace shale
