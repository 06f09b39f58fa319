#include "shale/trees/hdf5_chunk_bytes.hpp"

#include <string_view>

#include <fmt/format.h>

#include "shale/base/inflate.hpp"
#include "shale/base/lzf.hpp"

namespace shale {

std::string fault_of_filter(const Hdf5Filter& filter, std::uint64_t element_bytes,
                            std::uint64_t elements_of_chunk) {
  struct Setting {
    int filter;
    std::size_t value;  // its number
    std::uint64_t right;
    std::string_view what;
  };
  const Setting settings[] = {{kHdf5Shuffle, 0, element_bytes, "bytes of an element"},
                              {kHdf5NBit, 2, elements_of_chunk, "elements of a chunk"},
                              {kHdf5ScaleOffset, 2, elements_of_chunk, "elements of a chunk"},
                              {kHdf5ScaleOffset, 4, element_bytes, "bytes of an element"}};
  for (const Setting& one : settings) {
    const bool is_wrong = one.filter == filter.number && one.value < filter.values.size() &&
                          filter.values[one.value] != one.right;
    if (is_wrong)
      return fmt::format("filter {} says that the {} are {}, but they are {}", filter.name,
                         one.what, filter.values[one.value], one.right);
  }
  return {};
}

namespace {

// Scale-offset of integers that is set to as many bits as they have leaves them as they are.
bool keeps_all_bits(const Hdf5Filter& filter) {
  constexpr unsigned kIntegers = 2;
  const std::vector<unsigned>& values = filter.values;
  return filter.number == kHdf5ScaleOffset && values.size() > 4 && values[0] == kIntegers &&
         values[1] == 8 * values[4];
}

}  // namespace

std::optional<std::uint64_t> unfiltered_bytes(Bytes stored, std::span<const Hdf5Filter> filters,
                                              std::uint32_t passed_over) {
  constexpr std::size_t kChecksumBytes = 4, kMostFilters = 32;
  if (filters.size() > kMostFilters) return std::nullopt;
  std::uint64_t bytes = stored.size();
  bool is_plain = false;  // from then on only the number of bytes is known
  for (std::size_t i = filters.size(); i-- > 0;) {
    const int number = filters[i].number;
    if ((passed_over >> i & 1U) != 0 || number == kHdf5Shuffle) continue;
    if (number == kHdf5Fletcher32) {
      if (bytes < kChecksumBytes) return std::nullopt;
      bytes -= kChecksumBytes;
      continue;
    }
    if (keeps_all_bits(filters[i])) continue;
    if (is_plain) return std::nullopt;
    is_plain = true;
    const Bytes packed = stored.first(bytes);
    const std::optional<std::uint64_t> unpacked = number == kHdf5Deflate
                                                      ? inflated_zlib_bytes(packed)
                                                  : number == kHdf5Lzf ? unpacked_lzf_bytes(packed)
                                                                       : std::nullopt;
    if (!unpacked) return std::nullopt;
    bytes = *unpacked;
  }
  return bytes;
}

}  // namespace shale
