#include <cstdlib>
#include <filesystem>
#include <set>

#include "shale/ops/foreign_file.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/open_dataset.hpp"
#include "shale/ops/rebuild_index.hpp"
#include "shale/ops/resample.hpp"

#include "tests/contract/contract_tools.hpp"

// Whatever runs can be stopped whenever it asks, and then leaves nothing behind.

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kMemory = 16 << 20;

// A folder for a test, with the temporary directory in it, so that what is left there shows.
class StopFolder {
 public:
  StopFolder() {
    std::filesystem::create_directory(folder_ / "tmp");
    ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  }
  ~StopFolder() {
    if (before_.empty()) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", before_.c_str(), 1);
    }
  }
  StopFolder(const StopFolder&) = delete;
  StopFolder& operator=(const StopFolder&) = delete;

  std::string operator/(std::string_view name) const { return folder_ / name; }

  /// Everything in it, folders too, but for `except` and what is below that.
  [[nodiscard]] std::set<std::string> entries(const std::string& except = {}) const {
    std::set<std::string> found;
    for (auto at = std::filesystem::recursive_directory_iterator(folder_.path());
         at != std::filesystem::recursive_directory_iterator(); ++at) {
      if (!except.empty() && at->path() == folder_ / except) {
        at.disable_recursion_pending();
        continue;
      }
      found.insert(at->path().string());
    }
    return found;
  }

 private:
  static std::string text_of(const char* text) { return text == nullptr ? "" : text; }
  std::string before_ = text_of(std::getenv("TMPDIR"));
  TempDir folder_;
};

// Runs `work` with an Events that says stop from its k-th question on: for each k up to 8, and then
// for one in so many that it grows by an eighth, until a run is through. After each stopped run
// `check` looks at what is left. Returns how many were stopped.
std::uint64_t stop_everywhere(const std::function<void(const Events&)>& work,
                              const std::function<void()>& check) {
  std::uint64_t stopped = 0;
  for (std::uint64_t k = 1;; k += 1 + k / 8) {
    CAPTURE(k);
    std::uint64_t questions = 0;
    Events events;
    events.progress = [](std::uint64_t, std::uint64_t, std::uint64_t) {};
    events.should_stop = [&] { return ++questions >= k; };
    try {
      work(events);
      CHECK(questions < k);  // else a stop went unheard
      return stopped;
    } catch (const Error& error) {
      REQUIRE_MESSAGE(error.code() == Code::interrupted, error.what());
    }
    ++stopped;
    check();
  }
}

// The same for what leaves nothing at all.
std::uint64_t stop_without_trace(const StopFolder& dir,
                                 const std::function<void(const Events&)>& work) {
  const std::set<std::string> before = dir.entries();
  return stop_everywhere(work, [&] { CHECK(dir.entries() == before); });
}

// The same for a conversion into out, which continues from what the one before has left.
std::uint64_t stop_conversion(const StopFolder& dir, const ConvertRequest& request) {
  const std::set<std::string> before = dir.entries("out");
  const std::uint64_t stopped =
      stop_everywhere([&](const Events& events) { (void)convert(request, events); },
                      [&] {
                        CHECK(dir.entries("out") == before);
                        if (std::filesystem::exists(dir / "out"))
                          CHECK(fault_of_unfinished(dir / "out") == "");
                      });
  const VerifyReport report = verified(dir / "out", VerifyDepth::deep);
  CHECK(report.findings == report.bad_when_written);
  return stopped;
}

ConvertRequest stoppable(const std::string& input, const StopFolder& dir, const Format& format) {
  ConvertRequest request = conversion(input, dir / "out", format);
  request.shard_samples = 9;
  request.jobs = 2;
  return request;
}

// A file of another tool: a shard without its dataset.
std::string foreign_file_of(const StopFolder& dir, const Format& format, std::size_t samples) {
  (void)write_set(format, plain_samples(full_schema(format), samples, 3000), dir / "own");
  std::string file;
  for (const std::string& name : files_in(dir / "own")) {
    if (name.ends_with(".index.npy") || name.ends_with(".blocks.npy")) continue;
    if (name.starts_with("shard-") && file.empty()) file = name;
  }
  const std::string copy = dir / ("foreign" + file.substr(file.rfind('.')));
  std::filesystem::rename(join_path(dir / "own", file), copy);
  std::filesystem::remove_all(dir / "own");
  return copy;
}

TEST_CASE("stopping: a conversion of a folder is stopped at any question, and finished later") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;
    const StopFolder dir;
    for (int i = 0; i < 40; ++i)
      write_file(dir / fmt::format("in/{}/{:02}.jpg", i % 2 == 0 ? "cat" : "dog", i), "no image");
    ConvertRequest request = stoppable(dir / "in", dir, format);
    request.on_error = OnError::keep;
    request.max_errors = {.is_share = false, .share = 0, .count = 1000};
    CHECK(stop_conversion(dir, request) > 0);
  });
}

TEST_CASE("stopping: a conversion of a dataset, shuffled or not, is stopped at any question") {
  for_each_layout([](const Format& format, const Schema& schema) {
    for (const bool is_shuffled : {false, true}) {
      const StopFolder dir;
      (void)write_set(format, plain_samples(schema, 40, 3000), dir / "in", {.limit_samples = 15});
      ConvertRequest request = stoppable(dir / "in", dir, format);
      request.is_shuffled = is_shuffled;
      CHECK(stop_conversion(dir, request) > 0);
    }
  });
}

TEST_CASE("stopping: a conversion of a foreign file is stopped at any question") {
  for_each_format([](const Format& format) {
    if (format.survey == nullptr) return;
    const StopFolder dir;
    const std::string file = foreign_file_of(dir, format, 40);
    CHECK(stop_conversion(dir, stoppable(file, dir, format)) > 0);
  });
}

TEST_CASE("stopping: verify is stopped at any question, at any depth") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const StopFolder dir;
    (void)write_set(format, plain_samples(schema, 60, 9000), dir / "set", {.limit_samples = 25});
    for (const VerifyDepth depth : {VerifyDepth::quick, VerifyDepth::full, VerifyDepth::deep}) {
      CAPTURE(static_cast<int>(depth));
      VerifyRequest request;
      request.dataset = dir / "set";
      request.depth = depth;
      request.jobs = 2;
      request.memory_bytes = kMemory;
      if (depth == VerifyDepth::quick) request.against = {dir / "set"};
      const std::uint64_t stopped = stop_without_trace(dir, [&](const Events& events) {
        const VerifyReport report = verify(request, {}, events);
        CHECK(first_finding(report) == "");
      });
      CHECK(stopped > 0);
    }
  });
}

TEST_CASE("stopping: verify of a foreign file is stopped at any question, indexed or not") {
  for_each_format([](const Format& format) {
    if (format.survey == nullptr) return;
    const StopFolder dir;
    VerifyRequest request;
    request.dataset = foreign_file_of(dir, format, 60);
    request.depth = VerifyDepth::deep;
    request.jobs = 2;
    request.memory_bytes = kMemory;
    const auto stop_verify = [&] {
      const std::uint64_t stopped = stop_without_trace(dir, [&](const Events& events) {
        const VerifyReport report = verify(request, {}, events);
        CHECK(first_finding(report) == "");
      });
      CHECK(stopped > 0);
    };
    stop_verify();
    for (const bool with_checksums : {false, true}) {
      ForeignRequest indexing;
      indexing.file = request.dataset;
      indexing.with_checksums = with_checksums;
      (void)index_file(indexing, {});
      stop_verify();
    }
  });
}

TEST_CASE("stopping: verify against a folder is stopped at any question") {
  const StopFolder dir;
  for (int i = 0; i < 150; ++i)
    write_file(dir / fmt::format("in/{}/{:03}.jpg", i % 2 == 0 ? "cat" : "dog", i), "no image");
  ConvertRequest conversion = stoppable(dir / "in", dir, format_named("record"));
  conversion.on_error = OnError::keep;
  conversion.max_errors = {.is_share = false, .share = 0, .count = 1000};
  (void)convert(conversion, {});
  VerifyRequest request;
  request.dataset = dir / "out";
  request.against = {dir / "in"};
  request.jobs = 2;
  const std::uint64_t stopped = stop_without_trace(dir, [&](const Events& events) {
    const VerifyReport report = verify(request, {}, events);
    CHECK(first_finding(report) == "");
  });
  CHECK(stopped > 0);
}

TEST_CASE("stopping: index of a foreign file, with checksums or not, is stopped at any question") {
  for_each_format([](const Format& format) {
    if (format.survey == nullptr) return;
    for (const bool with_checksums : {false, true}) {
      const StopFolder dir;
      ForeignRequest request;
      request.file = foreign_file_of(dir, format, 60);
      request.with_checksums = with_checksums;
      const std::uint64_t stopped =
          stop_without_trace(dir, [&](const Events& events) { (void)index_file(request, events); });
      CHECK(stopped > 0);
      CHECK(first_finding(verified(request.file, VerifyDepth::deep)) == "");
    }
  });
}

TEST_CASE("stopping: rebuilding lost indexes is stopped at any question, and finished later") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const StopFolder dir;
    (void)write_set(format, plain_samples(schema, 40, 3000), dir / "out", {.limit_samples = 15});
    const auto lose = [&] {
      for (const std::string& name : files_in(dir / "out")) {
        const bool is_list = name.ends_with(".index.npy") || name.ends_with(".blocks.npy");
        if (is_list) std::filesystem::remove(join_path(dir / "out", name));
      }
    };
    lose();
    const std::set<std::string> before = dir.entries("out");
    const std::uint64_t stopped = stop_everywhere(
        [&](const Events& events) {
          const RebuildReport report = rebuild_index(dir / "out", events);
          CHECK(report.failed == 0);
        },
        [&] {
          CHECK(dir.entries("out") == before);
          lose();
        });
    CHECK(stopped > 0);
    CHECK(first_finding(verified(dir / "out")) == "");
    CHECK_FALSE(std::filesystem::exists(dir / "out/.shale"));
  });
}

TEST_CASE("stopping: info and cat of a foreign file are stopped at any question") {
  for_each_format([](const Format& format) {
    if (format.survey == nullptr) return;
    const StopFolder dir;
    DatasetRequest request;
    request.path = foreign_file_of(dir, format, 60);
    std::uint64_t stopped =
        stop_without_trace(dir, [&](const Events& events) { (void)inspect(request, events); });
    CHECK(stopped > 0);
    stopped =
        stop_without_trace(dir, [&](const Events& events) { (void)find_row(request, 7, events); });
    CHECK(stopped > 0);
  });
}

TEST_CASE("stopping: resample is stopped at any question, into an array and into shards") {
  const StopFolder dir;
  const Schema schema{.fields = {{"x", Kind::tensor, DType::parse("<f8"), {40}}},
                      .has_keys = false};
  (void)write_set(format_named("npy"), plain_samples(schema, 3000, 0), dir / "own");
  std::filesystem::rename(dir / "own/shard-000000.x.npy", dir / "x.npy");
  std::filesystem::remove_all(dir / "own");
  for (const DrawMode mode : {DrawMode::permute, DrawMode::replace}) {
    ResampleRequest request;
    request.conversion = stoppable(dir / "x.npy", dir, format_named("npy"));
    request.conversion.shard_samples = 700;
    request.conversion.draw.emplace().mode = mode;
    request.indices_output = dir / "rows.npy";
    for (const std::string output : {"drawn.npy", "drawn"}) {
      request.conversion.output = dir / output;
      const std::set<std::string> before = dir.entries(output);
      const std::uint64_t stopped =
          stop_everywhere([&](const Events& events) { (void)resample(request, events); },
                          [&] {
                            CHECK(dir.entries(output) == before);
                            if (output.ends_with(".npy"))
                              CHECK_FALSE(std::filesystem::exists(dir / output));
                          });
      CHECK(stopped > 0);
      std::filesystem::remove_all(dir / output);
      std::filesystem::remove(dir / "rows.npy");
    }
  }
}

}  // namespace
}  // namespace shale
