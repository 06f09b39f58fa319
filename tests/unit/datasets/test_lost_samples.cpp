#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/datasets/lost_samples.hpp"

namespace shale {
namespace {

// What lies at each place: a row, or "lost" with the number of the first sample that is.
std::vector<std::string> places(const AmongLost& among, std::uint64_t rows) {
  std::vector<std::string> all;
  for (std::uint64_t sample = 0; sample < rows + among.count(); ++sample) {
    const AmongLost::Place place = among.at(sample);
    all.push_back(place.lost != nullptr
                      ? "lost " + std::to_string(place.number)
                      : std::to_string(place.row) + " as " + std::to_string(place.number));
  }
  return all;
}

TEST_CASE("lost samples: each range is one sample among the rows, which keep their numbers") {
  const std::vector<LostSamples> lost = {
      {.file = "a", .range = {.before = 0, .samples = 1, .why = {}}},
      {.file = "a", .range = {.before = 2, .samples = 3, .why = {}}},
      {.file = "a", .range = {.before = 2, .samples = 1, .why = {}}},
      {.file = "b", .range = {.before = 3, .samples = 0, .why = {}}}};

  CHECK(places(AmongLost(lost), 3) == std::vector<std::string>{"lost 0", "0 as 1", "1 as 2",
                                                               "lost 3", "lost 6", "2 as 7",
                                                               "lost 8"});
}

TEST_CASE("lost samples: a run of rows ends before the next lost one") {
  const std::vector<LostSamples> lost = {{.file = "a", .range = {.before = 5, .why = {}}}};
  const AmongLost among(lost);

  CHECK(among.at(2).rows_to_lost == 3);
  CHECK(among.at(6).rows_to_lost > 1'000'000);
}

TEST_CASE("lost samples: without keys the key is the number, else the place") {
  LostSamples lost{.file = "in/a.tfrecord",
                   .range = {.offset = 40, .length = 7, .why = "no checksum"}};

  CHECK(lost_sample(lost, 3, {.fields = {}, .has_keys = false}).key == "3");
  const PendingSample keyed = lost_sample(lost, 3, {.fields = {}, .has_keys = true});
  CHECK(keyed.key == "a.tfrecord byte 40");
  CHECK(keyed.damage == "a.tfrecord: 7 bytes from byte 40 on: no checksum");
  lost.range.key = "cat";
  CHECK(lost_sample(lost, 3, {.fields = {}, .has_keys = true}).key == "cat");
}

}  // namespace
}  // namespace shale
