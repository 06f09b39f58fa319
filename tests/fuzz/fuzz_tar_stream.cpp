#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shale/archives/tar_stream.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

namespace {

constexpr std::uint64_t kMemory = 4 << 20, kMostSteps = 20'000;

std::unique_ptr<shale::Source> open_stream_of(const std::string& path, std::uint64_t& steps) {
  steps = 0;
  shale::FolderRequest request;
  request.root = path;
  request.scratch_folder = "/tmp";
  request.memory_bytes = 1 << 20;
  request.all_memory_bytes = kMemory;
  request.most_sample_bytes = 1 << 20;
  request.takes_unknown_classes = true;
  // What is packed may be a thousand times as long.
  request.stop_if_asked = [&steps] {
    if (++steps > kMostSteps) throw shale::Error(shale::Code::interrupted, "enough");
  };
  const shale::StreamPath stream{path, ""};
  return shale::open_tar_stream(
      stream, shale::open_stream(stream, nullptr, kMemory, request.stop_if_asked), request);
}

// How many samples came before the end, or the error.
std::uint64_t read_all(const std::string& path) {
  std::uint64_t samples = 0, steps = 0;
  std::optional<shale::StreamPoint> point;
  try {
    const auto source = open_stream_of(path, steps);
    while (const auto sample = source->next(1)) {
      ++samples;
      if (sample->key.empty() || sample->known.size() != 1 ||
          sample->known[0].bytes.size() != sample->bytes || sample->bytes > (1 << 20))
        __builtin_trap();
      if (point && source->point()->bytes < point->bytes) __builtin_trap();
      point = source->point();
    }
    if (source->info().manifest.samples != samples) __builtin_trap();
    std::uint64_t ignored = 0;
    source->list_ignored([&](std::string_view, std::string_view) { ++ignored; });
    if (source->info().ignored != ignored) __builtin_trap();
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::bug) __builtin_trap();
  }
  return samples;
}

}  // namespace

// Any bytes are a stream, compressed or not: each sample has the bytes that its header says, what
// was skipped is read as far as what was given, and all else is a shale::Error.
extern "C" int fuzz_tar_stream(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const shale::test::FuzzedFile file(bytes);
  const std::string path = file.files()[0].path();
  const std::uint64_t samples = read_all(path);
  if (samples == 0) return 0;
  std::uint64_t steps = 0, more_steps = 0;
  try {
    const auto read = open_stream_of(path, steps), skipped = open_stream_of(path, more_steps);
    for (std::uint64_t i = 0; i < samples; ++i) {
      if (!read->next(1)) __builtin_trap();
    }
    skipped->skip(samples);
    if (read->point() != skipped->point()) __builtin_trap();
  } catch (const shale::Error& error) {
    if (error.code() != shale::Code::interrupted) __builtin_trap();
  }
  return 0;
}
