#include <filesystem>
#include <optional>

#include <unistd.h>

#include "shale/base/path_text.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"
#include "tests/unit/io/child_process.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE(
    "never half done: a writer that goes without finish() leaves whole shards in its work folder, "
    "and no more") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = plain_samples(schema, 7, 60);
    for (std::size_t appended = 0; appended <= set.samples.size(); ++appended) {
      CAPTURE(appended);
      const TempDir dir;
      {
        SetInProgress progress(format, set.schema, dir / "out", {.limit_samples = 2});
        for (std::size_t i = 0; i < appended; ++i) progress.append(set.samples[i]);
      }
      CHECK(fault_of_unfinished(dir / "out").empty());
    }
  });
}

TEST_CASE(
    "never half done: a process that ends after any append leaves whole shards in its work folder, "
    "and no more") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = plain_samples(schema, 7, 60);
    for (std::size_t appended = 0; appended <= set.samples.size(); ++appended) {
      CAPTURE(appended);
      const TempDir dir;
      (void)text_from_child([&]() -> std::string {
        SetInProgress progress(format, set.schema, dir / "out", {.limit_samples = 2});
        for (std::size_t i = 0; i < appended; ++i) progress.append(set.samples[i]);
        ::_exit(0);
      });
      CHECK(fault_of_unfinished(dir / "out").empty());
      CHECK(std::filesystem::exists(dir / "out/.shale/journal"));
    }
  });
}

TEST_CASE("never half done: after a process that ended the same command gives the same directory") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 300, 9000), dir / "from");
    const auto request_to = [&](const std::string& output) {
      ConvertRequest request = conversion(dir / "from", output, format);
      request.shard_samples = 40;
      return request;
    };
    (void)convert(request_to(dir / "undisturbed"), {});
    int ended = 0;
    for (int stop = 0; stop < (kIsInstrumented ? 2 : 6); ++stop) {
      CAPTURE(stop);
      const std::string end = text_from_child([&] {
        int steps = 0;
        Events events;
        events.progress = [&](std::uint64_t, std::uint64_t, std::uint64_t) {
          if (steps++ == stop) ::_exit(7);
        };
        (void)convert(request_to(dir / "out"), events);
        return std::string("done");
      });
      if (end != "done") {
        ++ended;
        CHECK(fault_of_unfinished(dir / "out").empty());
        (void)convert(request_to(dir / "out"), {});
      }
      CHECK(differing_files(dir / "undisturbed", dir / "out").empty());
      std::filesystem::remove_all(dir / "out");
    }
    CHECK(ended > 0);
  });
}

TEST_CASE("never half done: a stopped conversion leaves whole shards and no temporary ones") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 30, 40), dir / "from");
    ConvertRequest request = conversion(dir / "from", dir / "out", format);
    request.shard_samples = 4;  // 30 are seven shards and two samples more
    const std::string written = dir / "out/.shale/new";
    Events events;
    events.should_stop = [&] {
      if (!std::filesystem::exists(written)) return false;
      const auto is_of_second = [](const std::string& name) { return shard_of_file(name) == 1; };
      return std::ranges::any_of(files_in(written), is_of_second);
    };

    const Error error = error_of([&] { (void)convert(request, events); });

    CHECK(error.code() == Code::interrupted);
    CHECK_FALSE(files_in(written).empty());
    CHECK(fault_of_unfinished(dir / "out").empty());
    for (const std::string& name : files_in(dir / "out/.shale/new"))
      CHECK(shard_of_file(name).value_or(7) < 7);
  });
}

TEST_CASE("never half done: a sample refused inside a conversion leaves whole shards") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // all of its samples have one size
    const TempDir dir;
    SampleSet set = plain_samples(full_schema(format), 30, 40);
    const std::size_t most = has_blocks(format) ? 1'000'000 : 40'000;
    set.samples[25].values[0] = set.keep(std::string(most + 10'000, 'x'));
    (void)write_set(format, set, dir / "from");
    ConvertRequest request = conversion(dir / "from", dir / "out", format);
    request.shard_samples = 4;
    request.shard_bytes = most;

    const Error error = error_of([&] { (void)convert(request, {}); });

    CHECK(error.code() == Code::limit);
    CHECK(error.sample()->key == set.samples[25].key);
    CHECK(fault_of_unfinished(dir / "out").empty());
  });
}

// What a full disk did to a set of three shards: the error in words, or "done".
std::string write_on_full_disk(const Format& format, const SampleSet& set, const std::string& out,
                               std::uint64_t limit) {
  return text_from_child([&]() -> std::string {
    limit_file_size(limit);
    try {
      (void)write_set(format, set, out, {.limit_samples = 4});
    } catch (const Error& error) {
      return fmt::format("{}: {}", error.code() == Code::io ? "io" : "another code", error.what());
    }
    return "done";
  });
}

TEST_CASE(
    "never half done: a full disk is an error of the storage, and no part stands under a final "
    "name") {
  for_each_layout([](const Format& format, const Schema& schema) {
    // Shards larger than the journal: it must not be what is refused, after its shard was renamed.
    Schema large = schema;
    if (has_columns(format, schema))
      large.fields.push_back({"large", Kind::tensor, DType::parse("|u1"), {4000}});
    const SampleSet set = plain_samples(large, 12, 1500);
    std::size_t refused = 0, done = 0;
    const std::uint64_t most = has_blocks(format) ? 12'000'000 : 60'000;
    for (std::uint64_t limit = 1; limit < most; limit += 1 + limit / (kIsInstrumented ? 1 : 3)) {
      CAPTURE(limit);
      const TempDir dir;
      const std::string end = write_on_full_disk(format, set, dir / "out", limit);
      CAPTURE(end);
      if (end == "done") {
        ++done;
        CHECK(first_finding(verified(dir / "out")) == "");
      } else {
        ++refused;
        CHECK(end.starts_with("io: "));
        CHECK(fault_of_unfinished(dir / "out").empty());
      }
    }
    CHECK(refused > 5);
    CHECK(done > 0);
  });
}

// The steps at which the toy can fail while it writes 7 samples, 3 a shard.
constexpr std::string_view kSteps[] = {
    "create", "append:0",           "append:1",           "append:2",
    "close",  "encode:class/0.jpg", "encode:class/4.jpg", "encode:class/6.jpg"};

TEST_CASE(
    "never half done: a failure at any step of a format passes unchanged and leaves whole shards") {
  const SampleSet set = small_set(toy_format);
  for (const std::string_view step : kSteps) {
    CAPTURE(step);
    const TempDir dir;
    const SetOptions options{.limit_samples = 3, .fail_at = std::string(step)};

    const Error error = error_of([&] { (void)write_set(toy_format, set, dir / "out", options); });

    CHECK(error.code() == Code::io);
    CHECK(error.message() == fmt::format("the toy fails at {}, as it was told", step));
    CHECK(fault_of_unfinished(dir / "out").empty());
  }
}

TEST_CASE("never half done: after a failure at any step the directory takes a new run") {
  const SampleSet set = small_set(toy_format);
  const TempDir dir;
  (void)write_set(toy_format, set, dir / "undisturbed", {.limit_samples = 3});
  for (const std::string_view step : kSteps) {
    CAPTURE(step);
    const TempDir other;
    (void)error_of([&] {
      (void)write_set(toy_format, set, other / "out",
                      {.limit_samples = 3, .fail_at = std::string(step)});
    });
    (void)write_set(toy_format, set, other / "out", {.limit_samples = 3});
    CHECK(differing_files(dir / "undisturbed", other / "out").empty());
  }
}

}  // namespace
}  // namespace shale
