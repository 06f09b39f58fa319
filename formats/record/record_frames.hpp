#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/base/finding.hpp"
#include "shale/base/inflate.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"

// TFRecord frame (little-endian), repeated to the end of the file:
//   +0            u64  length of the payload
//   +8            u32  masked crc32c of the 8 length bytes
//   +12           ...  payload
//   +12 + length  u32  masked crc32c of the payload
// No trailer: truncation between frames is invisible here; the manifest's byte count reveals it.
// Source: tensorflow/core/lib/io/record_writer.h.

namespace shale {

inline constexpr std::uint64_t kFrameHeaderBytes = 12, kFrameTrailerBytes = 4;
inline constexpr std::uint64_t kFrameBytes = kFrameHeaderBytes + kFrameTrailerBytes;

/// TensorFlow's disguise of a crc32c, so that a checksum of data with checksums in it stays strong.
[[nodiscard]] constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// The 12 bytes in front of a payload.
[[nodiscard]] std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint64_t payload_bytes);

/// What the 12 bytes in front of a payload say. The length means nothing unless it is trusted.
struct FrameHeader {
  std::uint64_t payload_bytes = 0;
  std::uint32_t stored_crc = 0, expected_crc = 0;  ///< of the length, both masked
  [[nodiscard]] bool is_trusted() const { return stored_crc == expected_crc; }
};
[[nodiscard]] FrameHeader read_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes);

/// Whether all bytes of a file are gzip's of no bytes: no record is in it.
[[nodiscard]] bool is_gzip_of_nothing(Bytes file);

/// What the frames of a file were compressed with, from the beginning of the file; nullopt if they
/// were not, or if there are no frames.
[[nodiscard]] std::optional<Compression> compression_of_frames(Bytes head);

/// Windows of scans: payload is read in runs of the one; without payload, small windows skip
/// between the headers.
inline constexpr std::uint64_t kPayloadWindow = 256 * 1024, kStructureWindow = 32 * 1024;

/// One frame, all of it inside the file.
struct RecordFrame {
  std::uint64_t begin = 0, payload_bytes = 0;
  [[nodiscard]] std::uint64_t payload_begin() const { return begin + kFrameHeaderBytes; }
  [[nodiscard]] std::uint64_t bytes() const { return kFrameBytes + payload_bytes; }
  [[nodiscard]] std::uint64_t end() const { return begin + bytes(); }
};

/// Goes from frame to frame. Reads their headers only.
class FrameWalk {
 public:
  /// All are borrowed. The pace steps at each frame. The frames that begin in [begin, end), the
  /// first of them at `begin`. `lost`, of the whole file, is passed over; null: nothing is.
  FrameWalk(const InputFile& file, const ViewBytes& view, WalkPace& pace, std::uint64_t begin = 0,
            std::uint64_t end = kMissing, const LostRanges* lost = nullptr)
      : file_(file),
        view_(view),
        pace_(pace),
        position_(begin),
        end_(std::min(end, file.size())),
        lost_(lost) {}

  /// Nullopt at the end, and where a length cannot be trusted: nothing marks where the
  /// frame behind it begins. Errors: Code::io.
  [[nodiscard]] std::optional<RecordFrame> next();
  /// Why it ended before the end of the file: message, place and both numbers.
  [[nodiscard]] const std::optional<Finding>& damage() const { return damage_; }
  /// Where the frame begins that next() would give.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  const InputFile& file_;
  const ViewBytes& view_;
  WalkPace& pace_;
  std::uint64_t position_, end_;
  const LostRanges* lost_;
  std::size_t next_lost_ = 0;
  std::optional<Finding> damage_;
};

/// What is lost of a damaged file: frames without their checksum, and all bytes between a length
/// that cannot be trusted and the next frame that is whole. Reads everything. Errors: Code::io.
/// `cut`: why the file ends before all was in it, which is a range of its own.
[[nodiscard]] LostRanges find_lost_frames(const InputFile& file, const WalkProgress& progress,
                                          const std::optional<std::string>& cut = std::nullopt);
/// Errors: Code::damaged if there is nothing else in the file.
void refuse_all_lost(const InputFile& file, const LostRanges& lost);

/// Reads a payload and fills the checksums of places in it, which ascend and do not overlap. A
/// finding (message, place, both numbers) if the payload does not have its checksum. The pace steps
/// at each read. Errors: Code::io.
[[nodiscard]] std::optional<Finding> check_payload(const ViewBytes& view, const RecordFrame& frame,
                                                   std::span<FieldPlace> places, WalkPace& pace);

[[nodiscard]] inline ScanRows all_frames() { return {.begin = {}, .end = {kMissing, kMissing}}; }

/// What a scan goes from frame to frame with: one row each.
class FrameScanner {
 public:
  FrameScanner(const ShardInput& input, const ScanRows& part, const RowSink& rows,
               const FindingSink& findings)
      : file_(input.files[0]),
        schema_(input.schema),
        reads_payload_(input.reads_payload),
        draft_(file_, findings),
        pace_(input.progress, file_.size()),
        window_(file_, reads_payload_ ? kPayloadWindow : kStructureWindow),
        view_(part.view ? part.view : window_.views()),
        lost_(input.lost),
        rows_(rows),
        row_number_(part.begin.row) {}

 protected:
  /// `fill` fills row_ from a frame. Returns how far it got: to the first frame that begins at or
  /// behind the end of the part.
  template <class Fill>
  ScanPoint scan_frames(const ScanRows& part, const Fill& fill) {
    FrameWalk frames(file_, view_, pace_, part.begin.offset, part.end.offset, lost_);
    while (const std::optional<RecordFrame> frame = frames.next()) {
      draft_.at_row(row_number_);
      row_ = {};
      row_.cells.resize(schema_.fields.size());
      row_.sides.resize(ragged_axes_);
      fill(*frame);
      rows_(row_);
      ++row_number_;
    }
    draft_.at_row(row_number_);
    if (frames.damage()) draft_.pass_on(*frames.damage());
    return {row_number_, frames.position()};
  }

  const InputFile& file_;
  const Schema& schema_;
  bool reads_payload_;
  FindingDraft draft_;
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_;
  std::size_t ragged_axes_ = schema_.ragged_axes();
  IndexRow row_;  // of the frame at hand

 private:
  const LostRanges* lost_;
  const RowSink& rows_;
  std::uint64_t row_number_;
};

}  // namespace shale
