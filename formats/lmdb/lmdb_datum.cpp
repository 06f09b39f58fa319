#include "formats/lmdb/lmdb_datum.hpp"

#include <array>

#include "shale/base/error.hpp"
#include "shale/wire/protobuf_cursor.hpp"

namespace shale::lmdb {
namespace {

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
  DatumParser(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : cursor_(view, end, where), end_(end), where_(where) {}

  Datum parse(std::uint64_t begin) {
    cursor_.for_each_field(begin, end_, [this](const WireField& field) { take(field); });
    if (!was_met_[kData]) throw refused(begin, "has no data");
    Datum datum{.shape = {}, .data = data_, .label = numbers_[kLabel]};
    if (numbers_[kEncoded] != 0) return datum;
    std::uint64_t left = data_.length;
    for (const DatumField side : {kChannels, kHeight, kWidth}) {
      if (numbers_[side] <= 0) throw refused(begin, "has pixels, but not their shape");
      const auto size = static_cast<std::uint64_t>(numbers_[side]);
      datum.shape.push_back(size);
      if (left % size != 0) left = 0;
      left /= size;
    }
    if (left != 1) {
      throw Error(Code::unsupported, "a Datum of {} x {} x {} has {} bytes of pixels",
                  numbers_[kChannels], numbers_[kHeight], numbers_[kWidth], data_.length)
          .at(where_, begin);
    }
    return datum;
  }

 private:
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

  ProtobufCursor cursor_;
  std::uint64_t end_;
  std::string_view where_;
  FieldPlace data_;
  std::array<std::int64_t, kDatumFields> numbers_ = {};
  std::array<bool, kDatumFields> was_met_ = {};
};

}  // namespace

Datum parse_datum(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                  std::string_view where) {
  return DatumParser(view, begin + length, where).parse(begin);
}

}  // namespace shale::lmdb
