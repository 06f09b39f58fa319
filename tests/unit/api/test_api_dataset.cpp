#include <numeric>

#include <doctest/doctest.h>

#include "shale/dataset.hpp"
#include "shale/writer.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/api/written_samples.hpp"

namespace shale {
namespace {

using namespace test;

void check_sample_of(const OwnedSample& sample, std::int64_t i) {
  CAPTURE(i);
  const std::string number = std::to_string(i);
  CHECK(sample.row == static_cast<std::uint64_t>(i));
  CHECK(sample.key == "key/" + number);
  REQUIRE(sample.values.size() == 6);
  CHECK(std::get<0>(sample.values[0]) == bytes_of("image " + number));
  CHECK(std::get<std::string>(sample.values[1]) == "caption " + number);
  CHECK(std::get<std::int64_t>(sample.values[2]) == i);
  CHECK(std::get<double>(sample.values[3]) == static_cast<double>(i) / 2);
  CHECK(std::get<0>(sample.values[4]).size() == 8);
  CHECK(std::get<4>(sample.values[5]) ==
        std::vector<std::vector<std::byte>>{{}, bytes_of("frame " + number)});
}

TEST_CASE("dataset: samples are read by row, by key and in batches, as they were written") {
  const TempDir dir;
  (void)write_samples(dir / "set", 25);
  const Dataset set(dir / "set");
  CHECK(set.size() == 25);
  CHECK(set.format() == "record");
  CHECK(set.classes() == std::vector<std::string>{"a", "b"});
  check_sample_of(set.read(7), 7);
  CHECK(set.key(24) == "key/24");
  CHECK(set.find("key/13") == 13);
  CHECK_FALSE(set.find("key/25"));
  const std::vector<std::uint64_t> rows = {24, 3, 11, 3};
  const std::vector<OwnedSample> batch = set.read(rows);
  REQUIRE(batch.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    check_sample_of(batch[i], static_cast<std::int64_t>(rows[i]));
  CHECK(set.read(std::span<const std::uint64_t>()).empty());
}

TEST_CASE("dataset: the fields are those that were declared, or those that are wanted") {
  const TempDir dir;
  (void)write_samples(dir / "set", 2);
  const Dataset set(dir / "set");
  const std::vector<FieldInfo> written = fields_of_all_kinds();
  REQUIRE(set.fields().size() == written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    CHECK(set.fields()[i].name == written[i].name);
    CHECK(set.fields()[i].kind == written[i].kind);
    CHECK(set.fields()[i].dtype == written[i].dtype);
    CHECK(set.fields()[i].shape == written[i].shape);
  }
  CHECK(set.field("x") == 4);
  CHECK(error_of([&] { (void)set.field("y"); }).code() == Code::not_found);
  const Dataset two(dir / "set", {.fields = {"label", "image"}});
  const OwnedSample sample = two.read(1);
  REQUIRE(sample.values.size() == 2);
  CHECK(std::get<std::int64_t>(sample.values[0]) == 1);
  CHECK(std::get<0>(sample.values[1]) == bytes_of("image 1"));
  CHECK(error_of([&] { const Dataset none(dir / "set", {.fields = {"y"}}); }).code() ==
        Code::not_found);
}

TEST_CASE("dataset: tensors, integers and reals come as one array") {
  const TempDir dir;
  (void)write_samples(dir / "set", 25);
  const Dataset set(dir / "set");
  const std::vector<std::uint64_t> rows = {20, 0, 5};
  CHECK(set.bytes_of_value(set.field("x")) == 8);
  std::vector<float> x(6);
  set.read_array(set.field("x"), rows, std::as_writable_bytes(std::span(x)));
  CHECK(x == std::vector<float>{20, -20, 0, 0, 5, -5});
  std::vector<std::int64_t> labels(3);
  set.read_array(set.field("label"), rows, std::as_writable_bytes(std::span(labels)));
  CHECK(labels == std::vector<std::int64_t>{20, 0, 5});
  std::vector<double> weights(3);
  set.read_array(set.field("weight"), rows, std::as_writable_bytes(std::span(weights)));
  CHECK(weights == std::vector<double>{10, 0, 2.5});
  const auto into = std::as_writable_bytes(std::span(weights)).first(16);
  CHECK(error_of([&] { set.read_array(set.field("x"), rows, into); }).code() == Code::usage);
  CHECK(error_of([&] { set.read_array(set.field("image"), rows, into); }).code() == Code::usage);
  CHECK(error_of([&] { (void)set.bytes_of_value(6); }).code() == Code::not_found);
}

TEST_CASE("dataset: what differs from sample to sample has its shape, and what is absent is none") {
  const TempDir dir;
  const std::vector<FieldInfo> fields = {
      {.name = "boxes", .kind = Kind::tensor, .dtype = "|u1", .shape = {kFreeSide, 4}},
      {.name = "tokens",
       .kind = Kind::tensor,
       .dtype = "|u1",
       .shape = {kFreeSide},
       .is_optional = true},
      {.name = "label", .kind = Kind::integer, .is_optional = true},
      {.name = "score", .kind = Kind::real, .is_optional = true},
      {.name = "words", .kind = Kind::list, .elements = Kind::text},
      {.name = "meta", .kind = Kind::text, .is_json = true},
      {.name = "x", .kind = Kind::tensor, .dtype = "|u1", .shape = {2}}};
  Writer writer({.to = {.path = dir / "set", .format = "record"}, .fields = fields});
  const std::string word = "ab";
  const std::vector<std::span<const std::byte>> words = {std::as_bytes(std::span(word))};
  const auto sample = [&](std::string_view key, std::vector<std::vector<std::uint64_t>> shapes) {
    return SampleView{.key = key,
                      .values = {"01234567", "abc", 7, 0.5, words, "{}", "xy"},
                      .shapes = std::move(shapes)};
  };
  writer.write(sample("a", {{2, 4}, {3}}));
  for (const auto& shapes : std::vector<std::vector<std::vector<std::uint64_t>>>{
           {}, {{2, 4}}, {{8}, {3}}, {{2, 3}, {3}}, {{2, 4}, {1ULL << 63}}}) {
    const Error error = error_of([&] { writer.write(sample("b", shapes)); });
    CHECK((error.code() == Code::schema || error.code() == Code::limit));
  }
  writer.write({.key = "b",
                .values = {"", std::nullopt, std::nullopt, std::nullopt, words, "[1]", "xy"},
                .shapes = {{0, 4}}});
  (void)writer.finish();

  const Dataset set(dir / "set");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    CHECK(set.fields()[i].is_optional == fields[i].is_optional);
    CHECK(set.fields()[i].elements == fields[i].elements);
    CHECK(set.fields()[i].is_json == fields[i].is_json);
  }
  const std::vector<std::uint64_t> rows = {0, 1};
  const std::vector<OwnedSample> samples = set.read(rows);
  CHECK(samples[0].shapes ==
        std::vector<std::vector<std::uint64_t>>{{2, 4}, {3}, {}, {}, {}, {}, {2}});
  CHECK(samples[1].shapes ==
        std::vector<std::vector<std::uint64_t>>{{0, 4}, {}, {}, {}, {}, {}, {2}});
  CHECK(std::get<0>(samples[0].values[1]) == bytes_of("abc"));
  for (const unsigned field : {1U, 2U, 3U})
    CHECK(std::holds_alternative<std::monostate>(samples[1].values[field]));
  std::vector<std::byte> into(16);
  CHECK(error_of([&] { set.read_array(2, rows, into); }).code() == Code::schema);
  CHECK(error_of([&] { set.read_array(3, rows, into); }).code() == Code::schema);
  CHECK(error_of([&] { (void)set.bytes_of_value(0); }).code() == Code::usage);
  const Dataset two_fields(dir / "set", {.fields = {"x", "tokens"}});
  CHECK(two_fields.read(0).shapes == std::vector<std::vector<std::uint64_t>>{{2}, {3}});
}

TEST_CASE("dataset: where keys are the numbers of rows, they are those") {
  const TempDir dir;
  Writer writer({.to = {.path = dir / "set", .format = "npy"},
                 .fields = {{.name = "x", .kind = Kind::tensor, .dtype = "|u1", .shape = {3}}},
                 .has_keys = false});
  for (const char* text : {"abc", "def"}) writer.write({}, {text});
  (void)writer.finish();
  const Dataset set(dir / "set", {.proof = Proof::all});
  const OwnedSample sample = set.read(1);
  CHECK(sample.key == "1");
  CHECK(std::get<0>(sample.values[0]) == bytes_of("def"));
  CHECK(set.find("0") == 0);
}

TEST_CASE("dataset: errors say what is wrong, and where") {
  const TempDir dir;
  (void)write_samples(dir / "set", 25);
  CHECK(error_of([&] { const Dataset set(dir / "none"); }).code() == Code::not_found);
  const Dataset set(dir / "set");
  CHECK(error_of([&] { (void)set.read(25); }).code() == Code::not_found);
  const std::string shard = dir / "set/shard-000001.tfrecord";
  std::string bytes = read_text(shard);
  const std::size_t place = bytes.find("image 14");
  REQUIRE(place != std::string::npos);
  bytes[place] ^= 1;
  write_file(shard, bytes);
  const Error error = error_of([&] { (void)Dataset(dir / "set").read(14); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file().ends_with("shard-000001.tfrecord"));
  CHECK(error.offset() == place);
  check_sample_of(Dataset(dir / "set").read(15), 15);
}

}  // namespace
}  // namespace shale
