#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/data/sample.hpp"
#include "shale/data/schema.hpp"

namespace shale::test {

/// Samples, and the memory that they point into.
struct SampleSet {
  Schema schema;
  std::vector<Sample> samples;
  std::deque<std::string> memory;

  Bytes keep(std::string text) { return as_bytes(memory.emplace_back(std::move(text))); }
};

/// A field of each of these kinds: two of bytes, and for tensors one with a side of no length too.
inline Schema schema_of(std::span<const Kind> kinds) {
  const auto has = [&](Kind kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  Schema schema;
  if (has(Kind::bytes)) schema.fields.push_back({"image", Kind::bytes, {}, {}});
  if (has(Kind::integer)) schema.fields.push_back({"label", Kind::integer, {}, {}});
  if (has(Kind::text)) schema.fields.push_back({"caption", Kind::text, {}, {}});
  if (has(Kind::real)) schema.fields.push_back({"score", Kind::real, {}, {}});
  if (has(Kind::list)) schema.fields.push_back({"frames", Kind::list, {}, {}});
  if (has(Kind::tensor)) {
    schema.fields.push_back({"depth", Kind::tensor, DType::parse("<u2"), {2, 3}});
    schema.fields.push_back({"hollow", Kind::tensor, DType::parse("<f4"), {4, 0, 2}});
  }
  if (has(Kind::bytes)) schema.fields.push_back({"mask", Kind::bytes, {}, {}});
  return schema;
}

/// The same of values of one size, as arrays have them: columns of several dtypes.
inline Schema fixed_schema_of(std::span<const Kind> kinds) {
  const Schema all{.fields = {{"flag", Kind::integer, DType::parse("|b1"), {}},
                              {"label", Kind::integer, {}, {}},
                              {"port", Kind::integer, DType::parse("<u2"), {}},
                              {"count", Kind::integer, DType::parse("<i4"), {}},
                              {"score", Kind::real, {}, {}},
                              {"weight", Kind::real, DType::parse("<f4"), {}},
                              {"depth", Kind::tensor, DType::parse("<u2"), {2, 3}},
                              {"hollow", Kind::tensor, DType::parse("<f4"), {4, 0, 2}}},
                   .has_keys = false};
  Schema schema{.fields = {}, .has_keys = false};
  for (const Field& field : all.fields) {
    if (std::find(kinds.begin(), kinds.end(), field.kind) != kinds.end())
      schema.fields.push_back(field);
  }
  return schema;
}

/// Fields whose samples differ in shape, or lack the value: of every kind.
inline Schema varied_schema() {
  const auto tensor = [](std::string name, std::string_view dtype, std::vector<std::uint64_t> shape,
                         bool is_optional = false) {
    return Field{.name = std::move(name),
                 .kind = Kind::tensor,
                 .dtype = DType::parse(dtype),
                 .shape = std::move(shape),
                 .is_optional = is_optional};
  };
  return {.fields = {{.name = "photo", .kind = Kind::bytes, .is_optional = true},
                     tensor("boxes", "<f4", {kFreeSide, 4}),
                     tensor("tokens", "<u2", {kFreeSide}),
                     {.name = "label", .kind = Kind::integer, .is_optional = true},
                     tensor("cube", "<i8", {kFreeSide, 2, kFreeSide}),
                     {.name = "meta", .kind = Kind::text, .is_json = true},
                     tensor("wave", "<f4", {kFreeSide}, true),
                     {.name = "captions", .kind = Kind::list, .elements = Kind::text},
                     {.name = "score", .kind = Kind::real, .is_optional = true},
                     {.name = "weight", .kind = Kind::real, .dtype = DType::parse("<f4")},
                     {.name = "frames", .kind = Kind::list, .is_optional = true},
                     tensor("depth", "<u2", {2, 3}, true),
                     {.name = "note", .kind = Kind::text, .is_optional = true}}};
}

/// Keys that something is odd about.
inline std::vector<std::string> odd_keys() {
  return {"plain",
          std::string("a\0b", 3),
          "two\nlines",
          "\xff\xfe\x80",
          std::string(255, 'k'),
          "",
          "\xc3\xa4/\xf0\x9f\x98\x80 .jpg",
          "-",
          "..",
          "a\tb\\\"'{",
          std::string(1, '\0'),
          "plain "};
}

/// The least and the largest integer that a column of this dtype holds.
inline std::pair<std::int64_t, std::int64_t> limits_of(const DType& dtype) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (dtype.item_bytes() == 0 || dtype.descr() == "<i8") return {Limits::min(), Limits::max()};
  if (dtype.descr() == "|b1") return {0, 1};
  const auto bits = static_cast<unsigned>(8 * dtype.item_bytes());
  if (dtype.descr()[1] == 'u') return {0, (std::int64_t{1} << bits) - 1};
  return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

/// A value that something is odd about, of a tensor of this shape. The bytes belong to `set`.
inline Value odd_value(SampleSet& set, const Field& field, std::size_t number,
                       std::span<const std::uint64_t> shape) {
  const auto of = [&](const auto& choices) { return choices[number % std::size(choices)]; };
  switch (field.kind) {
    case Kind::integer: {
      const auto [least, most] = limits_of(field.dtype);
      const std::int64_t choices[] = {0, -1, least, most, 42, -300};
      return std::clamp(of(choices), least, most);
    }
    case Kind::real: {
      using Limits = std::numeric_limits<double>;
      const double choices[] = {0.0,
                                -0.0,
                                std::bit_cast<double>(0xfff8'dead'beef'0001U),
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::denorm_min(),
                                0.1};
      // A signalling NaN, the smallest number and 0.1 as a float has them.
      const double floats[] = {0.0,
                               -0.0,
                               std::bit_cast<double>(0x7ff0'0000'2000'0000U),
                               Limits::infinity(),
                               -Limits::infinity(),
                               std::numeric_limits<float>::denorm_min(),
                               0.1F};
      return field.dtype.item_bytes() == sizeof(float) ? of(floats) : of(choices);
    }
    case Kind::text: {
      const std::string documents[] = {"{}", "[1, null, \"h\xc3\xa9\"]", " 0.5 "};
      if (field.is_json) return set.keep(of(documents));
      const std::string choices[] = {"", "h\xc3\xa9llo", "two\nlines", std::string("x\0y", 3)};
      return set.keep(of(choices));
    }
    case Kind::tensor:
      return set.keep(std::string(field.tensor_bytes(shape), static_cast<char>(number)));
    case Kind::list: {
      const std::vector<Bytes> choices[] = {
          {},
          {Bytes()},
          {set.keep("one"), Bytes(), set.keep(std::string(200, '3'))},
          {Bytes(), Bytes()},
          std::vector<Bytes>(300, set.keep("frame"))};
      return of(choices);
    }
    case Kind::bytes:
      break;
  }
  const std::string choices[] = {"", std::string(1, '\0'), "\xff\xd8 JPEG",
                                 std::string(1000, '\xff'), "x"};
  return set.keep(choices[(number + field.name.size()) % std::size(choices)]);
}

/// Adds a value that something is odd about, or none, to the sample of this number.
inline void add_odd_value(SampleSet& set, Sample& sample, const Field& field, std::size_t number) {
  const bool is_absent = field.is_optional && (number + field.name.size()) % 3 == 1;
  std::vector<std::uint64_t> shape = field.shape;
  constexpr std::uint64_t kSides[] = {3, 0, 1, 20};
  for (std::uint64_t& side : shape) {
    if (side == kFreeSide) side = kSides[number++ % std::size(kSides)];
  }
  if (is_absent) shape.assign(shape.size(), 0);
  if (field.is_ragged()) sample.sides.insert(sample.sides.end(), shape.begin(), shape.end());
  sample.values.push_back(is_absent ? Value(std::monostate())
                                    : odd_value(set, field, number, shape));
}

/// A sample for each of odd_keys(), with odd values.
inline SampleSet odd_samples(const Schema& schema) {
  SampleSet set{.schema = schema, .samples = {}, .memory = {}};
  for (const std::string& key : odd_keys()) {
    Sample& sample = set.samples.emplace_back(Sample{key, {}, {}});
    const std::size_t number = set.samples.size() - 1;
    for (const Field& field : schema.fields) add_odd_value(set, sample, field, number);
  }
  return set;
}

/// `count` ordinary samples; the values of bytes fields have up to `most_bytes`, at random. Always
/// the same.
inline SampleSet plain_samples(const Schema& schema, std::size_t count, std::size_t most_bytes) {
  SampleSet set{.schema = schema, .samples = {}, .memory = {}};
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < count; ++i) {
    Sample& sample =
        set.samples.emplace_back(Sample{"class/" + std::to_string(i) + ".jpg", {}, {}});
    for (const Field& field : schema.fields) {
      if (field.kind != Kind::bytes) {
        add_odd_value(set, sample, field, i);
        continue;
      }
      std::string value(random() % (most_bytes + 1), '\0');
      for (char& c : value) c = static_cast<char>(random());
      sample.values.emplace_back(set.keep(std::move(value)));
    }
  }
  return set;
}

}  // namespace shale::test
