#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/field_type.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_described.hpp"
#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"
#include "formats/record/record_scan.hpp"

namespace shale {
namespace {

class ForeignRecordScanner : private FrameScanner {
  using Type = ParsedFeature::Type;

 public:
  ForeignRecordScanner(const ShardInput& input, const RowSink& rows, const FindingSink& findings)
      : FrameScanner(input, all_frames(), rows, findings), layout_(input.layout) {
    std::size_t axes = 0;
    for (const Field& field : schema_.fields) {
      first_side_.push_back(axes);
      if (field.is_ragged()) axes += field.shape.size();
    }
  }

  void scan() {
    (void)scan_frames(all_frames(), [this](const RecordFrame& frame) {
      if (layout_.has_whole_records) {
        scan_example(frame);
      } else {
        scan_value(frame);
      }
    });
  }

 private:
  void report(std::size_t field, std::string message, std::uint64_t offset, std::string found,
              std::string expected) {
    if (is_told_by_checksum()) return;
    draft_.begin(std::move(message), offset).field = schema_.fields[field].name;
    draft_.send(std::move(found), std::move(expected));
  }

  // Where only the structure is read, a record that is not as it should be is proved: if it is
  // damaged, its checksum is the one finding.
  bool is_told_by_checksum() {
    if (reads_payload_ || frame_ == nullptr) return is_wrong_;
    if (std::optional<Finding> wrong = check_payload(view_, *frame_, {}, pace_)) {
      is_wrong_ = true;
      draft_.pass_on(*std::move(wrong));
    }
    frame_ = nullptr;
    return is_wrong_;
  }

  void scan_value(const RecordFrame& frame) {
    FieldPlace place{.offset = frame.payload_begin(), .length = frame.payload_bytes};
    if (reads_payload_) prove(frame, {&place, 1});
    if (!row_.cells.empty()) row_.cells[0].place = place;
  }

  void prove(const RecordFrame& frame, std::span<FieldPlace> places) {
    if (const std::optional<Finding> wrong = check_payload(view_, frame, places, pace_))
      draft_.pass_on(*wrong);
  }

  void scan_example(const RecordFrame& frame) {
    row_.record_offset = frame.begin;
    frame_ = &frame;
    is_wrong_ = false;
    row_.record_length = frame.bytes();
    // The whole frame in one read, where it is small.
    const std::uint64_t window = reads_payload_ ? kPayloadWindow : kStructureWindow;
    if (reads_payload_ || frame.bytes() <= window)
      (void)window_.view(frame.begin, std::min(frame.bytes(), window));
    std::optional<Finding> fault;
    parsed_.clear();
    try {
      parsed_ = parse_example(view_, frame.payload_begin(), frame.payload_bytes, file_.path());
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
      fault.emplace();
      fault->message =
          fmt::format("record cannot be parsed as a tf.train.Example ({})", error.message());
      fault->offset = error.offset().value_or(frame.payload_begin());
    }
    if (!fault) {
      choose();
      read_key();
      for (std::size_t i = 0; i < schema_.fields.size(); ++i) fill_cell(i, frame);
    }
    if (reads_payload_) prove_places(frame);
    if (fault && !is_told_by_checksum()) draft_.pass_on(std::move(*fault));
  }

  // The field of a name; nullopt for one that the schema does not have.
  std::optional<std::size_t> field_of(const std::string& feature) {
    // Names come again in every record. Hostile files have others each time.
    constexpr std::size_t kMostNames = 4096, kMostNameBytes = 255;
    if (feature.size() > kMostNameBytes) return std::nullopt;
    if (const auto known = names_.find(feature); known != names_.end()) return known->second;
    if (names_.size() >= kMostNames) names_.clear();
    const std::optional<std::size_t> field = schema_.find(field_name_of(feature));
    names_.emplace(feature, field);
    return field;
  }

  // The feature of each field, and of the key: the last of its name.
  void choose() {
    chosen_.assign(schema_.fields.size(), nullptr);
    shapes_.assign(schema_.fields.size(), nullptr);
    chosen_key_ = nullptr;
    for (const ParsedFeature& feature : parsed_) {
      if (is_key(feature)) {
        chosen_key_ = &feature;
      } else if (const std::optional<std::size_t> field = field_of(feature.name)) {
        chosen_[*field] = feature.type == Type::none ? nullptr : &feature;
      } else if (feature.type == Type::integers && feature.name.ends_with(kShapeSuffix)) {
        const std::string of = feature.name.substr(0, feature.name.size() - kShapeSuffix.size());
        if (const std::optional<std::size_t> shaped = field_of(of)) shapes_[*shaped] = &feature;
      }
    }
  }

  // "key" goes before "__key__", which is then a field, or not there.
  [[nodiscard]] bool is_key(const ParsedFeature& feature) const {
    if (!layout_.has_keys) return false;
    if (feature.name == kKeyFeature) return true;
    const bool may_be = chosen_key_ == nullptr || chosen_key_->name != kKeyFeature;
    return may_be && feature.name == kOtherKeyFeature && !schema_.find(kOtherKeyFeature);
  }

  void read_key() {
    if (!layout_.has_keys) return;
    const bool is_one = chosen_key_ != nullptr && chosen_key_->type == Type::bytes &&
                        chosen_key_->count == 1 && chosen_key_->first_length <= kMaxKeyBytes;
    if (!is_one) {
      if (is_told_by_checksum()) return;
      draft_
          .begin("record has no key, but those before it do",
                 chosen_key_ == nullptr ? std::nullopt : std::optional(chosen_key_->list_offset))
          .field = "key";
      return draft_.send();
    }
    const Bytes key = window_.view(chosen_key_->first_offset, chosen_key_->first_length);
    draft_.at_key(as_text(key));
    row_.key_hash = xxh3_64(key);
    row_.key = {.offset = chosen_key_->first_offset, .length = chosen_key_->first_length};
  }

  void fill_cell(std::size_t i, const RecordFrame& frame) {
    const Field& field = schema_.fields[i];
    const ParsedFeature* feature = chosen_[i];
    IndexCell& cell = row_.cells[i];
    if (!is_located(field.kind) && field.is_optional) {
      cell.lacks_number = feature == nullptr || feature->count == 0;
      if (cell.lacks_number) return;
    }
    if (feature == nullptr) {
      if (is_located(field.kind)) return;
      return report(i, "record has no number for this field", frame.begin, {}, {});
    }
    if (feature->count == 0 && fill_empty(i, *feature)) return;
    const bool is_one = feature->count == 1;
    switch (field.kind) {
      case Kind::bytes:
      case Kind::text:
        if (feature->type != Type::bytes || !is_one) return misfit(i, *feature, "BytesList of 1");
        cell.place = {.offset = feature->first_offset, .length = feature->first_length};
        return;
      case Kind::list:
        if (feature->type != Type::bytes || feature->count > 0xffff'ffff)
          return misfit(i, *feature, "BytesList");
        cell.place = {.offset = feature->list_offset,
                      .length = feature->list_length,
                      .count = static_cast<std::uint32_t>(feature->count)};
        return;
      case Kind::integer:
        if (feature->type != Type::integers || !is_one)
          return misfit(i, *feature, "Int64List of 1");
        cell.integer = feature->integers[0];
        return;
      case Kind::real:
        if (feature->type != Type::floats || !is_one) return misfit(i, *feature, "FloatList of 1");
        cell.real = read_float(feature->first_offset);
        return;
      case Kind::tensor:
        // A list of no numbers, where each other has as many as the next, has no value.
        if (field.is_optional && feature->type != Type::bytes && feature->count == 0 &&
            !(field.is_ragged() && feature->type == Type::floats))
          return;
        return fill_tensor(i, *feature);
    }
  }

  // A list of nothing may be one of another type. False: it is not one where lists are, or as all.
  bool fill_empty(std::size_t i, const ParsedFeature& feature) {
    const Field& field = schema_.fields[i];
    const bool is_list = field.kind == Kind::list && feature.type != Type::bytes;
    const bool is_ragged = field.kind == Kind::tensor && field.is_ragged() &&
                           field.shape.size() == 1 && field.dtype.descr() == kFloatDType &&
                           feature.type != Type::floats;
    if (!is_list && !is_ragged) return false;
    row_.cells[i].place = {.offset = feature.list_offset, .length = 0};
    if (is_ragged) row_.sides[first_side_[i]] = 0;
    return true;
  }

  // Where its numbers lie in one piece. The free side of one axis is as long as they are many.
  void fill_tensor(std::size_t i, const ParsedFeature& feature) {
    const Field& field = schema_.fields[i];
    const bool is_floats = field.dtype.descr() == kFloatDType && feature.type == Type::floats;
    const bool is_array =
        is_floats ? is_contiguous(feature) : feature.type == Type::bytes && feature.count == 1;
    std::vector<std::uint64_t> shape = field.shape;
    if (shape.size() > 1 && field.is_ragged()) {
      if (shapes_[i] != nullptr) {
        shape.assign(shapes_[i]->integers.begin(), shapes_[i]->integers.end());
      } else {  // described by another file
        shape = shape_of_numbers(shape, feature.first_length / field.dtype.item_bytes());
        if (shape.empty()) return misfit(i, feature, "a shape beside it");
      }
    } else if (field.is_ragged()) {
      shape = {feature.first_length / field.dtype.item_bytes()};
    }
    if (!is_array || !field.takes_tensor(shape, feature.first_length)) {
      return misfit(i, feature,
                    field.dtype.descr() != kFloatDType
                        ? "BytesList of 1 with " + field_type_text(field)
                    : field.is_ragged()
                        ? "packed FloatList"
                        : fmt::format("packed FloatList of {}", fmt::join(field.shape, " x ")));
    }
    row_.cells[i].place = {.offset = feature.count > 0 ? feature.first_offset : feature.list_offset,
                           .length = feature.first_length};
    if (field.is_ragged())
      std::ranges::copy(shape, row_.sides.begin() + static_cast<std::ptrdiff_t>(first_side_[i]));
  }

  double read_float(std::uint64_t offset) {
    float value = 0;
    std::memcpy(&value, window_.view(offset, sizeof value).data(), sizeof value);
    return value;
  }

  void misfit(std::size_t field, const ParsedFeature& feature, std::string expected) {
    report(field, fmt::format("feature '{}' is not as in the schema", printable(feature.name)),
           feature.list_offset, fmt::format("{} of {}", list_name_of(feature.type), feature.count),
           std::move(expected));
  }

  // The checksum of the payload, and on the way those of the places in it.
  void prove_places(const RecordFrame& frame) {
    targets_.clear();
    if (row_.key.offset != kMissing) targets_.push_back(&row_.key);
    for (IndexCell& cell : row_.cells) {
      if (cell.place.offset != kMissing) targets_.push_back(&cell.place);
    }
    std::sort(targets_.begin(), targets_.end(), [](const FieldPlace* a, const FieldPlace* b) {
      return std::pair(a->offset, a->length) < std::pair(b->offset, b->length);
    });
    places_.clear();
    for (const FieldPlace* target : targets_) places_.push_back(*target);
    prove(frame, places_);
    for (std::size_t i = 0; i < targets_.size(); ++i) *targets_[i] = places_[i];
  }

  const ShardLayout& layout_;
  std::vector<std::size_t> first_side_;  // of each field, in the sides of a row
  std::map<std::string, std::optional<std::size_t>, std::less<>> names_;

  const RecordFrame* frame_ = nullptr;  // at hand, until it is proved
  bool is_wrong_ = false;               // it was, and is not as its checksum says

  // Of the frame at hand; kept here so that their memory is.
  std::vector<ParsedFeature> parsed_;
  std::vector<const ParsedFeature*> shapes_;  // a field each, of what it lies beside
  std::vector<const ParsedFeature*> chosen_;  // one per field; null where the record has none
  const ParsedFeature* chosen_key_ = nullptr;
  std::vector<FieldPlace*> targets_;
  std::vector<FieldPlace> places_;
};

}  // namespace

void scan_foreign_record(const ShardInput& input, const RowSink& rows,
                         const FindingSink& findings) {
  ForeignRecordScanner(input, rows, findings).scan();
}

}  // namespace shale
