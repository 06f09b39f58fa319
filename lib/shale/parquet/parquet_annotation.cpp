#include "shale/parquet/parquet_annotation.hpp"

#include "shale/parquet/thrift_reader.hpp"

namespace shale {
namespace {

ParquetUnit read_unit(ThriftReader& in, const ThriftField& of) {
  ParquetUnit unit = ParquetUnit::milliseconds;
  in.read_struct(of, "a unit of time", [&](const ThriftField& field) {
    if (field.id == 2) unit = ParquetUnit::microseconds;
    if (field.id == 3) unit = ParquetUnit::nanoseconds;
    return false;
  });
  return unit;
}

ParquetMeaning meaning_of_logical(std::int32_t id) {
  switch (id) {
    case 1:
      return ParquetMeaning::string;
    case 2:
      return ParquetMeaning::map;
    case 3:
      return ParquetMeaning::list;
    case 4:
      return ParquetMeaning::enumeration;
    case 5:
      return ParquetMeaning::decimal;
    case 6:
      return ParquetMeaning::date;
    case 7:
      return ParquetMeaning::time;
    case 8:
      return ParquetMeaning::timestamp;
    case 10:
      return ParquetMeaning::integer;
    case 11:
      return ParquetMeaning::null;
    case 12:
      return ParquetMeaning::json;
    case 13:
      return ParquetMeaning::bson;
    case 14:
      return ParquetMeaning::uuid;
    case 15:
      return ParquetMeaning::float16;
    default:
      return ParquetMeaning::other;
  }
}

}  // namespace

ParquetAnnotation read_logical_type(ThriftReader& in, const ThriftField& of) {
  ParquetAnnotation read;
  in.read_struct(of, "a logical type", [&](const ThriftField& kind) {
    read.meaning = meaning_of_logical(kind.id);
    in.read_struct(kind, "a logical type", [&](const ThriftField& field) {
      switch (read.meaning) {
        case ParquetMeaning::decimal:
          if (field.id == 1) return read.scale = in.read_i32(field), true;
          if (field.id == 2) return read.precision = in.read_i32(field), true;
          return false;
        case ParquetMeaning::time:
        case ParquetMeaning::timestamp:
          if (field.id == 1) return read.is_utc = in.read_bool(field), true;
          if (field.id == 2) return read.unit = read_unit(in, field), true;
          return false;
        case ParquetMeaning::integer:
          if (field.id == 1) return read.bits = in.read_i8(field), true;
          if (field.id == 2) return read.is_signed = in.read_bool(field), true;
          return false;
        default:
          return false;
      }
    });
    return true;
  });
  return read;
}

ParquetAnnotation annotation_of(const ConvertedType& converted) {
  using Meaning = ParquetMeaning;
  using Unit = ParquetUnit;
  if (!converted.number) return {};
  const std::uint8_t number = *converted.number;
  if (number >= 11 && number <= 18)
    return {.meaning = Meaning::integer,
            .bits = static_cast<std::uint8_t>(8U << ((number - 11U) & 3U)),
            .is_signed = number >= 15};
  switch (number) {
    case 0:
      return {.meaning = Meaning::string};
    case 1:
    case 2:
      return {.meaning = Meaning::map};
    case 3:
      return {.meaning = Meaning::list};
    case 4:
      return {.meaning = Meaning::enumeration};
    case 5:
      return {
          .meaning = Meaning::decimal, .scale = converted.scale, .precision = converted.precision};
    case 6:
      return {.meaning = Meaning::date};
    case 7:
    case 8:
      return {.meaning = Meaning::time,
              .unit = number == 7 ? Unit::milliseconds : Unit::microseconds,
              .is_utc = true};
    case 9:
    case 10:
      return {.meaning = Meaning::timestamp,
              .unit = number == 9 ? Unit::milliseconds : Unit::microseconds,
              .is_utc = true};
    case 19:
      return {.meaning = Meaning::json};
    case 20:
      return {.meaning = Meaning::bson};
    case 21:
      return {.meaning = Meaning::interval};
    default:
      return {.meaning = Meaning::other};
  }
}

std::optional<std::uint8_t> converted_type_of(const ParquetAnnotation& annotation) {
  constexpr std::uint8_t kLastConverted = 21;
  for (std::uint8_t number = 0; number <= kLastConverted; ++number) {
    ParquetAnnotation other = annotation_of({number, annotation.scale, annotation.precision});
    if (other.meaning == ParquetMeaning::time || other.meaning == ParquetMeaning::timestamp)
      other.is_utc = annotation.is_utc;
    if (other == annotation && other.meaning != ParquetMeaning::other) return number;
  }
  return std::nullopt;
}

}  // namespace shale
