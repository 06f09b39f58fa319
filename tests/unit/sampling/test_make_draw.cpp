#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/flow/split_counts.hpp"
#include "shale/sampling/make_draw.hpp"
#include "shale/sampling/weight_sums.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/zip_builder.hpp"
#include "tests/unit/sampling/draw_checks.hpp"

namespace shale {
namespace {

using test::all_rows;
using test::check_both_sides;
using test::chi_square;
using test::error_of;
using test::kMebi;
using test::npy_as;
using test::npy_of;
using test::npy_text;
using test::TempDir;
using test::write_file;

using Rows = std::vector<std::uint64_t>;
constexpr std::uint64_t kSources[] = {0, 1, 2, 5, 64, 100}, kOutputs[] = {0, 1, 3, 100, 1000};

struct Maker {
  [[nodiscard]] std::unique_ptr<Draw> make(const DrawRequest& request, std::uint64_t source_rows,
                                           std::uint64_t memory = kMebi) const {
    return make_draw(request, source_rows, memory, dir.path(), Events{});
  }
  [[nodiscard]] std::unique_ptr<Draw> permute(std::uint64_t n, std::optional<std::uint64_t> rows,
                                              std::uint64_t seed = 0) const {
    return make({.mode = DrawMode::permute, .rows = rows, .seed = seed, .file = {}}, n);
  }
  [[nodiscard]] std::unique_ptr<Draw> replace(std::uint64_t n, std::optional<std::uint64_t> rows,
                                              std::uint64_t seed = 0,
                                              std::uint64_t memory = kMebi) const {
    return make({.mode = DrawMode::replace, .rows = rows, .seed = seed, .file = {}}, n, memory);
  }
  /// `content` is that of the file.
  [[nodiscard]] std::unique_ptr<Draw> of_file(DrawMode mode, const std::string& content,
                                              std::uint64_t n, std::optional<std::uint64_t> rows,
                                              std::uint64_t memory = kMebi) const {
    write_file(path, content);
    return make({.mode = mode, .rows = rows, .seed = 3, .file = path}, n, memory);
  }
  template <class Number>
  [[nodiscard]] std::unique_ptr<Draw> weigh(const std::vector<Number>& weights,
                                            std::optional<std::uint64_t> rows,
                                            std::string_view descr = "<f8",
                                            std::uint64_t memory = kMebi) const {
    return of_file(DrawMode::weights, npy_as(descr, weights), weights.size(), rows, memory);
  }
  [[nodiscard]] Error error(DrawMode mode, const std::string& content, std::uint64_t n) const {
    const Error error = error_of([&] { (void)of_file(mode, content, n, std::nullopt); });
    CHECK(error.file() == path);
    return error;
  }

  TempDir dir;
  std::string path = dir / "draw.npy";
};

std::vector<double> as_weights(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

/// Weights from 0 to 12, some of them 0.
std::vector<int> mixed_weights(std::size_t count) {
  std::vector<int> weights(count);
  for (std::size_t row = 0; row < count; ++row) weights[row] = static_cast<int>(row * 5 % 13);
  if (count > 0) weights.back() = 1;
  return weights;
}

TEST_CASE("make draw: rows without replacement are the first of the shuffled order") {
  const Maker maker;
  for (const std::uint64_t n : kSources) {
    for (const std::uint64_t rows : kOutputs) {
      if (rows > n) continue;
      CAPTURE(n);
      CAPTURE(rows);
      const auto draw = maker.permute(n, rows, 7);
      CHECK(draw->source_rows() == n);
      CHECK(draw->rows() == rows);
      CHECK(draw->sweep_steps() == n);
      check_both_sides(*draw);
      Rows drawn = all_rows(*draw);
      for (std::uint64_t slot = 0; slot < rows; ++slot)
        CHECK(drawn[slot] == Permutation(n, 7).at(slot));
      std::sort(drawn.begin(), drawn.end());
      CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());
    }
    CHECK(maker.permute(n, std::nullopt)->rows() == n);
  }
}

TEST_CASE("make draw: rows with replacement are the split counts in a shuffled order") {
  const Maker maker;
  for (const std::uint64_t n : kSources) {
    for (const std::uint64_t rows : kOutputs) {
      if (n == 0 && rows > 0) continue;
      CAPTURE(n);
      CAPTURE(rows);
      const auto draw = maker.replace(n, rows, 11);
      CHECK(draw->source_rows() == n);
      CHECK(draw->rows() == rows);
      CHECK(draw->sweep_steps() == rows);
      check_both_sides(*draw);
      if (rows == 0) continue;
      const SplitCounts counts(n, rows, 11, kMebi);
      const Permutation slots(rows, 11 ^ kSlotSeed);
      const Rows drawn = all_rows(*draw);
      for (std::uint64_t rank = 0; rank < rows; ++rank)
        CHECK(drawn[slots.at(rank)] == counts.row_of(rank));
    }
    CHECK(maker.replace(n, std::nullopt)->rows() == n);
  }
}

TEST_CASE("make draw: weighted rows are the split counts of the sums in a shuffled order") {
  const Maker maker;
  const auto draw = maker.weigh(mixed_weights(100), 1'000);
  const NumberFile file(maker.path);
  const SplitCounts counts(100, 1'000, 3, kMebi,
                           sums_of_weights(file, kMebi, maker.dir.path(), Events{}));
  const Permutation slots(1'000, 3 ^ kSlotSeed);
  const Rows drawn = all_rows(*draw);
  for (std::uint64_t rank = 0; rank < 1'000; ++rank)
    CHECK(drawn[slots.at(rank)] == counts.row_of(rank));
}

TEST_CASE("make draw: weighted rows agree from both sides") {
  const Maker maker;
  for (const std::uint64_t n : kSources) {
    for (const std::uint64_t rows : kOutputs) {
      if (n == 0 && rows > 0) continue;
      CAPTURE(n);
      CAPTURE(rows);
      const auto draw = maker.weigh(mixed_weights(n), rows);
      CHECK(draw->source_rows() == n);
      CHECK(draw->rows() == rows);
      check_both_sides(*draw);
    }
    CHECK(maker.weigh(mixed_weights(n), std::nullopt)->rows() == n);
  }
}

// Made by the programs in docs/sampling.md and docs/shuffle.md (Python 3), which share no code with
// this: as_integers, row_of and slots, of 11 rows, 20 draws and seed 3.
TEST_CASE("make draw: draws with replacement are those of the documents") {
  const Maker maker;
  CHECK(all_rows(*maker.replace(11, 20, 3)) ==
        Rows{3, 5, 8, 10, 9, 0, 8, 10, 3, 9, 4, 10, 6, 4, 10, 0, 5, 2, 7, 4});
  const std::vector<double> weights = {0.0,    0.5,     1e-3, 3.25,  0.0, 7.0,
                                       5e-324, 1.0 / 3, 2.0,  1e-12, 0.1};
  CHECK(all_rows(*maker.weigh(weights, 20)) ==
        Rows{3, 5, 5, 8, 5, 1, 5, 8, 3, 5, 5, 8, 5, 5, 8, 1, 5, 3, 5, 5});
}

// 5 standard deviations above the mean of chi-square: far beyond what a fair draw gives.
double far_above(double degrees) { return degrees + 5 * std::sqrt(2 * degrees); }

TEST_CASE("make draw: with replacement, rows are drawn alike, in every part of the output") {
  const Maker maker;
  const Rows rows = all_rows(*maker.replace(100, 100'000, 5));
  const std::vector<double> even(100, 1);
  CHECK(chi_square(rows, even) < far_above(99));
  CHECK(chi_square(Rows(rows.begin(), rows.begin() + 10'000), even) < far_above(99));
  CHECK(chi_square(Rows(rows.end() - 10'000, rows.end()), even) < far_above(99));
  // Slots that follow one another know nothing of each other: pairs are alike too.
  Rows pairs;
  for (std::size_t slot = 0; slot + 1 < rows.size(); slot += 2)
    pairs.push_back(rows[slot] / 10 * 10 + rows[slot + 1] / 10);
  CHECK(chi_square(pairs, even) < far_above(99));
}

TEST_CASE("make draw: weighted rows are drawn in proportion, and never for the weight 0") {
  const Maker maker;
  const std::vector<int> weights = mixed_weights(100);
  const Rows rows = all_rows(*maker.weigh(weights, 200'000));
  const auto zeros = static_cast<double>(std::count(weights.begin(), weights.end(), 0));
  CHECK(zeros == 8);
  CHECK(chi_square(rows, as_weights(weights)) < far_above(99 - zeros));
  CHECK(chi_square(Rows(rows.begin(), rows.begin() + 20'000), as_weights(weights)) <
        far_above(99 - zeros));
}

TEST_CASE("make draw: weights of one proportion are one draw, whatever their dtype and scale") {
  const Maker maker;
  const std::vector<int> weights = mixed_weights(50);
  const Rows expected = all_rows(*maker.weigh(weights, 500));
  for (const std::string_view descr : {"|i1", "|u1", ">i2", "<u2", "<i4", ">u8", "<f4", ">f8"}) {
    CAPTURE(descr);
    CHECK(all_rows(*maker.weigh(weights, 500, descr)) == expected);
  }
  std::vector<double> tiny = as_weights(weights);
  for (double& weight : tiny) weight = std::ldexp(weight, -1074);
  CHECK(all_rows(*maker.weigh(tiny, 500)) == expected);
  CHECK(all_rows(*maker.of_file(DrawMode::weights, npy_as("<i8", weights), 50, 500)) == expected);
}

TEST_CASE("make draw: a mask as weights draws the rows that are set, alike") {
  const Maker maker;
  const std::vector<int> mask = {0, 1, 1, 0, 1, 0};
  CHECK(chi_square(all_rows(*maker.weigh(mask, 9'000, "|b1")), as_weights(mask)) < far_above(2));
}

TEST_CASE("make draw: one weight that is huge is every draw, the largest integers are alike") {
  const Maker maker;
  std::vector<double> huge(100, 1e-300);
  huge[41] = 1e300;
  CHECK(all_rows(*maker.weigh(huge, 1'000)) == Rows(1'000, 41));
  const std::vector<std::uint64_t> largest(10, ~std::uint64_t{0});
  CHECK(chi_square(all_rows(*maker.weigh(largest, 10'000, "<u8")), std::vector<double>(10, 1)) <
        far_above(9));
}

TEST_CASE("make draw: no memory changes a draw, and seed, size and mode do") {
  const Maker maker;
  const auto with = [&](std::uint64_t memory) {
    return all_rows(*maker.replace(50'000, 300'000, 1, memory));
  };
  CHECK(with(kMebi) == with(64 * kMebi));
  std::vector<int> weights(60'000);  // 480 KB of sums: more than a quarter of a MiB
  for (std::size_t row = 0; row < weights.size(); ++row) weights[row] = static_cast<int>(row % 97);
  const auto weighted = [&](std::uint64_t memory) {
    return all_rows(*maker.weigh(weights, 20'000, "<i4", memory));
  };
  CHECK(weighted(kMebi) == weighted(64 * kMebi));
  CHECK(test::files_in(maker.dir.path()) == std::vector<std::string>{"draw.npy"});

  CHECK(all_rows(*maker.replace(100, 100, 1)) != all_rows(*maker.replace(100, 100, 2)));
  CHECK(all_rows(*maker.permute(100, 100, 1)) != all_rows(*maker.permute(100, 100, 2)));
}

TEST_CASE("make draw: weights whose sums lie in a scratch file agree from both sides") {
  const Maker maker;
  std::vector<int> weights(60'000);
  for (std::size_t row = 0; row < weights.size(); ++row) weights[row] = static_cast<int>(row % 97);
  check_both_sides(*maker.weigh(weights, 5'000, "<i4"));
}

TEST_CASE("make draw: a list of rows is a draw") {
  const Maker maker;
  const auto draw = maker.of_file(DrawMode::indices, npy_as<int>("<i8", {4, -1, 4}), 10, {});
  CHECK(all_rows(*draw) == Rows{4, 9, 4});
  check_both_sides(*draw);
}

TEST_CASE("make draw: what cannot be drawn is refused") {
  const Maker maker;
  const Error many = error_of([&] { (void)maker.permute(10, 11); });
  CHECK(many.code() == Code::usage);
  CHECK(many.message() == "11 rows requested without replacement from a source of 10");
  CHECK(many.hint() == "draw with replacement (--replace), or ask for fewer with --rows");

  for (const DrawMode mode : {DrawMode::permute, DrawMode::replace, DrawMode::weights}) {
    const Error none = error_of([&] { (void)maker.of_file(mode, npy_as<int>("<i4", {}), 0, 1); });
    CHECK(none.code() == Code::usage);
    CHECK(none.message() == "1 rows requested from a source without rows");
  }

  const Error both =
      error_of([&] { (void)maker.of_file(DrawMode::indices, npy_as<int>("<i4", {0}), 10, 1); });
  CHECK(both.code() == Code::usage);
  CHECK(both.message() == "1 rows requested, but a list of rows is given");
  CHECK(both.hint() == "leave out --rows: the list determines how many");

  const Error most = error_of([&] { (void)maker.replace(10, std::uint64_t{1} << 63); });
  CHECK(most.code() == Code::usage);
  CHECK(most.message() ==
        "9223372036854775808 rows requested, more than the maximum of 9223372036854775807");
}

TEST_CASE("make draw: weights that are too few or too many are refused") {
  const Maker maker;
  for (const std::uint64_t n : {std::uint64_t{2}, std::uint64_t{4}, std::uint64_t{0}}) {
    const Error error = maker.error(DrawMode::weights, npy_as<int>("<i4", {1, 1, 1}), n);
    CHECK(error.code() == Code::schema);
    CHECK(error.message() == fmt::format("3 weights for a source of {} rows", n));
    CHECK(error.hint() == "give one weight per row");
  }
}

TEST_CASE("make draw: files of the wrong shape, dtype or kind are refused") {
  const Maker maker;
  const std::string zipped = test::zip_of({{.name = "w.npy", .data = npy_as<int>("<i4", {0})}});
  for (const DrawMode mode : {DrawMode::weights, DrawMode::indices}) {
    const Error shape = maker.error(mode, npy_text("<i4", {1, 1}, std::string(4, '\0')), 1);
    CHECK(shape.code() == Code::schema);
    CHECK(shape.message() == "array of shape (1, 1) has 2 axes, expected 1");
    CHECK(shape.hint() == "save it with .reshape(-1)");

    for (const std::string_view descr : {"<c8", "<m8[s]", "|S8", "[('a', '<i8')]"}) {
      const Error dtype = maker.error(mode, npy_text(descr, {1}, std::string(8, '\0')), 1);
      CHECK(dtype.code() == Code::schema);
      CHECK(dtype.message() ==
            fmt::format("dtype {} is not bool, an integer, or a float of up to 8 bytes",
                        dtype_text(descr)));
    }
    const Error wide = maker.error(mode, npy_text("<f16", {1}, std::string(16, '\0')), 1);
    CHECK(wide.code() == Code::schema);

    const Error archive = maker.error(mode, zipped, 1);
    CHECK(archive.code() == Code::unsupported);
    CHECK(archive.message() == "is an archive of arrays, expected one .npy file");
    CHECK(archive.hint() == "save the array alone, with numpy.save");

    CHECK(maker.error(mode, "not an array", 1).code() == Code::unsupported);
  }
}

TEST_CASE("make draw: the hash of a file is that of its bytes") {
  const TempDir dir;
  std::string content(300'001, 'x');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 256);
  write_file(dir / "a", content);
  write_file(dir / "empty", "");
  CHECK(hash_of_draw_file(dir / "a") == xxh3_128(as_bytes(content)));
  CHECK(hash_of_draw_file(dir / "empty") == xxh3_128({}));
  CHECK(error_of([&] { (void)hash_of_draw_file(dir / "none"); }).code() == Code::not_found);
}

TEST_CASE("part of a draw: its slots are those of the whole, asked from either side") {
  const TempDir dir;
  for (const DrawMode mode : {DrawMode::permute, DrawMode::replace}) {
    const auto whole = [&] {
      return make_draw({.mode = mode, .rows = 60, .seed = 5, .file = {}}, 100, 1 << 20, dir.path(),
                       {});
    };
    const std::vector<std::uint64_t> all = all_rows(*whole());
    for (const std::uint64_t first : {0U, 1U, 40U, 60U}) {
      CAPTURE(first);
      const std::uint64_t rows = std::min<std::uint64_t>(20, 60 - first);
      const auto part = part_of_draw(whole(), first, rows);
      CHECK(part->rows() == rows);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      CHECK(all_rows(*part) ==
            std::vector<std::uint64_t>(begin, begin + static_cast<std::ptrdiff_t>(rows)));
      check_both_sides(*part);
    }
  }
}

}  // namespace
}  // namespace shale
