// Resizes the photos of a folder, held in memory, on N threads, and prints seconds for each round.
//   resize_photos FOLDER jpeg|raw THREADS [OUTPUT]
// It reads a line from stdin before each round (so that bench/images.py can alternate it with
// others) and answers with the seconds that the round took; the end of stdin ends it. With OUTPUT
// it writes the results there, once.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "shale/image/probe.hpp"
#include "shale/pixels/image_work.hpp"

namespace {

struct Photo {
  std::string name, bytes;
};

void resize_all(const std::vector<Photo>& photos, const shale::ImageRule& rule,
                std::atomic<std::size_t>& next, const std::string& output) {
  const shale::ImageWorker worker(rule);
  std::vector<std::byte> into;
  for (std::size_t i = next++; i < photos.size(); i = next++) {
    const shale::Bytes bytes = shale::as_bytes(photos[i].bytes);
    const shale::ImageInfo info = shale::probe_image(bytes, photos[i].name);
    const shale::ImagePlan plan = shale::plan_image(bytes, info, rule);
    if (!plan.fault.empty()) continue;
    const shale::ImageResult result = worker.run(bytes, info, plan, into);
    if (output.empty() || !result.fault.empty()) continue;
    std::ofstream file(output + "/" + photos[i].name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(into.data()),
               static_cast<std::streamsize>(result.bytes));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<Photo> photos;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    photos.push_back(
        {entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(photos.begin(), photos.end(),
            [](const Photo& a, const Photo& b) { return a.name < b.name; });
  shale::ImageRule rule{.resize = shale::Resize::shorter, .width = 256};
  if (std::string(argv[2]) == "raw") {
    rule.crop_width = rule.crop_height = 256;
    rule.encode = shale::EncodeAs::raw;
  }
  std::string line, output = argc > 4 ? argv[4] : "";
  while (std::getline(std::cin, line)) {
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < std::stoi(argv[3]); ++i) {
      threads.emplace_back([&] { resize_all(photos, rule, next, output); });
    }
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.6f\n", took.count());
    std::fflush(stdout);
    output.clear();
  }
}
