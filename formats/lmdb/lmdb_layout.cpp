#include "formats/lmdb/lmdb_layout.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/wire/msgpack_cursor.hpp"

#include "formats/lmdb/lmdb_datum.hpp"
#include "formats/lmdb/lmdb_packed.hpp"
#include "formats/lmdb/lmdb_pickled.hpp"

namespace shale::lmdb {
namespace {

constexpr std::string_view kOfCoclr[] = {"__keys__", "__len__", "__order__", "__vlen__"};
constexpr std::string_view kOfKeys[] = {"__keys__"};
constexpr std::string_view kOfXunge[] = {"__keys__", "__len__"};
constexpr LayoutFacts kLayouts[] = {
    {.dialect = Dialect::coclr, .described_by = kOfCoclr},
    {.dialect = Dialect::lyken_old, .described_by = kOfKeys},
    {.dialect = Dialect::caffe, .described_by = {}},
    {.dialect = Dialect::xunge, .described_by = kOfXunge, .has_pickled_list = true},
    {.dialect = Dialect::thecml, .described_by = kOfXunge, .has_pickled_list = true},
    {.dialect = Dialect::tensorpack,
     .described_by = kOfKeys,
     .has_pickled_list = true,
     .may_be_packed = true},
    {.dialect = Dialect::pickle, .described_by = {}, .is_recognized = false},
    {.dialect = Dialect::lsun, .described_by = {}}};

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
  MsgpackWalk(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
              std::string_view where)
      : cursor_(view, begin + length, where), at_(begin), where_(where) {}

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

LayoutFields parse_video(MsgpackWalk walk) {
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

LayoutFields parse_lyken(MsgpackWalk walk) {
  (void)walk.array_of(2, "an array of an image and a label");
  walk.map_of_data();
  const FieldPlace image = place_of(walk.run());
  const std::int64_t label = walk.integer();
  walk.finish();
  return {located("image", Kind::bytes, image), numbered("label", label)};
}

LayoutFields fields_of(Datum datum) {
  LayoutField image = located("image", Kind::bytes, datum.data);
  if (!datum.shape.empty()) {
    image.field.kind = Kind::tensor;
    image.field.dtype = DType::parse("|u1");
    image.field.shape = std::move(datum.shape);
  }
  return {std::move(image), numbered("label", datum.label)};
}

// What Pillow opens as JPEG, PNG or WebP.
bool begins_like_image(std::string_view head) {
  constexpr std::string_view kJpeg = "\xff\xd8\xff", kPng = "\x89PNG\r\n\x1a\n", kRiff = "RIFF",
                             kWebp = "WEBP";
  return head.starts_with(kJpeg) || head.starts_with(kPng) ||
         (head.starts_with(kRiff) && head.ends_with(kWebp) && head.size() == 12);
}

LayoutFields parse_image(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                         std::string_view where) {
  constexpr std::uint64_t kHeadBytes = 12;
  if (!begins_like_image(as_text(view(begin, std::min(length, kHeadBytes)))))
    throw Error(Code::unsupported, "the value does not begin like a JPEG, PNG or WebP image")
        .at(where, begin);
  return {located("image", Kind::bytes, {.offset = begin, .length = length})};
}

Error unknown(Dialect dialect) {
  return Error(Code::bug, "'{}' is not the name of a layout", name_of(dialect));
}

}  // namespace

Error not_of_layout(Dialect layout, std::string_view fact) {
  return Error(Code::unsupported, "not of layout {}: {}", name_of(layout), fact);
}

std::span<const LayoutFacts> all_layouts() { return kLayouts; }

const LayoutFacts& facts_of(Dialect layout) {
  const auto* const found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts),
                   [&](const LayoutFacts& facts) { return facts.dialect == layout; });
  if (found == std::end(kLayouts)) throw unknown(layout);
  return *found;
}

std::vector<LayoutField> parse_layout_value(Dialect layout, const ViewBytes& view,
                                            std::uint64_t begin, std::uint64_t length,
                                            std::string_view where) {
  switch (layout) {
    case Dialect::coclr:
      return parse_video(MsgpackWalk(view, begin, length, where));
    case Dialect::lyken_old:
      return parse_lyken(MsgpackWalk(view, begin, length, where));
    case Dialect::caffe:
      return fields_of(parse_datum(view, begin, length, where));
    case Dialect::lsun:
      return parse_image(view, begin, length, where);
    case Dialect::tensorpack:
      if (looks_packed(view, begin, length)) return parse_packed_value(view, begin, length, where);
      return parse_pickled_value(layout, view, begin, length, where);
    case Dialect::xunge:
    case Dialect::thecml:
    case Dialect::pickle:
      return parse_pickled_value(layout, view, begin, length, where);
    default:
      throw unknown(layout);
  }
}

}  // namespace shale::lmdb
