#pragma once

#include <cstdint>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// A window over the values of a file: what is small is read once, what is large goes by in pieces.
class Hdf5Payload {
 public:
  Hdf5Payload(const InputFile& file, WalkPace& pace) : pace_(pace), window_(file, kWindow) {}

  /// Errors: Code::damaged, Code::io.
  [[nodiscard]] std::uint32_t crc_of(const FieldPlace& place);
  [[nodiscard]] bool is_text(const FieldPlace& place);
  /// Valid until the next call.
  [[nodiscard]] Bytes view(const FieldPlace& place) {
    return window_.view(place.offset, place.length);
  }

 private:
  static constexpr std::uint64_t kWindow = 256 * 1024;
  WalkPace& pace_;
  WindowReader window_;
};

}  // namespace shale
