#include "shale/layouts/value_layout.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"
#include "shale/format/key_pattern.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/layouts/pickled_value.hpp"
#include "shale/wire/msgpack_cursor.hpp"
#include "shale/wire/msgpack_map.hpp"
#include "shale/wire/protobuf_cursor.hpp"

namespace shale::layouts {
namespace {

using LayoutFields = std::vector<LayoutField>;

Error other_than_wanted(std::string_view found, std::string_view wanted, std::string_view where,
                        std::uint64_t offset) {
  return Error(Code::unsupported, "the value has {}, expected {}", found, wanted).at(where, offset);
}

Error left_over(std::uint64_t bytes, std::string_view where, std::uint64_t offset) {
  return Error(Code::unsupported, "{} bytes are left over after a msgpack value", bytes)
      .at(where, offset);
}

// The values of one msgpack value, each of a type that is asked for.
class MsgpackWalk {
 public:
  explicit MsgpackWalk(const StoredValue& value)
      : cursor_(value.view, value.begin + value.length, value.where),
        at_(value.begin),
        where_(value.where) {}

  MsgpackHeader array() {
    const MsgpackHeader header = next();
    if (header.type != MsgpackType::array) throw refused(header, "an array");
    return header;
  }
  MsgpackHeader array_of(std::uint64_t count, std::string_view what) {
    const MsgpackHeader header = array();
    if (header.length != count) throw refused(header, what);
    return header;
  }
  MsgpackHeader run() {
    const MsgpackHeader header = next();
    if (!header.is_run()) throw refused(header, "bytes");
    return header;
  }
  std::int64_t integer() {
    const MsgpackHeader header = next();
    if (header.type != MsgpackType::integer) throw refused(header, "an integer");
    return header.integer;
  }
  void map_of_data() {
    const MsgpackHeader header = next();
    if (header.type != MsgpackType::map || header.length != 1)
      throw refused(header, "a map of 'data'");
    const MsgpackHeader name = run();
    if (as_text(cursor_.peek(name.contents, std::min<std::uint64_t>(name.length, 8))) != "data")
      throw refused(header, "a map of 'data'");
  }
  void finish() const {
    if (at_ == cursor_.end()) return;
    throw left_over(cursor_.end() - at_, where_, at_);
  }
  [[nodiscard]] std::uint64_t at() const { return at_; }

 private:
  // Of a container: the values inside come next.
  MsgpackHeader next() {
    const MsgpackHeader header = cursor_.read(at_);
    at_ = header.contents + (header.is_container() ? 0 : header.length);
    return header;
  }

  [[nodiscard]] Error refused(const MsgpackHeader& found, std::string_view expected) const {
    return other_than_wanted(shale::name_of(found.type), expected, where_, found.begin);
  }

  MsgpackCursor cursor_;
  std::uint64_t at_;
  std::string_view where_;
};

FieldPlace place_of(const MsgpackHeader& run) {
  return {.offset = run.contents, .length = run.length};
}

LayoutFields parse_video(const StoredValue& value) {
  MsgpackWalk walk(value);
  const MsgpackHeader frames = walk.array();
  check_elements(frames.length);
  std::vector<FieldPlace> elements;
  for (std::uint64_t i = 0; i < frames.length; ++i) elements.push_back(place_of(walk.run()));
  walk.finish();
  LayoutField list = placed_field("frames", Kind::list,
                                  {.offset = frames.begin,
                                   .length = walk.at() - frames.begin,
                                   .count = static_cast<std::uint32_t>(frames.length)});
  list.elements = std::move(elements);
  return {std::move(list), integer_field("label", 0)};
}

LayoutFields parse_lyken(const StoredValue& value) {
  MsgpackWalk walk(value);
  (void)walk.array_of(2, "an array of an image and a label");
  walk.map_of_data();
  const FieldPlace image = place_of(walk.run());
  const std::int64_t label = walk.integer();
  walk.finish();
  return {placed_field("image", Kind::bytes, image), integer_field("label", label)};
}

// Caffe's message for one image (caffe.proto, proto2): integers are int32, `data` is bytes.
// Encoded, it is a compressed image; else it has the pixels, uint8 (C, H, W), BGR.
enum DatumField : std::uint8_t {
  kChannels = 1,
  kHeight = 2,
  kWidth = 3,
  kData = 4,
  kLabel = 5,
  kFloatData = 6,
  kEncoded = 7,
  kDatumFields = 8,
};

class DatumParser {
 public:
  explicit DatumParser(const StoredValue& value)
      : begin_(value.begin),
        end_(value.begin + value.length),
        cursor_(value.view, end_, value.where),
        where_(value.where) {}

  LayoutFields fields() {
    cursor_.for_each_field(begin_, end_, [this](const WireField& field) { take(field); });
    if (!was_met_[kData]) throw refused(begin_, "has no data");
    LayoutField image = placed_field("image", Kind::bytes, data_);
    if (numbers_[kEncoded] == 0) add_shape(image.field);
    return {std::move(image), integer_field("label", numbers_[kLabel])};
  }

 private:
  void add_shape(Field& image) const {
    image.kind = Kind::tensor;
    image.dtype = DType::parse("|u1");
    std::uint64_t left = data_.length;
    for (const DatumField side : {kChannels, kHeight, kWidth}) {
      if (numbers_[side] <= 0) throw refused(begin_, "has pixels, but not their shape");
      const auto size = static_cast<std::uint64_t>(numbers_[side]);
      image.shape.push_back(size);
      if (left % size != 0) left = 0;
      left /= size;
    }
    if (left != 1) {
      throw Error(Code::unsupported, "a Datum of {} x {} x {} has {} bytes of pixels",
                  numbers_[kChannels], numbers_[kHeight], numbers_[kWidth], data_.length)
          .at(where_, begin_);
    }
  }

  void take(const WireField& field) {
    if (field.number == 0 || field.number >= kDatumFields) {
      throw Error(Code::unsupported, "a Datum has no field {}", field.number)
          .at(where_, field.offset);
    }
    if (field.number == kFloatData) throw refused(field.offset, "has float_data");
    const bool is_data = field.number == kData;
    if (field.type != (is_data ? WireType::delimited : WireType::varint))
      throw refused(field.offset, "has a field of another type");
    if (was_met_.at(field.number)) throw refused(field.offset, "has a field twice");
    was_met_[field.number] = true;
    if (is_data) {
      data_ = {.offset = field.begin, .length = field.bytes()};
    } else {
      const std::uint64_t number = cursor_.read_varint(field.begin, field.end).value;
      // An int32: a negative one is written as 64 bits.
      numbers_[field.number] = static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
    }
  }

  [[nodiscard]] Error refused(std::uint64_t offset, std::string_view why) const {
    return Error(Code::unsupported, "a Datum {}", why).at(where_, offset);
  }

  std::uint64_t begin_, end_;
  ProtobufCursor cursor_;
  std::string_view where_;
  FieldPlace data_;
  std::array<std::int64_t, kDatumFields> numbers_ = {};
  std::array<bool, kDatumFields> was_met_ = {};
};

LayoutFields parse_caffe(const StoredValue& value) { return DatumParser(value).fields(); }

// What Pillow opens as JPEG, PNG or WebP.
bool begins_like_image(std::string_view head) {
  constexpr std::string_view kJpeg = "\xff\xd8\xff", kPng = "\x89PNG\r\n\x1a\n", kRiff = "RIFF",
                             kWebp = "WEBP";
  return head.starts_with(kJpeg) || head.starts_with(kPng) ||
         (head.starts_with(kRiff) && head.ends_with(kWebp) && head.size() == 12);
}

LayoutFields parse_image(const StoredValue& value) {
  constexpr std::uint64_t kHeadBytes = 12;
  if (!begins_like_image(as_text(value.view(value.begin, std::min(value.length, kHeadBytes)))))
    throw Error(Code::unsupported, "the value does not begin like a JPEG, PNG or WebP image")
        .at(value.where, value.begin);
  return {placed_field("image", Kind::bytes, {.offset = value.begin, .length = value.length})};
}

// Values that msgpack packed, with msgpack_numpy: tensorpack's with TENSORPACK_SERIALIZE=msgpack.
//   [field, ...]   bin, str, int, bool, float, or a map of NumPy's:
//   {"nd": true, "type": "<f4", "kind": "", "shape": [3, 4], "data": bin}   an array; "kind" since
//   0.4.2
//   {"nd": false, "type": "<f4", "data": bin}                               a number
// Names are bin, str with older writers. Source: msgpack_numpy.py, encode(), of msgpack-numpy
// 0.4.8.
class PackedValue {
 public:
  explicit PackedValue(const StoredValue& value)
      : view_(value.view),
        begin_(value.begin),
        where_(value.where),
        cursor_(value.view, value.begin + value.length, value.where) {}

  std::vector<LayoutField> components() {
    const MsgpackHeader list = cursor_.read(begin_);
    if (list.type != MsgpackType::array)
      throw refused(list.begin, shale::name_of(list.type), "a list of fields");
    if (list.length > kMostFields)
      throw refused(list.begin, fmt::format("{} fields", list.length), "at most 1024 fields");
    std::vector<LayoutField> fields;
    std::uint64_t at = list.contents;
    for (std::uint64_t i = 0; i < list.length; ++i) {
      const MsgpackHeader header = cursor_.read(at);
      at = cursor_.end_of(header, 1);
      fields.push_back(field(fmt::format("field{}", i), header, at));
    }
    if (at != cursor_.end()) throw left_over(cursor_.end() - at, where_, at);
    name_image_and_label(fields);
    return fields;
  }

 private:
  [[nodiscard]] Error refused(std::uint64_t offset, std::string_view found,
                              std::string_view expected) const {
    return other_than_wanted(found, expected, where_, offset);
  }

  [[nodiscard]] LayoutField field(const std::string& name, const MsgpackHeader& header,
                                  std::uint64_t end) const {
    using Type = MsgpackType;
    if (header.is_run()) {
      return placed_field(name, header.type == Type::text ? Kind::text : Kind::bytes,
                          {.offset = header.contents, .length = header.length});
    }
    if (header.type == Type::integer || header.type == Type::boolean)
      return integer_field(name, header.integer);
    if (header.type == Type::real) return real_field(name, header.real);
    if (header.type == Type::map) return of_numpy(name, header.begin, end);
    throw refused(header.begin, shale::name_of(header.type),
                  "bytes, a string, a number or an array");
  }

  [[nodiscard]] LayoutField of_numpy(const std::string& name, std::uint64_t begin,
                                     std::uint64_t end) const {
    const std::vector<MsgpackEntry> map = parse_msgpack_map(view_, begin, end - begin, where_);
    const MsgpackEntry* const nd = find_entry(map, "nd");
    const MsgpackEntry* const type = find_entry(map, "type");
    const MsgpackEntry* const data = find_entry(map, "data");
    const bool has_all = nd != nullptr && nd->type == MsgpackType::boolean && type != nullptr &&
                         data != nullptr && data->is_run();
    if (!has_all) throw refused(begin, "a map", "an array or a number of NumPy");
    const FieldPlace place{.offset = data->offset, .length = data->length};
    const DType dtype = dtype_of(*type);
    if (nd->integer == 0) {
      std::optional<LayoutField> number = map.size() == 3 && place.length == dtype.item_bytes()
                                              ? number_field(name, dtype, view_, place.offset)
                                              : std::nullopt;
      if (!number) throw refused(begin, "a number of NumPy", "one of up to 64 bits");
      return std::move(*number);
    }
    std::optional<LayoutField> array = array_field(name, dtype, shape_in(map, begin), place);
    if (!array) throw refused(begin, "an array of NumPy", "one of its shape's size");
    return std::move(*array);
  }

  // An array of objects, or of columns, has another kind.
  [[nodiscard]] std::vector<std::uint64_t> shape_in(const std::vector<MsgpackEntry>& map,
                                                    std::uint64_t begin) const {
    const MsgpackEntry* const kind = find_entry(map, "kind");
    const MsgpackEntry* const shape = find_entry(map, "shape");
    const bool is_plain = kind == nullptr || (kind->is_run() && kind->length == 0);
    if (!is_plain || map.size() != (kind == nullptr ? 4U : 5U))
      throw refused(begin, "an array of NumPy", "one of plain numbers");
    const bool is_shape = shape != nullptr && shape->is_array_of(bit_of(MsgpackType::integer)) &&
                          shape->integers.size() == shape->count;
    if (!is_shape) throw refused(begin, "an array of NumPy", "the sides of an array");
    std::vector<std::uint64_t> sides;
    for (const std::int64_t side : shape->integers) {
      if (side < 0)
        throw refused(shape->value_offset, "an array of NumPy", "the sides of an array");
      sides.push_back(static_cast<std::uint64_t>(side));
    }
    return sides;
  }

  [[nodiscard]] DType dtype_of(const MsgpackEntry& type) const {
    constexpr std::uint64_t kMostTypeBytes = 32;  // of a plain one
    if (type.is_run() && type.length <= kMostTypeBytes) {
      try {
        DType dtype = DType::parse(as_text(view_(type.offset, type.length)));
        if (!dtype.is_structured()) return dtype;
      } catch (const Error& error) {
        if (error.code() == Code::io) throw;
      }
    }
    throw refused(type.value_offset, "an array of NumPy", "a dtype of numbers, little-endian");
  }

  const ViewBytes& view_;
  std::uint64_t begin_;
  std::string_view where_;
  MsgpackCursor cursor_;
};

template <PickledForm kForm>
LayoutFields parse_pickled(const StoredValue& value) {
  return parse_pickled_value(kForm, value);
}

LayoutFields parse_tensorpack(const StoredValue& value) {
  const bool is_packed = looks_packed(value.view, value.begin, value.length);
  return is_packed ? PackedValue(value).components() : parse_pickled<PickledForm::list>(value);
}

constexpr std::string_view kCountKeys[] = {"num-samples", "num_samples", "nSamples", "length",
                                           "__len__"};
constexpr std::string_view kMetaKeys[] = {"__keys__", "__len__", "__order__", "__vlen__"};
constexpr std::string_view kOfCoclr[] = {"__keys__", "__len__", "__order__", "__vlen__"};
constexpr std::string_view kOfKeys[] = {"__keys__"};
constexpr std::string_view kOfXunge[] = {"__keys__", "__len__"};
constexpr LayoutFacts kLayouts[] = {
    {.dialect = Dialect::coclr,
     .described_by = kOfCoclr,
     .parse = parse_video,
     .has_videos = true,
     .has_usual_fields = true},
    {.dialect = Dialect::lyken_old,
     .described_by = kOfKeys,
     .parse = parse_lyken,
     .has_usual_fields = true},
    {.dialect = Dialect::caffe, .described_by = {}, .parse = parse_caffe},
    {.dialect = Dialect::xunge,
     .described_by = kOfXunge,
     .parse = parse_pickled<PickledForm::pair>,
     .has_pickled_list = true,
     .has_usual_fields = true},
    {.dialect = Dialect::thecml,
     .described_by = kOfXunge,
     .parse = parse_pickled<PickledForm::batch>,
     .has_pickled_list = true,
     .has_usual_fields = true},
    {.dialect = Dialect::tensorpack,
     .described_by = kOfKeys,
     .parse = parse_tensorpack,
     .has_pickled_list = true,
     .may_be_packed = true},
    {.dialect = Dialect::pickle,
     .described_by = {},
     .parse = parse_pickled<PickledForm::list_or_dict>,
     .is_by_number = true,
     .may_be_described = true},
    {.dialect = Dialect::lsun, .described_by = {}, .parse = parse_image}};

}  // namespace

bool looks_packed(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  if (length == 0) return false;
  const auto tag = std::to_integer<std::uint8_t>(view(begin, 1)[0]);
  return (tag >= 0x90 && tag <= 0x9f) || tag == 0xdc || tag == 0xdd;
}

Error not_of_layout(const LayoutFacts& layout, std::string_view fact) {
  return Error(Code::unsupported, "not of layout {}: {}", name_of(layout.dialect), fact);
}

std::span<const LayoutFacts> all_layouts() { return kLayouts; }

std::span<const std::string_view> count_keys() { return kCountKeys; }
std::span<const std::string_view> meta_keys() { return kMetaKeys; }

std::optional<std::uint64_t> count_stored_in(const StoredValue& value) {
  constexpr std::uint64_t kMostBytes = 64;
  if (value.length == 0 || value.length > kMostBytes) return std::nullopt;
  if (const auto count = count_in(as_text(value.view(value.begin, value.length)))) return count;
  const auto counted = [](std::int64_t number) {
    return number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
  };
  try {
    if (looks_pickled(value.view, value.begin, value.length))
      return counted(parse_pickled_integer(value.view, value.begin, value.length, value.where));
    MsgpackCursor cursor(value.view, value.begin + value.length, value.where);
    const MsgpackHeader header = cursor.read(value.begin);
    const bool is_count = header.type == MsgpackType::integer && header.contents == cursor.end();
    return is_count ? counted(header.integer) : std::nullopt;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;
  }
}

bool describes_file(std::string_view key, const StoredValue& value) {
  if (std::ranges::find(kMetaKeys, key) != std::end(kMetaKeys)) return true;
  return std::ranges::find(kCountKeys, key) != std::end(kCountKeys) &&
         count_stored_in(value).has_value();
}

const LayoutFacts& facts_of(Dialect layout) {
  const auto* const found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts),
                   [&](const LayoutFacts& facts) { return facts.dialect == layout; });
  if (found == std::end(kLayouts))
    throw Error(Code::unsupported, "an LMDB file has no layout '{}'", name_of(layout));
  return *found;
}

}  // namespace shale::layouts
