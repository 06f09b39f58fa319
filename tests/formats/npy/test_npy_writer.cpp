#include <doctest/doctest.h>

#include "tests/formats/npy/npy_tools.hpp"

namespace shale {
namespace {

using namespace test;

// Headers that NumPy wrote, one behind the other, each of the array that our header is to be of.
std::vector<std::pair<std::string, NpyHeader>> golden_headers(const std::string& name) {
  const std::string all = read_text(golden_npy("headers/" + name));
  std::vector<std::pair<std::string, NpyHeader>> headers;
  for (std::size_t at = 0; at < all.size();) {
    const Bytes rest = as_bytes(std::string_view(all).substr(at));
    const std::size_t next = std::min(all.find("\x93NUMPY", at + 1), all.size());
    headers.emplace_back(all.substr(at, next - at), parse_npy_header(rest, name));
    at = next;
  }
  return headers;
}

std::string our_header(const NpyHeader& header) {
  const Field field =
      field_of_column("x", header.dtype, {header.shape.begin() + 1, header.shape.end()});
  return std::string(as_text(npy_header_of(field, header.shape.front())));
}

TEST_CASE("npy writer: a header is byte for byte NumPy 2.4.6's, for each dtype and shape") {
  const auto headers = golden_headers("numpy-2.4.6.headers");
  CHECK(headers.size() > 50);
  for (const auto& [bytes, header] : headers) {
    CHECK(our_header(header) == bytes);
  }
}

TEST_CASE("npy writer: NumPy 1.23.5 left no room for rows to grow, some headers are shorter") {
  std::size_t shorter = 0;
  for (const auto& [bytes, header] : golden_headers("numpy-1.23.5.headers")) {
    const std::string ours = our_header(header);
    shorter += ours == bytes ? 0 : 1;
    CHECK((ours == bytes || ours.size() == bytes.size() + 64));
  }
  CHECK(shorter == 1);
}

TEST_CASE("npy writer: a header has one length for any number of rows") {
  const Field field{.name = "x", .kind = Kind::tensor, .dtype = DType::parse("<f4"), .shape = {3}};
  for (std::uint64_t rows = 1; rows < std::uint64_t{1} << 60; rows *= 7)
    CHECK(npy_header_of(field, rows).size() == 128);
}

const Schema kThreeColumns{.fields = {{"flag", Kind::integer, DType::parse("|b1"), {}},
                                      {"label", Kind::integer, {}, {}},
                                      {"weight", Kind::real, DType::parse("<f4"), {}},
                                      {"depth", Kind::tensor, DType::parse("<u2"), {2}}},
                           .has_keys = false};

std::vector<Sample> three_samples() {
  return {{"0", {std::int64_t{1}, std::int64_t{-2}, 0.5, as_bytes("abcd")}},
          {"1", {std::int64_t{0}, std::int64_t{3}, -1.0, as_bytes("efgh")}},
          {"2", {std::int64_t{1}, std::int64_t{4}, 2.0, as_bytes("ijkl")}}};
}

TEST_CASE("npy writer: each field is a file of its own, named by it, its rows as their dtype") {
  const TempDir dir;
  const auto paths = write_npy_shard(dir.path(), kThreeColumns, three_samples());
  const std::string_view rows[] = {
      std::string_view("\1\0\1", 3),
      std::string_view("\xfe\xff\xff\xff\xff\xff\xff\xff\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0", 24),
      std::string_view("\0\0\0\x3f\0\0\x80\xbf\0\0\0\x40", 12), "abcdefghijkl"};
  CHECK(paths[3] == dir / "shard-000000.depth.npy");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::vector<std::byte> header = npy_header_of(kThreeColumns.fields[i], 3);
    CHECK(read_text(paths[i]) == std::string(as_text(header)) + std::string(rows[i]));
  }
}

TEST_CASE("npy writer: records of several rows give the bytes of single ones") {
  const TempDir one, two;
  const auto single = write_npy_shard(one.path(), kThreeColumns, three_samples());
  const auto runs = write_npy_shard(two.path(), kThreeColumns, three_samples(), 2);
  for (std::size_t i = 0; i < single.size(); ++i) CHECK(read_text(single[i]) == read_text(runs[i]));
}

TEST_CASE("npy writer: what is announced is what the files have") {
  const auto sizer = npy_format.create_sizer(kThreeColumns, {});
  const std::uint64_t parts[] = {3, 24, 12, 12};
  CHECK(sizer->size_with(parts, 3) == std::vector<std::uint64_t>{131, 152, 140, 140});
}

TEST_CASE("npy layout: fields that have no file or no array are refused by name") {
  const auto refused = [](Field field) {
    const Schema schema{.fields = {std::move(field)}, .has_keys = false};
    return error_of([&] { (void)npy_format.layout(schema, {}); });
  };
  const std::string name(201, 'n');
  const Error too_long = refused({name, Kind::integer, {}, {}});
  CHECK(too_long.code() == Code::unsupported);
  CHECK(too_long.message().find("'" + name + "' has a name of 201 bytes") != std::string::npos);
  const Error deep =
      refused({"deep", Kind::tensor, DType::parse("<f4"), std::vector<std::uint64_t>(64, 1)});
  CHECK(deep.message().find("'deep' has 64 axes") != std::string::npos);
  CHECK(error_of([] { (void)npy_format.layout({}, {}); }).code() == Code::unsupported);
  CHECK(
      npy_format.layout({.fields = {{name.substr(1), Kind::integer, {}, {}}}}, {}).file_suffixes ==
      std::vector<std::string>{"." + name.substr(1) + ".npy"});
}

TEST_CASE("npy format: bytes, text and lists are refused by field and kind") {
  for (const Kind kind : {Kind::bytes, Kind::text, Kind::list}) {
    const Schema schema{.fields = {{"caption", kind, {}, {}}}};
    const Error error = error_of([&] { check_schema_fits(npy_format, schema); });
    CHECK(error.message() ==
          fmt::format("format 'npy' cannot hold field 'caption' of kind {}", name_of(kind)));
  }
}

TEST_CASE("npy encoder: a number that the column's dtype cannot hold is refused by sample") {
  std::vector<Sample> samples = three_samples();
  samples[1].values[0] = std::int64_t{2};
  const Error error = error_of([&] { (void)npy_format.encode(samples[1], kThreeColumns, {}); });
  CHECK(error.code() == Code::schema);
  CHECK(error.sample()->key == "1");
  CHECK(error.message() == "field 'flag' is 2 here, which its dtype bool cannot hold");
}

}  // namespace
}  // namespace shale
