#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"

#include "formats/hdf5/hdf5_class_names.hpp"
#include "tests/formats/hdf5/hdf5_shard_tools.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::size_t kLabel = 2;  // of hdf5_schema()

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

std::vector<std::string> names_in(const std::string& path) {
  return hdf5_class_place.read(InputFile(path), "label");
}

TEST_CASE("hdf5 class names: a shard holds those that it was given, and its rows as without") {
  const TempDir dir;
  const std::vector<Sample> samples = {hdf5_sample("a"), hdf5_sample("b")};
  const auto rows = write_hdf5_shard(dir / "plain.h5", hdf5_schema(), samples);
  const std::uint64_t plain = InputFile(dir / "plain.h5").size();
  for (const std::size_t count : {1U, 2U, 125U, 126U, 127U, 1000U, 4092U}) {
    CAPTURE(count);
    const std::string path = dir / fmt::format("{}.h5", count);
    const LabelNames names{kLabel, numbered(count)};
    CHECK(write_hdf5_shard(path, hdf5_schema(), samples, names) == rows);
    CHECK(names_in(path) == names.names);
    CHECK(InputFile(path).size() - plain <= hdf5_class_place.bytes(names.names));
    const ScannedHdf5 scanned = scan_hdf5(path, hdf5_schema());
    CHECK(scanned.findings.empty());
    CHECK(scanned.rows == rows);
  }
  CHECK(names_in(dir / "plain.h5").empty());
}

TEST_CASE("hdf5 class names: an attribute has no room for more than 4092, nor for an empty one") {
  CHECK(hdf5_class_place.bytes(numbered(4092)) > 0);
  CHECK(hdf5_class_place.bytes(numbered(4093)) == 0);
  CHECK(hdf5_class_place.bytes(std::vector<std::string>{"cat", ""}) == 0);
  CHECK(hdf5_class_place.bytes(std::vector<std::string>{std::string("c\0t", 3)}) == 0);
}

TEST_CASE("hdf5 class names: fixed rows with names are what shale writes, others are not") {
  const TempDir dir;
  const Schema schema{.fields = {{"label", Kind::integer}}, .has_keys = false};
  const std::vector<Record> rows = {fixed_row(schema, {.key = "0", .values = {std::int64_t{1}}})};
  const LabelNames names{0, {"cat", "dog"}};
  const auto bases = write_fixed_hdf5(dir / "a.h5", schema, rows, names);
  CHECK(names_in(dir / "a.h5") == names.names);
  CHECK(scan_hdf5(dir / "a.h5", schema, true, 1, bases).findings.empty());
  std::string bytes = read_text(dir / "a.h5");
  bytes.back() = 'x';  // the zeros behind the names
  write_file(dir / "b.h5", bytes);
  CHECK(scan_hdf5(dir / "b.h5", schema, true, 1, bases).findings.size() == 1);
}

TEST_CASE("hdf5 class names: damage anywhere gives an error, or names, and never too much memory") {
  const TempDir dir;
  write_hdf5_shard(dir / "plain.h5", hdf5_schema(), {hdf5_sample()});
  write_hdf5_shard(dir / "a.h5", hdf5_schema(), {hdf5_sample()}, {kLabel, {"cat", "dog"}});
  const std::string bytes = read_text(dir / "a.h5");
  for (std::size_t at = read_text(dir / "plain.h5").size(); at < bytes.size() - 3000; ++at) {
    CAPTURE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
    write_file(dir / "b.h5", damaged);
    try {
      const std::vector<std::string> names = names_in(dir / "b.h5");
      CHECK(names.size() <= 2);
    } catch (const Error& error) {
      CHECK(is_about_bytes(error));
    }
  }
}

}  // namespace
}  // namespace shale
