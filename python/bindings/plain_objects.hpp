#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

namespace shale::python {

/// Paths and class names are raw bytes: os.fsencode on the way in, os.fsdecode on the way out.
[[nodiscard]] nanobind::object fs_text(const std::string& bytes);
[[nodiscard]] std::string raw(const nanobind::bytes& bytes);
/// A list of bytes.
[[nodiscard]] std::vector<std::string> raw_words(const nanobind::list& words);

/// The numpy.dtype that .npy headers name: "<f4", or of a structure
/// "[('x', '<f4'), ('y', '<i2', (3,))]".
[[nodiscard]] nanobind::object numpy_dtype(const std::string& descr);

}  // namespace shale::python
