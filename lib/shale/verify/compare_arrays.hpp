#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shale/arrays/array_file.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

// Some elements of arrays, each read by itself from the place that header, shape and strides give
// it. Nothing here is shared with ArrayRows, so that what those give can be judged by it.

namespace shale {

/// One element of a column, as little-endian bytes.
struct SampledElement {
  std::uint64_t row = 0;             ///< of the column
  std::vector<std::uint64_t> index;  ///< in that row, one per axis; empty for rows without axes
  std::uint64_t item = 0;            ///< its number in the row in C order
  std::vector<std::byte> bytes;
};

/// Elements of an array, always the same ones, in the order of rows and items: all if there are
/// `most` or fewer, else `most` of them, drawn. Fewer if they are large (at most 4 MiB, one at
/// least), and none of a deflated member in C order, which is one stream. `first_row`: of the array
/// in its column.
/// Errors: Code::damaged for a file that ends too early, and as open_member; Code::io;
/// Code::interrupted.
[[nodiscard]] std::vector<SampledElement> sample_elements(const ArrayFile& array,
                                                          std::uint64_t first_row,
                                                          std::uint64_t most, const Events& events);

/// How arrays become rows: open_array_source, unless a test reads them wrongly on purpose.
using OpenArrays = std::function<std::unique_ptr<Source>(ArrayRequest, const Events&)>;

/// The digests of all rows of arrays, which are as many columns as the dataset has fields, in its
/// order. The rows are read as `convert` reads them, so agreeing digests alone would not show that
/// both were read wrongly: therefore some elements of each array (all of a small one) are read once
/// more, each by itself from the place that its header gives it (compare_arrays.cpp), and compared
/// with the rows; findings go to `log`. Errors: Code::usage for fields that differ; same as
/// open_array_source and encode_all.
[[nodiscard]] DatasetDigest digest_of_arrays(const Manifest& ours, const VerifyRequest& request,
                                             const ArrayColumns& arrays, VerifyLog& log,
                                             const OpenArrays& open = open_array_source);

}  // namespace shale
