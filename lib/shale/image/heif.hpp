#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// True if libheif is installed, which decodes HEIC and AVIF. It is loaded when it is first asked
/// for: with its codecs it would cost every start of a program milliseconds. Thread-safe.
[[nodiscard]] bool has_libheif();

/// The primary image of a HEIC or AVIF file, by libheif. The bytes are borrowed, and untrusted.
/// One thread.
class HeifImage {
 public:
  /// Reads the boxes, and decodes nothing. Errors: none but std::bad_alloc, objection() says it.
  explicit HeifImage(Bytes bytes);
  ~HeifImage();
  HeifImage(const HeifImage&) = delete;
  HeifImage& operator=(const HeifImage&) = delete;

  /// What libheif does not like; empty: nothing, and there is an image.
  [[nodiscard]] const std::string& objection() const { return objection_; }

  std::uint32_t width = 0, height = 0;  ///< turned as the file says, as decode() has them
  unsigned bits = 8;                    ///< of a channel
  bool has_alpha = false;
  bool has_more_images = false;

  /// EXIF, as a TIFF structure, whose orientation decode_into() has followed, and the ICC profile;
  /// empty: there is none, or one of more than `most_bytes`.
  [[nodiscard]] std::vector<std::byte> exif(std::uint64_t most_bytes) const;
  [[nodiscard]] std::vector<std::byte> icc(std::uint64_t most_bytes) const;
  /// Rows of RGB, or RGBA if has_alpha, without gaps; two bytes a value, little-endian, if bits
  /// > 8. Errors: returns what libheif objects to; empty: none.
  [[nodiscard]] std::string decode_into(std::span<std::uint8_t> samples) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string objection_;
};

}  // namespace shale
