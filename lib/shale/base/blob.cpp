#include "shale/base/blob.hpp"

#include <algorithm>

#include "shale/base/error.hpp"

namespace shale {

void Blob::reserve(std::size_t pieces, std::size_t copied_bytes) {
  pieces_.reserve(pieces);
  own_.reserve(copied_bytes);
}

void Blob::append_copy(Bytes bytes) {
  if (bytes.empty()) return;
  const bool extends_last =
      !pieces_.empty() && pieces_.back().borrowed == nullptr && !pieces_.back().unread;
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

void Blob::append_unread(Unread bytes) {
  if (bytes->size() == 0) return;
  size_ += bytes->size();
  const std::uint64_t length = bytes->size();
  pieces_.push_back({nullptr, 0, length, std::move(bytes)});
}

void Blob::append(const AnyBytes& bytes) {
  if (const Unread* unread = bytes.unread()) return append_unread(*unread);
  append_view(bytes.held());
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
  blob.for_each_part([&](const AnyBytes& part) {
    pieces_.push_back(part);
    begins_.push_back(end += part.size());
  });
}

Bytes BlobView::operator()(std::uint64_t offset, std::uint64_t length) {
  if (length > begins_.back() || offset > begins_.back() - length)
    throw Error(Code::bug, "{} bytes at {} of a blob of {}", length, offset, begins_.back());
  if (length == 0) return {};
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  auto piece = static_cast<std::size_t>(after - begins_.begin()) - 1;
  std::uint64_t inside = offset - begins_[piece];
  const bool is_held = pieces_[piece].unread() == nullptr;
  if (is_held && length <= pieces_[piece].size() - inside)
    return pieces_[piece].held().subspan(inside, length);
  joined_.clear();
  for (; joined_.size() < length; ++piece, inside = 0) {
    const std::size_t begin = joined_.size();
    const std::uint64_t run = std::min(length - begin, pieces_[piece].size() - inside);
    if (const Unread* unread = pieces_[piece].unread()) {
      joined_.resize(begin + run);
      (*unread)->read(inside, std::span(joined_).subspan(begin));
    } else {
      const Bytes held = pieces_[piece].held().subspan(inside, run);
      joined_.insert(joined_.end(), held.begin(), held.end());
    }
  }
  return joined_;
}

const Unread* BlobView::unread_at(std::uint64_t offset, std::uint64_t length) const {
  const auto begin = std::lower_bound(begins_.begin(), begins_.end(), offset);
  if (begin == begins_.end() || *begin != offset) return nullptr;
  const auto piece = static_cast<std::size_t>(begin - begins_.begin());
  if (piece == pieces_.size() || pieces_[piece].size() != length) return nullptr;
  return pieces_[piece].unread();
}

}  // namespace shale
