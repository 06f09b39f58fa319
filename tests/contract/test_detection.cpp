#include <random>

#include "shale/base/path_text.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

int bid_on(const Format& format, std::string_view content, std::string_view path = "a") {
  return format.bid(
      {.path = path, .head = as_bytes(content.substr(0, 4096)), .file_bytes = content.size()});
}

TEST_CASE("detection: each format wins the bid for its own shards, and no other bids high") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 7, 60), dir / "out");
    const ReadSet read = read_set(dir / "out");
    for (const ManifestFile& file : read.shards[0].files) {
      const std::string content = read_text(join_path(dir / "out", file.name));
      // The name is no evidence: without its suffix, a file is still what it is.
      CHECK(detect_format({"a", as_bytes(std::string_view(content).substr(0, 4096)),
                           content.size()}) == &format);
      CHECK(bid_on(format, content) >= 16);
      for (const Format* other : all_formats()) {
        if (other != &format) CHECK(bid_on(*other, content) == 0);
      }
    }
  });
}

TEST_CASE("detection: nobody bids on an empty file, zeros, text or random bytes") {
  for_each_format([](const Format& format) {
    std::mt19937_64 random(11);
    std::vector<std::string> contents = {"", std::string(5000, '\0'), std::string(5000, '\xff'),
                                         "a,b\n1,2\n"};
    for (int i = 0; i < 300; ++i) {
      std::string& noise = contents.emplace_back(random() % 5000, '\0');
      for (char& c : noise) c = static_cast<char>(random());
    }
    for (const std::string& content : contents) CHECK(bid_on(format, content) == 0);
  });
}

TEST_CASE("detection: a suffix alone, on a file of something else, is at most a guess") {
  for_each_format([](const Format& format) {
    for (const std::string_view suffix : format.suffixes) {
      CHECK(bid_on(format, std::string(5000, 'x'), "a" + std::string(suffix)) <= 1);
    }
  });
}

TEST_CASE("detection: a bid survives any short head of a shard") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 7, 60), dir / "out");
    const ReadSet read = read_set(dir / "out");
    for (const ManifestFile& file : read.shards[0].files) {
      const std::string content = read_text(join_path(dir / "out", file.name));
      for (std::size_t length = 0; length < std::min<std::size_t>(content.size(), 200); ++length) {
        CHECK(format.bid({"a", as_bytes(std::string_view(content).substr(0, length)), length}) >=
              0);
      }
    }
  });
}

}  // namespace
}  // namespace shale
