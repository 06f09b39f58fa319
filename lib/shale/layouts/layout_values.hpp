#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/data/sample.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// Where the two fields of a layout are in a schema of one or both of them.
struct ImageAndLabel {
  std::size_t image = 0, label = 0;
};
[[nodiscard]] ImageAndLabel places_in(const Schema& schema);

// Headers as msgpack has them: a number behind its tag, an array of so many, so many bytes.
[[nodiscard]] std::string msgpack_number(std::uint8_t tag, std::uint64_t number, int bytes);
[[nodiscard]] std::string msgpack_array_header(std::uint64_t count);
[[nodiscard]] std::string msgpack_bin_header(std::uint64_t bytes);

// Samples as the layouts of known programs store them in one value: a pickled pair, Caffe's Datum,
// the image alone, a msgpack list of frames. Errors: Code::limit for a label that a Datum does not
// hold; Code::schema for a key of a video without its class.
[[nodiscard]] Record encode_pickled_pair(const Sample& sample, const Schema& schema);
[[nodiscard]] Record encode_datum(const Sample& sample, const Schema& schema);
[[nodiscard]] Record encode_image(const Sample& sample, const Schema& schema);
[[nodiscard]] Record encode_video(const Sample& sample, const Schema& schema);

}  // namespace shale
