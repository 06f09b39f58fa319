#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "shale/encoding/transform.hpp"
#include "shale/sources/transformed_source.hpp"

namespace shale {
namespace {

// One sample, and totals that are known behind it.
class StreamOfOne final : public Source {
 public:
  StreamOfOne() {
    info_.schema.fields = {{.name = "image", .kind = Kind::bytes},
                           {.name = "label", .kind = Kind::integer}};
    info_.image_fields = {0};
  }
  [[nodiscard]] const SourceInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    if (!std::exchange(is_over_, true)) return PendingSample{};
    info_.manifest.samples = 1;
    return std::nullopt;
  }

 private:
  SourceInfo info_;
  bool is_over_ = false;
};

std::unique_ptr<Source> small_images() {
  ImageWords words;
  words.resize = {"exact=4x3"};
  words.encode = {"raw"};
  return make_transformed_source(std::make_unique<StreamOfOne>(), parse_image_words(words), "in");
}

}  // namespace

TEST_CASE("transformed source: its schema is that of the results, totals come at the end") {
  const std::unique_ptr<Source> source = small_images();
  CHECK(source->info().schema.fields[0].kind == Kind::tensor);
  CHECK(source->info().schema.fields[1].kind == Kind::integer);
  CHECK(source->info().transform->input().fields[0].kind == Kind::bytes);
  CHECK(source->info().manifest.samples == 0);
  CHECK(source->next(1));
  CHECK_FALSE(source->next(1));
  CHECK(source->info().manifest.samples == 1);
}

TEST_CASE("transformed source: what workers read does not change while the source ends") {
  const std::unique_ptr<Source> source = small_images();
  const SourceInfo& info = source->info();
  std::atomic<bool> is_over = false, has_begun = false;
  std::uint64_t lost = 0;
  std::thread worker([&] {
    while (!is_over) {
      const bool has_work = info.transform != nullptr && info.image_fields.size() == 1 &&
                            info.schema.fields[0].kind == Kind::tensor;
      lost += has_work ? 0 : 1;
      has_begun = true;
    }
  });
  while (!has_begun) std::this_thread::yield();
  for (int i = 0; i < 20'000; ++i) (void)source->next(1);
  is_over = true;
  worker.join();
  CHECK(lost == 0);
}

}  // namespace shale
