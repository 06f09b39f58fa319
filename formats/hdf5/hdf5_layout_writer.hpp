#pragma once

#include <memory>
#include <string_view>

#include "shale/format/format.hpp"

// Files of the conventions that training code reads with h5py: what Format::encode and
// Format::create_shard do where the option "layout" names one. FORMAT.md, "layouts".

namespace shale {

/// The value of the option for shale's own datasets.
inline constexpr std::string_view kFlatLayout = "flat";

/// One part for the image and one for the label, in one file. Errors: Code::usage for a layout that
/// is not written; Code::unsupported for a schema other than bytes and an integer.
[[nodiscard]] ShardLayout image_file_layout(std::string_view layout, const Schema& schema);
/// The parts as they are in the sample; payload is borrowed.
[[nodiscard]] Record encode_image_and_label(const Sample& sample, const Schema& schema);
/// Writes the datasets `images` and `labels`: of vlen the images as they are, each in the global
/// heap; of fixed their RGB pixels. Calls no library but to decode. The file has no index: the
/// places that append() returns are all 0. Memory: ColumnSpill, and one image with its pixels.
/// append(): Code::limit for an image of 4 GiB and more (vlen); of fixed, naming the sample,
/// Code::unsupported for what is not a JPEG and for the first image of another size, and
/// Code::bad_content for one that cannot be decoded.
[[nodiscard]] std::unique_ptr<ShardWriter> create_image_file(std::string_view layout,
                                                             OutputFile& file);

}  // namespace shale
