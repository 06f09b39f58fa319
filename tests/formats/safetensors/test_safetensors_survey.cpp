#include <doctest/doctest.h>

#include "shale/base/bytes.hpp"

#include "formats/safetensors/safetensors_format.hpp"
#include "tests/formats/safetensors/safetensors_file.hpp"
#include "tests/support/tensor_files.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("safetensors survey: tensors of equal length are columns, each where its rows begin") {
  const std::string file = safetensors_file(
      R"({"__metadata__":{"format":"pt"},"a.w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"I64","shape":[3],"data_offsets":[24,48]}})",
      48);
  const Survey survey = surveyed_tensors(safetensors_format, file);
  REQUIRE(survey.schema.fields.size() == 2);
  CHECK(survey.schema.fields[0].name == "a_w");
  CHECK(survey.schema.fields[1].kind == Kind::integer);
  CHECK(survey.samples == 3);
  CHECK(survey.bases == std::vector<std::uint64_t>{file.size() - 48, file.size() - 24});
}

TEST_CASE("safetensors survey: what contradicts itself is damaged, and says where") {
  struct Row {
    std::string_view header;
    std::size_t bytes;
    std::string_view words;
  };
  constexpr Row kRows[] = {
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       6, "tensor 'b' begins at 2, expected 4: tensors overlap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
       9, "tensor 'b' begins at 5, expected 4: tensors leave a gap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       8, "'a'"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3, ""},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, "but the file has 5"},
      {R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})", 4,
       "tensor 'a' has 4 bytes, expected 5"},
      {R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})", 4, ""},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "claims 2^63 bytes or more"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4, ""},
      {"not JSON at all", 4, ""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.header);
    const Error error =
        refused_tensors(safetensors_format, safetensors_file(row.header, row.bytes));
    CHECK(error.code() == Code::damaged);
    CHECK(error.message().find(row.words) != std::string::npos);
    CHECK(error.file().ends_with("/a.safetensors"));
  }
  std::string deep = R"({"__metadata__":)";
  deep.append(100'000, '{');
  CHECK(refused_tensors(safetensors_format, safetensors_file(deep, 0)).code() == Code::damaged);
}

TEST_CASE("safetensors survey: a header of 2^63 bytes takes no memory") {
  std::string file = safetensors_file("{}", 0);
  file.replace(0, 8, std::string("\0\0\0\0\0\0\0\x80", 8));
  const Error error = refused_tensors(safetensors_format, file);
  CHECK(error.code() == Code::limit);
  CHECK(error.message().find("9223372036854775808 bytes") != std::string::npos);
}

TEST_CASE("safetensors survey: dtypes of less than a byte are refused by name") {
  for (const std::string_view dtype : {"F4", "F6_E2M3", "F6_E3M2"}) {
    CAPTURE(dtype);
    const std::string header =
        fmt::format(R"({{"a":{{"dtype":"{}","shape":[0],"data_offsets":[0,0]}}}})", dtype);
    const Error error = refused_tensors(safetensors_format, safetensors_file(header, 0));
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().starts_with("tensor 'a' is of dtype"));
  }
  const Error scalar = refused_tensors(
      safetensors_format,
      safetensors_file(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1));
  CHECK(scalar.message().find("has no axes") != std::string::npos);
}

TEST_CASE("safetensors survey: a file cut anywhere is damaged") {
  const std::string whole =
      read_text(golden_tensor(safetensors_format, "reference/safetensors-0.8.0.safetensors"));
  CHECK(surveyed_tensors(safetensors_format, whole).samples == 5);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(refused_tensors(safetensors_format, whole.substr(0, bytes)).code() == Code::damaged);
  }
}

}  // namespace
}  // namespace shale
