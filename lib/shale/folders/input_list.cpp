#include "shale/folders/input_list.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shale/arrays/sample_arrays.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/partners/file_pairs.hpp"

namespace shale {
namespace {

// Some samples of a list of unknown length: every n-th, where n doubles.
class SpreadSamples {
 public:
  void note(const ListedSample& sample) {
    constexpr std::size_t kMost = 64;
    if (seen_++ % step_ != 0) return;
    samples_.push_back(sample);
    if (samples_.size() < kMost) return;
    step_ *= 2;
    for (std::size_t i = 1; 2 * i < kMost; ++i) samples_[i] = std::move(samples_[2 * i]);
    samples_.resize(kMost / 2);
  }
  [[nodiscard]] std::vector<PendingSample> pending(const InputList& list) && {
    std::vector<PendingSample> pending;
    for (ListedSample& sample : samples_) pending.push_back(list.pending(std::move(sample)));
    return pending;
  }

 private:
  std::uint64_t seen_ = 0, step_ = 1;
  std::vector<ListedSample> samples_;
};

class ListedSource final : public OrderableSource {
 public:
  ListedSource(std::unique_ptr<InputList> list, ListedOrder order)
      : list_(std::move(list)), order_(std::move(order)), info_(list_->info()) {
    const std::vector<Field>& fields = info_.schema.fields;
    has_labels_ = fields.size() > 1 && fields[1].name == "label" && fields[1].kind == Kind::integer;
    SourceTotals totals(list_->fingerprinted());
    std::optional<ListedSample> largest;
    SpreadSamples spread;
    list_->rewind();
    for (ListedSample sample = list_->next(); !sample.empty(); sample = list_->next()) {
      order_.stop_if_asked();
      spread.note(sample);
      if (add(sample, totals)) largest = std::move(sample);
    }
    give(totals, std::move(largest), std::move(spread), false);
    list_->rewind();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    ListedSample sample = next_sample();
    if (sample.empty()) return std::nullopt;
    return list_->pending(std::move(sample));
  }

  void skip(std::uint64_t samples) override {
    for (; samples > 0; --samples) {
      order_.stop_if_asked();
      if (next_sample().empty()) return Source::skip(samples);
    }
  }

  void list_ignored(const ReasonSink& sink) override { list_->list_ignored(sink); }

  // The totals are those of the samples that are taken, in the order of the list.
  void put_in_order(const SampleOrder& wanted) override {
    ChosenRows* const chosen = wanted.chosen.get();
    const std::uint64_t count = chosen != nullptr ? chosen->count() : info_.manifest.samples;
    std::optional<Permutation> shuffle;
    if (wanted.seed) shuffle.emplace(count, *wanted.seed);
    PlacedSamples placed(order_.scratch_folder, order_.memory_bytes);
    SourceTotals totals(list_->fingerprinted());
    std::optional<ListedSample> largest;
    SpreadSamples spread;
    std::uint64_t row = 0, taken = 0;
    list_->rewind();
    for (ListedSample sample = list_->next(); !sample.empty(); sample = list_->next(), ++row) {
      order_.stop_if_asked();
      if (chosen != nullptr && (taken == count || chosen->at(taken) != row)) continue;
      spread.note(sample);
      placed.add(shuffle ? shuffle->inverse(taken) : taken, sample);
      ++taken;
      if (add(sample, totals)) largest = std::move(sample);
    }
    if (taken != count) throw fewer_than_listed(order_.name);
    if (chosen != nullptr) info_.chosen = chosen->hash();
    give(totals, std::move(largest), std::move(spread), wanted.seed.has_value());
    placed.finish();
    placed_.emplace(std::move(placed));
    if (wanted.is_last) list_->close();
  }

 private:
  ListedSample next_sample() { return placed_ ? placed_->next() : list_->next(); }

  // True: it is the largest so far.
  bool add(const ListedSample& sample, SourceTotals& totals) const {
    for (const ListedFile& file : sample) {
      totals.add_file(file.path, file.bytes);
      for (const ListedPartner& partner : file.partners)
        totals.add_file(partner.suffix.value_or(""), partner.bytes);
      if (list_->has_rows()) totals.add_file(file.row, file.row.size());
    }
    const ListedFile& first = sample.front();
    return totals.end_sample(first.has_label ? std::optional(first.label) : std::nullopt);
  }

  void give(const SourceTotals& totals, std::optional<ListedSample> largest, SpreadSamples spread,
            bool is_shuffled) {
    info_.largest.reset();
    if (largest) info_.largest = list_->pending(std::move(*largest));
    info_.spread = std::move(spread).pending(*list_);
    totals.give_totals(info_);
    if (has_labels_) totals.give_labels(info_, is_shuffled);
  }

  std::unique_ptr<InputList> list_;
  const ListedOrder order_;
  SourceInfo info_;
  bool has_labels_ = false;
  std::optional<PlacedSamples> placed_;  // instead of what the list gives
};

// Of an .npy file of so many bytes, about: NumPy's own headers take no less than these.
std::uint64_t bytes_of_array(const Field& field, std::uint64_t file_bytes) {
  constexpr std::uint64_t kHeaderBytes = 128;
  return field.is_ragged() ? file_bytes - std::min(file_bytes, kHeaderBytes) : field.tensor_bytes();
}

std::uint64_t bytes_of_elements(const SampleArray& array) {
  std::uint64_t bytes = array.dtype.item_bytes();
  for (const std::uint64_t side : array.shape) bytes *= side;
  return bytes;
}

// The arrays of a file as the fields that they are. One that is not there is absent, if it may be.
void take_named_arrays(PendingSample& sample, const ListedFile& file, const ListedFolder& folder) {
  const std::string path = join_path(folder.root, file.path);
  SampleArrays found;
  try {
    found = arrays_of_sample(path, file.bytes, file.modified_ns);
  } catch (const Error& error) {
    if (error.code() != Code::damaged && error.code() != Code::unsupported) throw;
    sample.bad_array = "has no arrays: " + error.message();
  }
  const std::size_t last = folder.own_fields - 1 + (folder.has_labels ? 1 : 0);
  sample.bytes = 0;
  std::size_t side = 0;  // the first one of the field
  for (std::size_t i = 0; i <= last; ++i) {
    const Field& field = folder.fields[i];
    const std::size_t first_side = side;
    side += field.is_ragged() ? field.shape.size() : 0;
    if (field.kind != Kind::tensor) continue;  // the label
    const auto array = std::ranges::find(found.arrays, field.name, &SampleArray::field);
    sample.cells[i].place.offset = kMissing;
    const bool is_there = array != found.arrays.end();
    if (std::ranges::find(found.unread, field.name, &SampleArray::field) != found.unread.end())
      sample.bad_array = fmt::format("has an array '{}' that does not lie in it as it is read",
                                     printable(field.name));
    if (!is_there && !field.is_optional && sample.bad_array.empty())
      sample.bad_array = fmt::format("has no array '{}'", printable(field.name));
    if (!is_there) continue;
    if (array->dtype != field.dtype || !shape_fits(array->shape, field.shape)) {
      sample.bad_array = fmt::format("has an array '{}' that is {}", printable(field.name),
                                     array_text(array->dtype, array->shape));
      continue;
    }
    sample.cells[i].place = {.offset = array->place.offset, .length = bytes_of_elements(*array)};
    sample.bytes +=
        array->place.packed_bytes + array->bytes * (array->is_npy ? PendingFile::kArrayCopies : 1);
    sample.files.push_back({.path = join_path(path, array->member),
                            .bytes = array->bytes,
                            .field = i,
                            .archived = std::move(array->place),
                            .array = array->is_npy ? folder.arrays[i] : nullptr});
    if (field.is_ragged())
      std::ranges::copy(array->shape,
                        sample.sides.begin() + static_cast<std::ptrdiff_t>(first_side));
  }
  if (!sample.bad_array.empty()) sample.files.clear();
}

// In words. No paths: what is left out is listed in the dataset, wherever its input was.
std::string partner_name(const ListedFolder& folder, std::size_t partner) {
  if (folder.folders.empty()) {
    const PairField field = pair_fields_of(folder.pairs)[partner];
    return field.pattern.empty() ? "partner ." + field.suffix : "partner " + field.pattern;
  }
  return fmt::format("partner of '{}'", printable(folder.folders[partner + 1].field));
}

}  // namespace

void SourceTotals::add_text(std::string_view text) {
  fingerprint_.update(bytes_of(std::uint64_t{text.size()}));
  fingerprint_.update(as_bytes(text));
}

void SourceTotals::add_file(std::string_view name, std::uint64_t bytes) {
  add_text(name);
  fingerprint_.update(bytes_of(bytes));
  bytes_of_sample_ += bytes;
}

bool SourceTotals::end_sample(std::optional<std::int64_t> given) {
  const std::int64_t label = given.value_or(0);
  labels_.update(bytes_of(label));
  if (!given) labels_.update(as_bytes("none"));
  const bool is_first = samples_++ == 0;
  if (!is_first) {
    is_sorted_ = is_sorted_ && last_label_ <= label;
    is_one_class_ = is_one_class_ && last_label_ == label;
  }
  last_label_ = label;
  bytes_ += bytes_of_sample_;
  const bool is_largest = is_first || bytes_of_sample_ > most_;
  most_ = std::max(most_, bytes_of_sample_);
  bytes_of_sample_ = 0;
  return is_largest;
}

void SourceTotals::give_totals(SourceInfo& info) const {
  info.manifest.samples = samples_;
  info.manifest.bytes = bytes_;
  info.manifest.fingerprint = fingerprint_.digest();
}

void SourceTotals::give_labels(SourceInfo& info, bool is_shuffled) const {
  info.labels = labels();
  info.labels_are_sorted = are_sorted() && !is_shuffled;
}

void PlacedSamples::add(std::uint64_t position, const ListedSample& sample) {
  for (std::uint32_t number = 0; number < sample.size(); ++number) {
    file_.clear();
    append_listed_file(file_, sample[number]);
    rows_.add({.position = position,
               .number = number,
               .is_last = number + 1 == sample.size(),
               .file = file_});
  }
}

ListedSample PlacedSamples::next() {
  ListedSample sample;
  while (const std::optional<PlacedFile> row = rows_.next()) {
    sample.push_back(parse_listed_file(row->file));
    if (row->is_last) break;
  }
  return sample;
}

std::unique_ptr<OrderableSource> make_list_source(std::unique_ptr<InputList> list,
                                                  ListedOrder order) {
  return std::make_unique<ListedSource>(std::move(list), std::move(order));
}

std::string partner_path(const std::string& root, std::string_view path, std::string_view suffix) {
  const std::size_t name = path.rfind('/') + 1;  // 0 without a slash
  std::string partner(path.substr(0, name));
  return join_path(root, partner.append(pair_name_of(path.substr(name))).append(suffix));
}

PendingSample pending_sample(ListedFile file, const ListedFolder& folder) {
  PendingSample sample;
  sample.bytes = file.bytes;
  // The time of an archive is compared as a whole.
  const bool compares_times = folder.archives == nullptr;
  const auto archived = [&](std::uint64_t offset) {
    ArchivedFile place = compares_times ? ArchivedFile() : folder.archives->place_of(offset);
    sample.bytes += place.packed_bytes;
    if (!compares_times && sample.damage.empty())
      sample.damage = folder.archives->damage_of(offset);
    return place;
  };
  sample.cells.resize(folder.fields.size());
  const std::size_t first = folder.own_fields + (folder.has_labels ? 1 : 0);
  if (folder.has_labels) sample.cells[1].integer = file.label;
  // The shapes of arrays are known when they are read.
  for (std::size_t i = 0; i < std::min(first + file.partners.size(), folder.fields.size()); ++i) {
    const Field& field = folder.fields[i];
    if (field.is_ragged()) sample.sides.resize(sample.sides.size() + field.shape.size());
  }
  if (folder.has_named_arrays) {
    take_named_arrays(sample, file, folder);
  } else {
    const bool is_array = !folder.arrays.empty() && folder.arrays[0];
    if (is_array) sample.bytes *= PendingFile::kArrayCopies;
    sample.cells[0].place = {
        .offset = file.offset,
        .length = is_array ? bytes_of_array(folder.fields[0], file.bytes) : file.bytes};
    sample.files.reserve(1 + file.partners.size());
    sample.files.push_back({.path = join_path(folder.root, file.path),
                            .bytes = file.bytes,
                            .modified_ns = compares_times ? file.modified_ns : 0,
                            .archived = archived(file.offset),
                            .array = is_array ? folder.arrays[0] : nullptr});
  }
  if (!file.has_label) {
    sample.lacks = !file.row.empty()                ? file.row
                   : !folder.labels.pattern.empty() ? "label: its name does not fit --label-from"
                   : folder.labels.path.empty()     ? "row in metadata.csv or metadata.jsonl"
                                                    : "row in " + folder.labels.name();
    sample.lacks_row = true;
  }
  const std::size_t of_metadata = folder.metadata != nullptr ? folder.metadata->size() : 0;
  if (first + file.partners.size() + of_metadata > folder.fields.size())
    throw Error(Code::damaged, "a listed file has more partners than there are fields")
        .at(file.path);
  for (std::size_t i = 0; i < file.partners.size(); ++i) {
    const ListedPartner& partner = file.partners[i];
    if (!partner.suffix) {
      const bool may_lack = folder.fields[first + i].is_optional;
      if (!may_lack && sample.lacks.empty()) sample.lacks = partner_name(folder, i);
      continue;
    }
    const Field& field = folder.fields[first + i];
    const bool is_array = !folder.arrays.empty() && folder.arrays[first + i];
    sample.bytes += partner.bytes * (is_array ? PendingFile::kArrayCopies : 1);
    sample.cells[first + i].place = {
        .offset = partner.offset,
        .length = is_array ? bytes_of_array(field, partner.bytes) : partner.bytes};
    const std::string& root = folder.folders.empty() ? folder.root : folder.folders[i + 1].root;
    sample.files.push_back(
        {.path = folder.patterns.empty()
                     ? partner_path(root, file.path, *partner.suffix)
                     : join_path(root, folder.patterns.partner_of(i + 1, file.path)),
         .bytes = partner.bytes,
         .modified_ns = compares_times ? partner.modified_ns : 0,
         .field = first + i,
         .archived = archived(partner.offset),
         .array = is_array ? folder.arrays[first + i] : nullptr});
  }
  if (of_metadata > 0 && file.has_label) take_metadata_row(file.row, *folder.metadata, sample);
  sample.key = std::move(file.path);
  return sample;
}

}  // namespace shale
