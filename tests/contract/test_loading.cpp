#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "shale/loading/loader.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"
#include "tests/unit/io/child_process.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

LoaderRequest request_of(const std::string& path, CachePolicy cache = CachePolicy::keep) {
  return {.path = path, .proof = Proof::all, .cache = cache, .generator = "shale test"};
}

// The sample that its places lead to, and the memory that it points into.
struct FetchedSample {
  Sample sample;
  std::vector<std::vector<std::byte>> values;
};

std::vector<FetchedSample> fetched(const Loader& loader, const Format& format,
                                   std::span<const std::uint64_t> rows) {
  const Schema& schema = loader.manifest().schema;
  const std::vector<LocatedSample> located = loader.locate(rows);
  std::vector<FetchedSample> samples(rows.size());
  std::vector<Fetch> fetches;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    samples[i].values.resize(schema.fields.size());
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      if (!is_located(schema.fields[f].kind)) continue;
      samples[i].values[f].resize(Loader::bytes_of_value(located[i], f));
      fetches.push_back({&located[i], f, samples[i].values[f]});
    }
  }
  loader.fetch(fetches);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    samples[i].sample.sides = located[i].place.sides;
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      const IndexCell& cell = located[i].place.cells[f];
      const Bytes bytes = samples[i].values[f];
      std::vector<Value>& values = samples[i].sample.values;
      if (is_absent(cell, schema.fields[f])) {
        values.emplace_back(std::monostate());
        continue;
      }
      switch (schema.fields[f].kind) {
        case Kind::integer:
          values.emplace_back(cell.integer);
          break;
        case Kind::real:
          values.emplace_back(cell.real);
          break;
        case Kind::list:
          values.emplace_back(split_list(
              format, bytes, cell.place,
              elements_of_field(located[i].place.elements, located[i].place.cells, schema, f)));
          break;
        default:
          values.emplace_back(bytes);
      }
    }
  }
  return samples;
}

bool has_values_of(const Sample& found, const Sample& expected) {
  for (std::size_t f = 0; f < expected.values.size(); ++f) {
    if (!are_equal(found.values[f], expected.values[f])) return false;
  }
  return found.values.size() == expected.values.size() && found.sides == expected.sides;
}

// Rows at random, some of them twice.
std::vector<std::uint64_t> random_rows(std::uint64_t samples, std::size_t count, unsigned seed) {
  std::mt19937 dice(seed);
  std::vector<std::uint64_t> rows(count);
  for (std::uint64_t& row : rows) row = dice() % samples;
  return rows;
}

TEST_CASE("loading: samples come as they were written, in any order, through any cache policy") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = odd_samples(schema);
    (void)write_set(format, set, dir / "out", {.limit_samples = 3});
    for (const CachePolicy cache : {CachePolicy::keep, CachePolicy::drop, CachePolicy::direct}) {
      CAPTURE(static_cast<int>(cache));
      const Loader loader(request_of(dir / "out", cache), {});
      REQUIRE(loader.size() == set.samples.size());
      const std::vector<std::uint64_t> rows = random_rows(loader.size(), 40, 7);
      const std::vector<FetchedSample> samples = fetched(loader, format, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(rows[i]);
        CHECK(has_values_of(samples[i].sample, set.samples[rows[i]]));
        CHECK(loader.key_of(rows[i]) == (loader.manifest().layout.has_keys
                                             ? set.samples[rows[i]].key
                                             : std::to_string(rows[i])));
      }
    }
  });
}

TEST_CASE("loading: each key leads to its row, and no other key to any") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 7, 60);
    (void)write_set(format, set, dir / "out", {.limit_samples = 2});
    const Loader loader(request_of(dir / "out"), {});
    for (std::uint64_t row = 0; row < loader.size(); ++row)
      CHECK(loader.find(loader.key_of(row)) == row);
    CHECK(loader.find("no such key") == std::nullopt);
  });
}

// What a loader says of a set that is another now.
std::string refusal_of(const std::function<void()>& read) {
  const Error error = error_of(read);
  CHECK(error.code() == Code::mismatch);
  return error.message();
}

TEST_CASE("loading: a set that was replaced is refused by the next read, whatever is open of it") {
  constexpr std::string_view kReplaced = "the dataset was replaced after it was opened";
  for_each_layout([&](const Format& format, const Schema& schema) {
    for (const Proof proof : {Proof::none, Proof::automatic, Proof::all}) {
      const TempDir dir;
      SampleSet set = plain_samples(schema, 6, 60);
      (void)write_set(format, set, dir / "out", {.limit_samples = 3});
      // Of the same sizes: only the order is another.
      std::swap(set.samples[0].values, set.samples[1].values);
      (void)write_set(format, set, dir / "next", {.limit_samples = 3});
      LoaderRequest request = request_of(dir / "out");
      request.proof = proof;
      const Loader untouched(request, {}), open(request, {});
      const std::uint64_t row = 0, other_shard = 5;
      const std::vector<LocatedSample> located = open.locate({&row, 1});
      for (const std::string& name : files_in(dir / "next"))
        fs::rename(dir / ("next/" + name), dir / ("out/" + name));

      CHECK(refusal_of([&] { (void)open.locate({&row, 1}); }) == kReplaced);
      CHECK(refusal_of([&] { (void)open.locate({&other_shard, 1}); }) == kReplaced);
      CHECK(refusal_of([&] { open.fetch({}); }) == kReplaced);
      CHECK(refusal_of([&] { (void)untouched.locate({&row, 1}); }) == kReplaced);
      fs::remove(dir / "out/dataset.json");
      CHECK(refusal_of([&] {
              (void)open.locate({&row, 1});
            }).starts_with("not found: the dataset was removed"));
    }
  });
}

TEST_CASE("loading: a manifest that was touched, or copied over itself, is the one that it was") {
  const Format& format = *all_formats()[0];
  const TempDir dir;
  (void)write_set(format, small_set(format), dir / "out");
  const Loader loader(request_of(dir / "out"), {});
  const std::uint64_t row = 0;
  const std::string path = dir / "out/dataset.json";
  (void)loader.locate({&row, 1});
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::hours(1));
  (void)loader.locate({&row, 1});
  write_file(path + ".copy", read_text(path));
  fs::rename(path + ".copy", path);
  (void)loader.locate({&row, 1});
}

TEST_CASE("loading: many threads read from one loader what one thread reads") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 200, 300);
    // More shards than may be open at a time.
    (void)write_set(format, set, dir / "out", {.limit_samples = 3});
    const Loader loader(request_of(dir / "out"), {});
    std::atomic<int> wrong = 0;
    const auto read = [&](unsigned seed) {
      for (unsigned batch = 0; batch < (kIsInstrumented ? 1 : 4); ++batch) {
        const std::vector<std::uint64_t> rows = random_rows(loader.size(), 60, seed * 10 + batch);
        const std::vector<FetchedSample> samples = fetched(loader, format, rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (!has_values_of(samples[i].sample, set.samples[rows[i]])) ++wrong;
        }
        if (loader.find(loader.key_of(rows[0])) != rows[0]) ++wrong;
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 6; ++seed) threads.emplace_back(read, seed);
    threads.clear();
    CHECK(wrong == 0);
  });
}

// The descriptors of this process that are open on something in a folder.
std::vector<int> open_below(const std::string& folder) {
  std::vector<int> numbers;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone).string().starts_with(folder))
      numbers.push_back(std::stoi(entry.path().filename().string()));
  }
  return numbers;
}

TEST_CASE("loading: two loaders in a daemon that closed all do not close each other's files") {
  const TempDir dir;
  const Format& format = format_named("record");
  (void)write_set(format, plain_samples(full_schema(format), 5, 100), dir / "set");
  const Loader one(request_of(dir / "set"), {}), other(request_of(dir / "set"), {});
  const std::string key = one.key_of(3);
  CHECK(other.key_of(3) == key);
  const std::size_t open = open_below(dir.path()).size();
  CHECK(open > 3);

  const std::string story = text_from_child([&] {
    for (const int number : open_below(dir.path())) ::close(number);
    const bool is_right = other.key_of(3) == key && one.key_of(3) == key && other.key_of(3) == key;
    return fmt::format("{}, {} open", is_right, open_below(dir.path()).size());
  });

  CHECK(story == fmt::format("true, {} open", open));
}

}  // namespace
}  // namespace shale
