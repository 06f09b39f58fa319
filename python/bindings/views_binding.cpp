//  A drawn view as a tuple of 16:
//  box x, y, width, height | scaled width, height | window x, y, width, height |
//  visible x, y, width, height | mirrored, upside down

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/printable.hpp"
#include "shale/image/probe.hpp"
#include "shale/loading/view_steps.hpp"
#include "shale/loading/view_work.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

constexpr std::uint32_t kMostSide = 1 << 24;
constexpr double kMostRatio = 1e6;
constexpr std::size_t kDrawnNumbers = 16;

FilterKernel kernel_named(const std::string& name) {
  if (name == "nearest") return FilterKernel::nearest;
  if (name == "triangle") return FilterKernel::triangle;
  if (name == "cubic") return FilterKernel::cubic;
  throw Error(Code::usage, "kernel is '{}', expected 'nearest', 'triangle' or 'cubic'",
              printable(name));
}

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
  const auto* const first = static_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

// The arguments of one step, one after the other.
class StepWords {
 public:
  explicit StepWords(nb::handle step) : step_(step) {
    std::string name;
    if (!PyTuple_Check(step.ptr()) || nb::len(step) == 0 || !nb::try_cast(at(0), name))
      throw Error(Code::usage, "a step is a tuple that begins with its name");
    name_ = std::move(name);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  void expect(std::size_t arguments) const {
    if (nb::len(step_) == arguments + 1) return;
    throw Error(Code::usage, "step '{}' with {} arguments, expected {}", name_, nb::len(step_) - 1,
                arguments);
  }
  std::uint32_t side(std::uint32_t least) {
    const auto number =
        next<std::int64_t>([&](std::int64_t side) { return side >= least && side <= kMostSide; },
                           fmt::format("an integer from {} to {}", least, kMostSide));
    return static_cast<std::uint32_t>(number);
  }
  double fraction(double least, double most) {
    return next<double>([&](double number) { return number >= least && number <= most; },
                        fmt::format("a number from {} to {}", least, most));
  }
  bool flag() {
    return next<bool>([](bool) { return true; }, "a bool");
  }

 private:
  template <class Value, class Fits>
  Value next(Fits fits, std::string_view expected) {
    Value value{};
    if (!nb::try_cast(at(next_), value) || !fits(value))
      throw Error(Code::usage, "step '{}': argument {} is to be {}", name_, next_, expected);
    ++next_;
    return value;
  }
  [[nodiscard]] nb::handle at(std::size_t i) const {
    return PyTuple_GetItem(step_.ptr(), static_cast<Py_ssize_t>(i));
  }

  nb::handle step_;
  std::string name_;
  std::size_t next_ = 1;
};

ViewStep step_of(nb::handle object) {
  StepWords words(object);
  const std::string& name = words.name();
  // Arguments are read in the order of the members.
  if (name == "random_resized_crop") {
    words.expect(6);
    const RandomResizedCrop step{.width = words.side(1),
                                 .height = words.side(1),
                                 .scale_low = words.fraction(0, kMostRatio),
                                 .scale_high = words.fraction(0, kMostRatio),
                                 .ratio_low = words.fraction(1 / kMostRatio, kMostRatio),
                                 .ratio_high = words.fraction(1 / kMostRatio, kMostRatio)};
    if (step.scale_low <= step.scale_high && step.ratio_low <= step.ratio_high) return step;
    throw Error(Code::usage, "step '{}': a range that ends before it begins", name);
  }
  if (name == "random_crop") {
    words.expect(7);
    return RandomCrop{.width = words.side(1),
                      .height = words.side(1),
                      .left = words.side(0),
                      .top = words.side(0),
                      .right = words.side(0),
                      .bottom = words.side(0),
                      .pads_if_needed = words.flag()};
  }
  if (name == "resize_shorter") {
    words.expect(2);
    const ResizeShorter step{.shorter = words.side(0), .longest = words.side(0)};
    if (step.shorter > 0 || step.longest > 0) return step;
    throw Error(Code::usage, "step '{}' without a size", name);
  }
  if (name == "flip") {
    words.expect(2);
    return RandomFlip{.is_horizontal = words.flag(), .probability = words.fraction(0, 1)};
  }
  if (name != "resize" && name != "center_crop")
    throw Error(Code::usage, "unknown step '{}'", printable(name));
  words.expect(2);
  const std::uint32_t width = words.side(1), height = words.side(1);
  if (name == "resize") return ResizeExactly{.width = width, .height = height};
  return CenterCrop{.width = width, .height = height};
}

nb::object tuple_of(const DrawnView& drawn) {
  const NoCollection no_collection;
  const auto& [box, scaled_width, scaled_height, window, visible, is_mirrored, is_upside_down] =
      drawn;
  return nb::make_tuple(box.x, box.y, box.width, box.height, scaled_width, scaled_height, window.x,
                        window.y, window.width, window.height, visible.x, visible.y, visible.width,
                        visible.height, is_mirrored, is_upside_down);
}

// A number that does not fit is of no view.
std::uint32_t side_of(std::int64_t number) {
  return number < 0 || number > std::numeric_limits<std::uint32_t>::max()
             ? 0
             : static_cast<std::uint32_t>(number);
}

DrawnView drawn_of(nb::handle object) {
  std::array<std::int64_t, kDrawnNumbers> n{};
  bool is_drawn = PyTuple_Check(object.ptr()) && nb::len(object) == kDrawnNumbers;
  for (std::size_t i = 0; is_drawn && i < kDrawnNumbers; ++i) {
    const nb::handle item = PyTuple_GetItem(object.ptr(), static_cast<Py_ssize_t>(i));
    is_drawn = PyLong_Check(item.ptr()) && nb::try_cast(item, n[i]);
  }
  is_drawn = is_drawn && n[0] >= 0 && n[1] >= 0 && side_of(n[0]) == n[0] && side_of(n[1]) == n[1];
  if (!is_drawn) throw Error(Code::usage, "a drawn view is a tuple of {} integers", kDrawnNumbers);
  return {.box = {side_of(n[0]), side_of(n[1]), side_of(n[2]), side_of(n[3])},
          .scaled_width = side_of(n[4]),
          .scaled_height = side_of(n[5]),
          .window = {n[6], n[7], n[8], n[9]},
          .visible = {n[10], n[11], n[12], n[13]},
          .is_mirrored = n[14] != 0,
          .is_upside_down = n[15] != 0};
}

// The memory that results go to, held while it is written.
std::span<std::byte> hold(nb::handle object, std::vector<HeldBuffer>& buffers) {
  buffers.push_back(held_buffer(object, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS));
  const HeldBuffer& view = buffers.back();
  if (view != nullptr)
    return {static_cast<std::byte*>(view->buf), static_cast<std::size_t>(view->len)};
  PyErr_Clear();
  throw Error(Code::usage, "results go to contiguous, writable memory: not to this {}",
              printable(nb::cast<std::string>(nb::inst_name(object))));
}

// One image of a batch on its way.
struct BatchImage {
  nb::object owner;  // of the bytes
  std::optional<Bytes> bytes;
  std::optional<DrawnView> drawn;
  std::span<std::byte> into;
  std::string reason;  // why there is no result
};

std::vector<BatchImage> images_of(const nb::list& list) {
  std::vector<BatchImage> images(nb::len(list));
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i].owner = list[i];
    const nb::handle object = images[i].owner;
    if (object.is_none()) continue;
    if (!PyBytes_Check(object.ptr()))
      throw Error(Code::usage, "an image is bytes or None").for_sample("", i);
    images[i].bytes = Bytes(reinterpret_cast<const std::byte*>(PyBytes_AsString(object.ptr())),
                            static_cast<std::size_t>(PyBytes_Size(object.ptr())));
  }
  return images;
}

void add_places(std::vector<BatchImage>& images, nb::handle into,
                std::vector<HeldBuffer>& buffers) {
  if (PyList_Check(into.ptr())) {
    const auto list = nb::borrow<nb::list>(into);
    if (nb::len(list) != images.size())
      throw Error(Code::usage, "{} images, but {} places", images.size(), nb::len(list));
    for (std::size_t i = 0; i < images.size(); ++i) {
      const nb::object place = list[i];
      if (!place.is_none()) images[i].into = hold(place, buffers);
    }
    return;
  }
  const std::span<std::byte> all = hold(into, buffers);
  if (images.empty() || all.size() % images.size() != 0)
    throw Error(Code::usage, "{} bytes for a batch of {}", all.size(), images.size());
  const std::size_t each = all.size() / images.size();
  for (std::size_t i = 0; i < images.size(); ++i) images[i].into = all.subspan(i * each, each);
}

class Views {
 public:
  Views(const nb::list& steps, const std::string& kernel, unsigned channels,
        const std::string& order, const std::optional<nb::bytes>& table, std::size_t item_bytes,
        const nb::bytes& fill, bool scaled_decoding, bool values, bool gray)
      : worker_({.channels = channels,
                 .is_gray = gray,
                 .takes_values = values,
                 .order = pixel_order_named(order),
                 .kernel = kernel_named(kernel),
                 .scaled_decoding = scaled_decoding,
                 .item_bytes = item_bytes,
                 .table = table ? bytes_of(*table) : std::vector<std::byte>(),
                 .fill = bytes_of(fill)}) {
    for (const nb::handle step : steps) steps_.push_back(step_of(step));
    steps_.resize(viewable_steps(steps_));
  }

  [[nodiscard]] std::size_t taken() const { return steps_.size(); }

  [[nodiscard]] nb::object draw(std::uint32_t width, std::uint32_t height,
                                std::uint64_t seed) const {
    if (width == 0 || height == 0) throw Error(Code::usage, "an image without pixels has no view");
    return tuple_of(draw_within_limits(width, height, seed));
  }

  // None for an image whose header does not say how large it is once it is decoded.
  [[nodiscard]] nb::list sizes(const nb::list& list,
                               const std::vector<std::uint64_t>& seeds) const {
    std::vector<BatchImage> images = images_of(list);
    if (seeds.size() != images.size())
      throw Error(Code::usage, "{} images, but {} seeds", images.size(), seeds.size());
    {
      const Unlocked unlocked;
      for (std::size_t i = 0; i < images.size(); ++i) draw_one(images[i], i, seeds[i]);
    }
    nb::list drawn;
    for (const BatchImage& image : images)
      drawn.append(image.drawn ? tuple_of(*image.drawn) : nb::none());
    return drawn;
  }

  // For each image None, or why it has no result.
  [[nodiscard]] nb::list load(const nb::list& list, const nb::list& drawn, nb::handle into) const {
    std::vector<BatchImage> images = images_of(list);
    if (nb::len(drawn) != images.size())
      throw Error(Code::usage, "{} images, but {} drawn views", images.size(), nb::len(drawn));
    for (std::size_t i = 0; i < images.size(); ++i) {
      const nb::object view = drawn[i];
      if (!view.is_none()) images[i].drawn = drawn_of(view);
    }
    std::vector<HeldBuffer> buffers;
    add_places(images, into, buffers);
    CallingThread caller;
    const Events events = stopped_by_signals(caller);
    {
      const Unlocked unlocked;
      ViewScratch scratch;
      for (std::size_t i = 0; i < images.size(); ++i) {
        if (i > 0) events.stop_if_asked();
        load_one(images[i], i, scratch);
      }
    }
    nb::list reasons;
    for (const BatchImage& image : images)
      reasons.append(image.reason.empty() ? nb::none() : nb::object(nb::cast(image.reason)));
    return reasons;
  }

 private:
  // Before anybody takes memory for the result: of a line of 65535 x 1 pixels a resize to a shorter
  // side of 256 makes 4 billion.
  [[nodiscard]] DrawnView draw_within_limits(std::uint32_t width, std::uint32_t height,
                                             std::uint64_t seed) const {
    const DrawnView drawn = draw_view(steps_, width, height, seed);
    const auto pixels = [](std::int64_t across, std::int64_t down) {
      return static_cast<std::uint64_t>(across) * static_cast<std::uint64_t>(down);
    };
    if (std::max(pixels(drawn.scaled_width, drawn.scaled_height),
                 pixels(drawn.window.width, drawn.window.height)) <= kMostImagePixels) {
      return drawn;
    }
    throw Error(Code::bad_content,
                "a view of {} x {} pixels of an image of {} x {} scaled to {} x {}, {} are allowed",
                drawn.window.width, drawn.window.height, width, height, drawn.scaled_width,
                drawn.scaled_height, kMostImagePixels)
        .hint("leave such images out, or limit the longer side: Resize(..., max_size=)");
  }

  // As it is opened, by its EXIF orientation: the view is not of the size that the header says. Of
  // HEIC and AVIF libheif says it of the turned image.
  static bool is_turned_by_pillow(const ImageInfo& info) {
    return info.type == ImageType::tiff || info.type == ImageType::heic ||
           info.type == ImageType::avif;
  }

  void draw_one(BatchImage& image, std::size_t i, std::uint64_t seed) const {
    if (!image.bytes) return;
    const ImageInfo info = probe_image(*image.bytes, {});
    if (info.type == ImageType::unknown || info.width == 0 || info.height == 0) return;
    if (is_turned_by_pillow(info)) return;
    try {
      image.drawn = draw_within_limits(info.width, info.height, seed);
    } catch (Error& error) {
      throw error.for_sample("", i);
    }
  }

  void load_one(BatchImage& image, std::size_t i, ViewScratch& scratch) const {
    if (!image.bytes) {
      image.reason = "is missing";
      return;
    }
    const ImageInfo info = probe_image(*image.bytes, {});
    if (!image.drawn) {
      image.reason = info.fault.empty() ? "has no drawn view" : info.fault.text;
      return;
    }
    if (is_turned_by_pillow(info)) {
      image.reason = fmt::format("cannot be decoded here: {}", name_of(info.type));
      return;
    }
    try {
      image.reason = worker_.run(*image.bytes, info, *image.drawn, image.into, scratch).text;
    } catch (Error& error) {
      throw error.for_sample("", i);
    }
  }

  ViewWorker worker_;
  std::vector<ViewStep> steps_;
};

}  // namespace

void bind_views(nb::module_& module) {
  nb::class_<Views>(module, "Views")
      .def(nb::init<const nb::list&, const std::string&, unsigned, const std::string&,
                    const std::optional<nb::bytes>&, std::size_t, const nb::bytes&, bool, bool,
                    bool>(),
           "steps"_a, nb::kw_only(), "kernel"_a, "channels"_a, "order"_a, "table"_a.none(),
           "item_bytes"_a, "fill"_a, "scaled_decoding"_a, "values"_a = false, "gray"_a = false)
      .def_prop_ro("taken", &Views::taken)
      .def("draw", &Views::draw, "width"_a, "height"_a, "seed"_a)
      .def("sizes", &Views::sizes, "images"_a, "seeds"_a)
      .def("load", &Views::load, "images"_a, "drawn"_a, "into"_a);
}

}  // namespace shale::python
