#include "shale/native/tar_walk.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/read_errors.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kHeaderWindowBytes = 64 << 10, kWholeWindowBytes = 1 << 20;

// One archive, and the part of it that is in memory.
class Walk {
 public:
  explicit Walk(WalkedTar& tar)
      : tar_(&tar), reader_(0, tar.file->size(), tar.file->path()), is_whole_(tar.take_bytes) {
    if (!is_whole_) tar.file->expect_random_reads();
  }

  // As far as the window goes. False at the end of the archive.
  bool advance() {
    while (reader_.wanted() > 0) {
      const std::uint64_t offset = reader_.offset(), wanted = reader_.wanted();
      if (offset < begin_ || offset + wanted > begin_ + window_.size()) return true;
      const Bytes bytes = Bytes(window_).subspan(offset - begin_, wanted);
      const std::optional<TarMember> member = reader_.take(bytes);
      usual_step_ = (usual_step_ * 3 + reader_.offset() - offset) / 4;
      if (!member) continue;
      tar_->take(*member, bytes);
      tar_->end = reader_.offset();
    }
    reader_.finish();
    tar_->has_end_mark = reader_.has_end_mark();
    return is_whole_ && begin_ + window_.size() < tar_->file->size();
  }

  // What it needs next.
  ReadRequest request() {
    const std::uint64_t offset = reader_.offset(), size = tar_->file->size();
    if (!is_whole_) {
      // Where a window would be mostly data that nobody wants, the page that the header is in.
      const std::uint64_t page = aligned_down(offset + reader_.wanted() - 1) + kDirectAlignment;
      const bool is_dense = usual_step_ < kHeaderWindowBytes / 2;
      const std::uint64_t end = is_dense ? std::max(page, offset + kHeaderWindowBytes) : page;
      begin_ = offset;
      kept_ = 0;
      window_.resize(std::min(end, size) - offset);
    } else {
      // What of the window is still wanted moves to its front.
      const std::uint64_t end = begin_ + window_.size(), begin = std::clamp(offset, begin_, end);
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(begin - begin_));
      begin_ = begin;
      kept_ = window_.size();
      window_.resize(kept_ + std::min(kWholeWindowBytes, size - end));
    }
    return {.descriptor = tar_->file->descriptor(),
            .offset = begin_ + kept_,
            .into = std::span(window_).subspan(kept_)};
  }

  void take(const ReadResult& read) {
    require_all(read, tar_->file->path(), begin_ + kept_, window_.size() - kept_);
    if (is_whole_) tar_->take_bytes(Bytes(window_).subspan(kept_));
  }

 private:
  WalkedTar* tar_;
  TarReader reader_;
  bool is_whole_;
  std::vector<std::byte> window_;
  std::uint64_t begin_ = 0;  // of the window, in the file
  std::uint64_t kept_ = 0;   // bytes at its front that were there before the last read
  std::uint64_t usual_step_ = 0;
};

}  // namespace

void walk_tars(std::span<WalkedTar> tars, const std::atomic<bool>& is_stopped) {
  std::vector<Walk> walks;
  walks.reserve(tars.size());
  for (WalkedTar& tar : tars) walks.emplace_back(tar);
  BatchReader reader({});
  while (true) {
    std::erase_if(walks, [](Walk& walk) { return !walk.advance(); });
    if (walks.empty()) return;
    if (is_stopped) throw interruption();
    std::vector<ReadRequest> requests;
    requests.reserve(walks.size());
    for (Walk& walk : walks) requests.push_back(walk.request());
    const std::vector<ReadResult> results = reader.read(requests);
    for (std::size_t i = 0; i < walks.size(); ++i) walks[i].take(results[i]);
  }
}

}  // namespace shale
