#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shale/io/batch_reader.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {

/// A file of its own, or what was unpacked into a scratch file.
using PieceSource = std::variant<std::shared_ptr<const InputFile>, std::shared_ptr<ScratchFile>>;

/// Bytes when it was opened, or those that were appended.
[[nodiscard]] std::uint64_t size_of(const PieceSource& source);
/// For messages; a scratch file has no name.
[[nodiscard]] std::string path_of(const PieceSource& source);

/// Fills many pieces of memory from one file, with many reads in flight. Pieces that follow one
/// another in the file and in memory are read as one. Memory: less than 64 KiB. Not thread-safe.
class PieceReader {
 public:
  explicit PieceReader(PieceSource source);

  /// `into` will be filled from `offset` when finish() returns. Errors: same as finish().
  void add(std::uint64_t offset, std::span<std::byte> into);
  /// Errors: Code::damaged if the file ends before; Code::io; both with file and offset.
  void finish();
  /// Has the kernel read a range in the background. Advice; nothing for a scratch file.
  void prefetch(std::uint64_t offset, std::uint64_t length) const;

 private:
  void read_batch();

  PieceSource source_;
  std::optional<BatchReader> batch_reader_;
  std::vector<ReadRequest> waiting_;
};

}  // namespace shale
