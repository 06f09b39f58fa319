#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "shale/base/bytes.hpp"

namespace shale {

/// Compresses into a raw deflate stream (RFC 1951, as zip files hold it) piece by piece, in 350 KiB
/// of memory. The same bytes give the same stream on every machine, however they are divided.
/// Computed by zlib, level 6 (isa-l's result depends on the CPU). One thread.
class Deflater {
 public:
  Deflater();
  ~Deflater();
  Deflater(Deflater&&) noexcept;
  Deflater& operator=(Deflater&&) noexcept;

  /// Hands what there is of the stream to `use`; views end when it returns.
  void deflate(Bytes piece, const std::function<void(Bytes)>& use);
  /// The end of the stream. No call after it.
  void finish(const std::function<void(Bytes)>& use);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shale
