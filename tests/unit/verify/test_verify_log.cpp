#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/verify/verify_log.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

Finding named(std::string message) {
  Finding finding;
  finding.message = std::move(message);
  return finding;
}

TEST_CASE("verify log: all findings are passed on and counted, the first 1000 kept") {
  std::uint64_t passed_on = 0;
  const FindingSink sink = [&](const Finding&) { ++passed_on; };
  const Events events;
  VerifyLog log(sink, events);

  for (int i = 0; i < 1200; ++i) log.add(named(std::to_string(i)));

  CHECK(passed_on == 1200);
  CHECK(log.findings() == 1200);
  REQUIRE(log.report().first_findings.size() == 1000);
  CHECK(log.report().first_findings.back().message == "999");
}

TEST_CASE("verify log: what a task did not keep is counted all the same") {
  const FindingSink sink;
  const Events events;
  VerifyLog log(sink, events);
  TaskFindings findings;
  for (int i = 0; i < 500; ++i) findings.add([] { return named("damage"); });

  log.add_all(findings);

  CHECK(log.findings() == 500);
  CHECK(log.report().first_findings.size() == 200);
}

TEST_CASE("verify log: an error that is damage becomes a finding, any other goes on its way") {
  const FindingSink sink;
  const Events events;
  VerifyLog log(sink, events);

  log.add_damage(Error(Code::damaged, "torn").at("/far/away/x.bin").because("no reason"),
                 "shard-7");
  const Error other = error_of([&] { log.add_damage(Error(Code::io, "no disk"), ""); });

  REQUIRE(log.findings() == 1);
  CHECK(describe(log.report().first_findings[0]) == "x.bin: torn: no reason");
  CHECK(log.report().first_findings[0].shard == "shard-7");
  CHECK(other.code() == Code::io);
}

TEST_CASE("verify log: progress adds up what is finished, under way and walked, and ends at all") {
  const FindingSink sink;
  std::vector<std::uint64_t> done;
  Events events;
  events.progress = [&](std::uint64_t at, std::uint64_t all, std::uint64_t) {
    CHECK(all == 100);
    done.push_back(at);
  };
  VerifyLog log(sink, events);
  log.expect(100);

  log.finish(40);
  log.walked_to(5);
  log.step(10);
  log.finish(80);
  log.step();

  CHECK(done == std::vector<std::uint64_t>{55, 100});
}

TEST_CASE("verify log: a step hears a stop") {
  const FindingSink sink;
  Events events;
  events.should_stop = [] { return true; };
  const VerifyLog log(sink, events);

  CHECK(error_of([&] { log.step(); }).code() == Code::interrupted);
}

}  // namespace
}  // namespace shale
