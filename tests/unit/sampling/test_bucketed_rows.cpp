#include <filesystem>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>
#include <malloc.h>

#include "shale/flow/permutation.hpp"
#include "shale/sampling/bucket_shape.hpp"
#include "shale/sampling/bucketed_rows.hpp"

#include "support/peak_memory.hpp"
#include "support/sampled_walk.hpp"
#include "support/sizes.hpp"
#include "unit/arrays/located_noise.hpp"
#include "unit/io/child_process.hpp"

// Rows that went through buckets, against a table of which row each slot is.

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::LocatedNoise;
using test::TempDir;

/// A draw by a table; every third step of its sweep yields none.
class TableDraw : public Draw {
 public:
  TableDraw(std::uint64_t source_rows, std::vector<std::uint64_t> row_of_slot)
      : source_rows_(source_rows), row_of_slot_(std::move(row_of_slot)) {
    for (std::uint64_t slot = 0; slot < row_of_slot_.size(); ++slot)
      places_.push_back({row_of_slot_[slot], slot});
    std::stable_sort(
        places_.begin(), places_.end(),
        [](const DrawnPlace& left, const DrawnPlace& right) { return left.row < right.row; });
  }
  [[nodiscard]] std::uint64_t source_rows() const override { return source_rows_; }
  [[nodiscard]] std::uint64_t rows() const override { return row_of_slot_.size(); }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    for (std::uint64_t& row : into) row = row_of_slot_[first++];
  }
  [[nodiscard]] std::uint64_t sweep_steps() const override { return places_.size() / 2 * 3 + 2; }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    std::vector<DrawnPlace> places;
    for (std::uint64_t step = first; step < last; ++step) {
      const std::uint64_t place = step / 3 * 2 + step % 3;
      if (step % 3 != 2 && place < places_.size()) places.push_back(places_[place]);
    }
    return places;
  }

  std::vector<std::uint64_t> table() const { return row_of_slot_; }

 private:
  std::uint64_t source_rows_;
  std::vector<std::uint64_t> row_of_slot_;
  std::vector<DrawnPlace> places_;
};

TableDraw shuffled(std::uint64_t rows, std::uint64_t slots) {
  const Permutation order(rows, 7);
  std::vector<std::uint64_t> table(slots);
  for (std::uint64_t slot = 0; slot < slots; ++slot) table[slot] = order.at(slot % rows);
  return {rows, std::move(table)};
}

TableDraw with_replacement(std::uint64_t rows, std::uint64_t slots) {
  std::mt19937_64 dice(slots);
  std::vector<std::uint64_t> table(slots);
  for (std::uint64_t& row : table) row = dice() % rows;
  return {rows, std::move(table)};
}

TableDraw in_order(std::uint64_t rows) {
  std::vector<std::uint64_t> table(rows);
  std::iota(table.begin(), table.end(), std::uint64_t{0});
  return {rows, std::move(table)};
}

TableDraw one_row(std::uint64_t rows, std::uint64_t row, std::uint64_t slots) {
  return {rows, std::vector<std::uint64_t>(slots, row)};
}

/// True if the stream is the rows of the table, to the last byte.
bool is_right(const LocatedNoise& noise, const TableDraw& draw, const BucketLimits& limits) {
  const Events events;
  const auto stream = open_bucketed_rows(*noise.rows, draw, limits, events);
  const std::vector<std::uint64_t> table = draw.table();
  std::uint64_t slot = 0;
  for (Bytes rows = stream->next(); !rows.empty(); rows = stream->next()) {
    if (rows.size() % noise.row_bytes != 0) return false;
    for (; !rows.empty(); rows = rows.subspan(noise.row_bytes), ++slot) {
      if (slot == table.size()) return false;
      const char* const expected = noise.all.data() + table[slot] * noise.row_bytes;
      if (std::memcmp(rows.data(), expected, noise.row_bytes) != 0) return false;
    }
  }
  return slot == table.size() && stream->next().empty();
}

constexpr std::uint64_t kRowBytes[] = {1, 2, 3, 4, 8, 13, 16, 100, 3'072, 5'000, 65'536};

TEST_CASE("bucketed rows: any draw of rows of any size comes out as its table says" *
          doctest::test_suite("slow")) {
  for (const std::uint64_t row_bytes : kRowBytes) {
    CAPTURE(row_bytes);
    TempDir dir;
    const std::uint64_t rows = std::min<std::uint64_t>(3 * kMebi / row_bytes, 300'000);
    const LocatedNoise noise(dir, row_bytes, 1, {{77, rows}});
    const BucketLimits limits{2, kLeastBucketMemory, dir.path()};
    CHECK(is_right(noise, shuffled(rows, rows), limits));
    CHECK(is_right(noise, shuffled(rows, rows / 10), limits));
    CHECK(is_right(noise, with_replacement(rows, rows), limits));
    CHECK(is_right(noise, with_replacement(rows, rows * 2), limits));
    CHECK(is_right(noise, in_order(rows), limits));
    CHECK(is_right(noise, one_row(rows, rows - 1, rows), limits));
    CHECK(is_right(noise, one_row(rows, 0, 1), limits));
    CHECK(test::files_in(dir.path()) == std::vector<std::string>{"rows-0"});
  }
}

TEST_CASE("bucketed rows: the bytes do not depend on threads and memory, in one level or two") {
  for (const unsigned row_bytes : {13U, 3'072U, 100'000U}) {
    if (row_bytes == 13 && test::kIsInstrumented) continue;
    CAPTURE(row_bytes);
    TempDir dir;
    const std::uint64_t rows = 15 * kMebi / row_bytes;
    const LocatedNoise noise(dir, row_bytes, 1, {{0, rows}});
    const TableDraw draw = shuffled(rows, rows);
    CHECK(plan_buckets(row_bytes, rows, kLeastBucketMemory).passes == 2);
    CHECK(plan_buckets(row_bytes, rows, 16 * kMebi).passes == 1);
    for (const unsigned memory : {2U, 16U}) {
      CAPTURE(memory);
      for (const unsigned jobs : {1U, 2U, 8U})
        CHECK(is_right(noise, draw, {jobs, memory * kMebi, dir.path()}));
    }
  }
}

TEST_CASE("bucketed rows: a few rows in a great many slots, and repeated rows, in two levels") {
  TempDir dir;
  const LocatedNoise noise(dir, 100, 1, {{5, 7}});
  const BucketLimits limits{2, kLeastBucketMemory, dir.path()};
  CHECK(plan_buckets(100, 200'000, kLeastBucketMemory).passes == 2);
  CHECK(is_right(noise, with_replacement(7, 200'000), limits));
  CHECK(is_right(noise, one_row(7, 3, 200'000), limits));
}

TEST_CASE("bucketed rows: rows of many files, some of them big-endian") {
  TempDir dir;
  std::vector<LocatedNoise::File> files;
  for (std::uint64_t i = 0; i < 90; ++i) files.push_back({i * 13, 100 + i % 7, i % 3 == 0});
  const LocatedNoise noise(dir, 24, 8, files);
  const std::uint64_t rows = noise.rows->rows();
  for (const unsigned jobs : {1U, 2U, 8U}) {
    CHECK(is_right(noise, shuffled(rows, rows), {jobs, kLeastBucketMemory, dir.path()}));
    CHECK(is_right(noise, with_replacement(rows, 3 * rows), {jobs, 4 * kMebi, dir.path()}));
    CHECK(is_right(noise, shuffled(rows, 50), {jobs, kLeastBucketMemory, dir.path()}));
  }
}

TEST_CASE("bucketed rows: without rows, or with rows without bytes, nothing is opened or made") {
  const Events events;
  const LocatedRows rows(10, 1, {{"/no/such/file", nullptr, 0, 5, {}}});
  const LocatedRows empty(0, 1, {{"/no/such/file", nullptr, 0, 5, {}}});
  const BucketLimits limits{2, kLeastBucketMemory, "/no/such/folder"};
  CHECK(open_bucketed_rows(rows, in_order(0), limits, events)->next().empty());
  CHECK(open_bucketed_rows(empty, in_order(5), limits, events)->next().empty());
  CHECK(plan_buckets(0, 5, kLeastBucketMemory).scratch_bytes == 0);
  CHECK(plan_buckets(10, 0, kLeastBucketMemory).passes == 1);
  CHECK(error_of([&] { (void)open_bucketed_rows(rows, in_order(5), limits, events); }).file() ==
        "/no/such/folder");
}

struct ShapeRow {
  std::uint64_t row_bytes, rows, memory;
  std::size_t passes;
};
constexpr ShapeRow kShapes[] = {
    {3'072, 1, 2 * kMebi, 1},           {3'072, 2'000'000, 300 * kMebi, 1},
    {3'072, 2'000'000, 64 * kMebi, 1},  {3'072, 2'000'000, 16 * kMebi, 2},
    {131'072, 100'000, 2 * kMebi, 4},   {1, 100'000'000, 300 * kMebi, 1},
    {1, 1ULL << 39, 16 * kMebi, 3},     {1, 1ULL << 36, 2 * kMebi, 4},
    {8, 1ULL << 40, 10'000 * kMebi, 1},
};

TEST_CASE("bucketed rows: each level of buckets fits its memory, and its tags 32 bits") {
  for (const ShapeRow& row : kShapes) {
    CAPTURE(row.row_bytes);
    CAPTURE(row.rows);
    const BucketShape shape = shape_buckets(row.row_bytes, row.rows, row.memory);
    CHECK(shape.spans.size() == row.passes);
    CHECK(shape.spans.back() * row.row_bytes * BucketShape::kOutputs +
              shape.arena_bytes * BucketShape::kMostReaders <=
          row.memory);
    CHECK(shape.buffers * shape.extent_bytes <= row.memory / 2);
    std::uint64_t rows = row.rows;
    for (const std::uint64_t span : shape.spans) {
      CHECK(span <= 1ULL << 32);
      CHECK(BucketShape::count(rows, span) + 8 <= shape.buffers);
      CHECK((rows == row.rows || rows % span == 0));
      rows = span;
    }
    CHECK(shape.scratch_bytes() >= row.rows * (row.row_bytes + 4));
  }
}

TEST_CASE("bucketed rows: too many rows, too large ones and too little memory are refused") {
  const auto code = [](std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t memory) {
    return error_of([&] { (void)plan_buckets(row_bytes, rows, memory); }).code();
  };
  CHECK(code(1, 1ULL << 40, kLeastBucketMemory) == Code::limit);
  CHECK(code(100'000, 1ULL << 40, 1'024 * kMebi) == Code::limit);
  CHECK(code(kLeastBucketMemory / kMostBucketRowShare + 1, 1, kLeastBucketMemory) == Code::limit);
  CHECK(code(1, 1, kLeastBucketMemory - 1) == Code::bug);
  CHECK_NOTHROW(
      (void)plan_buckets(kLeastBucketMemory / kMostBucketRowShare, 1, kLeastBucketMemory));
}

TEST_CASE("bucketed rows: a scratch file never outgrows the plan") {
  for (const unsigned row_bytes : {100U, 100'000U}) {
    for (const unsigned megabytes : {1U, 20U}) {
      TempDir dir;
      const std::uint64_t rows = megabytes * kMebi / row_bytes;
      const LocatedNoise noise(dir, row_bytes, 1, {{0, rows}});
      const std::uint64_t planned = plan_buckets(row_bytes, rows, kLeastBucketMemory).scratch_bytes;
      // The limit holds for files alone: the kernel itself refuses a byte behind it.
      CHECK(test::text_from_child([&] {
              test::limit_file_size(planned);
              const BucketLimits limits{2, kLeastBucketMemory, dir.path()};
              return std::string(is_right(noise, shuffled(rows, rows), limits) ? "right" : "wrong");
            }) == "right");
    }
  }
}

TEST_CASE("bucketed rows: a full disk is told with place, and leaves nothing") {
  TempDir dir, scratch;
  const LocatedNoise noise(dir, 100, 1, {{0, 40'000}});
  for (const unsigned jobs : {1U, 8U}) {
    const std::string text = test::text_from_child([&] {
      test::limit_file_size(kMebi);
      const BucketLimits limits{jobs, kLeastBucketMemory, scratch.path()};
      const Error error =
          error_of([&] { (void)is_right(noise, shuffled(40'000, 40'000), limits); });
      return error.code() == Code::io ? error.what() : std::string("another code");
    });
    CAPTURE(text);
    CHECK(text.starts_with(scratch.path() + "/(scratch): byte "));
    CHECK(text.ends_with("more bytes exceed the file size limit: File too large"));
    CHECK(test::files_in(scratch.path()).empty());
  }
}

TEST_CASE("bucketed rows: places dealt are told, ascending, up to all of them") {
  TempDir dir;
  const LocatedNoise noise(dir, 10, 1, {{0, 200'000}});
  for (const std::uint64_t rows : {150'000U, 1'500'000U}) {
    const std::uint64_t passes = plan_buckets(10, rows, kLeastBucketMemory).passes;
    CHECK(passes == (rows < 1'000'000 ? 1 : 2));
    std::uint64_t last = 0, calls_of_first = 0, calls_of_second = 0;
    Events events;
    events.progress = [&](std::uint64_t done, std::uint64_t all, std::uint64_t bytes) {
      CHECK(done > last);
      CHECK(all == passes * rows);
      CHECK(bytes == done * 10);
      last = done;
      ++(done > rows ? calls_of_second : calls_of_first);
    };
    const TableDraw draw = shuffled(200'000, rows);
    (void)open_bucketed_rows(*noise.rows, draw, {2, kLeastBucketMemory, dir.path()}, events);
    CHECK(last == passes * rows);
    CHECK(calls_of_first > 10);
    CHECK((passes == 1 || calls_of_second > 1));
  }
}

TEST_CASE("bucketed rows: it stops when it is asked to, in every pass") {
  TempDir dir, scratch;
  const LocatedNoise noise(dir, 1'000, 1, {{0, 20'000}});
  const TableDraw draw = shuffled(20'000, 20'000);
  int asked = 0, stop_at = 0;
  Events events;
  events.should_stop = [&] { return ++asked == stop_at; };
  const BucketLimits limits{2, kLeastBucketMemory, scratch.path()};
  const auto run = [&] {
    asked = 0;
    const auto stream = open_bucketed_rows(*noise.rows, draw, limits, events);
    while (!stream->next().empty()) continue;
  };
  run();
  const int times = asked;
  for (stop_at = 1; stop_at < times; stop_at += times / 7) {
    CAPTURE(stop_at);
    CHECK(error_of(run).code() == Code::interrupted);
    CHECK(asked == stop_at);
    CHECK(test::files_in(scratch.path()).empty());
  }
}

TEST_CASE("bucketed rows: after an error nothing more is handed out") {
  TempDir dir;
  const LocatedNoise noise(dir, 1'000, 1, {{0, 5'000}});
  const TableDraw draw = shuffled(5'000, 5'000);
  bool stops = false;
  Events events;
  events.should_stop = [&] { return stops; };
  const auto stream =
      open_bucketed_rows(*noise.rows, draw, {2, kLeastBucketMemory, dir.path()}, events);
  CHECK_FALSE(stream->next().empty());
  stops = true;
  CHECK(error_of([&] { (void)stream->next(); }).code() == Code::interrupted);
  CHECK(error_of([&] { (void)stream->next(); }).code() == Code::bug);
}

TEST_CASE("bucketed rows: a source that was cut is damaged, the first place of it is told") {
  TempDir dir;
  const LocatedNoise noise(dir, 1'000, 1, {{0, 10'000}});
  std::filesystem::resize_file(dir / "rows-0", 5'000'000);
  for (const unsigned jobs : {1U, 2U, 8U}) {
    const Error error = error_of([&] {
      (void)is_right(noise, shuffled(10'000, 10'000), {jobs, 3 * kMebi, dir.path()});
    });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == dir / "rows-0");
    REQUIRE(error.offset());
    CHECK(*error.offset() < 5'000'000);
    CHECK(*error.offset() > 4'400'000);
  }
}

TEST_CASE("bucketed rows: a draw that leaves slots out, or makes some up, is a bug") {
  class WrongDraw : public TableDraw {
   public:
    explicit WrongDraw(std::uint64_t slot) : TableDraw(in_order(100)), slot_(slot) {}
    std::vector<DrawnPlace> sweep(std::uint64_t first, std::uint64_t last) const override {
      std::vector<DrawnPlace> places = TableDraw::sweep(first, last);
      places.back().slot = slot_;
      if (slot_ == 0) places.pop_back();
      return places;
    }

   private:
    std::uint64_t slot_;
  };
  TempDir dir;
  const LocatedNoise noise(dir, 10, 1, {{0, 100}});
  const Events events;
  for (const std::uint64_t slot : {std::uint64_t{0}, std::uint64_t{100}, ~std::uint64_t{0}}) {
    const WrongDraw draw(slot);
    const BucketLimits limits{1, kLeastBucketMemory, dir.path()};
    CHECK(error_of([&] { (void)open_bucketed_rows(*noise.rows, draw, limits, events); }).code() ==
          Code::bug);
  }
}

TEST_CASE("bucketed rows: memory stays within what was given, with lists of places and readers") {
  for (const unsigned row_bytes : {16U, 3'000U}) {
    CAPTURE(row_bytes);
    TempDir dir("/var/tmp");  // a tmpfs counts as nobody's memory, but let it not
    const std::uint64_t rows = 40 * kMebi / row_bytes;
    test::write_file(dir / "rows", "");
    std::filesystem::resize_file(dir / "rows", rows * row_bytes);
    const std::string text = test::text_from_child([&] {
      const LocatedRows source(row_bytes, 1, {{dir / "rows", nullptr, 0, rows, {}}});
      const TableDraw draw = shuffled(rows, rows);
      ::malloc_trim(0);  // what other tests left in the heap is resident, and would not show
      std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins here
      const std::uint64_t before = test::peak_kib();
      const Events events;
      const auto stream = open_bucketed_rows(source, draw, {2, 8 * kMebi, dir.path()}, events);
      while (!stream->next().empty()) continue;
      // The rest is code, stacks, rings and the heaps of threads: up to 5.4 MiB on a busy machine.
      // The rows are 40 MiB.
      const std::uint64_t more = test::peak_kib() - before;
      return more <= 16 * 1024 ? std::string("within") : fmt::format("{} KiB more", more);
    });
    CHECK(text == "within");
  }
}

TEST_CASE("bucketed rows: random draws, sizes, files, threads and budgets come out right") {
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 dice(seed);
  const int rounds = test::kIsInstrumented ? 5 : 25;
  for (int round = 0; round < rounds; ++round) {
    TempDir dir;
    const std::uint64_t item_bytes = std::uint64_t{1} << dice() % 4;
    const std::uint64_t row_bytes = item_bytes * (1 + dice() % (std::uint64_t{1} << dice() % 12));
    const std::uint64_t most = std::max<std::uint64_t>((2 * kMebi << dice() % 3) / row_bytes, 1);
    std::vector<LocatedNoise::File> files;
    for (std::uint64_t i = 0, count = 1 + dice() % 5; i < count; ++i)
      files.push_back({dice() % 5'000, 1 + dice() % most / count, dice() % 2 == 0});
    const LocatedNoise noise(dir, row_bytes, item_bytes, files);
    const std::uint64_t rows = noise.rows->rows();
    const std::uint64_t slots = 1 + dice() % (2 * rows);
    CAPTURE(round);
    CAPTURE(row_bytes);
    CAPTURE(rows);
    CAPTURE(slots);
    const TableDraw draw = dice() % 2 == 0 ? with_replacement(rows, slots) : shuffled(rows, slots);
    CHECK(is_right(noise, draw,
                   {static_cast<unsigned>(1 + dice() % 9),
                    kLeastBucketMemory + dice() % (4 * kMebi), dir.path()}));
  }
}

}  // namespace
}  // namespace shale
