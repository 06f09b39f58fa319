#include <doctest/doctest.h>

#include "formats/safetensors/safetensors_format.hpp"
#include "tests/support/tensor_files.hpp"

namespace shale {
namespace {

using namespace test;

const Schema kSchema = golden_tensor_schema();

std::vector<std::string> findings_in(const std::string& bytes, std::uint64_t base,
                                     std::uint64_t rows = 2) {
  const TempDir dir;
  write_file(dir / "a.safetensors", bytes);
  return tensor_findings(safetensors_format, dir / "a.safetensors", kSchema, rows, base);
}

// Two rows as the writer lays them down; base says where they begin.
std::string written(std::uint64_t& base) {
  const TempDir dir;
  std::vector<std::uint64_t> bases;
  const std::vector<Sample> samples = {{"0", {as_bytes("abcdefghijkl")}},
                                       {"1", {as_bytes("mnopqrstuvwx")}}};
  const auto paths = write_tensor_shard(safetensors_format, dir.path(), kSchema, samples, bases);
  REQUIRE(paths.size() == 1);
  CHECK(paths[0] == dir / "shard-000000.x.safetensors");
  base = bases.at(0);
  return read_text(paths[0]);
}

TEST_CASE("safetensors writer: rows lie at a multiple of 64 to the end of the file") {
  std::uint64_t base = 0;
  const std::string file = written(base);
  CHECK(base % 64 == 0);
  CHECK(file.substr(base) == "abcdefghijklmnopqrstuvwx");
  const Survey survey = surveyed_tensors(safetensors_format, file);
  CHECK(survey.samples == 2);
  CHECK(survey.schema.fields == kSchema.fields);
  CHECK(survey.bases == std::vector<std::uint64_t>{base});
  const std::uint64_t parts[] = {24};
  CHECK(safetensors_format.create_sizer(kSchema, {})->size_with(parts, 2) ==
        std::vector<std::uint64_t>{file.size()});
}

TEST_CASE("safetensors scan: each changed byte of the header is found, and no row is read") {
  std::uint64_t base = 0;
  const std::string sound = written(base);
  CHECK(findings_in(sound, base).empty());
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string changed = sound;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    CAPTURE(at);
    CHECK(findings_in(changed, base).empty() == (at >= base));
  }
  for (std::size_t bytes = 0; bytes < sound.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(findings_in(sound.substr(0, bytes), base).size() == 1);
  }
  CHECK(findings_in(sound + "x", base).size() == 1);
  CHECK(findings_in(sound, base + 64).size() == 1);
  CHECK(findings_in(sound, base, 3).size() == 1);
}

TEST_CASE("safetensors layout: dtypes that it does not have are refused by field") {
  for (const std::string_view descr : {"|S3", "<c16", "<M8[s]", "<f16"}) {
    CAPTURE(descr);
    const Schema schema{.fields = {{"when", Kind::tensor, DType::parse(descr), {2}}},
                        .has_keys = false};
    const Error error = error_of([&] { (void)safetensors_format.layout(schema, {}); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find("'when'") != std::string::npos);
    CHECK(error.message().ends_with("which .safetensors files do not have"));
  }
}

}  // namespace
}  // namespace shale
