#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "shale/base/bytes.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/tar_reader.hpp"

namespace shale {

/// A tar archive on its way through walk_tars.
struct WalkedTar {
  const InputFile* file = nullptr;
  /// Gets each member in turn, with the block of 512 bytes that is its own header.
  std::function<void(const TarMember& member, Bytes header)> take = {};
  /// Gets all bytes of the file, in order. Null: headers are read, and what lies between them where
  /// they are close.
  std::function<void(Bytes bytes)> take_bytes = {};
  std::uint64_t end = 0;      ///< set by the walk: where the data of the last member end, padded
  bool has_end_mark = false;  ///< set by the walk
};

/// Walks several archives at once, a read of each in flight. Memory: 64 KiB for each, 1 MiB where
/// all bytes are read. Errors: those of TarReader and of the callbacks, from whichever archive
/// comes first; Code::io; Code::interrupted once `is_stopped`.
void walk_tars(std::span<WalkedTar> tars, const std::atomic<bool>& is_stopped);

}  // namespace shale
