#include "formats/record/record_scan.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"

namespace shale {
namespace {

using Role = PlannedFeature::Role;

constexpr std::uint64_t kMaxDTypeBytes = DType::kMostTextBytes;
// Their values are looked at one after the other once all of them are parsed.
constexpr std::size_t kManyFeatures = 32;

std::string signed_shape_text(std::span<const std::int64_t> sides, std::uint64_t count) {
  return fmt::format("({}{})", fmt::join(sides, ", "), count > sides.size() ? ", ..." : "");
}

class RecordScanner : private FrameScanner {
 public:
  RecordScanner(const ShardInput& input, const ScanRows& part, const RowSink& rows,
                const FindingSink& findings)
      : FrameScanner(input, part, rows, findings),
        plan_(plan_features(input.schema)),
        has_optional_(input.schema.has_optional()),
        is_in_memory_(part.view != nullptr),
        most_at_once_(plan_.size() > kManyFeatures ? kPayloadWindow : kStructureWindow) {
    std::size_t axes = 0;
    for (const Field& field : input.schema.fields) {
      first_side_.push_back(axes);
      if (field.is_ragged()) axes += field.shape.size();
    }
  }

  ScanPoint scan(const ScanRows& part) {
    return scan_frames(part, [this](const RecordFrame& frame) { scan_frame(frame); });
  }

 private:
  void scan_frame(const RecordFrame& frame) {
    const std::uint64_t payload_begin = frame.payload_begin(), payload = frame.payload_bytes;
    row_.record_offset = frame.begin;
    row_.record_length = frame.bytes();

    // The whole frame in one read, where it fits: the parser and the checksum then work in the same
    // window.
    if (reads_payload_) {
      (void)view_(frame.begin, std::min(frame.bytes(), kPayloadWindow));
    } else if (is_in_memory_ && frame.bytes() <= most_at_once_) {
      (void)view_(frame.begin, frame.bytes());
    }
    std::optional<Error> fault;
    parsed_.clear();
    try {
      parsed_ = parse_example(view_, payload_begin, payload, file_.path());
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      fault = error;
    }
    match_features();
    read_key();
    if (reads_payload_) {
      if (std::optional<Finding> wrong = check_payload(view_, frame, places_, pace_))
        draft_.pass_on(*wrong);
    }
    if (payload > kMaxExampleBytes) {
      draft_.begin("tf.train.Example is larger than protobuf reads", payload_begin).length =
          payload;
      draft_.send(fmt::format("{} bytes", payload), fmt::format("{} or less", kMaxExampleBytes));
    }
    if (fault) {
      draft_.begin(fmt::format("payload is not a tf.train.Example ({})", fault->message()),
                   fault->offset());
      draft_.send();
    } else {
      check_feature_set(payload_begin);
    }
    fill_row();
  }

  // What each parsed feature stands for; null where the schema knows no such name.
  void match_features() {
    if (has_optional_) is_present_.assign(schema_.fields.size(), false);
    targets_.assign(parsed_.size(), nullptr);
    places_.assign(parsed_.size(), FieldPlace{.offset = 0});
    for (std::size_t i = 0; i < parsed_.size(); ++i) {
      const ParsedFeature& feature = parsed_[i];
      const PlannedFeature* planned =
          i < plan_.size() && plan_[i].name == feature.name ? &plan_[i] : find(feature.name);
      targets_[i] = planned;
      if (planned == nullptr) continue;
      if (has_optional_ && planned->role == Role::value) is_present_[planned->field] = true;
      if (feature.type == ParsedFeature::Type::floats && is_contiguous(feature)) {
        places_[i] = {
            .offset = feature.first_length > 0 ? feature.first_offset : feature.list_offset,
            .length = feature.first_length};
      }
      if (feature.type != ParsedFeature::Type::bytes) continue;
      if (is_list(*planned)) {
        places_[i] = {.offset = feature.list_offset, .length = feature.list_length};
        places_[i].count =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(feature.count, 0xffff'ffff));
      } else if (feature.count == 1) {
        places_[i] = {.offset = feature.first_offset, .length = feature.first_length};
      }
    }
  }

  [[nodiscard]] const PlannedFeature* find(std::string_view name) const {
    const auto found = std::lower_bound(
        plan_.begin(), plan_.end(), name,
        [](const PlannedFeature& planned, std::string_view text) { return planned.name < text; });
    return found != plan_.end() && found->name == name ? &*found : nullptr;
  }

  [[nodiscard]] bool is_list(const PlannedFeature& planned) const {
    return planned.role == Role::value && schema_.fields[planned.field].kind == Kind::list;
  }

  [[nodiscard]] std::string field_name(const PlannedFeature& planned) const {
    return planned.role == Role::key ? "key" : schema_.fields[planned.field].name;
  }

  // Findings name the sample, so its key is read before anything is checked.
  void read_key() {
    for (std::size_t i = 0; i < parsed_.size(); ++i) {
      const ParsedFeature& feature = parsed_[i];
      const bool is_key = targets_[i] != nullptr && targets_[i]->role == Role::key;
      if (!is_key || feature.type != ParsedFeature::Type::bytes || feature.count != 1) continue;
      if (feature.first_length > kMaxKeyBytes) continue;
      const Bytes key = view_(feature.first_offset, feature.first_length);
      draft_.at_key(as_text(key));
      row_.key_hash = xxh3_64(key);
    }
  }

  // Exactly the planned features, in their order.
  void check_feature_set(std::uint64_t begin) {
    // Of an optional field all features or none.
    const auto is_expected = [&](const PlannedFeature& planned) {
      return planned.role == Role::key || !schema_.fields[planned.field].is_optional ||
             is_present_[planned.field];
    };
    auto next = parsed_.begin();
    const bool is_as_planned =
        std::ranges::all_of(plan_,
                            [&](const PlannedFeature& planned) {
                              if (!is_expected(planned)) return true;
                              return next != parsed_.end() && (next++)->name == planned.name;
                            }) &&
        next == parsed_.end();
    if (is_as_planned) return;
    bool is_complete = true;
    for (const PlannedFeature& planned : plan_) {
      const auto times = std::count(targets_.begin(), targets_.end(), &planned);
      if (times == (is_expected(planned) ? 1 : 0)) continue;
      is_complete = false;
      draft_
          .begin(fmt::format("feature '{}' is {}", planned.name,
                             times == 0   ? "missing"
                             : times == 1 ? "present without its value"
                                          : "present more than once"),
                 begin)
          .field = field_name(planned);
      draft_.send();
    }
    const auto unknown = std::find(targets_.begin(), targets_.end(), nullptr);
    if (unknown != targets_.end()) {
      const ParsedFeature& one = parsed_[static_cast<std::size_t>(unknown - targets_.begin())];
      draft_.begin("record has features that the schema does not have", begin);
      draft_.send(fmt::format("{}, one of them '{}'", parsed_.size(), one.name),
                  fmt::format("{} features", plan_.size()));
    } else if (is_complete) {
      draft_.begin("features are not sorted by name", begin);
      draft_.send();
    }
  }

  void fill_row() {
    for (std::size_t i = 0; has_optional_ && i < schema_.fields.size(); ++i)
      row_.cells[i].lacks_number = !is_located(schema_.fields[i].kind) && !is_present_[i];
    // Shapes come behind their values, but say how many bytes these must be.
    for (std::size_t i = 0; ragged_axes_ > 0 && i < parsed_.size(); ++i) {
      if (targets_[i] != nullptr && targets_[i]->role == Role::shape) read_sides(i);
    }
    for (std::size_t i = 0; i < parsed_.size(); ++i) {
      const PlannedFeature* planned = targets_[i];
      if (planned == nullptr || !check_type(*planned, parsed_[i])) continue;
      switch (planned->role) {
        case Role::key:
          if (check_bytes(*planned, parsed_[i], 0, kMaxKeyBytes)) row_.key = places_[i];
          break;
        case Role::value:
          fill_cell(*planned, parsed_[i], places_[i]);
          break;
        case Role::dtype:
          check_dtype(*planned, parsed_[i]);
          break;
        case Role::shape:
          if (!schema_.fields[planned->field].is_ragged()) check_shape(*planned, parsed_[i]);
          break;
      }
    }
  }

  void fill_cell(const PlannedFeature& planned, const ParsedFeature& feature,
                 const FieldPlace& place) {
    const Field& field = schema_.fields[planned.field];
    IndexCell& cell = row_.cells[planned.field];
    if (field.kind == Kind::integer) {
      cell.integer = feature.integers[0];
      return;
    }
    if (field.kind == Kind::real && feature.type == ParsedFeature::Type::floats) {
      if (!check_bytes(planned, feature, sizeof(float), sizeof(float))) return;
      cell = read_number(view_(feature.first_offset, sizeof(float)), field);
      return;
    }
    if (field.kind == Kind::real) {
      if (!check_bytes(planned, feature, sizeof(double), sizeof(double))) return;
      std::memcpy(&cell.real, view_(feature.first_offset, sizeof(double)).data(), sizeof(double));
      return;
    }
    if (field.is_ragged()) {
      if (!check_ragged(planned, feature, place)) return;
    } else if (field.kind == Kind::tensor) {
      const std::uint64_t expected = field.tensor_bytes();
      if (!check_bytes(planned, feature, expected, expected)) return;
    }
    cell.place = place;
  }

  // The sides of a ragged tensor in those of the sample.
  std::span<std::uint64_t> sides_of(std::size_t field) {
    return std::span(row_.sides).subspan(first_side_[field], schema_.fields[field].shape.size());
  }

  void read_sides(std::size_t number) {
    const ParsedFeature& feature = parsed_[number];
    const PlannedFeature& planned = *targets_[number];
    const Field& field = schema_.fields[planned.field];
    if (!field.is_ragged() || !check_type(planned, feature)) return;
    bool fits = feature.count == field.shape.size() && feature.integers.size() == feature.count;
    for (std::size_t axis = 0; fits && axis < feature.count; ++axis) {
      const auto side = static_cast<std::uint64_t>(feature.integers[axis]);
      fits = feature.integers[axis] >= 0 &&
             (field.shape[axis] == kFreeSide || field.shape[axis] == side);
      if (fits) sides_of(planned.field)[axis] = side;
    }
    if (fits) return;
    report_feature(planned, feature, "the wrong shape",
                   signed_shape_text(feature.integers, feature.count), shape_text(field.shape));
  }

  // The bytes must be those of the shape; of one axis, a number of elements.
  bool check_ragged(const PlannedFeature& planned, const ParsedFeature& feature,
                    const FieldPlace& place) {
    const Field& field = schema_.fields[planned.field];
    const std::span<std::uint64_t> sides = sides_of(planned.field);
    if (sides.size() == 1) {
      sides[0] = place.length / field.dtype.item_bytes();
      if (place.length % field.dtype.item_bytes() == 0 && is_contiguous_if_floats(feature))
        return true;
      report_feature(planned, feature, "a value of the wrong size",
                     fmt::format("{} bytes", place.length),
                     fmt::format("a multiple of {}", field.dtype.item_bytes()));
      return false;
    }
    if (field.takes_tensor(sides, place.length) && is_contiguous_if_floats(feature)) return true;
    report_feature(planned, feature, "a value of the wrong size",
                   fmt::format("{} bytes", place.length),
                   fmt::format("the shape {}", shape_text(sides)));
    return false;
  }

  static bool is_contiguous_if_floats(const ParsedFeature& feature) {
    return feature.type != ParsedFeature::Type::floats || is_contiguous(feature);
  }

  bool check_type(const PlannedFeature& planned, const ParsedFeature& feature) {
    const bool is_integer =
        planned.role == Role::value && schema_.fields[planned.field].kind == Kind::integer;
    const bool is_floats =
        planned.role == Role::value && is_of_floats(schema_.fields[planned.field]);
    const auto expected = is_integer || planned.role == Role::shape ? ParsedFeature::Type::integers
                          : is_floats                               ? ParsedFeature::Type::floats
                                                                    : ParsedFeature::Type::bytes;
    // Sets of shale 0.2.0 have the 8 bytes of a double.
    const bool is_older = is_floats && schema_.fields[planned.field].kind == Kind::real &&
                          feature.type == ParsedFeature::Type::bytes;
    if (feature.type != expected && !is_older) {
      report_feature(planned, feature, "the wrong type of list",
                     std::string(list_name_of(feature.type)), std::string(list_name_of(expected)));
      return false;
    }
    const bool has_any_count = is_list(planned) || planned.role == Role::shape ||
                               feature.type == ParsedFeature::Type::floats;
    if (!has_any_count && feature.count != 1) {
      report_feature(planned, feature, "the wrong number of values", fmt::to_string(feature.count),
                     "1");
      return false;
    }
    return true;
  }

  // The length of the only element.
  bool check_bytes(const PlannedFeature& planned, const ParsedFeature& feature, std::uint64_t least,
                   std::uint64_t most) {
    if (feature.first_length >= least && feature.first_length <= most) return true;
    report_feature(planned, feature, "a value of the wrong size",
                   fmt::format("{} bytes", feature.first_length),
                   fmt::format("{}{}", most, least < most ? " or less" : ""));
    return false;
  }

  void check_dtype(const PlannedFeature& planned, const ParsedFeature& feature) {
    const std::uint64_t shown = std::min(feature.first_length, kMaxDTypeBytes);
    const std::string_view found = as_text(view_(feature.first_offset, shown));
    const std::string& expected = schema_.fields[planned.field].dtype.descr();
    if (shown == feature.first_length && found == expected) return;
    report_feature(planned, feature, "the wrong dtype", std::string(found), expected);
  }

  void check_shape(const PlannedFeature& planned, const ParsedFeature& feature) {
    const std::vector<std::uint64_t>& shape = schema_.fields[planned.field].shape;
    const std::vector<std::int64_t> expected(shape.begin(), shape.end());
    if (feature.count == expected.size() && feature.integers == expected) return;
    report_feature(planned, feature, "the wrong shape",
                   signed_shape_text(feature.integers, feature.count),
                   signed_shape_text(expected, expected.size()));
  }

  void report_feature(const PlannedFeature& planned, const ParsedFeature& feature,
                      std::string_view fact, std::string found, std::string expected) {
    draft_.begin(fmt::format("feature '{}' holds {}", planned.name, fact), feature.list_offset)
        .field = field_name(planned);
    draft_.send(std::move(found), std::move(expected));
  }

  std::vector<PlannedFeature> plan_;
  bool has_optional_;
  std::vector<std::size_t> first_side_;  // per field
  bool is_in_memory_;                    // views cost nothing: somebody reads all of the file
  std::uint64_t most_at_once_;           // bytes of a frame that are viewed as a whole

  // Of the frame at hand; kept here so that their memory is.
  std::vector<ParsedFeature> parsed_;
  std::vector<const PlannedFeature*> targets_;  // one a parsed feature
  std::vector<FieldPlace> places_;              // one a parsed feature; length 0 where it has none
  std::vector<bool> is_present_;                // per field, if one is optional
};

}  // namespace

void scan_record_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                       const FindingSink& findings) {
  if (input.layout.dialect != Dialect::own) return scan_foreign_record(input, rows, findings);
  const ScanRows all = all_frames();
  (void)RecordScanner(input, all, rows, findings).scan(all);
}

SplitScan split_record_scan(const ShardInput& input) {
  return {.samples = input.samples,
          .scan =
              [](const ShardInput& shard, const ScanRows& part, const RowSink& rows) {
                bool is_sound = true;
                const FindingSink note = [&](const Finding&) { is_sound = false; };
                return RecordScanner(shard, part, rows, note).scan(part) == part.end && is_sound;
              },
          .is_complete = [] { return true; }};
}

std::vector<FieldPlace> walk_record_list(const ViewBytes& view, const FieldPlace& list) {
  constexpr std::uint64_t kMostHeaderBytes = 20;  // two varints
  const std::uint64_t end = list.offset + list.length;
  std::vector<FieldPlace> elements;
  std::uint64_t found = 0;
  for (std::uint64_t at = list.offset; at < end; ++found) {
    const Bytes header = view(at, std::min(kMostHeaderBytes, end - at));
    ByteReader in(header);
    const std::uint64_t tag = in.read_varint();  // other writers' tags may be longer than need be
    if (tag != 0x0a)
      throw Error(Code::damaged, "list element begins with {:#04x}, expected 0x0a", tag);
    const std::uint64_t length = in.read_varint();
    at += header.size() - in.remaining();
    if (length > end - at)
      throw Error(Code::damaged, "list element of {} bytes, {} are left", length, end - at);
    if (found < list.count) elements.push_back({.offset = at, .length = length});
    at += length;
  }
  if (found != list.count) throw wrong_element_count(found, list.count);
  return elements;
}

std::vector<Bytes> split_record_list(Bytes extent, std::uint32_t count) {
  const ViewBytes view = [extent](std::uint64_t offset, std::uint64_t length) {
    return extent.subspan(offset, length);
  };
  std::vector<Bytes> elements;
  for (const FieldPlace& place :
       walk_record_list(view, {.offset = 0, .length = extent.size(), .count = count}))
    elements.push_back(extent.subspan(place.offset, place.length));
  return elements;
}

}  // namespace shale
