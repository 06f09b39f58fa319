#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shale/image/probe.hpp"
#include "shale/pixels/image_view.hpp"

namespace {

// A span of a side, from two bytes that say where in it.
struct Span {
  std::uint32_t begin, length;
};
Span span_of(std::uint32_t side, unsigned begin, unsigned length) {
  const auto first = static_cast<std::uint32_t>(std::uint64_t{side} * begin / 256);
  const std::uint32_t rest = side - first;
  return {first,
          std::max(1U, static_cast<std::uint32_t>(std::uint64_t{rest} * (length + 1) / 256))};
}

}  // namespace

// The first six bytes choose a box, a window and what becomes of it, the others are an image: any
// bytes give a result, the same at every SIMD level, or a fault.
extern "C" int fuzz_image_view(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kChoices = 6;
  if (size < kChoices) return 0;
  using namespace shale;
  const Bytes image(reinterpret_cast<const std::byte*>(data) + kChoices, size - kChoices);
  ImageInfo info = probe_image(image, "x");
  if (info.width == 0 || info.height == 0) return 0;
  // So that what is below the box may be missing.
  if (info.type == ImageType::jpeg && info.fault.code == ImageFaultCode::truncated) info.fault = {};
  const Span across = span_of(info.width, data[0], data[1]);
  const Span down = span_of(info.height, data[2], data[3]);
  ImageView view;
  view.box = {across.begin, down.begin, across.length, down.length};
  view.width = 1 + data[4] % 64;
  view.height = 1 + data[4] / 4;
  const unsigned choice = data[5];
  view.kernel = static_cast<FilterKernel>(choice & 3U);
  view.channels = (choice & 4U) != 0 ? 1 : 3;
  view.order = (choice & 8U) != 0 ? PixelOrder::chw : PixelOrder::hwc;
  view.scaled_decoding = (choice & 16U) == 0;
  view.is_mirrored = (choice & 32U) != 0;
  view.is_upside_down = (choice & 64U) != 0;
  if ((choice & 128U) != 0) {
    view.window_x = data[0] % 32;
    view.window_y = data[2] % 32;
    view.scaled_width = view.width + view.window_x + data[1] % 32;
    view.scaled_height = view.height + view.window_y + data[3] % 32;
  }
  const ViewPlan plan = plan_view(image, info, view, std::uint64_t{32} << 20);
  if (!plan.fault.empty()) return 0;
  std::vector<std::uint8_t> first(view.size()), second(view.size());
  const ImageFault fault =
      read_view(image, info, view, plan, std::as_writable_bytes(std::span(first)));
  const ImageFault again = read_view(image, info, view, plan,
                                     std::as_writable_bytes(std::span(second)), SimdLevel::scalar);
  if (fault.code != again.code || (fault.empty() && first != second)) __builtin_trap();
  return 0;
}
