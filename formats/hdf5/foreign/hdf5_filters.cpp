#include "formats/hdf5/foreign/hdf5_filters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

//  A chunk that LibLZF compressed is a sequence of
//    000LLLLL                    L + 1 bytes follow as they are
//    LLLOOOOO OOOOOOOO           L (1 to 6) + 2 bytes again, from O + 1 bytes before
//    111OOOOO LLLLLLLL OOOOOOOO  the same, L + 7 + 2 bytes

namespace shale {
namespace {

constexpr H5Z_filter_t kLzf = 32'000;
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
    if (unpacked > 0) {
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
                                     .id = kLzf,
                                     .encoder_present = 0,
                                     .decoder_present = 1,
                                     .name = "lzf",
                                     .can_apply = nullptr,
                                     .set_local = nullptr,
                                     .filter = filter_lzf};

}  // namespace

std::size_t unpack_lzf(Bytes packed, std::span<std::byte> into) {
  std::size_t at = 0, done = 0;
  const auto next = [&] { return std::to_integer<std::size_t>(packed[at++]); };
  while (at < packed.size()) {
    const std::size_t control = next();
    if (control < 32) {
      const std::size_t run = control + 1;
      if (run > packed.size() - at || run > into.size() - done) return 0;
      std::ranges::copy(packed.subspan(at, run), into.begin() + static_cast<std::ptrdiff_t>(done));
      at += run;
      done += run;
      continue;
    }
    std::size_t run = control >> 5;
    if (packed.size() - at < (run == 7 ? 2U : 1U)) return 0;
    if (run == 7) run += next();
    run += 2;
    const std::size_t back = ((control & 31) << 8 | next()) + 1;
    if (back > done || run > into.size() - done) return 0;
    // Byte by byte: what is copied may be what was just written.
    for (; run > 0; --run, ++done) into[done] = into[done - back];
  }
  return done;
}

void bring_hdf5_filters() {
  if (H5Zfilter_avail(kLzf) <= 0) (void)H5Zregister(&kLzfFilter);
}

std::vector<Hdf5Filter> filters_of_layout(std::int64_t layout) {
  std::vector<Hdf5Filter> filters;
  const int count = H5Pget_nfilters(layout);
  for (int i = 0; i < count; ++i) {
    std::array<char, 64> name{};
    std::size_t values = 0;
    unsigned flags = 0, config = 0;
    const H5Z_filter_t number = H5Pget_filter2(layout, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, name.size(), name.data(), &config);
    name.back() = '\0';
    filters.push_back({number, printable(name.data())});
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
