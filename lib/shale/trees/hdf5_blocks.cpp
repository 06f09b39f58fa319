#include "shale/trees/hdf5_blocks.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale {

std::uint64_t bytes_of_hdf5_sides(std::span<const std::uint64_t> sides,
                                  std::uint64_t element_bytes) {
  for (const std::uint64_t side : sides) {
    if (side != 0 && element_bytes > (~std::uint64_t{0} >> 1) / side) return ~std::uint64_t{0};
    element_bytes *= side;
  }
  return element_bytes;
}

std::optional<std::uint64_t> chunks_of_hdf5(const Hdf5Dataset& dataset, std::uint64_t most) {
  std::uint64_t chunks = 1;
  for (std::size_t i = 0; i < dataset.shape.size(); ++i) {
    const std::uint64_t along = (dataset.shape[i] - 1) / dataset.chunk[i] + 1;
    if (along > most / chunks) return std::nullopt;
    chunks *= along;
  }
  return chunks;
}

bool next_hdf5_chunk(std::span<unsigned long long> corner, const Hdf5Dataset& dataset) {
  for (std::size_t i = corner.size(); i-- > 0;) {
    corner[i] += dataset.chunk[i];
    if (corner[i] < dataset.shape[i]) return true;
    corner[i] = 0;
  }
  return false;
}

Hdf5BlockWalk::Hdf5BlockWalk(const Hdf5Dataset& dataset, std::uint64_t limit_bytes)
    : dataset_(dataset) {
  const std::vector<std::uint64_t>& shape = dataset.shape;
  const std::vector<std::uint64_t> units = dataset.storage == Hdf5Storage::chunked
                                               ? dataset.chunk
                                               : std::vector<std::uint64_t>(shape.size(), 1);
  chunk_bytes_ = bytes_of_hdf5_sides(units, std::max(dataset.element_bytes, dataset.record_bytes));
  if (chunk_bytes_ > limit_bytes) {
    throw Error(Code::limit, "dataset '{}' has chunks of {}, but the memory is only enough for {}",
                printable(dataset.name), format_size(chunk_bytes_), format_size(limit_bytes))
        .hint("pass a larger --memory: at least four times the size of a chunk");
  }
  for (std::size_t i = 0; i < shape.size(); ++i) steps_.push_back(std::min(units[i], shape[i]));
  // The last side grows first, that of the samples last: then a run of rows is as long as can be.
  std::vector<std::size_t> order;
  for (std::size_t i = shape.size(); i-- > 0;)
    if (i != dataset.axis) order.push_back(i);
  order.push_back(dataset.axis);
  for (const std::size_t i : order) {
    const std::uint64_t others = bytes_of_hdf5_sides(steps_, dataset.element_bytes) / steps_[i];
    const std::uint64_t longest = limit_bytes / others / units[i] * units[i];
    steps_[i] = std::min(shape[i], std::max(steps_[i], longest));
    if (steps_[i] < shape[i]) break;
  }
  largest_bytes_ = bytes_of_hdf5_sides(steps_, dataset.element_bytes);
  block_.origin.assign(shape.size(), 0);
  block_.sides = steps_;
}

void Hdf5BlockWalk::advance() {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if (steps_[i] < dataset_.shape[i] - block_.origin[i]) {
      block_.origin[i] += steps_[i];
      return clip();
    }
    block_.origin[i] = 0;
  }
  is_done_ = true;
}

void Hdf5BlockWalk::clip() {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    block_.sides[i] = std::min(steps_[i], dataset_.shape[i] - block_.origin[i]);
}

std::uint64_t Hdf5BlockWalk::block_bytes() const {
  return bytes_of_hdf5_sides(block_.sides, dataset_.element_bytes);
}

Hdf5RunWalk::Hdf5RunWalk(const Hdf5Dataset& dataset, const Hdf5Block& block)
    : origin_(block.origin), sides_(block.sides), strides_(block.sides.size()) {
  std::uint64_t stride = dataset.element_bytes;
  for (std::size_t i = sides_.size(); i-- > 0;) {
    strides_[i] = stride;
    stride *= dataset.shape[i];
  }
  // Sides after the last one that is split are in the run, and so is that one.
  std::size_t cut = sides_.size() - 1;
  while (cut > 0 && sides_[cut] == dataset.shape[cut]) --cut;
  outer_ = cut;
  run_bytes_ = sides_[cut] * strides_[cut];
  at_.assign(outer_, 0);
}

std::uint64_t Hdf5RunWalk::offset() const {
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < origin_.size(); ++i)
    offset += (origin_[i] + (i < outer_ ? at_[i] : 0)) * strides_[i];
  return offset;
}

void Hdf5RunWalk::advance() {
  for (std::size_t i = outer_; i-- > 0;) {
    if (++at_[i] < sides_[i]) return;
    at_[i] = 0;
  }
  is_done_ = true;
}

}  // namespace shale
