// Draws a small image folder in ImageNet's layout, for trying shale where no photos are at hand:
//   make_images FOLDER [IMAGES_PER_CLASS]    writes FOLDER/<class>/<class>_0001.JPEG ...
// Real JPEGs of several sizes and chroma samplings, some of them grey. The same call draws the same
// bytes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <turbojpeg.h>

namespace {

struct Pixel {
  std::uint8_t red, green, blue;
};

/// One picture's fixed choices; every painter reads them in its own way.
struct Scene {
  int width, height;
  double x, y;   // a point of interest, pixels
  double size;   // of a shape or a period, pixels
  double angle;  // radians
  Pixel fore, back;
  std::mt19937* dice;
};

Pixel blend(Pixel from, Pixel to, double part) {
  const double t = std::clamp(part, 0.0, 1.0);
  const auto mix = [t](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(a + (b - a) * t);
  };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

Pixel paint_gradient(const Scene& s, int x, int y) {
  return blend(s.back, s.fore,
               (x * std::cos(s.angle) + y * std::sin(s.angle)) / (s.width + s.height));
}

Pixel paint_disc(const Scene& s, int x, int y) {
  const double distance = std::hypot(x - s.x, y - s.y);
  return blend(s.fore, paint_gradient(s, x, y), distance - s.size);
}

Pixel paint_stripes(const Scene& s, int x, int y) {
  const double along = x * std::cos(s.angle) + y * std::sin(s.angle);
  return blend(s.back, s.fore, 0.5 + 0.5 * std::sin(along * 6.28 / (s.size / 3)));
}

Pixel paint_checker(const Scene& s, int x, int y) {
  const int step = std::max(2, static_cast<int>(s.size / 2));
  return (x / step + y / step) % 2 == 0 ? s.fore : paint_gradient(s, x, y);
}

Pixel paint_noise(const Scene& s, int x, int y) {
  const double grain = static_cast<double>((*s.dice)() % 256) / 400.0;
  return blend(paint_disc(s, x, y), s.back, grain);
}

struct Class {
  std::string_view name;
  Pixel (*paint)(const Scene&, int x, int y);
};
constexpr Class kClasses[] = {{"checker", paint_checker},
                              {"disc", paint_disc},
                              {"gradient", paint_gradient},
                              {"noise", paint_noise},
                              {"stripes", paint_stripes}};

/// mt19937 is the same everywhere; the distributions of <random> are not, so they stay unused.
int pick(std::mt19937& dice, int low, int high) {
  return low + static_cast<int>(dice() % static_cast<unsigned>(high - low + 1));
}

Scene pick_scene(std::mt19937& dice) {
  const auto color = [&] {
    const auto channel = [&] { return static_cast<std::uint8_t>(pick(dice, 0, 255)); };
    const std::uint8_t red = channel(), green = channel(), blue = channel();
    return Pixel{red, green, blue};
  };
  Scene s{};
  s.width = pick(dice, 120, 480);
  s.height = pick(dice, 120, 480);
  s.x = pick(dice, s.width / 4, s.width * 3 / 4);
  s.y = pick(dice, s.height / 4, s.height * 3 / 4);
  s.size = pick(dice, 20, std::min(s.width, s.height) / 2);
  s.angle = pick(dice, 0, 157) / 100.0;
  s.fore = color();
  s.back = color();
  s.dice = &dice;
  return s;
}

std::vector<Pixel> draw(const Class& kind, const Scene& scene) {
  std::vector<Pixel> pixels;
  pixels.reserve(static_cast<std::size_t>(scene.width) * static_cast<std::size_t>(scene.height));
  for (int y = 0; y < scene.height; ++y) {
    for (int x = 0; x < scene.width; ++x) pixels.push_back(kind.paint(scene, x, y));
  }
  return pixels;
}

void write_jpeg(const std::filesystem::path& path, const Scene& scene,
                std::span<const Pixel> pixels, int sampling, int quality) {
  const std::unique_ptr<void, int (*)(void*)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long length = 0;
  const int failed = tjCompress2(encoder.get(), &pixels[0].red, scene.width, 0, scene.height,
                                 TJPF_RGB, &bytes, &length, sampling, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(bytes, tjFree);
  if (failed != 0) throw std::runtime_error("cannot encode " + path.string());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(length)).flush();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

void draw_folder(const std::filesystem::path& folder, int images_per_class) {
  constexpr std::array kSamplings = {TJSAMP_420, TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_GRAY};
  std::mt19937 dice(20'200);
  for (const Class& kind : kClasses) {
    const std::filesystem::path class_folder = folder / kind.name;
    std::filesystem::create_directories(class_folder);
    for (int image = 1; image <= images_per_class; ++image) {
      std::string number = std::to_string(image);
      number.insert(0, number.size() < 4 ? 4 - number.size() : 0, '0');
      const Scene scene = pick_scene(dice);
      const int sampling = kSamplings[static_cast<std::size_t>(image) % kSamplings.size()];
      const int quality = pick(dice, 75, 95);
      write_jpeg(class_folder / (std::string(kind.name) + "_" + number + ".JPEG"), scene,
                 draw(kind, scene), sampling, quality);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 && count != 3) {
    std::fputs("usage: make_images FOLDER [IMAGES_PER_CLASS]\n", stderr);
    return 2;
  }
  try {
    draw_folder(words[1], count == 3 ? std::stoi(words[2]) : 40);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_images: %s\n", error.what());
    return 1;
  }
  return 0;
}
