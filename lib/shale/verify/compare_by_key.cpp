#include "shale/verify/compare_by_key.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/open_shards.hpp"
#include "shale/sources/transformed_source.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kUnread = ~std::uint64_t{0} - 3;   // no row, but a sample of the source
constexpr std::uint64_t kLacking = ~std::uint64_t{0} - 2;  // a file or a label of it is missing
constexpr std::uint64_t kUnmade = ~std::uint64_t{0} - 1;   // image work makes nothing of it
constexpr std::uint64_t kSkipped = ~std::uint64_t{0};      // it is in skipped.csv
constexpr std::size_t kMostListedElements = 4096;

// A row of either list. `measure`: of a sample that was read its hash (16 bytes), then of each
// field u64 length, u32 crc32c, u32 number of elements, or the 8 bytes of its number; of each
// element of its lists, if they are not too many, u64 length and u32 crc32c. Of one of the dataset
// that could not be read: nothing; of one of the source: why.
struct ComparedRow {
  std::string key;
  std::uint64_t place = 0;  // the row in the dataset, or one of those above
  std::int64_t label = 0;
  std::string measure = {};
  static auto columns(auto& row) { return std::tie(row.key, row.place, row.label, row.measure); }
};
using ComparedRows = SortedTable<ComparedRow>;

std::string measure_of(const Record& record, const Schema& schema) {
  std::string measure(as_text(record.digest.content.bytes()));
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const IndexCell& cell = record.row.cells[i];
    const Kind kind = schema.fields[i].kind;
    if (!is_located(kind)) {
      measure.append(as_text(kind == Kind::real ? bytes_of(cell.real) : bytes_of(cell.integer)));
      continue;
    }
    measure.append(as_text(bytes_of(cell.place.length)));
    measure.append(as_text(bytes_of(cell.place.crc32c)));
    measure.append(as_text(bytes_of(cell.place.count)));
  }
  if (record.row.elements.size() > kMostListedElements) return measure;
  for (const FieldPlace& element : record.row.elements) {
    measure.append(as_text(bytes_of(element.length)));
    measure.append(as_text(bytes_of(element.crc32c)));
  }
  return measure;
}

std::optional<std::size_t> label_of(const Schema& schema) {
  const std::optional<std::size_t> label = schema.find("label");
  return label && schema.fields[*label].kind == Kind::integer ? label : std::nullopt;
}

// A finding about the sample of a key.
Finding finding_of(const std::string& key, std::string message) {
  Finding finding;
  finding.message = std::move(message);
  finding.sample = SampleId{key, std::nullopt};
  return finding;
}

// A side of the comparison: its samples with a label of zero, so that they are the same whatever
// numbers the classes have; label and place of each wait for its encoding.
class ComparedSide : public Source {
 public:
  struct Known {
    std::uint64_t place = 0;
    std::int64_t label = 0;
  };

  [[nodiscard]] const SourceInfo& info() const final { return info_; }
  // Of the samples in the order in which next() gave them.
  [[nodiscard]] Known take_known() {
    const Known known = known_.front();
    known_.pop_front();
    return known;
  }

 protected:
  SourceInfo info_;
  std::deque<Known> known_;
};

class SourceSide final : public ComparedSide {
 public:
  SourceSide(Source& whole, std::shared_ptr<const Transform> transform, const Schema& schema,
             ComparedRows& list)
      : whole_(whole), label_(label_of(whole.info().schema)), list_(list) {
    info_ = whole.info();
    info_.schema = schema;
    info_.transform = std::move(transform);
    info_.image_fields.clear();  // bad images are compared like others
    info_.digest.reset();
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    while (std::optional<PendingSample> sample = next_of_whole()) {
      const std::int64_t label =
          label_ ? std::exchange(sample->cells[*label_].integer, 0) : std::int64_t{0};
      if (sample->lacks.empty()) {
        known_.push_back({.place = kUnread, .label = label});
        return sample;
      }
      list_.add({sample->key, kLacking, label});
    }
    return std::nullopt;
  }

 private:
  // Damage of the source is not one of the dataset.
  [[nodiscard]] std::optional<PendingSample> next_of_whole() try {
    return whole_.next(1);
  } catch (const Error& error) {
    if (!info_.is_stream || error.code() != Code::damaged) throw;
    Error again(Code::bad_content, "{}", error.message());
    if (!error.cause().empty()) again.because(error.cause());
    again.at(error.file(), error.offset());
    if (error.sample()) again.for_sample(error.sample()->key);
    throw again.hint("the source is damaged, which says nothing of the dataset: get it again");
  }

  Source& whole_;
  const std::optional<std::size_t> label_;
  ComparedRows& list_;
};

// The samples as they are stored: what they should be is not asked, since differences are wanted.
class StoredSide final : public ComparedSide {
 public:
  // `fields`: of the dataset, for each of the schema; nullopt: there is none, and it counts as 0.
  StoredSide(const OpenedDataset& dataset, const Schema& schema,
             std::vector<std::optional<std::size_t>> fields, std::optional<std::size_t> label,
             ComparedRows& list)
      : dataset_(dataset), fields_(std::move(fields)), label_(label), list_(list) {
    info_.schema = schema;
    info_.container = &format_of(dataset.manifest);
    info_.manifest.samples = dataset.manifest.digest.samples;
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    for (; shard_ < dataset_.shards.size(); ++shard_, row_ = 0) {
      ShardCursor& shard = open_.at(shard_);
      while (row_ < dataset_.shards.samples(shard_)) {
        const IndexRow row = shard.index->row(row_++);
        const Known known{.place = place_++, .label = label_ ? row.cells[*label_].integer : 0};
        PendingSample sample;
        if (take_places(shard, row, sample)) {
          known_.push_back(known);
          return sample;
        }
        list_.add({sample.key, known.place, known.label});
      }
    }
    return std::nullopt;
  }

 private:
  // False: a value is missing, or does not lie in its file.
  bool take_places(ShardCursor& shard, const IndexRow& row, PendingSample& sample) const {
    sample.key = as_text(shard.keys->view(row.key.offset, row.key.length));
    sample.keeps_open = shard.reader;
    const std::optional<std::size_t> label = label_of(info_.schema);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::size_t field = fields_[i].value_or(0);
      const InputFile& file = shard.reader->file_of_field(field);
      sample.descriptors.push_back(file.descriptor());
      sample.cells.emplace_back();
      if (!fields_[i] || i == label) continue;
      sample.cells.back() = row.cells[field];
      if (!is_located(info_.schema.fields[i].kind)) continue;
      const FieldPlace& place = row.cells[field].place;
      if (place.offset > file.size() || place.length > file.size() - place.offset) return false;
      if (info_.schema.fields[i].kind == Kind::list) {
        const std::vector<FieldPlace> elements = shard.reader->elements_of(place);
        sample.elements.insert(sample.elements.end(), elements.begin(), elements.end());
      }
      sample.bytes += place.length;
    }
    return true;
  }

  const OpenedDataset& dataset_;
  const std::vector<std::optional<std::size_t>> fields_;
  const std::optional<std::size_t> label_;
  ComparedRows& list_;
  OpenShards open_{dataset_.paths, dataset_.manifest, dataset_.shards};
  std::uint64_t shard_ = 0, row_ = 0, place_ = 0;
};

class KeyComparison {
 public:
  KeyComparison(Source& source, const ComparedByKey& compared, const FindingSink& sink,
                const Events& events, std::vector<std::string>& notes)
      : source_(source),
        request_(compared.request),
        dataset_(compared.dataset),
        sink_(sink),
        events_{Callbacks{.note = {}, .progress = {}, .should_stop = events.should_stop}},
        classes_(source.info().classes),
        open_(dataset_.paths, manifest_, dataset_.shards) {
    if (compared.compares_labels) label_ = label_of(manifest_.schema);
    find_work(compared.against, notes);
    find_fields();
  }

  [[nodiscard]] ComparedKeys run() {
    const std::uint64_t list_bytes = (request_.memory_bytes - memory_of_source()) / 2;
    ComparedRows theirs(temporary_folder(), list_bytes), ours(temporary_folder(), list_bytes);
    list_skipped(ours);
    StoredSide stored(dataset_, schema_, field_of_, label_, ours);
    list(stored, ours);
    SourceSide files(source_, transform_, schema_, theirs);
    list(files, theirs);
    join(theirs, ours);
    return result_;
  }

 private:
  [[nodiscard]] std::uint64_t memory_of_source() const {
    return memory_beside_keys(request_.memory_bytes);
  }

  void find_work(const std::string& against, std::vector<std::string>& notes) {
    if (manifest_.transform.empty()) return;
    std::vector<std::string> ignored;
    transform_ =
        transform_for(source_.info(), image_request_of(manifest_.transform), against, ignored);
    if (const std::optional<std::string> codec = other_codec(manifest_.transform)) {
      compares_payload_ = false;
      notes.push_back(fmt::format(
          "the images were made by {}: they were not compared, only keys and labels", *codec));
    }
  }

  [[nodiscard]] Error lacks_field(const Field& field, bool names_kind) const {
    return Error(Code::mismatch, "dataset has no field '{}'{} to compare with files",
                 printable(field.name),
                 names_kind ? fmt::format(" of kind {}", name_of(field.kind)) : "")
        .at(request_.dataset);
  }

  // Texts and tensors are compared as the bytes that they are: a file of another tool may not say
  // what they were, and a damaged one may hold any bytes.
  void find_fields() {
    schema_ = transform_ ? transform_->output() : source_.info().schema;
    for (Field& field : schema_.fields) {
      const std::optional<std::size_t> same = manifest_.schema.find(field.name);
      field_of_.push_back(same);
      const bool is_label = field.name == "label", is_first = field_of_.size() == 1;
      if (!same && !is_label) throw lacks_field(field, is_first);
      if (same && !is_label) {
        const Kind found = manifest_.schema.fields[*same].kind;
        const bool is_run = is_located(field.kind) && field.kind != Kind::list;
        const bool is_same =
            is_run && !is_first ? is_located(found) && found != Kind::list : found == field.kind;
        if (!is_same) throw lacks_field(field, true);
      }
      if (is_located(field.kind) && field.kind != Kind::list)
        field = {.name = field.name, .kind = Kind::bytes};
    }
  }

  void list(ComparedSide& side, ComparedRows& list) const {
    if (!compares_payload_) {
      while (const std::optional<PendingSample> sample = side.next(1)) {
        events_.stop_if_asked();
        const ComparedSide::Known known = side.take_known();
        list.add({sample->key, known.place, known.label});
      }
    } else {
      encode(side, list);
    }
    list.finish();
  }

  void encode(ComparedSide& side, ComparedRows& list) const {
    const Format& format = format_of(manifest_);
    const OptionSet options(format.options);
    const bool keeps_bad = option_of(manifest_, "on_error") == "keep";
    Encoding encoding{format, options, format.layout(schema_, options),
                      keeps_bad ? OnError::keep : OnError::skip};
    encoding.layout.has_elements = schema_.has_lists();
    const std::uint64_t least = request_.memory_bytes / 8;
    encode_all(
        side, encoding,
        {.jobs = std::max(1U, request_.jobs),
         .memory_bytes = memory_of_source() - std::max(least, source_.info().memory_bytes)},
        events_, [&](const EncodedSample& sample) {
          const auto [place, label] = side.take_known();
          list.add({sample.key, sample.record ? place : kUnmade, label,
                    sample.record ? measure_of(*sample.record, schema_) : sample.fault.text});
        });
  }

  void list_skipped(ComparedRows& list) const {
    for (const ManifestFile& file : manifest_.files) {
      if (!is_list_name(file.name, kSkippedName)) continue;
      read_csv(join_path(request_.dataset, file.name),
               [&](std::uint64_t row, const std::vector<std::string>& fields) {
                 events_.stop_if_asked();
                 if (row > 1 && !fields.empty()) list.add({fields[0], kSkipped});
               });
    }
  }

  void join(ComparedRows& theirs, ComparedRows& ours) {
    std::optional<ComparedRow> source = theirs.next(), sample = ours.next();
    std::string last;  // key of the source
    while (source || sample) {
      events_.stop_if_asked();
      if (source && (!sample || source->key < sample->key)) {
        report_additional(*source, source->key == last);
        last = std::move(source->key);
        source = theirs.next();
      } else if (!source || sample->key < source->key) {
        sink_(finding_of(sample->key, "sample is not in the source"));
        sample = ours.next();
      } else {
        if (sample->place != kSkipped) compare(*source, *sample);
        last = std::move(source->key);
        source = theirs.next();
        sample = ours.next();
      }
    }
  }

  void report_additional(const ComparedRow& source, bool is_twice) {
    if (is_twice) {
      sink_(finding_of(source.key, "source has two files of this name"));
    } else if (has_chosen_samples(manifest_)) {
      ++result_.left_out;
    } else {
      sink_(finding_of(source.key,
                       "source file is not in the dataset, nor in " + std::string(kSkippedName)));
    }
  }

  void compare(const ComparedRow& source, const ComparedRow& sample) {
    if (source.place == kLacking) {
      return sink_(finding_of(source.key,
                              "sample is incomplete in the source: a file or a label that belongs "
                              "to it is missing"));
    }
    const bool is_unknown = source_.info().is_stream && source.label < 0 &&
                            manifest_.classes.empty() && request_.labels_file.empty();
    result_.has_unknown_labels = result_.has_unknown_labels || is_unknown;
    if (label_ && !is_unknown) compare_label(source, sample);
    if (!compares_payload_) return;
    if (source.place == kUnmade) {
      Finding finding = finding_in(
          sample, std::nullopt,
          "sample is not what image work makes of the source file, which " + source.measure);
      return sink_(std::move(finding));
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
    finding.offset = shard.index->row(*finding.row).cells[*field].place.offset;
    return finding;
  }

  // Of the first field that differs.
  void report_difference(const ComparedRow& source, const ComparedRow& sample) {
    constexpr std::size_t kHashBytes = 16;
    if (sample.measure.empty()) {
      return sink_(finding_in(sample, std::nullopt,
                              "a value of the sample is missing, or lies outside of its file"));
    }
    ByteReader found(as_bytes(std::string_view(sample.measure).substr(kHashBytes)));
    ByteReader expected(as_bytes(std::string_view(source.measure).substr(kHashBytes)));
    std::optional<Finding> finding;
    bool is_of_elements = false;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Kind kind = schema_.fields[i].kind;
      std::optional<Finding> one = is_located(kind)
                                       ? difference_of_runs(sample, i, found, expected)
                                       : difference_of_numbers(sample, i, found, expected);
      if (!one || finding) continue;
      is_of_elements = kind == Kind::list && one->found.empty();
      finding = std::move(one);
    }
    if (is_of_elements) name_element(*finding, found, expected);
    sink_(finding ? std::move(*finding)
                  : finding_in(sample, std::nullopt, "sample differs from " + what()));
  }

  [[nodiscard]] std::string what() const {
    return transform_ ? "what image work makes of the source file" : "the source file";
  }

  std::optional<Finding> difference_of_numbers(const ComparedRow& sample, std::size_t field,
                                               ByteReader& found, ByteReader& expected) {
    const std::uint64_t bits = found.read_u64(), wanted = expected.read_u64();
    if (bits == wanted) return std::nullopt;
    const auto text = [&](std::uint64_t number) {
      return schema_.fields[field].kind == Kind::real
                 ? fmt::format("{}", std::bit_cast<double>(number))
                 : std::to_string(std::bit_cast<std::int64_t>(number));
    };
    Finding finding = finding_in(sample, field_of_[field], "value differs from the source");
    finding.found = text(bits);
    finding.expected = text(wanted);
    return finding;
  }

  std::optional<Finding> difference_of_runs(const ComparedRow& sample, std::size_t field,
                                            ByteReader& found, ByteReader& expected) {
    const std::uint64_t bytes = found.read_u64(), wanted_bytes = expected.read_u64();
    const std::uint32_t crc = found.read_u32(), wanted_crc = expected.read_u32();
    const std::uint32_t count = found.read_u32(), wanted_count = expected.read_u32();
    if (bytes == wanted_bytes && crc == wanted_crc && count == wanted_count) return std::nullopt;
    Finding finding = finding_in(sample, field_of_[field], {});
    if (count != wanted_count) {
      finding.message = "sample has another number of frames than the source";
      finding.found = std::to_string(count);
      finding.expected = std::to_string(wanted_count);
      return finding;
    }
    const bool is_list = schema_.fields[field].kind == Kind::list;
    const bool is_other_size = !is_list && bytes != wanted_bytes;
    finding.message =
        fmt::format("sample differs {}from {}", is_other_size ? "in size " : "", what());
    if (is_other_size) {
      finding.found = fmt::format("{} bytes", bytes);
      finding.expected = std::to_string(wanted_bytes);
    } else if (!is_list) {
      finding.found = fmt::format("crc32c 0x{:08x}", crc);
      finding.expected = fmt::format("0x{:08x}", wanted_crc);
    }
    return finding;
  }

  // Of the elements of all lists the first that differs; both readers stand before them.
  void name_element(Finding& finding, ByteReader& found, ByteReader& expected) const {
    for (std::size_t i = 0; !found.at_end() && !expected.at_end(); ++i) {
      const std::uint64_t bytes = found.read_u64(), wanted_bytes = expected.read_u64();
      const std::uint32_t crc = found.read_u32(), wanted_crc = expected.read_u32();
      if (bytes == wanted_bytes && crc == wanted_crc) continue;
      finding.message = fmt::format("frame {} differs {}from {}", i,
                                    bytes == wanted_bytes ? "" : "in size ", what());
      return;
    }
  }

  // Two tables may number classes differently; what counts is the name, where there is one.
  void compare_label(const ComparedRow& source, const ComparedRow& sample) {
    const auto name = [](const std::vector<std::string>& classes, std::int64_t label) {
      const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
      return has_name ? classes[static_cast<std::size_t>(label)] : std::string();
    };
    // A single file has no room for names of classes: its index has them.
    const bool is_number =
        classes_.empty() || (manifest_.classes.empty() && manifest_.layout.is_of_one_file());
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
    sink_(std::move(finding));
  }

  Source& source_;
  const VerifyRequest& request_;
  const OpenedDataset& dataset_;
  const Manifest& manifest_ = dataset_.manifest;
  const FindingSink& sink_;
  const Events events_;
  const std::vector<std::string> classes_;  // of the source, before its end
  bool compares_payload_ = true;
  std::shared_ptr<const Transform> transform_;
  Schema schema_;                                     // that both sides are read with
  std::vector<std::optional<std::size_t>> field_of_;  // of the dataset, for each of it
  std::optional<std::size_t> label_;                  // of the dataset, if labels are compared
  OpenShards open_;                                   // for what findings say
  ComparedKeys result_;
};

}  // namespace

ComparedKeys compare_by_key(Source& source, const ComparedByKey& compared, const FindingSink& sink,
                            const Events& events, std::vector<std::string>& notes) {
  return KeyComparison(source, compared, sink, events, notes).run();
}

}  // namespace shale
