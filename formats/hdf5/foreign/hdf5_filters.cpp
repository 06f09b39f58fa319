#include "formats/hdf5/foreign/hdf5_filters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/lzf.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostChunkBytes = 0xffffffff;  // HDF5's

// As the library calls its filters: the buffer is replaced by another of its allocator.
std::size_t filter_lzf(unsigned flags, std::size_t count, const unsigned values[],
                       std::size_t bytes, std::size_t* buffer_bytes, void** buffer) noexcept {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;  // nothing is written
  // The third value is the size of a chunk; where there is none it has to be tried.
  constexpr std::size_t kOfChunk = 2;
  const bool has_size = count > kOfChunk && values[kOfChunk] != 0;
  for (std::size_t room = has_size ? values[kOfChunk] : *buffer_bytes;
       room > 0 && room <= kMostChunkBytes; room *= 2) {
    auto* const into = static_cast<std::byte*>(H5allocate_memory(room, false));
    if (into == nullptr) return 0;
    const std::size_t unpacked =
        unpack_lzf(Bytes(static_cast<const std::byte*>(*buffer), bytes), std::span(into, room));
    // Of a chunk that is too short the library gives what lies in memory behind it.
    if (unpacked > 0 && (!has_size || unpacked >= values[kOfChunk])) {
      H5free_memory(*buffer);
      *buffer = into;
      *buffer_bytes = room;
      return unpacked;
    }
    H5free_memory(into);
    if (has_size) return 0;
  }
  return 0;
}

constexpr H5Z_class2_t kLzfFilter = {.version = H5Z_CLASS_T_VERS,
                                     .id = kHdf5Lzf,
                                     .encoder_present = 0,
                                     .decoder_present = 1,
                                     .name = "lzf",
                                     .can_apply = nullptr,
                                     .set_local = nullptr,
                                     .filter = filter_lzf};

}  // namespace

void bring_hdf5_filters() {
  if (H5Zfilter_avail(kHdf5Lzf) <= 0) (void)H5Zregister(&kLzfFilter);
}

std::vector<Hdf5Filter> filters_of_layout(std::int64_t layout) {
  std::vector<Hdf5Filter> filters;
  const int count = H5Pget_nfilters(layout);
  for (int i = 0; i < count; ++i) {
    constexpr std::size_t kMostValues = 32;
    std::array<char, 64> name{};
    std::size_t values = kMostValues;
    unsigned flags = 0, config = 0;
    Hdf5Filter filter;
    filter.values.resize(values);
    filter.number = H5Pget_filter2(layout, static_cast<unsigned>(i), &flags, &values,
                                   filter.values.data(), name.size(), name.data(), &config);
    filter.values.resize(std::min(values, kMostValues));
    name.back() = '\0';
    filter.name = printable(name.data());
    filters.push_back(std::move(filter));
  }
  return filters;
}

void check_hdf5_filters(std::int64_t layout, std::string_view dataset) {
  for (const Hdf5Filter& filter : filters_of_layout(layout)) {
    if (filter.number < 0 || H5Zfilter_avail(filter.number) > 0) continue;
    throw Error(Code::unsupported,
                "dataset '{}' uses the filter {} ({}), which this HDF5 library does not have",
                printable(dataset), filter.number, filter.name.empty() ? "no name" : filter.name)
        .hint(
            "install its plugin and set HDF5_PLUGIN_PATH to the plugin's folder: after 'pip "
            "install "
            "hdf5plugin' that is what python3 -c 'import hdf5plugin; "
            "print(hdf5plugin.PLUGIN_PATH)' "
            "prints");
  }
}

}  // namespace shale
