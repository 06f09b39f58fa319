#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/labels/class_order.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

using LabelValues = std::vector<std::int64_t>;

// Samples "0", "1" ... with these labels; counts how often it is opened.
class LabelledSource final : public Source {
 public:
  LabelledSource(LabelValues labels, std::size_t classes) : labels_(std::move(labels)) {
    for (std::size_t i = 0; i < classes; ++i) info_.classes.push_back(std::to_string(i));
    info_.manifest.samples = labels_.size();
    info_.digest.emplace();
    info_.digest->ordered = xxh3_128(as_bytes("ordered"));
    info_.labels_are_sorted = true;
  }
  [[nodiscard]] const SourceInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    if (row_ == labels_.size()) return std::nullopt;
    PendingSample sample;
    sample.key = std::to_string(row_);
    sample.cells.resize(2);
    sample.cells[1].integer = labels_[row_++];
    return sample;
  }

 private:
  LabelValues labels_;
  std::size_t row_ = 0;
  SourceInfo info_;
};

struct ByClass {
  explicit ByClass(const LabelValues& labels, std::size_t classes = 3)
      : source(make_class_ordered_source(
            [this, labels, classes]() -> std::unique_ptr<Source> {
              ++opened;
              return std::make_unique<LabelledSource>(labels, classes);
            },
            1, events)) {}
  std::vector<std::string> keys() {
    std::vector<std::string> found;
    while (const auto sample = source->next(1)) found.push_back(sample->key);
    return found;
  }
  Events events;
  int opened = 0;
  std::unique_ptr<Source> source;
};

using Keys = std::vector<std::string>;

TEST_CASE("class order: samples in the order of their labels are read in one go") {
  ByClass sorted({0, 0, 2, 2, 2});
  CHECK(sorted.keys() == Keys{"0", "1", "2", "3", "4"});
  CHECK(sorted.opened == 2);  // the first time to count
  CHECK(sorted.source->info().digest->ordered != Hash128{});
  CHECK(!sorted.source->info().labels_are_sorted);
}

TEST_CASE("class order: others come class by class, and within a class as the input has them") {
  ByClass mixed({2, 0, 1, 0, 2, 2});
  CHECK(mixed.keys() == Keys{"1", "3", "2", "0", "4", "5"});
  CHECK(mixed.opened == 4);
  CHECK(mixed.source->info().digest->ordered == Hash128{});
}

TEST_CASE("class order: a run that goes on passes over whole classes") {
  for (const LabelValues& labels : {LabelValues{0, 0, 1, 2}, LabelValues{1, 0, 2, 0}}) {
    ByClass whole(labels), rest(labels);
    const Keys all = whole.keys();
    rest.source->skip(3);
    CHECK(rest.keys() == Keys{all[3]});
  }
}

TEST_CASE("class order: an input without samples has none") {
  CHECK(ByClass(LabelValues{}).keys().empty());
}

TEST_CASE("class order: a label without a name is refused by its sample") {
  for (const std::int64_t label : {std::int64_t{3}, std::int64_t{-1}}) {
    const Error error = error_of([&] { ByClass({0, label}); });
    CHECK(error.code() == Code::bad_content);
    CHECK(error.sample()->key == "1");
  }
}

TEST_CASE("class order: an input that changes while it is read is refused") {
  int opened = 0;
  const Events events;
  const auto source = make_class_ordered_source(
      [&]() -> std::unique_ptr<Source> {
        return std::make_unique<LabelledSource>(
            opened++ == 0 ? LabelValues{0, 1} : LabelValues{0, 0}, 2);
      },
      1, events);
  CHECK(source->next(1)->key == "0");
  CHECK(error_of([&] { (void)source->next(1); }).code() == Code::mismatch);
}

}  // namespace
}  // namespace shale
