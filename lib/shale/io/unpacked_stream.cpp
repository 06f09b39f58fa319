#include "shale/io/unpacked_stream.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/size_text.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPackedBytes = 256 * 1024, kPassedAtOnce = 64 * 1024;

}  // namespace

UnpackedStream::UnpackedStream(std::unique_ptr<InputStream> stream, Packing packing,
                               std::uint64_t most_window)
    : stream_(std::move(stream)), packing_(packing), decoder_(packing, most_window) {}

std::uint64_t UnpackedStream::read(std::span<std::byte> into) {
  std::uint64_t done = std::min<std::uint64_t>(into.size(), held_.size());
  std::copy_n(held_.begin(), done, into.begin());
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(done));
  done += unpack(into.subspan(done));
  hasher_.update(Bytes(into).first(done));
  position_ += done;
  return done;
}

Bytes UnpackedStream::peek(std::uint64_t bytes) {
  const std::uint64_t before = held_.size();
  if (before < bytes) {
    held_.resize(bytes);
    held_.resize(before + unpack(std::span(held_).subspan(before)));
  }
  return Bytes(held_).first(std::min<std::uint64_t>(bytes, held_.size()));
}

bool UnpackedStream::skip_to(std::uint64_t position) {
  if (position_ < position && passed_.empty()) passed_.resize(kPassedAtOnce);
  while (position_ < position) {
    const std::uint64_t wanted = std::min<std::uint64_t>(passed_.size(), position - position_);
    if (read(std::span(passed_).first(wanted)) < wanted) return false;
  }
  return true;
}

std::uint64_t UnpackedStream::unpack(std::span<std::byte> into) {
  if (packing_ == Packing::none) {
    std::uint64_t done = 0;
    while (done < into.size()) {
      const std::uint64_t got = stream_->read(into.subspan(done));
      if (got == 0) break;
      done += got;
    }
    return done;
  }
  if (packed_.empty()) packed_.resize(kPackedBytes);
  std::uint64_t done = 0;
  try {
    while (done < into.size()) {
      if (begin_ == end_ && !has_ended_) {
        begin_ = 0;
        end_ = stream_->read(packed_);
        has_ended_ = end_ == 0;
      }
      const Decoder::Progress progress =
          decoder_.decode(Bytes(packed_).subspan(begin_, end_ - begin_), into.subspan(done));
      begin_ += progress.taken;
      done += progress.given;
      if (progress.given > 0 || progress.taken > 0 || !has_ended_) continue;
      if (!decoder_.may_end()) throw ends_early();
      break;
    }
  } catch (Error& error) {
    before_damage_ = done;
    // What is wrong lies in the piece behind this byte.
    if (error.file().empty())
      error.at(name(), stream_->position() - (end_ - begin_))
          .because(fmt::format("behind {} decompressed",
                               format_counted(position_ + held_.size() + done, "byte", "bytes")));
    throw;
  }
  return done;
}

Error UnpackedStream::ends_early() const {
  return Error(Code::damaged, "{} data end in the middle", name_of(packing_))
      .hint(
          "the stream was cut off, or the file truncated in a copy: make sure that what writes it "
          "succeeds, compare its size with that of the original, then run the same command again");
}

}  // namespace shale
