#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/parquet/parquet_footer.hpp"

#include "formats/parquet/parquet_format.hpp"
#include "tests/support/sample_sets.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kMebibyte = 1 << 20;

// A file of samples, and what the sizer said of it.
struct Written {
  std::uint64_t said = 0;
  std::vector<std::uint64_t> offsets;  // of the parts of every row
};

Written write_file_of(const SampleSet& set, const OptionSet& options, const std::string& path) {
  Written written;
  OutputFile file(path, {.io = IoMode::buffered});
  const auto sizer = parquet_format.create_sizer(set.schema, options);
  const auto writer = parquet_format.create_shard({&file, 1}, set.schema, options);
  const auto keep = [&](std::span<const std::uint64_t> offsets) {
    written.offsets.insert(written.offsets.end(), offsets.begin(), offsets.end());
  };
  for (const Sample& sample : set.samples) {
    const Record record = parquet_format.encode(sample, set.schema, options);
    std::vector<std::uint64_t> sizes;
    for (const Blob& part : record.parts) sizes.push_back(part.size());
    written.said = sizer->size_with(sizes)[0];
    sizer->add(sizes);
    keep(writer->append(record));
  }
  keep(writer->close().late_offsets);
  (void)file.finish();
  return written;
}

struct Found {
  std::vector<IndexRow> rows;
  std::vector<std::string> findings;
};
Found scan_file_of(const Schema& schema, const std::string& path) {
  Found found;
  const std::vector<InputFile> files = [&] {
    std::vector<InputFile> one;
    one.emplace_back(path);
    return one;
  }();
  const OptionSet options(parquet_format.options);
  const ShardLayout layout = parquet_format.layout(schema, options);
  parquet_format.scan(
      {files, schema, layout, true}, options,
      [&](const IndexRow& row) { found.rows.push_back(row); },
      [&](const Finding& finding) { found.findings.push_back(finding.message); });
  return found;
}

SampleSet photos_of(const std::vector<std::uint64_t>& sizes) {
  SampleSet set{.schema = {.fields = {{.name = "image", .kind = Kind::bytes, .is_optional = true},
                                      {.name = "label", .kind = Kind::integer}}},
                .samples = {},
                .memory = {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Value image = sizes[i] == 1 ? Value(std::monostate())
                                      : set.keep(std::string(sizes[i], static_cast<char>(i)));
    set.samples.push_back({std::to_string(i), {image, static_cast<std::int64_t>(i)}});
  }
  return set;
}

TEST_CASE(
    "parquet groups: each has rows up to its bound, or one, and every value lies where it was "
    "said") {
  // 1 stands for a value that is absent.
  const SampleSet set = photos_of({400'000, 400'000, 1, 400'000, 3 * kMebibyte, 0, 1, 700'000, 9});
  OptionSet options(parquet_format.options);
  options.set("row_group_size", "1MiB");
  const TempDir dir;
  const Written written = write_file_of(set, options, dir / "x.parquet");
  const InputFile file(dir / "x.parquet");
  WindowReader window(file);
  const ParquetFooter footer = read_parquet_footer(window.views(), file.size(), file.path());

  std::vector<std::int64_t> rows;
  for (const ParquetRowGroup& group : footer.row_groups) rows.push_back(group.rows);
  CHECK(rows == std::vector<std::int64_t>{3, 1, 1, 4});
  CHECK(file.size() == written.said);
  const Found found = scan_file_of(set.schema, dir / "x.parquet");
  CHECK(found.findings.empty());
  REQUIRE(found.rows.size() == set.samples.size());
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const FieldPlace& image = found.rows[i].cells[0].place;
    const bool is_absent = std::holds_alternative<std::monostate>(set.samples[i].values[0]);
    CHECK(image.offset == (is_absent ? kMissing : written.offsets[3 * i + 1]));
    CHECK(found.rows[i].key.offset == written.offsets[3 * i]);
    if (is_absent) continue;
    CHECK(as_text(window.view(image.offset, image.length)) ==
          as_text(std::get<Bytes>(set.samples[i].values[0])));
  }
}

TEST_CASE(
    "parquet groups: a byte of a page that changed is found by its checksum, and the rest is "
    "read") {
  const SampleSet set = photos_of({5000, 6000, 7000});
  const TempDir dir;
  const Written written = write_file_of(set, OptionSet(parquet_format.options), dir / "x.parquet");
  std::string bytes = read_text(dir / "x.parquet");
  bytes[written.offsets[4] + 17] ^= 1;
  write_file(dir / "x.parquet", bytes);

  const Found found = scan_file_of(set.schema, dir / "x.parquet");

  CHECK(found.findings ==
        std::vector<std::string>{"the checksum of a page does not match its bytes"});
  CHECK(found.rows.size() == 3);
}

TEST_CASE("parquet groups: more rows than a group holds are several, whatever their size") {
  SampleSet set{
      .schema = {.fields = {{.name = "flag", .kind = Kind::integer, .dtype = DType::parse("|b1")}},
                 .has_keys = false},
      .samples = {},
      .memory = {}};
  for (std::int64_t i = 0; i < 70'000; ++i)
    set.samples.push_back({"", {std::int64_t{i % 3 == 0 ? 1 : 0}}});
  const TempDir dir;
  const Written written = write_file_of(set, OptionSet(parquet_format.options), dir / "x.parquet");
  const InputFile file(dir / "x.parquet");
  WindowReader window(file);
  const ParquetFooter footer = read_parquet_footer(window.views(), file.size(), file.path());

  CHECK(footer.row_groups.size() == 2);
  CHECK(footer.row_groups[0].rows == 65'536);
  CHECK(file.size() == written.said);
  const Found found = scan_file_of(set.schema, dir / "x.parquet");
  CHECK(found.findings.empty());
  REQUIRE(found.rows.size() == 70'000);
  for (std::size_t i = 0; i < 100; ++i)
    CHECK(found.rows[i].cells[0].integer == (i % 3 == 0 ? 1 : 0));
}

}  // namespace
}  // namespace shale
