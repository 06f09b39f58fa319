#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "shale/image/rgb.hpp"

namespace shale::python {

/// Paths and class names are raw bytes: os.fsencode on the way in, os.fsdecode on the way out.
[[nodiscard]] nanobind::object fs_text(const std::string& bytes);
[[nodiscard]] std::string raw(const nanobind::bytes& bytes);
/// Keys, and messages with paths in them: what is not UTF-8 is escaped with surrogateescape.
[[nodiscard]] nanobind::object text_of_bytes(const std::string& bytes);
/// A list of bytes.
[[nodiscard]] std::vector<std::string> raw_words(const nanobind::list& words);

/// The numpy.dtype that .npy headers name: "<f4", or of a structure
/// "[('x', '<f4'), ('y', '<i2', (3,))]".
[[nodiscard]] nanobind::object numpy_dtype(const std::string& descr);

/// A bytes object, and its memory, which is to be filled before anybody else sees it.
struct FreshBytes {
  explicit FreshBytes(std::uint64_t size);
  nanobind::object object;
  std::span<std::byte> memory;
};

/// The buffer of an object, whose memory stays where it is while this is held. Null, with Python's
/// exception set, if the object has none of that kind.
struct ReleaseBuffer {
  void operator()(Py_buffer* view) const;
};
using HeldBuffer = std::unique_ptr<Py_buffer, ReleaseBuffer>;
[[nodiscard]] HeldBuffer held_buffer(nanobind::handle object, int flags);

/// "hwc" or "chw". Errors: Code::usage.
[[nodiscard]] PixelOrder pixel_order_named(const std::string& name);

}  // namespace shale::python
