#include "formats/hdf5/foreign/hdf5_whole_chunks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/trees/hdf5_blocks.hpp"

#include "formats/hdf5/foreign/hdf5_filters.hpp"
#include "formats/hdf5/hdf5_library.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostChunks = 1 << 22;
// The library walks its index from the begin for each chunk that is asked for by number.
constexpr std::uint64_t kMostByNumber = 1 << 14;
// Where fewer chunks than one in so many are stored, those alone are looked at.
constexpr std::uint64_t kCellsPerChunk = 16;

using Corner = std::vector<hsize_t>;

// The corners of the chunks in the order of the index, and their sizes if those are asked for;
// empty: it cannot be read, or has too many.
std::vector<Corner> corners_in_index(hid_t set, std::uint64_t count, std::size_t rank,
                                     std::vector<hsize_t>* sizes = nullptr) {
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  std::vector<Corner> corners;
  for (hsize_t i = 0; i < count && count <= kMostByNumber; ++i) {
    Corner corner(rank, 0);
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info(set, space.id(), i, corner.data(), &mask, &address, &bytes) < 0)
      return {};
    corners.push_back(std::move(corner));
    if (sizes != nullptr) sizes->push_back(bytes);
  }
  return corners;
}

std::vector<Hdf5Filter> filters_of(hid_t set) {
  const Hdf5Handle layout(H5Dget_create_plist(set), H5Pclose);
  return filters_of_layout(layout.id());
}

// A filter is passed over where it would not have made the chunk smaller, and all may be in a chunk
// that was written directly; shuffle alone, which leaves no trace, by damage. Of a chunk that is
// too short the library gives what lies in memory behind it.
bool is_whole(const Hdf5TrackedFile::StoredChunk& chunk, const Hdf5Dataset& dataset,
              const std::vector<Hdf5Filter>& filters) {
  constexpr std::uint64_t kChecksumBytes = 4;
  std::uint64_t plain =
      bytes_of_hdf5_sides(dataset.chunk, std::max(dataset.element_bytes, dataset.record_bytes));
  bool is_compressed = false;
  const bool is_direct =
      filters.size() > 1 && std::popcount(chunk.passed_over) == static_cast<int>(filters.size());
  for (std::size_t i = 0; i < filters.size() && i < 32; ++i) {
    const bool is_passed_over = (chunk.passed_over >> i & 1U) != 0;
    const int number = filters[i].number;
    const bool keeps_size = number == kHdf5Shuffle || number == kHdf5Fletcher32;
    // Nor does it take references, which values of any length are.
    const bool is_taken = number == kHdf5Shuffle && !dataset.has_variable_length() && !is_direct;
    if (is_passed_over && is_taken) return false;
    if (!is_passed_over && number == kHdf5Fletcher32) plain += kChecksumBytes;
    is_compressed = is_compressed || (!is_passed_over && !keeps_size);
  }
  return is_compressed || chunk.bytes == plain;
}

// What is wrong with the filters, or the sides of the chunks; empty: nothing. A header of h5py has
// no checksum, and the library believes it. What one chunk proves holds for all.
std::string fault_of_layout(Hdf5TrackedFile& file, hid_t set, const Hdf5Dataset& dataset,
                            std::span<const Hdf5Filter> filters) {
  constexpr std::uint64_t kMostProofs = 8, kMostBytes = 4 << 20;
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  // Of records with values of any length the library does not say how large they are stored.
  const bool is_record = H5Tget_class(type.id()) == H5T_COMPOUND;
  if (is_record &&
      (H5Tdetect_class(type.id(), H5T_VLEN) > 0 || H5Tdetect_class(type.id(), H5T_STRING) > 0))
    return {};
  const std::uint64_t element = std::max(dataset.element_bytes, dataset.record_bytes);
  const std::uint64_t plain = bytes_of_hdf5_sides(dataset.chunk, element);
  hsize_t count = 0;
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  if (H5Dget_num_chunks(set, space.id(), &count) < 0) return {};
  std::vector<hsize_t> sizes;
  const std::vector<Corner> corners = corners_in_index(
      set, std::min<std::uint64_t>(count, kMostProofs), dataset.shape.size(), &sizes);
  // Asked for one chunk, the library says of any without filters that it is as large as its sides.
  if (filters.empty() && !sizes.empty() && sizes[0] != plain)
    return fmt::format("a chunk has {} bytes, but its sides say {}", sizes[0], plain);
  std::string fault;
  for (const Corner& corner : corners) {
    const auto chunk = file.stored_chunk(set, corner);
    if (!chunk || chunk->bytes > std::max(2 * plain, kMostBytes)) continue;
    for (std::size_t i = 0; i < filters.size(); ++i) {
      const bool is_used = (chunk->passed_over >> i & 1U) == 0;
      fault = is_used ? fault_of_filter(filters[i], element, plain / element) : "";
      if (!fault.empty()) return fault;
    }
    std::vector<std::byte> stored(chunk->bytes);
    std::uint32_t passed_over = 0;
    if (H5Dread_chunk(set, H5P_DEFAULT, corner.data(), &passed_over, stored.data()) < 0) continue;
    const auto bytes = unfiltered_bytes(stored, filters, passed_over);
    if (bytes == plain) return {};
    if (bytes)
      fault = fmt::format("a chunk has {} bytes without its filters, but its sides say {}", *bytes,
                          plain);
  }
  return fault;
}

}  // namespace

//  A header of version 1:  +0 u8 1, +1 u8, +2 u16 number of messages
bool has_whole_hdf5_header(const InputFile& file, std::uint64_t base_address, std::int64_t object) {
  H5O_info_t info{};
  if (H5Oget_info(object, &info) < 0) return false;
  if (info.hdr.version != 1) return true;
  std::array<std::byte, 4> head{};
  if (file.read_some(base_address + info.addr, head) != head.size()) return false;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head.at(i)); };
  return (byte(2) | byte(3) << 8) == info.hdr.nmesgs;
}

Error hdf5_chunk_not_in_index(std::string_view dataset) {
  return {Code::damaged, "dataset '{}': {}", printable(dataset), kNotInIndex};
}

void check_hdf5_chunk_layout(Hdf5TrackedFile& file, std::int64_t set, const Hdf5Dataset& dataset) {
  const std::string fault = fault_of_layout(file, set, dataset, filters_of(set));
  if (!fault.empty())
    throw Error(Code::damaged, "dataset '{}': {}", printable(dataset.name), fault);
}

void check_hdf5_chunk_index(Hdf5TrackedFile& file, std::int64_t set, const Hdf5Dataset& dataset) {
  const bool is_empty = std::ranges::find(dataset.shape, std::uint64_t{0}) != dataset.shape.end();
  if (dataset.storage != Hdf5Storage::chunked || is_empty) return;
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  hsize_t count = 0;
  if (H5Dget_num_chunks(set, space.id(), &count) < 0)
    throw hdf5_chunk_not_in_index(dataset.name).because(hdf5_failure_cause());
  if (count == 0) return;
  check_hdf5_chunk_layout(file, set, dataset);
  const std::vector<Hdf5Filter> filters = filters_of(set);
  if (!chunks_of_hdf5(dataset, std::max(kMostByNumber, kCellsPerChunk * std::uint64_t{count}))) {
    const std::vector<Corner> corners = corners_in_index(set, count, dataset.shape.size());
    if (std::ranges::is_sorted(corners, std::less_equal<>{})) return;
    throw hdf5_chunk_not_in_index(dataset.name);
  }
  hsize_t found = 0;
  Corner corner(dataset.shape.size(), 0);
  do {
    const auto chunk = file.stored_chunk(set, corner);
    found += chunk && is_whole(*chunk, dataset, filters) ? 1 : 0;
  } while (next_hdf5_chunk(corner, dataset));
  if (found == count) return;
  throw hdf5_chunk_not_in_index(dataset.name)
      .because(fmt::format("{} are stored, {} are found whole", count, found));
}

Hdf5WholeChunks::Hdf5WholeChunks(Hdf5TrackedFile& file, std::int64_t set,
                                 const Hdf5Dataset& dataset)
    : dataset_(dataset) {
  const bool is_in_one_piece =
      dataset.storage == Hdf5Storage::contiguous || dataset.storage == Hdf5Storage::compact;
  if (is_in_one_piece) {
    const std::uint64_t stored = H5Dget_storage_size(set);
    const std::uint64_t expected =
        bytes_of_hdf5_sides(dataset.shape, std::max(dataset.element_bytes, dataset.record_bytes));
    if (stored != expected)
      fault_ = fmt::format("it has {} bytes, but its shape says {}", stored, expected);
  }
  const bool is_empty = std::ranges::find(dataset.shape, std::uint64_t{0}) != dataset.shape.end();
  if (dataset.storage == Hdf5Storage::chunked && !is_empty) look_at_chunks(file, set);
}

void Hdf5WholeChunks::look_at_chunks(Hdf5TrackedFile& file, std::int64_t set) {
  const std::vector<Hdf5Filter> filters = filters_of(set);
  if (!chunks_of_hdf5(dataset_, kMostChunks)) {
    fault_ = fmt::format("it has more than {} chunks, too many to prove", kMostChunks);
    return;
  }
  std::uint64_t found = 0;
  std::set<std::uint64_t> absent;
  Corner corner(dataset_.shape.size(), 0);
  do {
    const auto chunk = file.stored_chunk(set, corner);
    const std::uint64_t number = corner[dataset_.axis] / dataset_.chunk[dataset_.axis];
    found += chunk ? 1 : 0;
    if (!chunk)
      absent.insert(number);
    else if (!is_whole(*chunk, dataset_, filters))
      lost_.insert(number);
  } while (next_hdf5_chunk(corner, dataset_));
  fault_ = fault_of_layout(file, set, dataset_, filters);
  if (!fault_.empty()) return;
  hsize_t count = 0;
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const bool is_counted = H5Dget_num_chunks(set, space.id(), &count) >= 0;
  if (is_counted && count == found) return;  // those that are absent were never written
  lost_.merge(absent);
  if (is_counted) distrust_disorder(set, count);
}

// The index of chunks is in the order of their corners. Of one that is not, what is out of order is
// not trusted, nor are its neighbours.
void Hdf5WholeChunks::distrust_disorder(std::int64_t set, std::uint64_t count) {
  const std::vector<Corner> corners = corners_in_index(set, count, dataset_.shape.size());
  if (corners.empty() && count > 0) {
    fault_ = "the index of its chunks is damaged";
    return;
  }
  std::set<Corner> trusted;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const bool is_behind = i == 0 || corners[i - 1] < corners[i];
    const bool is_before = i + 1 == corners.size() || corners[i] < corners[i + 1];
    if (is_behind && is_before) trusted.insert(corners[i]);
  }
  const bool are_inside = std::ranges::all_of(corners, [&](const Corner& one) {
    return std::ranges::equal(one, dataset_.shape, std::ranges::less());
  });
  if (!are_inside) fault_ = "chunks lie outside of its shape";
  Corner corner(dataset_.shape.size(), 0);
  do {
    if (!trusted.contains(corner))
      lost_.insert(corner[dataset_.axis] / dataset_.chunk[dataset_.axis]);
  } while (next_hdf5_chunk(corner, dataset_));
}

bool Hdf5WholeChunks::has_rows(std::uint64_t first, std::uint64_t rows) const {
  if (!fault_.empty()) return false;
  if (dataset_.storage != Hdf5Storage::chunked) return true;
  const std::uint64_t per_chunk = dataset_.chunk[dataset_.axis];
  const auto next = lost_.lower_bound(first / per_chunk);
  return next == lost_.end() || *next > (first + rows - 1) / per_chunk;
}

}  // namespace shale
