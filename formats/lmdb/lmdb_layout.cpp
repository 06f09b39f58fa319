#include "formats/lmdb/lmdb_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/wire/msgpack_cursor.hpp"
#include "shale/wire/protobuf_cursor.hpp"

#include "formats/lmdb/lmdb_packed.hpp"
#include "formats/lmdb/lmdb_pickled.hpp"

namespace shale::lmdb {
namespace {

using LayoutFields = std::vector<LayoutField>;

LayoutField located(std::string_view name, Kind kind, const FieldPlace& place) {
  LayoutField field{.field = {.name = std::string(name), .kind = kind}, .cell = {}};
  field.cell.place = place;
  return field;
}

LayoutField numbered(std::string_view name, std::int64_t number) {
  LayoutField field{.field = {.name = std::string(name), .kind = Kind::integer}, .cell = {}};
  field.cell.integer = number;
  return field;
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
  LayoutField list = located("frames", Kind::list,
                             {.offset = frames.begin,
                              .length = walk.at() - frames.begin,
                              .count = static_cast<std::uint32_t>(frames.length)});
  list.elements = std::move(elements);
  return {std::move(list), numbered("label", 0)};
}

LayoutFields parse_lyken(const StoredValue& value) {
  MsgpackWalk walk(value);
  (void)walk.array_of(2, "an array of an image and a label");
  walk.map_of_data();
  const FieldPlace image = place_of(walk.run());
  const std::int64_t label = walk.integer();
  walk.finish();
  return {located("image", Kind::bytes, image), numbered("label", label)};
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
    LayoutField image = located("image", Kind::bytes, data_);
    if (numbers_[kEncoded] == 0) add_shape(image.field);
    return {std::move(image), numbered("label", numbers_[kLabel])};
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
  return {located("image", Kind::bytes, {.offset = value.begin, .length = value.length})};
}

template <PickledForm kForm>
LayoutFields parse_pickled(const StoredValue& value) {
  return parse_pickled_value(kForm, value);
}

LayoutFields parse_tensorpack(const StoredValue& value) {
  const bool is_packed = looks_packed(value.view, value.begin, value.length);
  return is_packed ? parse_packed_value(value) : parse_pickled<PickledForm::list>(value);
}

constexpr std::string_view kOfCoclr[] = {"__keys__", "__len__", "__order__", "__vlen__"};
constexpr std::string_view kOfKeys[] = {"__keys__"};
constexpr std::string_view kOfXunge[] = {"__keys__", "__len__"};
constexpr LayoutFacts kLayouts[] = {
    {.dialect = Dialect::coclr, .described_by = kOfCoclr, .parse = parse_video},
    {.dialect = Dialect::lyken_old, .described_by = kOfKeys, .parse = parse_lyken},
    {.dialect = Dialect::caffe, .described_by = {}, .parse = parse_caffe},
    {.dialect = Dialect::xunge,
     .described_by = kOfXunge,
     .parse = parse_pickled<PickledForm::pair>,
     .has_pickled_list = true},
    {.dialect = Dialect::thecml,
     .described_by = kOfXunge,
     .parse = parse_pickled<PickledForm::batch>,
     .has_pickled_list = true},
    {.dialect = Dialect::tensorpack,
     .described_by = kOfKeys,
     .parse = parse_tensorpack,
     .has_pickled_list = true,
     .may_be_packed = true},
    {.dialect = Dialect::pickle,
     .described_by = {},
     .parse = parse_pickled<PickledForm::list_or_dict>,
     .is_recognized = false},
    {.dialect = Dialect::lsun, .described_by = {}, .parse = parse_image}};

}  // namespace

Error not_of_layout(Dialect layout, std::string_view fact) {
  return Error(Code::unsupported, "not of layout {}: {}", name_of(layout), fact);
}

std::span<const LayoutFacts> all_layouts() { return kLayouts; }

const LayoutFacts& facts_of(Dialect layout) {
  const auto* const found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts),
                   [&](const LayoutFacts& facts) { return facts.dialect == layout; });
  if (found == std::end(kLayouts))
    throw Error(Code::unsupported, "an LMDB file has no layout '{}'", name_of(layout));
  return *found;
}

}  // namespace shale::lmdb
