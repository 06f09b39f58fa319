#include <filesystem>

#include "shale/base/path_text.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

// The toy has no files that must stay readable for ever.
bool has_golden_files(const Format& format) { return &format != &toy_format; }

std::string golden(const Format& format, std::string_view folder) {
  const fs::path root = fs::path(__FILE__).parent_path().parent_path().parent_path();
  return (root / "formats" / format.name / "golden" / folder).string();
}

// What formats/<name>/golden/own holds; never to be changed. That of HDF5 is older than its lists;
// of 300 elements each would be a member of a tar archive.
SampleSet golden_samples(const Format& format) {
  Schema schema = full_schema(format);
  if (format.name == "hdf5" || has_blocks(format))
    std::erase_if(schema.fields, [](const Field& field) { return field.kind == Kind::list; });
  return odd_samples(schema);
}
SetOptions golden_options() { return {.limit_samples = 7, .lists_elements = false}; }

// formats/<name>/golden/elements, of formats that hold lists: some of them, with their elements
// listed.
SampleSet golden_lists(const Format& format) {
  SampleSet set = odd_samples(full_schema(format));
  set.samples.resize(4);
  return set;
}
bool has_golden_elements(const Format& format) {
  return has_golden_files(format) && full_schema(format).has_lists();
}

// Where the rows of a reference file of one column begin: behind the header that NumPy writes.
constexpr std::uint64_t kBaseOfReference = 128;

// What each file of formats/<name>/golden/reference holds, if the format has keys and bytes.
SampleSet reference_samples() {
  SampleSet set{
      .schema = {.fields = {{"image", Kind::bytes, {}, {}}, {"label", Kind::integer, {}, {}}}},
      .samples = {},
      .memory = {}};
  for (int i = 0; i < 5; ++i) {
    std::string image = "\xff\xd8";
    for (int byte = 0; byte < i * 50; ++byte) image += static_cast<char>(byte);
    Sample& sample = set.samples.emplace_back(Sample{fmt::format("n01/{}.jpg", i), {}});
    sample.values.emplace_back(set.keep(std::move(image)));
    sample.values.emplace_back(std::int64_t{i - 2});
  }
  return set;
}

// The same of a format of arrays: one column.
SampleSet reference_rows() {
  SampleSet set{.schema = {.fields = {{"x", Kind::tensor, DType::parse("<u2"), {2, 3}}}},
                .samples = {},
                .memory = {}};
  for (int i = 0; i < 5; ++i) {
    std::string elements;
    for (int byte = 0; byte < 12; ++byte) elements += static_cast<char>(i * 50 + byte);
    Sample& sample = set.samples.emplace_back(Sample{std::to_string(i), {}});
    sample.values.emplace_back(set.keep(std::move(elements)));
  }
  return set;
}

SampleSet reference_samples(const Format& format) {
  return holds_arrays_only(format) ? reference_rows() : reference_samples();
}

// The file that NumPy saves has the bytes of ours. Those of PyTorch and safetensors do not: they
// are read as files of other tools.
bool is_byte_for_byte(const Format& format) {
  return format.name == "npy" || !holds_arrays_only(format);
}

// What another tool's file of rows holds; where it cannot be read, nothing fits.
void describe_foreign(const Format& format, const std::string& path, Manifest& manifest,
                      ManifestShard& shard) {
  manifest.layout = Survey::of_columns(manifest.schema, 0, {}).layout;
  shard.bases = {0};
  try {
    shard.bases = format.survey(InputFile(path), Dialect::plain, {}).bases;
  } catch (const Error&) {
    return;
  }
}

// A file by itself, as the shard of the reference samples that it should be.
Scanned scan_file(const Format& format, const std::string& path, const SampleSet& set) {
  const std::size_t slash = path.rfind('/');
  Manifest manifest;
  manifest.schema = set.schema;
  manifest.layout = format.layout(set.schema, defaults(format));
  ManifestShard shard;
  shard.files = {{path.substr(slash + 1), 0, {}}};
  shard.digest.samples = set.samples.size();
  if (manifest.layout.rows.has_strides()) shard.bases = {kBaseOfReference};
  if (!is_byte_for_byte(format)) describe_foreign(format, path, manifest, shard);
  return scan_shard(format, path.substr(0, slash), manifest, shard, true);
}

TEST_CASE("golden: the samples of the golden set give its bytes, today as on the day it was made") {
  for_each_format([](const Format& format) {
    if (!has_golden_files(format)) return;
    const TempDir dir;
    (void)write_set(format, golden_samples(format), dir / "out", golden_options());
    CHECK(differing_files(golden(format, "own"), dir / "out") == std::vector<std::string>());
    if (!has_golden_elements(format)) return;
    (void)write_set(format, golden_lists(format), dir / "elements");
    CHECK(differing_files(golden(format, "elements"), dir / "elements") ==
          std::vector<std::string>());
    CHECK(first_finding(verified(golden(format, "elements"), VerifyDepth::deep)) == "");
  });
}

TEST_CASE("golden: the golden set verifies and holds its samples") {
  for_each_format([](const Format& format) {
    if (!has_golden_files(format)) return;
    CHECK(first_finding(verified(golden(format, "own"), VerifyDepth::deep)) == "");
    const SampleSet expected = golden_samples(format);
    const ReadSet read = read_set(golden(format, "own"));
    REQUIRE(read.samples.size() == expected.samples.size());
    for (std::size_t i = 0; i < expected.samples.size(); ++i) {
      const SampleDigest found = digest_of(read.samples[i].sample, expected.schema),
                         wanted = digest_of(expected.samples[i], expected.schema);
      CHECK(found.content == wanted.content);
      CHECK((found.keyed == wanted.keyed || !read.manifest.layout.has_keys));
    }
  });
}

TEST_CASE(
    "golden: a shard of the reference implementation is scanned without findings, every value in "
    "its place") {
  for_each_format([](const Format& format) {
    if (!has_golden_files(format)) return;
    if (holds_arrays_only(format)) return;  // it gives no rows: see below
    const SampleSet expected = reference_samples();
    for (const std::string& name : files_in(golden(format, "reference"))) {
      CAPTURE(name);
      const std::string path = join_path(golden(format, "reference"), name),
                        bytes = read_text(path);
      const Scanned scanned = scan_file(format, path, expected);
      CHECK(scanned.findings.empty());
      REQUIRE(scanned.rows.size() == expected.samples.size());
      for (std::size_t i = 0; i < expected.samples.size(); ++i) {
        const IndexRow& row = scanned.rows[i];
        const FieldPlace& image = row.cells[0].place;
        CHECK(bytes.substr(row.key.offset, row.key.length) == expected.samples[i].key);
        CHECK(bytes.substr(image.offset, image.length) ==
              as_text(std::get<Bytes>(expected.samples[i].values[0])));
        CHECK(row.cells[1].integer == std::get<std::int64_t>(expected.samples[i].values[1]));
      }
    }
  });
}

TEST_CASE("golden: an array of the reference implementation has every row where it must be") {
  for_each_format([](const Format& format) {
    if (!holds_arrays_only(format)) return;
    const SampleSet expected = reference_rows();
    const std::vector<std::string> names = files_in(golden(format, "reference"));
    CHECK(!names.empty());
    for (const std::string& name : names) {
      CAPTURE(name);
      const std::string path = join_path(golden(format, "reference"), name);
      std::string rows;
      for (const Sample& sample : expected.samples)
        rows += as_text(std::get<Bytes>(sample.values[0]));
      CHECK(scan_file(format, path, expected).findings.empty());
      const std::uint64_t base =
          is_byte_for_byte(format) ? kBaseOfReference
                                   : format.survey(InputFile(path), Dialect::plain, {}).bases.at(0);
      CHECK(read_text(path).substr(base, rows.size()) == rows);
    }
  });
}

TEST_CASE("golden: in every file that must be refused something is found") {
  for_each_format([](const Format& format) {
    if (!has_golden_files(format)) return;
    const std::vector<std::string> names = files_in(golden(format, "refused"));
    CHECK(names.size() >= 4);
    for (const std::string& name : names) {
      CAPTURE(name);
      const std::string path = join_path(golden(format, "refused"), name);
      CHECK(!scan_file(format, path, reference_samples(format)).findings.empty());
    }
  });
}

TEST_CASE("golden: all files together are small") {
  for_each_format([](const Format& format) {
    if (!has_golden_files(format)) return;
    const std::uint64_t most = has_blocks(format) ? 256 * 1024 : 96 * 1024;  // of blocks
    std::uint64_t bytes = 0;
    for (const auto& [name, content] : content_of(golden(format, ""))) bytes += content.size();
    CHECK(bytes < most);
  });
}

// Not a test: makes the golden sets of all formats, when a new format joins. contract --no-skip
// -tc="golden: written anew"
TEST_CASE("golden: written anew" * doctest::skip()) {
  for_each_format([](const Format& format) {
    if (!has_golden_files(format)) return;
    fs::remove_all(golden(format, "own"));
    (void)write_set(format, golden_samples(format), golden(format, "own"), golden_options());
    if (!has_golden_elements(format)) return;
    fs::remove_all(golden(format, "elements"));
    (void)write_set(format, golden_lists(format), golden(format, "elements"));
  });
}

}  // namespace
}  // namespace shale
