// Writes a dataset of 1,000 waves: write_waves OUTPUT. docs/cpp.md says how it is built.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <shale/writer.hpp>

int main(int argc, char** argv) try {
  shale::Writer writer(
      {.to = {.path = argc > 1 ? argv[1] : "waves", .format = "lmdb"},
       .fields = {{.name = "wave", .kind = shale::Kind::tensor, .dtype = "<f4", .shape = {100}},
                  {.name = "label", .kind = shale::Kind::integer}},
       .classes = {"slow", "fast"}});
  std::vector<float> wave(100);
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t label = i % 2;
    const float step = 0.01F * static_cast<float>(i + 1 + 1000 * label);
    for (float t = 0; float& value : wave) value = std::sin(step * t++);
    writer.write("wave/" + std::to_string(i), {std::as_bytes(std::span(wave)), label});
  }
  const shale::WrittenSet set = writer.finish();
  std::printf("%llu samples, content digest %s\n", static_cast<unsigned long long>(set.samples),
              set.content_digest.c_str());
} catch (const shale::Error& error) {
  std::fprintf(stderr, "%s\nhint: %s\n", error.what(), error.hint().c_str());
  return 1;
}
