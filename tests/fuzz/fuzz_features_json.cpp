#include <cstddef>
#include <cstdint>

#include "shale/base/bytes.hpp"
#include "shale/data/schema.hpp"

#include "formats/record/record_described.hpp"

// Any bytes are a features.json, or a dataset_info.json: shapes that numbers get from it have as
// many elements as they.
extern "C" int fuzz_features_json(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const auto& [name, feature] : shale::parse_features_json(shale::as_text(bytes))) {
    for (const std::uint64_t count : {0U, 1U, 12U, 4096U}) {
      const auto sides = shale::shape_of_numbers(feature.shape, count);
      std::uint64_t numbers = 1;
      for (const std::uint64_t side : sides) numbers *= side;
      if (!sides.empty() && numbers != count) __builtin_trap();
    }
  }
  (void)shale::records_in_dataset_info(shale::as_text(bytes), "x-train.tfrecord-00000-of-00001");
  return 0;
}
