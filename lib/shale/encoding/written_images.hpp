#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {

/// What a run notes of the images that it writes, in a scratch file: hash and key of each, so that
/// neither is read again to list duplicates. Whatever is in the way of that (no room, a fault of
/// the storage) costs the notes, never the run. Memory: 512 KiB. One thread.
class WrittenImages {
 public:
  /// The key of a sample with a longer one is not noted.
  static constexpr std::uint64_t kLongestKey = 16 * 1024;

  /// Of images in this field of the schema, from this row of the run on: those before were written
  /// by a run that this one continues. `folder` of the scratch file.
  WrittenImages(std::string folder, std::size_t field, std::uint64_t first_row);

  /// The next row. Without a hash nothing is known of it.
  void add(const std::optional<Hash128>& hash, std::string_view key);

  [[nodiscard]] std::size_t field() const { return field_; }
  struct Image {
    Hash128 hash;
    std::string key;
  };
  /// Nullopt where nothing is known of the row. Rows ascend from call to call. No add() after it.
  [[nodiscard]] std::optional<Image> image_of(std::uint64_t row);

 private:
  void give_up();
  void leave_room();
  [[nodiscard]] Bytes read(std::uint64_t bytes);

  std::string folder_;
  std::size_t field_;
  std::uint64_t first_row_, rows_ = 0;
  std::optional<ScratchFile> notes_;  // made with the first one
  bool has_given_up_ = false;
  std::uint64_t next_look_;  // at the free space: when the notes have so many bytes
  ByteWriter note_;
  // What was read of them.
  std::uint64_t rows_read_ = 0, position_ = 0, window_begin_ = 0;
  std::vector<std::byte> window_;
};

}  // namespace shale
