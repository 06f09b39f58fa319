#include "shale/base/blob.hpp"

#include <algorithm>

#include "shale/base/error.hpp"

namespace shale {

void Blob::append_copy(Bytes bytes) {
  if (bytes.empty()) return;
  const bool extends_last = !pieces_.empty() && pieces_.back().borrowed == nullptr;
  if (extends_last) {
    pieces_.back().length += bytes.size();
  } else {
    pieces_.push_back({nullptr, own_.size(), bytes.size()});
  }
  own_.insert(own_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
}

void Blob::append_view(Bytes bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({bytes.data(), 0, bytes.size()});
  size_ += bytes.size();
}

std::vector<std::byte> Blob::flattened() const {
  std::vector<std::byte> run;
  run.reserve(size_);
  for_each_piece([&](Bytes piece) { run.insert(run.end(), piece.begin(), piece.end()); });
  return run;
}

BlobView::BlobView(const Blob& blob) {
  std::uint64_t end = 0;
  begins_.push_back(end);
  blob.for_each_piece([&](Bytes piece) {
    pieces_.push_back(piece);
    begins_.push_back(end += piece.size());
  });
}

Bytes BlobView::operator()(std::uint64_t offset, std::uint64_t length) {
  if (length > begins_.back() || offset > begins_.back() - length)
    throw Error(Code::bug, "{} bytes at {} of a blob of {}", length, offset, begins_.back());
  if (length == 0) return {};
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  auto piece = static_cast<std::size_t>(after - begins_.begin()) - 1;
  std::uint64_t inside = offset - begins_[piece];
  if (length <= pieces_[piece].size() - inside) return pieces_[piece].subspan(inside, length);
  joined_.clear();
  for (; joined_.size() < length; ++piece, inside = 0) {
    const std::uint64_t left = std::min(length - joined_.size(), pieces_[piece].size() - inside);
    const Bytes run = pieces_[piece].subspan(inside, left);
    joined_.insert(joined_.end(), run.begin(), run.end());
  }
  return joined_;
}

}  // namespace shale
