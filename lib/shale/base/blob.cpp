#include "shale/base/blob.hpp"

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

}  // namespace shale
