#include "shale/sources/joined_source.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/byte_swap.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/format.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/labels/key_join.hpp"
#include "shale/sources/chosen_fields.hpp"
#include "shale/sources/dataset_source.hpp"

namespace shale {
namespace {

constexpr std::string_view kLabel = "label";
constexpr std::uint64_t kRunBytes = 1 << 20, kMostRunRows = 4096;

// The samples of one input, one by one, or in runs where all inputs have runs. Numbers of fixed
// rows lie in the sample then, as in those of an index.
class PartReader {
 public:
  explicit PartReader(JoinedPart part) : part_(std::move(part)) {}

  [[nodiscard]] const JoinedPart& part() const { return part_; }
  [[nodiscard]] Source& source() { return *part_.source; }
  [[nodiscard]] const SourceInfo& info() const { return part_.source->info(); }
  [[nodiscard]] bool has_keys() const { return !info().row_bytes && info().schema.has_keys; }

  // Whatever it was asked for before. What is not read as a whole is proved by its files.
  void begin(const SampleOrder* order) {
    run_.reset();
    if (order != nullptr) part_.orderable->put_in_order(*order);
    part_.source->narrow(0, info().manifest.samples);
  }

  [[nodiscard]] std::optional<PendingSample> next() {
    if (!info().row_bytes) return part_.source->next(1);
    if (!run_ || row_ == run_->rows) {
      const std::uint64_t bytes = std::max<std::uint64_t>(*info().row_bytes, 1);
      run_ = part_.source->next(std::clamp<std::uint64_t>(kRunBytes / bytes, 1, kMostRunRows));
      row_ = 0;
      if (!run_) return std::nullopt;
      if (run_->damage.empty()) read_columns();
    }
    return sample_of(row_++);
  }

 private:
  // What is not to be read from its place later: numbers, and values in another byte order.
  void read_columns() {
    const std::vector<Field>& fields = info().schema.fields;
    columns_.assign(fields.size(), {});
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const bool is_swapped = f < run_->swaps.size() && !run_->swaps[f].empty();
      const bool is_read = f < run_->columns.size() && run_->columns[f] != nullptr;
      if (is_located(fields[f].kind) && !is_swapped && !is_read) continue;
      std::vector<std::byte>& column = columns_[f].emplace();
      if (is_read) {
        column = *run_->columns[f];
      } else {
        column.resize(run_->cells[f].place.length);
        read(run_->descriptors[f], run_->cells[f].place.offset, column);
      }
      if (is_swapped) swap_bytes(column, dtype_of_column(fields[f]).item_bytes(), run_->swaps[f]);
    }
  }

  void read(int descriptor, std::uint64_t offset, std::span<std::byte> into) {
    const ReadRequest wanted{.descriptor = descriptor, .offset = offset, .into = into};
    const ReadResult read = reader_.read({&wanted, 1}).front();
    require_all(read, path_of(descriptor), offset, into.size());
  }

  [[nodiscard]] PendingSample sample_of(std::uint64_t row) const {
    const std::vector<Field>& fields = info().schema.fields;
    PendingSample sample;
    sample.first_number = run_->first_number + row;
    sample.key = std::to_string(sample.first_number);
    sample.damage = run_->damage;
    sample.keeps_open = run_->keeps_open;
    sample.descriptors = run_->descriptors;
    sample.descriptors.resize(fields.size(), -1);
    sample.cells.resize(fields.size());
    if (!sample.damage.empty()) return sample;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const std::uint64_t bytes = fixed_bytes_of(fields[f]).value();
      FieldPlace& place = sample.cells[f].place;
      if (!columns_[f]) {
        place = {.offset = run_->cells[f].place.offset + row * bytes, .length = bytes};
      } else if (const Bytes value = Bytes(*columns_[f]).subspan(row * bytes, bytes);
                 is_located(fields[f].kind)) {
        place = {.offset = 0, .length = bytes};
        sample.known.push_back({f, std::string(as_text(value))});
      } else {
        sample.cells[f] = read_number(value, fields[f]);
        continue;
      }
      sample.bytes += bytes;
    }
    return sample;
  }

  JoinedPart part_;
  BatchReader reader_{{.depth = 1, .threads = 1, .backend = BatchReader::Backend::threads}};
  std::optional<PendingSample> run_;
  std::uint64_t row_ = 0;
  std::vector<std::optional<std::vector<std::byte>>> columns_;
};

// A field of the join: which one of which input.
struct JoinedField {
  std::size_t part = 0, field = 0;
  std::string name;
};

// What the fields of the inputs are called.
std::vector<JoinedField> name_fields(const std::vector<PartReader>& parts) {
  std::vector<JoinedField> all;
  std::vector<bool> is_own;  // the name in the input, which another may have, too
  std::map<std::string, std::size_t> uses;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const JoinedPart& part = parts[p].part();
    const SourceInfo& info = parts[p].info();
    for (std::size_t f = 0; f < info.schema.fields.size(); ++f) {
      const std::string& name = info.schema.fields[f].name;
      const bool is_named = std::ranges::find(part.named, name) != part.named.end();
      const bool is_main =
          part.named.empty() && (info.schema.fields.size() == 1 || (part.is_of_files && f == 0));
      all.push_back({p, f, is_main ? part.name : name});
      is_own.push_back(!is_named && !is_main);
      ++uses[all.back().name];
    }
  }
  bool is_label_taken = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_own[i] && all[i].name == kLabel) is_label_taken = true;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The label of the first stays what class names are of.
    if (is_own[i] && all[i].name == kLabel && !std::exchange(is_label_taken, true)) continue;
    if (is_own[i] && uses[all[i].name] > 1)
      all[i].name = parts[all[i].part].part().name + "_" + all[i].name;
  }
  return all;
}

std::vector<JoinedField> chosen_fields(std::vector<JoinedField> all,
                                       const std::vector<PartReader>& parts,
                                       const FieldChoice& choice) {
  if (choice.takes_all()) return all;
  Schema whole;
  LeftOutList left_out;
  for (const JoinedField& field : all) {
    whole.fields.push_back(parts[field.part].info().schema.fields[field.field]);
    whole.fields.back().name = field.name;
  }
  for (const PartReader& part : parts) left_out.add(part.info().left_out);
  std::vector<JoinedField> chosen;
  for (const std::size_t field : taken_fields(choice, whole, left_out))
    chosen.push_back(std::move(all[field]));
  return chosen;
}

class JoinedSource final : public OrderableSource {
 public:
  JoinedSource(std::vector<JoinedPart> parts, const JoinRules& rules, const Events& events)
      : rules_(rules), events_(events) {
    for (JoinedPart& part : parts) parts_.emplace_back(std::move(part));
    was_read_.assign(parts_.size(), false);
    fields_ = chosen_fields(name_fields(parts_), parts_, rules.fields);
    taken_.resize(parts_.size());
    for (const JoinedField& field : fields_) taken_[field.part].push_back(field.field);
    if (rules.join.on == JoinOn::key) {
      pair_by_key();
    } else {
      pair_by_row();
    }
    describe();
    tell_alone();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    begin();
    std::optional<PendingSample> first = parts_[0].next();
    if (!first) return std::nullopt;
    std::vector<std::optional<PendingSample>> samples(parts_.size());
    samples[0] = std::move(first);
    for (std::size_t p = 1; p < parts_.size(); ++p) samples[p] = partner_of(*samples[0], p);
    return joined(std::move(samples));
  }

  // Where all samples have all inputs, the positions in all are the same.
  void put_in_order(const SampleOrder& order) override {
    for (const PartReader& part : parts_) {
      const bool can = part.part().orderable != nullptr && !takes_any();
      if (can) continue;
      throw Error(Code::unsupported, "a join {} cannot be read in another order",
                  takes_any() ? "with --partners any" : "with arrays")
          .at(part.part().path)
          .hint("convert the join first, and choose or shuffle the samples of the result");
    }
    order_ = order;
    has_begun_ = false;
    if (!order.chosen) return;
    info_.chosen = order.chosen->hash();
    info_.manifest.samples = order.chosen->count();
    info_.manifest.fingerprint = order.chosen->fingerprint_of(info_.manifest.fingerprint);
    for (std::size_t p = 0; p < rows_.size(); ++p) rows_[p] = rows_of(*rows_[p], *order.chosen);
    order_.chosen = rows_.empty() ? order.chosen : nullptr;
  }

  void list_ignored(const ReasonSink& sink) override {
    for (PartReader& part : parts_) part.source().list_ignored(sink);
  }
  void list_skipped(const SkippedSink& sink) override {
    for (PartReader& part : parts_) part.source().list_skipped(sink);
  }

 private:
  [[nodiscard]] bool takes_any() const { return rules_.join.partners == Partners::any; }

  // Of those rows, the ones at the chosen positions.
  [[nodiscard]] std::shared_ptr<ChosenRows> rows_of(ChosenRows& rows, ChosenRows& chosen) const {
    ScratchFile file(rules_.scratch_folder);
    for (std::uint64_t i = 0; i < chosen.count(); ++i) {
      events_.stop_if_asked();
      file.append(bytes_of(rows.at(chosen.at(i))));
    }
    return std::make_shared<ChosenRows>(std::move(file), rules_.scratch_folder,
                                        rules_.memory_bytes);
  }

  void pair_by_row() {
    const std::uint64_t rows = parts_[0].info().manifest.samples;
    for (const PartReader& part : parts_) {
      const std::uint64_t theirs = part.info().manifest.samples;
      if (theirs == rows) continue;
      throw Error(Code::mismatch, "has {}, and {} {}: rows cannot be joined",
                  format_counted(theirs, "sample", "samples"), printable(parts_[0].part().path),
                  rows)
          .at(part.part().path)
          .hint(part.has_keys() && parts_[0].has_keys()
                    ? "inputs are joined row by row; --on key joins those with the same keys"
                    : "inputs are joined row by row, and all must have equally many samples");
    }
    std::vector<PartReader*> keyed;
    for (PartReader& part : parts_) {
      if (part.has_keys()) keyed.push_back(&part);
    }
    if (rules_.join.on == JoinOn::row || keyed.size() < 2) return;
    for (std::uint64_t row = 0; row < rows; ++row) {
      events_.stop_if_asked();
      const std::optional<PendingSample> first = keyed[0]->next();
      for (std::size_t k = 1; k < keyed.size(); ++k) {
        const std::optional<PendingSample> other = keyed[k]->next();
        if (!first || !other || !first->damage.empty() || !other->damage.empty() ||
            first->key == other->key)
          continue;
        throw Error(Code::mismatch, "sample {} has the key '{}', but in {} '{}'", row,
                    printable(other->key), printable(keyed[0]->part().path), printable(first->key))
            .at(keyed[k]->part().path)
            .hint(
                "pass --on key to join samples with the same keys, --on row to join them as they "
                "lie");
      }
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) was_read_[p] = parts_[p].has_keys();
  }

  void pair_by_key() {
    std::vector<KeyedSource> sources;
    for (PartReader& part : parts_) {
      const bool is_late_folder = part.part().is_of_files && !sources.empty();
      if (!part.has_keys() || part.part().orderable == nullptr || is_late_folder) {
        throw Error(Code::usage, "{}",
                    is_late_folder ? "a folder must be the first of inputs that are joined by key"
                                   : "its samples have no keys to be joined by")
            .at(part.part().path)
            .hint(is_late_folder ? "name the folder first"
                                 : "pass --on row to join them row by row");
      }
      sources.push_back({&part.source(), part.part().path});
    }
    const KeyRules rules{.takes_any = takes_any(),
                         .names_alone = rules_.join.tell_alone != nullptr};
    KeyJoin join = join_by_key(sources, rules, rules_.scratch_folder, rules_.memory_bytes, events_);
    was_read_.assign(parts_.size(), true);
    rows_ = std::move(join.rows);
    alone_ = std::move(join.alone);
    alone_rows_ = std::move(join.alone_rows);
    if (rows_[0]->count() > 0) return;
    throw Error(Code::mismatch, "none of its keys is one of {}", printable(parts_[1].part().path))
        .at(parts_[0].part().path)
        .hint("'shale ls' lists the keys of both; --on row joins them row by row");
  }

  // Reads them again, each source in its own order: what was kept of their keys is hashes.
  void tell_alone() {
    for (std::size_t p = 0; p < alone_rows_.size(); ++p) {
      if (alone_rows_[p]->count() == 0) continue;
      const SampleOrder order{.chosen = alone_rows_[p], .is_last = false};
      parts_[p].begin(&order);
      for (std::uint64_t i = 0; const std::optional<PendingSample> sample = parts_[p].next(); ++i) {
        events_.stop_if_asked();
        rules_.join.tell_alone(parts_[p].part().path, sample->key, alone_rows_[p]->at(i));
      }
    }
    alone_rows_.clear();
  }

  // Keys that were read, or another order: they begin again.
  void begin() {
    if (std::exchange(has_begun_, true)) return;
    held_.assign(parts_.size(), std::nullopt);
    const bool is_in_order = !order_.chosen && !order_.seed && rows_.empty();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      SampleOrder order = order_;
      if (!rows_.empty()) order.chosen = rows_[p];
      parts_[p].begin(is_in_order && !was_read_[p] ? nullptr : &order);
    }
    was_read_.assign(parts_.size(), true);
  }

  [[nodiscard]] std::optional<PendingSample> partner_of(const PendingSample& sample,
                                                        std::size_t p) {
    if (!held_[p]) held_[p] = parts_[p].next();
    if (takes_any() && !rows_.empty() && (!held_[p] || held_[p]->key != sample.key))
      return std::nullopt;
    if (!held_[p])
      throw Error(Code::damaged, "ends before the other inputs of the join")
          .at(parts_[p].part().path);
    return std::exchange(held_[p], std::nullopt);
  }

  [[nodiscard]] std::shared_ptr<const void> keep_open(
      std::vector<std::shared_ptr<const void>> files) {
    if (kept_ && *kept_ == files) return kept_;
    kept_ = std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(files));
    return kept_;
  }

  [[nodiscard]] PendingSample joined(std::vector<std::optional<PendingSample>> samples) {
    PendingSample all;
    const std::size_t keyed = first_with_keys();
    all.key = std::move(samples[keyed]->key);
    all.first_number = samples[keyed]->first_number;
    std::vector<std::shared_ptr<const void>> files;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (!samples[p]) continue;
      PendingSample& one = *samples[p];
      if (all.lacks.empty() && lacks_any_of(taken_[p], one, parts_[p].info().schema))
        all.lacks = std::move(one.lacks), all.lacks_row = one.lacks_row;
      if (all.damage.empty()) all.damage = std::move(one.damage);
      all.has_crc32c = all.has_crc32c || one.has_crc32c;
      files.push_back(std::move(one.keeps_open));
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const JoinedField& field = fields_[i];
      if (samples[field.part]) {
        take_field(*samples[field.part], field, i, all);
      } else {
        all.cells.push_back({.place = {.offset = kMissing}, .lacks_number = true});
        all.descriptors.push_back(-1);
        const Field& absent = info_.schema.fields[i];
        if (absent.is_ragged()) all.sides.insert(all.sides.end(), absent.shape.size(), 0);
      }
    }
    all.keeps_open = keep_open(std::move(files));
    return all;
  }

  // Field `i` of the join.
  void take_field(const PendingSample& one, const JoinedField& field, std::size_t i,
                  PendingSample& all) const {
    const Schema& schema = parts_[field.part].info().schema;
    const IndexCell& cell = one.cells[field.field];
    all.cells.push_back(cell);
    all.descriptors.push_back(field.field < one.descriptors.size() ? one.descriptors[field.field]
                                                                   : -1);
    if (!one.has_crc32c) all.unproved.push_back(i);
    if (!is_located(schema.fields[field.field].kind)) return;
    bool is_known = false, has_files = false;
    for (const PendingFile& file : one.files) {
      if (file.field != field.field) continue;
      all.files.push_back(file);
      all.files.back().field = i;
      // What is read into the buffer, and what is made of it there.
      all.bytes += file.bytes * (file.array ? PendingFile::kArrayCopies : 1);
      all.bytes += file.archived.packed_bytes;
      has_files = true;
    }
    for (const KnownValue& known : one.known) {
      if (known.field != field.field) continue;
      all.known.push_back({i, known.bytes});
      is_known = true;
    }
    if (is_known || (!has_files && cell.place.offset != kMissing)) all.bytes += cell.place.length;
    if (schema.fields[field.field].kind == Kind::list && !one.elements.empty()) {
      const auto elements = elements_of_field(one.elements, one.cells, schema, field.field);
      all.elements.insert(all.elements.end(), elements.begin(), elements.end());
    }
    if (!schema.fields[field.field].is_ragged()) return;
    ShapeWalk walk(one.sides);
    for (std::size_t f = 0; f < field.field; ++f) (void)walk.next(schema.fields[f]);
    const auto sides = walk.next(schema.fields[field.field]);
    all.sides.insert(all.sides.end(), sides.begin(), sides.end());
  }

  [[nodiscard]] std::size_t first_with_keys() const {
    const auto found = std::ranges::find_if(parts_, &PartReader::has_keys);
    return found == parts_.end() ? 0 : static_cast<std::size_t>(found - parts_.begin());
  }

  void describe() {
    std::string facts =
        fmt::format("{}\n{}\n{}\n", kJoined, static_cast<int>(rules_.join.on == JoinOn::key),
                    static_cast<int>(takes_any()));
    info_.schema.has_keys = parts_[first_with_keys()].has_keys();
    info_.keys_are_unique = parts_[first_with_keys()].info().keys_are_unique;
    info_.manifest.kind = kJoined;
    info_.manifest.samples = rows_.empty() ? parts_[0].info().manifest.samples : rows_[0]->count();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      describe_part(p);
      const SourceInfo& info = parts_[p].info();
      facts += fmt::format("{}\n{}\n{}\n", parts_[p].part().name, info.manifest.fingerprint.hex(),
                           info.labels.hex());
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      describe_field(i);
      facts += fields_[i].name + "\n";
    }
    info_.manifest.fingerprint = xxh3_128(as_bytes(facts));
    validate_schema(info_.schema);
  }

  void describe_part(std::size_t p) {
    const std::string& name = parts_[p].part().name;
    const SourceInfo& info = parts_[p].info();
    const double share =
        rows_.empty() || info.manifest.samples == 0
            ? 1.0
            : static_cast<double>(rows_[p]->count()) / static_cast<double>(info.manifest.samples);
    info_.manifest.bytes +=
        static_cast<std::uint64_t>(static_cast<double>(info.manifest.bytes) * share);
    info_.on_damage = std::max(info_.on_damage, info.on_damage);
    info_.ignored += info.ignored;
    info_.skipped += info.skipped;
    info_.modified_ns = std::max(info_.modified_ns, info.modified_ns);
    info_.memory_bytes += info.memory_bytes + (info.row_bytes ? kRunBytes : 0);
    info_.scratch_bytes += info.scratch_bytes;
    if (!info.scratch_folder.empty()) info_.scratch_folder = info.scratch_folder;
    for (const std::string& note : info.notes)
      info_.notes.push_back(name.empty() ? note : fmt::format("{}: {}", name, note));
    info_.left_out.add(without_dropped(rules_.fields, info.left_out));
    if (alone_.empty() || alone_[p] == 0) return;
    // Whoever asks for those that all inputs have knows that others are left out.
    if (rules_.join.partners != Partners::all)
      info_.left_out.add(
          {.kind = "samples", .name = name, .reason = "no_partner", .samples = alone_[p]});
    info_.notes.push_back(fmt::format("{}: {} no partner, and {} left out", printable(name),
                                      format_counted(alone_[p], "sample has", "samples have"),
                                      alone_[p] == 1 ? "is" : "are"));
  }

  void describe_field(std::size_t i) {
    const JoinedField& field = fields_[i];
    const JoinedPart& part = parts_[field.part].part();
    const SourceInfo& info = parts_[field.part].info();
    info_.schema.fields.push_back(info.schema.fields[field.field]);
    Field& ours = info_.schema.fields.back();
    const std::string theirs = std::exchange(ours.name, field.name);
    if (takes_any() && !rows_.empty() && field.part > 0) ours.is_optional = true;
    if (std::ranges::find(info.image_fields, field.field) != info.image_fields.end())
      info_.image_fields.push_back(i);
    if (theirs == kLabel && !info.classes.empty()) {
      if (field.name == kLabel) {
        info_.classes = info.classes;
        info_.labels_are_sorted = field.part == 0 && info.labels_are_sorted;
      } else if (info.classes != info_.classes) {
        if (rules_.fields.takes_all())
          info_.left_out.add({.kind = "names", .name = field.name, .reason = "not_class_names"});
        info_.notes.push_back(
            fmt::format("the class names of {} are left out: its label is the field '{}'",
                        printable(part.path), printable(field.name)));
      }
    }
    if (theirs == kCategories && info_.classes.empty()) info_.classes = info.classes;
    if (ours.kind != Kind::list || info.container == nullptr) return;
    if (info_.container != nullptr && info_.container != info.container) {
      throw Error(Code::unsupported, "has lists, as another input of the join that is {} file",
                  info_.container->a_file)
          .at(part.path)
          .hint("convert one of the two to the format of the other first");
    }
    info_.container = info.container;
  }

  const JoinRules rules_;
  const Events& events_;
  std::vector<PartReader> parts_;
  std::vector<JoinedField> fields_;
  std::vector<std::vector<std::size_t>> taken_;          // of each part, those that are among them
  std::vector<std::shared_ptr<ChosenRows>> rows_;        // by key: of each input
  std::vector<std::uint64_t> alone_;                     // by key: of each input, what is not taken
  std::vector<std::shared_ptr<ChosenRows>> alone_rows_;  // the same, while they are told
  std::vector<std::optional<PendingSample>> held_;
  SampleOrder order_;
  bool has_begun_ = false;
  std::vector<bool> was_read_;  // each input, which has to begin again
  std::shared_ptr<const std::vector<std::shared_ptr<const void>>> kept_;
  SourceInfo info_;
};

}  // namespace

std::unique_ptr<OrderableSource> make_joined_source(std::vector<JoinedPart> parts,
                                                    const JoinRules& rules, const Events& events) {
  return std::make_unique<JoinedSource>(std::move(parts), rules, events);
}

}  // namespace shale
