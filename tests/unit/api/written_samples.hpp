#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/writer.hpp"

namespace shale::test {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A field of each kind.
inline std::vector<FieldInfo> fields_of_all_kinds() {
  return {{.name = "image", .kind = Kind::bytes},
          {.name = "caption", .kind = Kind::text},
          {.name = "label", .kind = Kind::integer},
          {.name = "weight", .kind = Kind::real},
          {.name = "x", .kind = Kind::tensor, .dtype = "<f4", .shape = {2}},
          {.name = "frames", .kind = Kind::list}};
}

/// Sample i: key "key/i", image "image i", caption "caption i", label i, weight i / 2, x (i, -i),
/// frames "" and "frame i".
inline void write_sample(Writer& writer, std::int64_t i) {
  const std::string number = std::to_string(i);
  const std::vector<std::byte> image = bytes_of("image " + number),
                               frame = bytes_of("frame " + number);
  const float x[] = {static_cast<float>(i), static_cast<float>(-i)};
  writer.write("key/" + number,
               {image, "caption " + number, i, static_cast<double>(i) / 2,
                std::as_bytes(std::span(x)), std::vector<std::span<const std::byte>>{{}, frame}});
}

/// So many of those samples, 10 in a shard.
inline WrittenSet write_samples(const std::string& output, std::int64_t samples) {
  Writer writer({.to = {.path = output, .format = "record", .shard_samples = 10},
                 .fields = fields_of_all_kinds(),
                 .classes = {"a", "b"},
                 .resources = {.jobs = 2, .memory_bytes = 16 << 20}});
  for (std::int64_t i = 0; i < samples; ++i) write_sample(writer, i);
  return writer.finish();
}

}  // namespace shale::test
