#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/targets/identity.hpp"

namespace shale {
namespace {

const Identity kRun = {{"to", "record"}, {"shard_size", "1000"}, {"labels", "00ff"}};

TEST_CASE("identity: a line in the journal is read back as it was") {
  CHECK(identity_from_line(identity_line(kRun)) == kRun);
  CHECK(identity_from_line("") == Identity{});
  CHECK(identity_from_line(identity_line({{"hidden", ""}})) == Identity{{"hidden", ""}});
}

TEST_CASE("identity: what is not a line of ours is another identity, not a crash") {
  for (const std::string_view line : {"\t", "=", "a", "a\tb", "\t\t=\t", "to=record\tto=record"}) {
    CAPTURE(line);
    CHECK(first_difference(identity_from_line(line), kRun));
  }
}

TEST_CASE("identity: the first option that differs is named, with both values") {
  CHECK_FALSE(first_difference(kRun, kRun));
  Identity other = kRun;
  other[1].second = "2000\x1b[31m";
  const std::string text = first_difference(kRun, other).value();
  CHECK(text.find("shard_size") != std::string::npos);
  CHECK(text.find("1000") != std::string::npos);
  CHECK(text.find("2000") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  other.pop_back();
  CHECK(first_difference(kRun, Identity(kRun.begin(), kRun.end() - 1)));
}

TEST_CASE("identity: files of a layout are not shards, whatever the layout divides them by") {
  const Identity with = {{"layout", "coclr-k400"}};
  CHECK(first_difference(with, {}) == "files of a layout before, shards now");
  CHECK(first_difference({}, with) == "shards before, files of a layout now");
}

TEST_CASE("identity: every option that shapes the bytes is in it, those that do not are not") {
  const SourceInfo source;
  const ConvertRequest plain;
  const auto options = [&](auto change) {
    ConvertRequest request = plain;
    change(request);
    return shaping_options(request, source);
  };
  const Identity base = options([](ConvertRequest&) {});
  CHECK(options([](ConvertRequest& r) { r.shard_bytes = 5; }) != base);
  CHECK(options([](ConvertRequest& r) { r.shard_samples = 5; }) != base);
  CHECK(options([](ConvertRequest& r) { r.order.is_shuffled = true; }) != base);
  CHECK(options([](ConvertRequest& r) { r.files.hidden = HiddenPolicy::keep; }) != base);
  CHECK(options([](ConvertRequest& r) { r.on_error = OnError::keep; }) != base);
  CHECK(options([](ConvertRequest& r) { r.jobs = 7; }) == base);
  CHECK(options([](ConvertRequest& r) { r.memory_bytes = 1 << 30; }) == base);
  CHECK(options([](ConvertRequest& r) { r.order.seed = 9; }) == base);  // of no shuffle
  CHECK(options([](ConvertRequest& r) { r.verify = true; }) == base);
}

}  // namespace
}  // namespace shale
