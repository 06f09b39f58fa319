#include "shale/io/extent_store.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>

#include "shale/base/error.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {
namespace {

constexpr std::uint32_t kMostWrites = 64;
// The file grows by a part of itself: a direct write that makes a file longer is waited for by the
// kernel (ext4), and blocks that are taken one by one lie apart.
constexpr std::uint32_t kLeastGrowth = 16, kMostGrowth = 64;  // extents

}  // namespace

ExtentStore::ExtentStore(const std::string& folder, std::uint64_t extent_bytes,
                         std::uint32_t buffers, std::uint64_t expected_bytes)
    : extent_bytes_(extent_bytes),
      expected_bytes_(expected_bytes),
      file_(folder),
      is_direct_(file_.set_direct(true)),
      writes_(buffers),
      background_(std::min(buffers, kMostWrites)) {
  if (extent_bytes == 0 || extent_bytes % kDirectAlignment != 0)
    throw Error(Code::bug, "extents of {} bytes", extent_bytes).at(file_.path());
  buffers_ = memory_.require(std::max<std::uint64_t>(buffers, 1) * extent_bytes);
  for (std::uint32_t buffer = buffers; buffer > 0; --buffer) free_buffers_.push_back(buffer - 1);
}

std::uint64_t ExtentStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return extents_ * extent_bytes_;
}

std::uint32_t ExtentStore::take_buffer() {
  if (free_buffers_.empty()) {
    if (under_way_ == 0) throw Error(Code::bug, "all {} extents are being filled", writes_.size());
    wait_for_one();
  }
  const std::uint32_t buffer = free_buffers_.back();
  free_buffers_.pop_back();
  return buffer;
}

std::uint32_t ExtentStore::free_extent() {
  const std::lock_guard lock(mutex_);
  if (!free_extents_.empty()) {
    const std::uint32_t extent = free_extents_.back();
    free_extents_.pop_back();
    return extent;
  }
  if (extents_ == reserved_) {
    const std::uint64_t ahead = std::clamp(reserved_ / 4, kLeastGrowth, kMostGrowth);
    const std::uint64_t begin = reserved_ * extent_bytes_;
    const std::uint64_t most = std::max(expected_bytes_, begin + extent_bytes_) - begin;
    const std::uint64_t more = std::min(ahead, most / extent_bytes_);
    // Whether there is room for all of it is for the writes to say.
    (void)::fallocate(file_.descriptor(), 0, static_cast<off_t>(begin),
                      static_cast<off_t>(more * extent_bytes_));
    reserved_ += static_cast<std::uint32_t>(more);
  }
  return extents_++;
}

std::uint32_t ExtentStore::write(std::uint32_t buffer, std::uint64_t begin, std::uint64_t end) {
  if (under_way_ == kMostWrites) wait_for_one();
  const std::uint32_t extent = free_extent();
  const Bytes bytes = this->buffer(buffer).subspan(begin, end - begin);
  const std::uint64_t offset = extent * extent_bytes_ + begin;
  writes_[buffer] = {offset, bytes};
  if (background_.submit(buffer, file_.descriptor(), bytes, offset)) {
    ++under_way_;
  } else {
    write_now(bytes, offset);
    free_buffers_.push_back(buffer);
  }
  return extent;
}

void ExtentStore::wait_for_one() {
  const BackgroundWriter::Outcome outcome = background_.wait();
  --under_way_;
  const Write& write = writes_[outcome.slot];
  const auto written = static_cast<std::uint64_t>(std::max<std::int64_t>(outcome.result, 0));
  // Tried once more, plainly: it may have been cancelled (the thread that began it has ended).
  if (written < write.bytes.size()) {
    const std::uint64_t done = aligned_down(written);
    if (is_hiccup(outcome.error())) count_retry(file_.path(), outcome.error());
    write_now(write.bytes.subspan(done), write.offset + done);
  }
  free_buffers_.push_back(outcome.slot);
}

void ExtentStore::write_now(Bytes bytes, std::uint64_t offset) {
  WriteOutcome outcome = try_write(file_.descriptor(), bytes, offset);
  if (outcome.error == EINVAL && is_direct_) {
    is_direct_ = false;
    (void)file_.set_direct(false);
    const WriteOutcome rest =
        try_write(file_.descriptor(), bytes.subspan(outcome.bytes), offset + outcome.bytes);
    outcome = {outcome.bytes + rest.bytes, rest.error};
  }
  if (outcome.error == 0) return;
  throw write_error(file_.descriptor(), file_.path(), offset + outcome.bytes,
                    bytes.size() - outcome.bytes, outcome.error);
}

void ExtentStore::settle() {
  while (under_way_ > 0) wait_for_one();
}

void ExtentStore::drop_buffers() {
  buffers_ = {};
  memory_ = AlignedBuffer();
  free_buffers_.clear();
}

void ExtentStore::read(BatchReader& reader, std::span<const Part> parts) const {
  std::vector<ReadRequest> requests;
  requests.reserve(parts.size());
  for (const Part& part : parts) {
    requests.push_back({.descriptor = file_.descriptor(),
                        .offset = part.extent * extent_bytes_ + part.begin,
                        .into = part.into});
  }
  const std::vector<ReadResult> results = reader.read(requests);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint64_t wanted = requests[i].into.size(), got = results[i].bytes;
    if (got == wanted) continue;
    throw file_.read_error(requests[i].offset + got, wanted - got,
                           results[i].error != 0 ? results[i].error : EIO);
  }
}

void ExtentStore::give_back(std::uint32_t extent) {
  const std::lock_guard lock(mutex_);
  free_extents_.push_back(extent);
}

}  // namespace shale
