//  How the pixels go:
//  levels as they are, nothing padded   image -> read_view() -> their place in the batch
//  else                                 image -> read_view() -> a byte per level, in the order of
//                                       the result -> table -> their place in the batch
//  A window that reaches beyond the scaled box: what of it is visible is read as a window of its
//  own; mirrored, it lies as far from the other side.

#include "shale/loading/view_work.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

constexpr std::size_t kLevels = 256;
constexpr std::int64_t kMostOffset = std::int64_t{1} << 40;
constexpr std::uint64_t kMostWindowPixels = std::uint64_t{1} << 56;

void check_pixels(const ViewPixels& pixels) {
  if (pixels.channels != 1 && pixels.channels != 3)
    throw Error(Code::usage, "a view of {} channels, expected 1 or 3", pixels.channels);
  const std::size_t item = pixels.item_bytes;
  if (item != 1 && item != 2 && item != 4)
    throw Error(Code::usage, "elements of {} bytes, expected 1, 2 or 4", item);
  if (pixels.table.empty() ? item != 1 : pixels.table.size() != pixels.channels * kLevels * item) {
    throw Error(Code::usage, "a table of {} bytes, expected {} ({} channels, {} bytes per element)",
                pixels.table.size(), pixels.channels * kLevels * item, pixels.channels, item);
  }
  if (pixels.fill.size() != pixels.channels * item) {
    throw Error(Code::usage, "a fill of {} bytes, expected {} ({} channels, {} bytes per element)",
                pixels.fill.size(), pixels.channels * item, pixels.channels, item);
  }
  if (pixels.takes_values && pixels.channels != 1)
    throw Error(Code::usage, "values of masks have one channel, not {}", pixels.channels);
}

bool is_like(const ViewWindow& a, const ViewWindow& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

bool is_window(const ViewWindow& window) {
  const auto is_offset = [](std::int64_t at) { return at >= -kMostOffset && at <= kMostOffset; };
  const auto is_side = [](std::int64_t side) {
    return side >= 1 && side <= std::numeric_limits<std::uint32_t>::max();
  };
  return is_offset(window.x) && is_offset(window.y) && is_side(window.width) &&
         is_side(window.height) &&
         static_cast<std::uint64_t>(window.width) * static_cast<std::uint64_t>(window.height) <=
             kMostWindowPixels;
}

bool is_box_within(const PixelBox& box, std::uint32_t width, std::uint32_t height) {
  return box.width > 0 && box.height > 0 && box.width <= width && box.height <= height &&
         box.x <= width - box.width && box.y <= height - box.height;
}

bool is_span_within(std::int64_t begin, std::int64_t length, std::int64_t outer_begin,
                    std::int64_t outer_length) {
  return length >= 0 && length <= outer_length && begin >= outer_begin &&
         begin <= outer_begin + outer_length - length;
}

// What a crop has cut off stays padding in a larger crop of it, so that less may be visible than
// what lies in the scaled box.
bool is_seen_part(const DrawnView& drawn) {
  const ViewWindow &seen = drawn.visible, &window = drawn.window;
  if (seen.width == 0 || seen.height == 0) return true;
  return is_span_within(seen.x, seen.width, window.x, window.width) &&
         is_span_within(seen.y, seen.height, window.y, window.height) &&
         is_span_within(seen.x, seen.width, 0, drawn.scaled_width) &&
         is_span_within(seen.y, seen.height, 0, drawn.scaled_height);
}

// Why the pixels that would be read here are not Pillow's.
std::optional<ImageFault> objection_to(const ImageInfo& info, bool takes_values) {
  if (takes_values) {
    const bool is_taken = info.type == ImageType::png &&
                          (info.color == "palette" || (info.color == "gray" && info.bits == 8));
    if (is_taken) return std::nullopt;
    return unsupported("{} of {} bits, {}: only values of a PNG with a palette or 8-bit gray are",
                       name_of(info.type), info.bits, info.color);
  }
  switch (info.type) {
    case ImageType::png:
      if (info.color != "gray" || info.bits <= 8) return std::nullopt;
      return unsupported("PNG of 16-bit gray");
    case ImageType::jpeg:
    case ImageType::webp:
      return std::nullopt;
    default:
      return unsupported("{}", name_of(info.type));
  }
}

// Where the outputs of one side of what is visible are taken from: torch's mode "nearest", in its
// arithmetic. Sides of up to 2^24 are exact in it.
std::vector<std::uint32_t> nearest_places(std::uint32_t begin, std::uint32_t length,
                                          std::uint32_t scaled, std::int64_t seen_begin,
                                          std::int64_t seen_length, bool is_reversed) {
  const float scale = static_cast<float>(length) / static_cast<float>(scaled);
  std::vector<std::uint32_t> places(static_cast<std::size_t>(seen_length));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint64_t output = static_cast<std::uint64_t>(seen_begin) + i;
    const auto place =
        length == scaled ? output : static_cast<std::uint64_t>(static_cast<float>(output) * scale);
    places[i] = begin + static_cast<std::uint32_t>(std::min<std::uint64_t>(place, length - 1));
  }
  if (is_reversed) std::ranges::reverse(places);
  return places;
}

ImageFault read_values(Bytes image, const ImageInfo& info, const DrawnView& drawn,
                       std::span<std::byte> into) {
  const ViewWindow& seen = drawn.visible;
  const DecodedPicture decoded = decode_picture(image, info, true, kImageWorkLimit);
  if (!decoded.fault.empty()) return decoded.fault;
  const Picture& picture = decoded.picture;
  if (picture.channels != 1 || picture.bits > 8) {
    return unsupported("a mask of {} channels of {} bits", picture.channels, picture.bits);
  }
  const std::vector<std::uint32_t> across = nearest_places(
      drawn.box.x, drawn.box.width, drawn.scaled_width, seen.x, seen.width, drawn.is_mirrored);
  const std::vector<std::uint32_t> down =
      nearest_places(drawn.box.y, drawn.box.height, drawn.scaled_height, seen.y, seen.height,
                     drawn.is_upside_down);
  auto* place = reinterpret_cast<std::uint8_t*>(into.data());
  for (const std::uint32_t y : down) {
    const std::uint8_t* const row = picture.row(y);
    for (const std::uint32_t x : across) *place++ = row[x];
  }
  return {};
}

ImageView view_of(const DrawnView& drawn, const ViewPixels& pixels, unsigned channels) {
  const ViewWindow& seen = drawn.visible;
  return {.box = drawn.box,
          .width = static_cast<std::uint32_t>(seen.width),
          .height = static_cast<std::uint32_t>(seen.height),
          .scaled_width = drawn.scaled_width,
          .scaled_height = drawn.scaled_height,
          .window_x = static_cast<std::uint32_t>(seen.x),
          .window_y = static_cast<std::uint32_t>(seen.y),
          .kernel = pixels.takes_values ? FilterKernel::nearest : pixels.kernel,
          .channels = channels,
          .order = pixels.order,
          .scaled_decoding = pixels.scaled_decoding,
          .drops_alpha = true,
          .is_mirrored = drawn.is_mirrored,
          .is_upside_down = drawn.is_upside_down};
}

// Where what is visible begins in the result.
struct SeenPlace {
  std::size_t left, top;
};
SeenPlace seen_place(const DrawnView& drawn) {
  const ViewWindow &window = drawn.window, &seen = drawn.visible;
  const std::int64_t left =
      drawn.is_mirrored ? window.x + window.width - seen.x - seen.width : seen.x - window.x;
  const std::int64_t top =
      drawn.is_upside_down ? window.y + window.height - seen.y - seen.height : seen.y - window.y;
  return {static_cast<std::size_t>(left), static_cast<std::size_t>(top)};
}

// One row of one channel. Elements may lie at any address, and are copied as bytes: each is one
// move. `step`: elements, or levels, from one to the next.
template <std::size_t kItem, std::size_t kStep, std::size_t kLevelStep>
void look_up(const std::byte* levels, std::size_t count, const std::byte* table, std::byte* into) {
  for (std::size_t x = 0; x < count; ++x) {
    const auto level = static_cast<std::size_t>(levels[x * kLevelStep]);
    std::memcpy(into + x * kStep * kItem, table + level * kItem, kItem);
  }
}

struct LookUp {
  const std::byte* levels;
  std::size_t level_row, level_channel, level_step;  // from one to the next
  const std::byte* table;
  std::byte* into;
  std::size_t row, channel, step;  // in elements
  std::size_t width, height, channels;
};

template <std::size_t kItem, std::size_t kStep, std::size_t kLevelStep>
void look_up_all(const LookUp& work) {
  for (std::size_t y = 0; y < work.height; ++y) {
    for (std::size_t c = 0; c < work.channels; ++c) {
      look_up<kItem, kStep, kLevelStep>(work.levels + y * work.level_row + c * work.level_channel,
                                        work.width, work.table + c * kLevels * kItem,
                                        work.into + (y * work.row + c * work.channel) * kItem);
    }
  }
}

template <std::size_t kItem>
void look_up_items(const LookUp& work) {
  if (work.step == 1) return look_up_all<kItem, 1, 1>(work);
  if (work.level_step == 1) return look_up_all<kItem, 3, 1>(work);
  look_up_all<kItem, 3, 3>(work);
}

// What comes from outside is checked before it is followed: the view may be none that draw_view()
// can draw of an image of this size.
void check_drawn(const DrawnView& drawn, std::uint32_t image_width, std::uint32_t image_height) {
  const PixelBox& box = drawn.box;
  if (!is_box_within(box, image_width, image_height)) {
    throw Error(Code::usage, "a view of {} x {} pixels at {}, {} of an image of {} x {}", box.width,
                box.height, box.x, box.y, image_width, image_height);
  }
  if (drawn.scaled_width == 0 || drawn.scaled_height == 0 || !is_window(drawn.window) ||
      !is_seen_part(drawn)) {
    throw Error(Code::usage,
                "a window of {} x {} at {}, {}, of which {} x {} are visible, of a box scaled to "
                "{} x {}",
                drawn.window.width, drawn.window.height, drawn.window.x, drawn.window.y,
                drawn.visible.width, drawn.visible.height, drawn.scaled_width, drawn.scaled_height);
  }
}

}  // namespace

ViewWorker::ViewWorker(ViewPixels pixels, SimdLevel level)
    : pixels_(std::move(pixels)), level_(level) {
  check_pixels(pixels_);
  is_plain_ = pixels_.table.empty();
  if (!is_plain_) return;
  pixels_.table.resize(pixels_.channels * kLevels);
  for (std::size_t i = 0; i < pixels_.table.size(); ++i)
    pixels_.table[i] = static_cast<std::byte>(i % kLevels);
}

std::uint64_t ViewWorker::size_of(const DrawnView& drawn) const {
  return static_cast<std::uint64_t>(drawn.window.width) *
         static_cast<std::uint64_t>(drawn.window.height) * pixels_.channels * pixels_.item_bytes;
}

ImageFault ViewWorker::run(Bytes image, const ImageInfo& info, const DrawnView& drawn,
                           std::span<std::byte> into, ViewScratch& scratch) const {
  if (!info.fault.empty()) return info.fault;
  check_drawn(drawn, info.width, info.height);
  if (into.size() != size_of(drawn)) {
    throw Error(Code::usage, "{} bytes for a view of {} x {} pixels, expected {}", into.size(),
                drawn.window.width, drawn.window.height, size_of(drawn));
  }
  if (auto objection = objection_to(info, pixels_.takes_values)) return *std::move(objection);
  const ViewWindow& seen = drawn.visible;
  if (seen.width == 0 || seen.height == 0) {
    fill_all(into);
    return {};
  }
  const unsigned channels = read_channels();
  const ImageView view = view_of(drawn, pixels_, channels);
  const ViewPlan plan = plan_view(image, info, view);
  if (!plan.fault.empty()) return plan.fault;
  const auto read = [&](std::span<std::byte> levels) {
    return pixels_.takes_values ? read_values(image, info, drawn, levels)
                                : read_view(image, info, view, plan, levels, level_);
  };
  const bool is_whole = is_like(drawn.window, seen);
  if (is_plain_ && is_whole && channels == pixels_.channels) return read(into);
  if (scratch.levels.size() < view.size()) scratch.levels.resize(view.size());
  ImageFault fault = read(std::span(scratch.levels).first(view.size()));
  if (!fault.empty()) return fault;
  if (!is_whole) fill_all(into);
  place(scratch.levels.data(), drawn, into);
  return {};
}

void ViewWorker::fill_all(std::span<std::byte> into) const {
  const std::size_t item = pixels_.item_bytes, channels = pixels_.channels;
  const std::size_t elements = into.size() / item, plane = elements / channels;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t c = pixels_.order == PixelOrder::chw ? i / plane : i % channels;
    std::memcpy(into.data() + i * item, pixels_.fill.data() + c * item, item);
  }
}

void ViewWorker::place(const std::byte* levels, const DrawnView& drawn,
                       std::span<std::byte> into) const {
  const auto width = static_cast<std::size_t>(drawn.window.width);
  const auto height = static_cast<std::size_t>(drawn.window.height);
  const auto seen_width = static_cast<std::size_t>(drawn.visible.width);
  const auto seen_height = static_cast<std::size_t>(drawn.visible.height);
  const SeenPlace at = seen_place(drawn);
  const bool has_planes = pixels_.order == PixelOrder::chw;
  const std::size_t channels = pixels_.channels, read = read_channels();
  LookUp work{};
  work.levels = levels;
  work.table = pixels_.table.data();
  work.width = seen_width;
  work.height = seen_height;
  work.channels = channels;
  work.step = has_planes ? 1 : channels;
  work.row = width * work.step;
  work.channel = has_planes ? width * height : 1;
  work.level_step = has_planes ? 1 : read;
  work.level_row = seen_width * work.level_step;
  work.level_channel = read == 1 ? 0 : has_planes ? seen_width * seen_height : 1;
  work.into = into.data() + (at.top * work.row + at.left * work.step) * pixels_.item_bytes;
  switch (pixels_.item_bytes) {
    case 1:
      return look_up_items<1>(work);
    case 2:
      return look_up_items<2>(work);
    default:
      return look_up_items<4>(work);
  }
}

}  // namespace shale
