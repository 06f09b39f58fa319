#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/image/probe.hpp"
#include "shale/loading/view_work.hpp"

namespace {

using namespace shale;

constexpr std::size_t kChoices = 8;
constexpr std::uint64_t kMostBytes = 1 << 20;
using Choices = std::array<std::uint8_t, kChoices>;

ViewPixels pixels_of(const Choices& choices) {
  constexpr FilterKernel kKernels[] = {FilterKernel::triangle, FilterKernel::cubic,
                                       FilterKernel::nearest, FilterKernel::triangle};
  const unsigned bits = choices[0];
  ViewPixels pixels;
  pixels.kernel = kKernels[bits & 3U];
  pixels.takes_values = (bits & 12U) == 12;
  pixels.channels = (bits & 4U) != 0 ? 1 : 3;
  pixels.is_gray = (bits & 16U) != 0;
  pixels.order = (bits & 32U) != 0 ? PixelOrder::chw : PixelOrder::hwc;
  pixels.scaled_decoding = (bits & 64U) == 0;
  pixels.item_bytes = std::size_t{1} << choices[1] % 3;
  const bool has_table = pixels.item_bytes > 1 || (bits & 128U) != 0;
  pixels.table.resize(has_table ? pixels.channels * 256 * pixels.item_bytes : 0);
  for (std::size_t i = 0; i < pixels.table.size(); ++i)
    pixels.table[i] = static_cast<std::byte>(i * 7);
  pixels.fill.resize(pixels.channels * pixels.item_bytes, std::byte{0xAA});
  return pixels;
}

DrawnView drawn_of(const Choices& choices, const ImageInfo& info) {
  const auto side = [](unsigned choice) { return 1 + std::uint32_t{choice} % 80; };
  const unsigned kind = choices[1] / 3;
  std::vector<ViewStep> steps;
  if (kind % 4 == 0) {
    steps.push_back(RandomResizedCrop{.width = side(choices[2]), .height = side(choices[3])});
  } else if (kind % 4 == 1) {
    steps.push_back(ResizeShorter{.shorter = choices[2] % 40U, .longest = 1U + choices[3]});
  } else if (kind % 4 == 2) {
    steps.push_back(ResizeExactly{.width = side(choices[2]), .height = side(choices[3])});
  }
  steps.push_back(RandomFlip{.is_horizontal = true, .probability = 0.5});
  steps.push_back(RandomFlip{.is_horizontal = false, .probability = 0.5});
  if ((kind & 4U) != 0) {
    steps.push_back(CenterCrop{.width = side(choices[4]), .height = side(choices[5])});
  } else if ((kind & 8U) != 0) {
    steps.push_back(RandomCrop{.width = side(choices[4]),
                               .height = side(choices[5]),
                               .left = choices[6] % 16U,
                               .top = choices[6] / 16U,
                               .pads_if_needed = true});
  }
  return draw_view(steps, info.width, info.height, choices[7]);
}

// A view of another image, or of none: any numbers.
DrawnView alien_of(const Choices& choices, const ImageInfo& info) {
  std::array<std::int64_t, 8> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const unsigned choice = choices[i];
    const auto bit = static_cast<std::int64_t>(std::uint64_t{1} << choice % 63);
    numbers[i] = choice < 64 ? choice : choice < 128 ? bit : choice < 192 ? -bit : bit - 1;
  }
  const auto u32 = [&](std::size_t i) { return static_cast<std::uint32_t>(numbers[i]); };
  DrawnView drawn = draw_view({}, info.width, info.height, 0);
  if (choices[0] % 2 == 0) drawn.box = {u32(1), u32(2), u32(3), u32(4)};
  if (choices[1] % 2 == 0) drawn.scaled_width = u32(5);
  if (choices[2] % 2 == 0) drawn.scaled_height = u32(6);
  drawn.window = {numbers[3], numbers[4], numbers[5], numbers[6]};
  drawn.visible = {numbers[1], numbers[2], numbers[6], numbers[7]};
  return drawn;
}

}  // namespace

// The first bytes choose what is wanted, the others are an image. Any bytes give a result, the same
// at every SIMD level, or a fault; and a view of anything else is refused.
extern "C" int fuzz_view_work(const std::uint8_t* data, std::size_t size) {
  if (size < kChoices) return 0;
  Choices choices{};
  std::copy_n(data, kChoices, choices.begin());
  const Bytes image(reinterpret_cast<const std::byte*>(data) + kChoices, size - kChoices);
  ImageInfo info = probe_image(image, "x");
  if (info.width == 0 || info.height == 0) return 0;
  // So that what is below the view may be missing.
  if (info.type == ImageType::jpeg && info.fault.code == ImageFaultCode::truncated) info.fault = {};
  const ViewPixels pixels = pixels_of(choices);
  const ViewWorker best(pixels), scalar(pixels, SimdLevel::scalar);
  const DrawnView drawn = drawn_of(choices, info), alien = alien_of(choices, info);
  ViewScratch scratch;
  std::vector<std::byte> first(4096), second;
  try {
    (void)best.run(image, info, alien, first, scratch);
  } catch (const Error& error) {
    if (error.code() != Code::usage) __builtin_trap();
  }
  if (static_cast<std::uint64_t>(drawn.window.width) > kMostBytes ||
      static_cast<std::uint64_t>(drawn.window.height) > kMostBytes ||
      best.size_of(drawn) > kMostBytes ||
      std::uint64_t{info.width} * info.height > 8 * kMostBytes) {
    return 0;
  }
  first.assign(best.size_of(drawn), std::byte{1});
  second.assign(best.size_of(drawn), std::byte{2});
  const ImageFault fault = best.run(image, info, drawn, first, scratch);
  const ImageFault again = scalar.run(image, info, drawn, second, scratch);
  if (fault.code != again.code || (fault.empty() && first != second)) __builtin_trap();
  return 0;
}
