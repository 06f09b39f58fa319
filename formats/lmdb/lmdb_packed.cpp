#include "formats/lmdb/lmdb_packed.hpp"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/wire/msgpack_map.hpp"

#include "formats/lmdb/lmdb_value.hpp"

namespace shale::lmdb {
namespace {

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

  static LayoutField named(const std::string& name, Kind kind) {
    return {.field = {.name = name, .kind = kind}, .cell = {}};
  }

  [[nodiscard]] LayoutField field(const std::string& name, const MsgpackHeader& header,
                                  std::uint64_t end) const {
    using Type = MsgpackType;
    if (header.is_run()) {
      LayoutField run = named(name, header.type == Type::text ? Kind::text : Kind::bytes);
      run.cell.place = {.offset = header.contents, .length = header.length};
      return run;
    }
    if (header.type == Type::integer || header.type == Type::boolean) {
      LayoutField number = named(name, Kind::integer);
      number.cell.integer = header.integer;
      return number;
    }
    if (header.type == Type::real) {
      LayoutField number = named(name, Kind::real);
      number.cell.real = header.real;
      return number;
    }
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

}  // namespace

bool looks_packed(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  if (length == 0) return false;
  const auto tag = std::to_integer<std::uint8_t>(view(begin, 1)[0]);
  return (tag >= 0x90 && tag <= 0x9f) || tag == 0xdc || tag == 0xdd;
}

std::vector<LayoutField> parse_packed_value(const StoredValue& value) {
  return PackedValue(value).components();
}

}  // namespace shale::lmdb
