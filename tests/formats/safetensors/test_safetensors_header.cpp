#include <doctest/doctest.h>

#include "shale/base/error.hpp"

#include "formats/safetensors/safetensors_header.hpp"
#include "tests/formats/safetensors/safetensors_file.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::safetensors_file;

StoredTensors tensors_in(std::string_view file) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(file).subspan(offset, length);
  };
  return read_safetensors(file.size(), view, "file");
}
Error refusal(std::string_view header, std::size_t rows) {
  return error_of([&] { (void)tensors_in(safetensors_file(header, rows)); });
}

TEST_CASE("safetensors header: tensors come in its order, with their places") {
  const std::string file = safetensors_file(
      R"( {"__metadata__":{"a\n":"\u00e9\ud83d\ude00","format":"pt"}, "b":{"dtype":"F32","shape":[2,3],)"
      R"("data_offsets":[2,26]},"a.w":{"shape":[2],"data_offsets":[0,2],"dtype":"U8"}}  )",
      26);
  const StoredTensors found = tensors_in(file);
  REQUIRE(found.tensors.size() == 2);
  CHECK(found.tensors[0].name == "b");
  CHECK(found.tensors[0].dtype.descr() == "<f4");
  CHECK(found.tensors[0].shape == std::vector<std::uint64_t>{2, 3});
  CHECK(found.tensors[0].offset == file.size() - 24);
  CHECK(found.tensors[1].name == "a.w");
  CHECK(found.tensors[1].offset == file.size() - 26);
  CHECK(found.left_out == std::vector<std::string>{"__metadata__.a\n"});
}

TEST_CASE("safetensors header: a dtype of another size than bytes is an obstacle, and no damage") {
  const StoredTensors found = tensors_in(safetensors_file(
      R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"F4","shape":[9],)"
      R"("data_offsets":[4,9]}})",
      9));
  CHECK(found.tensors[0].obstacle.empty());
  CHECK(found.tensors[0].dtype.descr() == "[('bfloat16', '|V2')]");
  CHECK(found.tensors[1].obstacle == "is of dtype F4, which is not supported");
}

TEST_CASE("safetensors header: what is not one is damage") {
  const std::string_view kTensor = R"("dtype":"U8","shape":[4],"data_offsets":)";
  const auto with = [&](std::string_view offsets) {
    return fmt::format(R"({{"a":{{{}{}}}}})", kTensor, offsets);
  };
  CHECK(tensors_in(safetensors_file(with("[0,4]"), 4)).tensors.size() == 1);
  for (const std::string& header :
       {with("[0,5]"),
        with("[0,3]"),
        with("[1,5]"),
        with("[4,0]"),
        with("[0,99999999999999999999]"),
        with("[0]"),
        with("[0,4,4]"),
        with("[0,4]") + "x",
        std::string("{"),
        std::string("[]"),
        std::string(R"({"a":{"dtype":"U8","shape":[4]}})"),
        std::string(R"({"a":3})"),
        fmt::format(R"({{"a":{{{0}[0,4]}},"a":{{{0}[0,4]}}}})", kTensor),
        fmt::format(R"({{"a":{{{0}[0,4]}},"b":{{{0}[0,4]}}}})", kTensor),
        std::string(R"({"a)"),
        std::string(R"({"\ud83d":3})"),
        std::string(R"({"\q":3})"),
        std::string(R"({"__metadata__":{"a":{"b":1}}})"),
        std::string(100'000, '['),
        std::string(R"({"a":{"dtype":"U8","shape":[9223372036854775807,9223372036854775807],)"
                    R"("data_offsets":[0,4]}})")}) {
    CAPTURE(header.substr(0, 100));
    CHECK(refusal(header, 4).code() == Code::damaged);
  }
  // Bytes behind the last tensor, and a file without them.
  CHECK(refusal(with("[0,4]"), 5).code() == Code::damaged);
  CHECK(refusal(with("[0,4]"), 3).code() == Code::damaged);
}

TEST_CASE("safetensors header: its length and the number of its tensors are bounded") {
  std::string file = safetensors_file("{}", 0);
  file.replace(0, 8, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8));
  CHECK(error_of([&] { (void)tensors_in(file); }).code() == Code::limit);
  file.replace(0, 8, std::string("\x10\0\0\0\0\0\0\0", 8));
  CHECK(error_of([&] { (void)tensors_in(file); }).code() == Code::damaged);
  std::string many = "{";
  for (int i = 0; i < 131'073; ++i) {
    many += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                        i > 0 ? "," : "", i);
  }
  CHECK(refusal(many + "}", 0).code() == Code::limit);
}

TEST_CASE("safetensors header: what is written is read back, and has one length for any rows") {
  std::vector<TensorColumn> columns = {{"a\"\\\n", DType::parse("|u1"), {3}},
                                       {"b", DType::parse("<f8"), {3, 2}}};
  const std::vector<std::size_t> places = safetensors_places(columns);
  CHECK(places == std::vector<std::size_t>{1, 0});  // the larger elements come first
  const std::vector<std::byte> header = safetensors_header(columns, places);
  CHECK(header.size() % 64 == 0);
  const StoredTensors found = tensors_in(std::string(as_text(header)) + std::string(51, 'r'));
  CHECK(found.tensors[0].name == "a\"\\\n");
  CHECK(found.tensors[0].offset == header.size() + 48);
  CHECK(found.tensors[1].offset == header.size());
  for (TensorColumn& column : columns) column.shape[0] = 1'000'000'000'000;
  CHECK(safetensors_header(columns, places).size() == header.size());
}

}  // namespace
}  // namespace shale
