#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "shale/base/path_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/datasets/rebuild_index.hpp"
#include "shale/loading/loader.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/resample.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/npy_numbers.hpp"

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
// `check` looks at what is left. Returns how often that run asked.
std::uint64_t stop_everywhere(const std::function<void(const Events&)>& work,
                              const std::function<void()>& check) {
  for (std::uint64_t k = 1;; k += 1 + k / 8) {
    CAPTURE(k);
    std::uint64_t questions = 0;
    Events events;
    events.progress = [](std::uint64_t, std::uint64_t, std::uint64_t) {};
    events.should_stop = [&] { return ++questions >= k; };
    try {
      work(events);
      CHECK(questions < k);  // else a stop went unheard
      return questions;
    } catch (const Error& error) {
      REQUIRE_MESSAGE(error.code() == Code::interrupted, std::string(error.what()));
    }
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
  const std::uint64_t asked =
      stop_everywhere([&](const Events& events) { (void)convert(request, events); },
                      [&] {
                        CHECK(dir.entries("out") == before);
                        if (std::filesystem::exists(dir / "out"))
                          CHECK(fault_of_unfinished(dir / "out") == "");
                      });
  const VerifyReport report = verified(dir / "out", VerifyDepth::deep);
  CHECK(report.findings == report.bad_when_written);
  return asked;
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
    if (std::any_of(std::begin(kListSuffixes), std::end(kListSuffixes),
                    [&](std::string_view suffix) { return name.ends_with(suffix); }))
      continue;
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

TEST_CASE("stopping: what is encoded already is not written to the end") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;
    const StopFolder dir;
    for (int i = 0; i < 300; ++i) write_file(dir / fmt::format("in/cat/{:03}.jpg", i), "no image");
    ConvertRequest request = stoppable(dir / "in", dir, format);
    request.shard_samples = 1;
    request.on_error = OnError::keep;
    request.max_errors = {.is_share = false, .share = 0, .count = 1000};
    const std::string work = dir / "out/.shale/new";
    const auto shards = [&] {
      std::set<std::string> names;
      for (const std::string& name : files_in(work)) names.insert(name.substr(0, name.find('.')));
      return names.size();
    };
    Events events;
    events.should_stop = [&] { return std::filesystem::exists(work) && shards() > 2; };
    CHECK(error_of([&] { (void)convert(request, events); }).code() == Code::interrupted);
    CHECK(shards() <= 4);
  });
}

TEST_CASE("stopping: a conversion of a dataset, shuffled or not, is stopped at any question") {
  for_each_layout([](const Format& format, const Schema& schema) {
    for (const bool is_shuffled : {false, true}) {
      const StopFolder dir;
      (void)write_set(format, plain_samples(schema, 40, 3000), dir / "in", {.limit_samples = 15});
      ConvertRequest request = stoppable(dir / "in", dir, format);
      request.order.is_shuffled = is_shuffled;
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
      const std::uint64_t asked = stop_without_trace(dir, [&](const Events& events) {
        const VerifyReport report = verify(request, {}, events);
        CHECK(first_finding(report) == "");
      });
      CHECK(asked > 0);
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
      const std::uint64_t asked = stop_without_trace(dir, [&](const Events& events) {
        const VerifyReport report = verify(request, {}, events);
        CHECK(first_finding(report) == "");
      });
      CHECK(asked > 0);
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
  const std::uint64_t asked = stop_without_trace(dir, [&](const Events& events) {
    const VerifyReport report = verify(request, {}, events);
    CHECK(first_finding(report) == "");
  });
  // Files met, files listed, both lists, their pairs.
  CHECK(asked >= 5 * 150);
}

TEST_CASE("stopping: index of a foreign file, with checksums or not, is stopped at any question") {
  for_each_format([](const Format& format) {
    if (format.survey == nullptr) return;
    for (const bool with_checksums : {false, true}) {
      const StopFolder dir;
      ForeignRequest request;
      request.file = foreign_file_of(dir, format, 60);
      request.with_checksums = with_checksums;
      const std::uint64_t asked =
          stop_without_trace(dir, [&](const Events& events) { (void)index_file(request, events); });
      CHECK(asked > 0);
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
    const std::uint64_t asked = stop_everywhere(
        [&](const Events& events) {
          const RebuildReport report = rebuild_index(dir / "out", events);
          CHECK(report.failed == 0);
        },
        [&] {
          CHECK(dir.entries("out") == before);
          lose();
        });
    CHECK(asked > 0);
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
    std::uint64_t asked =
        stop_without_trace(dir, [&](const Events& events) { (void)inspect(request, events); });
    CHECK(asked > 0);
    asked =
        stop_without_trace(dir, [&](const Events& events) { (void)find_row(request, 7, events); });
    CHECK(asked > 0);
  });
}

// Rows of `width` numbers, all different, in any order of the axes.
std::string array_of(std::size_t rows, std::size_t width, bool is_fortran = false) {
  std::string data;
  for (std::uint64_t i = 0; i < rows * width; ++i) data += as_text(bytes_of(i));
  return npy_text("<u8", {rows, width}, data, is_fortran);
}

TEST_CASE("stopping: arrays are joined into one, which is stopped at any question") {
  const StopFolder dir;
  for (const bool is_fortran : {false, true}) {
    write_file(dir / "x.npy", array_of(60'000, 16, is_fortran));
    write_file(dir / "y.npy", array_of(10'000, 16));
    ConvertRequest request = stoppable(dir / "x.npy", dir, format_named("npy"));
    request.inputs.push_back(dir / "y.npy");
    request.output = dir / "joined.npy";
    const std::uint64_t asked =
        stop_without_trace(dir, [&](const Events& events) { (void)convert(request, events); });
    CHECK(asked > 0);
    CHECK(std::filesystem::file_size(dir / "joined.npy") ==
          std::filesystem::file_size(dir / "x.npy") + 10'000 * 16 * 8);
    std::filesystem::remove(dir / "joined.npy");
  }
}

TEST_CASE("stopping: verify against arrays, a file and a dataset is stopped at any question") {
  const StopFolder dir;
  write_file(dir / "x.npy", array_of(20'000, 16));
  ConvertRequest arrays = stoppable(dir / "x.npy", dir, format_named("npy"));
  arrays.shard_samples = 7000;
  (void)convert(arrays, {});
  const std::string file = foreign_file_of(dir, format_named("lmdb"), 60);
  ConvertRequest copy = stoppable(file, dir, format_named("lmdb"));
  copy.output = dir / "copy";
  (void)convert(copy, {});
  struct Pair {
    std::string dataset, against;
  };
  for (const Pair& pair :
       {Pair{"out", "x.npy"}, Pair{"copy", "foreign.lmdb"}, Pair{"copy", "copy"}}) {
    CAPTURE(pair.against);
    VerifyRequest request;
    request.dataset = dir / pair.dataset;
    request.against = {dir / pair.against};
    request.memory_bytes = kMemory;
    const std::uint64_t asked = stop_without_trace(dir, [&](const Events& events) {
      const VerifyReport report = verify(request, {}, events);
      CHECK(first_finding(report) == "");
    });
    CHECK(asked > 0);
  }
}

TEST_CASE("stopping: labels that are read and compared are stopped at any question") {
  const StopFolder dir;
  std::string labels;
  for (int i = 0; i < 60; ++i) {
    write_file(dir / fmt::format("in/{:02}.jpg", i), "no image");
    labels += fmt::format("{:02}.jpg,{}\n", i, i % 2 == 0 ? "cat" : "dog");
  }
  write_file(dir / "labels.csv", labels);
  ConvertRequest request = stoppable(dir / "in", dir, format_named("record"));
  request.labels.path = dir / "labels.csv";
  request.on_error = OnError::keep;
  request.max_errors = {.is_share = false, .share = 0, .count = 1000};
  // Files, labels, names, both together, the list.
  std::uint64_t questions = 0;
  Events counting;
  counting.should_stop = [&] { return ++questions == 0; };
  (void)convert(request, counting);
  CHECK(questions >= 5 * 60);
  std::filesystem::remove_all(dir / "out");
  CHECK(stop_conversion(dir, request) > 0);
  VerifyRequest comparison;
  comparison.dataset = dir / "out";
  comparison.against = {dir / "in"};
  comparison.labels = request.labels;
  comparison.memory_bytes = kMemory;
  const std::uint64_t asked = stop_without_trace(dir, [&](const Events& events) {
    const VerifyReport report = verify(comparison, {}, events);
    CHECK(first_finding(report) == "");
  });
  CHECK(asked > 0);
}

TEST_CASE("stopping: a loader that opens a file, or looks for a key, is stopped at any question") {
  for_each_format([](const Format& format) {
    if (format.survey == nullptr) return;
    const StopFolder dir;
    std::filesystem::create_directory(dir / "index");
    LoaderRequest request{.path = foreign_file_of(dir, format, 60), .generator = "shale test"};
    std::uint64_t asked = stop_without_trace(dir, [&](const Events& events) {
      const Loader loader(request, events);
      const std::optional<std::uint64_t> row = loader.find("is not there", events);
      CHECK(row == std::nullopt);
    });
    CHECK(asked > 0);
    request.index_folder = dir / "index";
    asked = stop_without_trace(dir,
                               [&](const Events& events) { const Loader loader(request, events); });
    CHECK(asked > 0);
  });
}

bool is_in_work_folder(const std::string& path) {
  return path.find(".npy.shale") != std::string::npos;
}

struct Drawing {
  std::string_view name;
  DrawMode mode;
  std::size_t rows, width;
  DrawStrategy strategy;
};
constexpr Drawing kDrawings[] = {
    {"permuted", DrawMode::permute, 3000, 40, DrawStrategy::memory},
    {"replaced", DrawMode::replace, 3000, 40, DrawStrategy::memory},
    {"dealt by weights", DrawMode::weights, 3000, 40, DrawStrategy::buckets},
    {"listed", DrawMode::indices, 3000, 40, DrawStrategy::memory},
    {"gathered", DrawMode::permute, 200, 8192, DrawStrategy::gather},
    {"dealt by permutation", DrawMode::permute, 130'000, 8, DrawStrategy::buckets},
    {"dealt by a list", DrawMode::indices, 130'000, 8, DrawStrategy::buckets},
};

TEST_CASE("stopping: resample is stopped at any question, by any strategy, into whatever") {
  for (const Drawing& drawing : kDrawings) {
    CAPTURE(drawing.name);
    const StopFolder dir;
    write_file(dir / "x.npy", array_of(drawing.rows, drawing.width));
    write_file(dir / "y.npy", array_of(drawing.rows, 2));
    std::vector<std::uint64_t> numbers(drawing.rows);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = (i * 7919) % numbers.size();
    write_file(dir / "numbers.npy", npy_of("<u8", numbers));
    for (const std::string output : {"drawn.npy", "drawn"}) {
      ResampleRequest request;
      request.conversion = stoppable(dir / "x.npy", dir, format_named("npy"));
      request.conversion.output = dir / output;
      request.conversion.shard_samples = drawing.rows / 3;
      DrawRequest& draw = request.conversion.order.draw.emplace();
      draw.mode = drawing.mode;
      if (drawing.mode == DrawMode::weights || drawing.mode == DrawMode::indices)
        draw.file = dir / "numbers.npy";
      request.also = {{dir / "y.npy", dir / "also.npy"}};
      request.indices_output = dir / "rows.npy";
      const std::set<std::string> before = dir.entries(output);
      std::optional<DrawStrategy> strategy;
      const std::uint64_t asked = stop_everywhere(
          [&](const Events& events) {
            strategy = resample(request, events).arrays[0].plan.strategy;
          },
          [&] {
            // Its work folders are what the same command goes on with.
            std::set<std::string> after = dir.entries(output);
            std::erase_if(after, is_in_work_folder);
            CHECK(after == before);
            if (output.ends_with(".npy")) CHECK_FALSE(std::filesystem::exists(dir / output));
          });
      CHECK(asked > 0);
      const std::set<std::string> left = dir.entries(output);
      CHECK(std::none_of(left.begin(), left.end(), is_in_work_folder));
      if (output.ends_with(".npy")) CHECK(name_of(strategy.value()) == name_of(drawing.strategy));
      for (const char* name : {"drawn", "drawn.npy", "also.npy", "rows.npy"})
        std::filesystem::remove_all(dir / name);
    }
  }
}

TEST_CASE("stopping: drawing from a dataset is stopped while its shards are proved") {
  const StopFolder dir;
  write_file(dir / "x.npy", array_of(200'000, 8));
  ConvertRequest conversion = stoppable(dir / "x.npy", dir, format_named("npy"));
  conversion.output = dir / "set";
  conversion.shard_samples = 200'000;
  (void)convert(conversion, {});
  ResampleRequest request;
  request.conversion = stoppable(dir / "set", dir, format_named("npy"));
  request.conversion.output = dir / "drawn.npy";
  request.conversion.order.draw.emplace().rows = 0;
  // Nothing but the proof of 12 MiB, block by block, takes time.
  const std::uint64_t asked =
      stop_without_trace(dir, [&](const Events& events) { (void)resample(request, events); });
  CHECK(asked > 12);
}

}  // namespace
}  // namespace shale
