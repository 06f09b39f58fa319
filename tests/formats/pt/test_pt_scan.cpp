#include <doctest/doctest.h>

#include "formats/pt/pt_format.hpp"
#include "tests/support/tensor_files.hpp"

namespace shale {
namespace {

using namespace test;

const Schema kSchema = golden_tensor_schema();

std::vector<std::string> findings_in(const std::string& bytes, std::uint64_t base,
                                     std::uint64_t rows = 3) {
  const TempDir dir;
  write_file(dir / "a.pt", bytes);
  return tensor_findings(pt_format, dir / "a.pt", kSchema, rows, base);
}

// Three rows as the writer lays them down; base says where they begin.
std::string written(std::uint64_t& base) {
  const TempDir dir;
  std::vector<std::uint64_t> bases;
  const std::vector<Sample> samples = {{"0", {as_bytes("abcdefghijkl")}},
                                       {"1", {as_bytes("mnopqrstuvwx")}},
                                       {"2", {as_bytes("yz0123456789")}}};
  const auto paths = write_tensor_shard(pt_format, dir.path(), kSchema, samples, bases);
  REQUIRE(paths.size() == 1);
  CHECK(paths[0] == dir / "shard-000000.x.pt");
  base = bases.at(0);
  return read_text(paths[0]);
}

TEST_CASE("pt writer: rows lie at a multiple of 64, behind a head that torch.load reads") {
  std::uint64_t base = 0;
  const std::string file = written(base);
  CHECK(base % 64 == 0);
  CHECK(file.substr(base, 36) == "abcdefghijklmnopqrstuvwxyz0123456789");
  const Survey survey = surveyed_tensors(pt_format, file);
  CHECK(survey.samples == 3);
  CHECK(survey.schema.fields == kSchema.fields);
  CHECK(survey.bases == std::vector<std::uint64_t>{base});
  // What is announced is what the file has.
  const std::uint64_t parts[] = {36};
  CHECK(pt_format.create_sizer(kSchema, {})->size_with(parts, 3) ==
        std::vector<std::uint64_t>{file.size()});
}

TEST_CASE("pt scan: each changed byte around the rows is found, and none of the rows is read") {
  std::uint64_t base = 0;
  const std::string sound = written(base);
  CHECK(findings_in(sound, base).empty());
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string changed = sound;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    CAPTURE(at);
    const bool is_row = at >= base && at < base + 36;
    CHECK(findings_in(changed, base).empty() == is_row);
  }
}

TEST_CASE("pt scan: a file that is too short or too long is found, and rows placed elsewhere") {
  std::uint64_t base = 0;
  const std::string sound = written(base);
  for (std::size_t bytes = 0; bytes < sound.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(findings_in(sound.substr(0, bytes), base).size() == 1);
  }
  CHECK(findings_in(sound + "x", base).size() == 1);
  CHECK(findings_in(sound, base + 64) ==
        std::vector<std::string>{
            fmt::format("a.pt: byte 0: field 'x': rows are not where the manifest says: found byte "
                        "{}, expected byte {}",
                        base, base + 64)});
  CHECK(findings_in(sound, base, 4).size() == 1);
}

TEST_CASE("pt layout: dtypes that PyTorch does not have are refused by field") {
  for (const std::string_view descr : {"|S3", "<M8[s]", "<U2", "<f16"}) {
    CAPTURE(descr);
    const Schema schema{.fields = {{"when", Kind::tensor, DType::parse(descr), {2}}},
                        .has_keys = false};
    const Error error = error_of([&] { (void)pt_format.layout(schema, {}); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find("'when'") != std::string::npos);
    CHECK(error.message().ends_with("which .pt files do not have"));
  }
}

}  // namespace
}  // namespace shale
