#include <algorithm>
#include <cstring>
#include <optional>

#include "shale/base/error.hpp"

#include "formats/record/record_frames.hpp"

namespace shale {
namespace {

// A frame is whole if it has both of its checksums. Behind one whose length can be trusted the next
// one begins; where it does not, bytes are missing, or were inserted. Then, and behind a length
// that cannot be trusted, each byte may be the first of the next one; or of one in the payload,
// which may be a TFRecord file itself.
class LostFrames {
 public:
  LostFrames(const InputFile& file, const WalkProgress& progress)
      : file_(file), pace_(progress, file.size()), window_(file, kPayloadWindow) {}

  LostRanges find(const std::optional<std::string>& cut) {
    for (std::uint64_t position = 0; position < file_.size();) {
      FrameWalk frames(file_, view_, pace_, position);
      const std::optional<RecordFrame> frame = frames.next();
      std::optional<Finding> damage =
          frame ? check_payload(view_, *frame, {}, pace_) : frames.damage();
      if (!damage) {
        position = frame->end();
        ++whole_;
        continue;
      }
      const std::uint64_t end = frame ? end_of_damaged(*frame) : behind_untrusted(position);
      if (are_inside(position, end)) {
        lost_.back().length = end - lost_.back().offset;
        whole_ = lost_.back().before;
        position = end;
        continue;
      }
      is_found_ = end < file_.size() && (!frame || end != frame->end());
      damage->message.resize(std::min(damage->message.find(';'), damage->message.size()));
      lost_.push_back({.offset = position,
                       .length = end - position,
                       .before = whole_,
                       .why = std::move(damage->message)});
      position = end;
    }
    if (cut && (lost_.empty() || lost_.back().offset + lost_.back().length < file_.size()))
      lost_.push_back({.offset = file_.size(), .before = whole_, .samples = 0, .why = *cut});
    return std::move(lost_);
  }

 private:
  // Whether the frames that a search has found, up to `gap`, lie in the payload of the one that was
  // lost, which reaches to `end`: its own checksum says so, or that only a checksum is in the gap.
  bool are_inside(std::uint64_t gap, std::uint64_t end) {
    if (!is_found_) return false;
    const std::uint64_t begin = lost_.back().offset;
    return end - gap == kFrameTrailerBytes ||
           !check_payload(view_, {begin, end - begin - kFrameBytes}, {}, pace_);
  }

  std::uint64_t end_of_damaged(const RecordFrame& frame) {
    if (frame.end() == file_.size() || header_at(frame.end())) return frame.end();
    return next_whole(frame.payload_begin());
  }

  // A length that reaches beyond the end, and is as it was written, is that of a truncated frame.
  std::uint64_t behind_untrusted(std::uint64_t position) {
    return header_at(position) ? file_.size() : next_whole(position + 1);
  }

  // The length there, if it is as it was written.
  std::optional<std::uint64_t> header_at(std::uint64_t position) {
    if (file_.size() - position < kFrameBytes) return std::nullopt;
    const FrameHeader header =
        read_frame_header(view_(position, kFrameHeaderBytes).first<kFrameHeaderBytes>());
    return header.is_trusted() ? std::optional(header.payload_bytes) : std::nullopt;
  }

  // Where the first whole frame from there on begins; the end of the file if there is none.
  std::uint64_t next_whole(std::uint64_t begin) {
    const std::uint64_t size = file_.size();
    while (begin < size && size - begin >= kFrameBytes) {
      pace_.step_to(begin);
      const std::uint64_t last = std::min(size - kFrameBytes, begin + kPayloadWindow / 2);
      const Bytes bytes = view_(begin, last - begin + kFrameHeaderBytes);
      std::uint64_t at = begin;
      while (at <= last && !may_begin(bytes.subspan(at - begin), at)) ++at;
      if (at <= last && is_whole(at)) return at;
      begin = std::min(at, last) + 1;
    }
    return size;
  }

  // Almost no bytes that are not a length are one of a frame inside the file.
  [[nodiscard]] bool may_begin(Bytes bytes, std::uint64_t at) const {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    return length <= file_.size() - at - kFrameBytes &&
           read_frame_header(bytes.first<kFrameHeaderBytes>()).is_trusted();
  }

  bool is_whole(std::uint64_t at) {
    FrameWalk frames(file_, view_, pace_, at);
    const std::optional<RecordFrame> frame = frames.next();
    return frame && !check_payload(view_, *frame, {}, pace_);
  }

  const InputFile& file_;
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_ = window_.views();
  std::uint64_t whole_ = 0;
  bool is_found_ = false;  // by a search: the frame behind the last range that is lost
  LostRanges lost_;
};

}  // namespace

LostRanges find_lost_frames(const InputFile& file, const WalkProgress& progress,
                            const std::optional<std::string>& cut) {
  return LostFrames(file, progress).find(cut);
}

void refuse_all_lost(const InputFile& file, const LostRanges& lost) {
  if (lost.empty() || lost[0].offset > 0 || lost[0].length < file.size()) return;
  throw Error(Code::damaged, "none of its records is whole: {}", lost[0].why)
      .at(file.path())
      .hint("restore the file from an intact copy");
}

}  // namespace shale
