#include <filesystem>
#include <fstream>
#include <random>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_frames.hpp"
#include "tests/formats/record/record_tools.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::scan_shard;
using test::Scanned;
using test::TempDir;
using Integers = std::span<const std::int64_t>;
using ByteList = std::span<const Bytes>;

// A frame with sound checksums around any payload.
std::string record_of(Bytes payload) {
  std::string frame(as_text(frame_header(payload.size())));
  frame += as_text(payload);
  frame += as_text(bytes_of(mask_crc(crc32c(payload))));
  return frame;
}

std::string framed_example(std::span<const Feature> features) {
  Blob blob;
  (void)append_example(features, blob);
  return record_of(blob.flattened());
}

// What the scan finds in a file of these bytes.
Scanned scan_bytes(std::string_view bytes, const Schema& schema, bool reads_payload = true) {
  const TempDir dir;
  test::write_file(dir / "a.tfrecord", bytes);
  return scan_shard(dir / "a.tfrecord", schema, reads_payload);
}

// The frames of three samples of every kind.
std::string tiny_shard(const TempDir& dir) {
  (void)test::write_shard(dir / "tiny.tfrecord", test::schema_of_every_kind(),
                          {test::sample_of_every_kind("a"), test::sample_of_every_kind("b"),
                           test::sample_of_every_kind("c")});
  return test::read_text(dir / "tiny.tfrecord");
}

TEST_CASE("record scan: gives the rows that the writer gave") {
  const TempDir dir;
  const Schema schema = test::schema_of_every_kind();
  std::vector<Sample> samples = {test::sample_of_every_kind("a"), test::sample_of_every_kind("b")};
  const std::string large(700'000, 'L');  // more than a window
  samples[0].values[0] = as_bytes(large);
  samples[1].values[5] = std::vector<Bytes>{as_bytes(large), as_bytes(large)};
  samples.push_back({.key = "",
                     .values = {Bytes(), Bytes(), std::int64_t{0}, -0.0, as_bytes("AABBCCDDEEFF"),
                                std::vector<Bytes>()}});

  const std::vector<IndexRow> rows = test::write_shard(dir / "a.tfrecord", schema, samples);
  const Scanned scanned = scan_shard(dir / "a.tfrecord", schema);

  CHECK(scanned.findings.empty());
  CHECK(scanned.rows == rows);
}

TEST_CASE("record scan: without payload the rows are the same but for the checksums") {
  const TempDir dir;
  const Schema schema = test::schema_of_every_kind();
  std::vector<IndexRow> rows =
      test::write_shard(dir / "a.tfrecord", schema,
                        {test::sample_of_every_kind("a"), test::sample_of_every_kind("b")});
  for (IndexRow& row : rows) {
    row.key.crc32c = 0;
    for (IndexCell& cell : row.cells) cell.place.crc32c = 0;
  }

  const Scanned scanned = scan_shard(dir / "a.tfrecord", schema, false);

  CHECK(scanned.findings.empty());
  CHECK(scanned.rows == rows);
}

TEST_CASE("record scan: every single flipped bit of a tiny shard is found") {
  const TempDir dir;
  const std::string sound = tiny_shard(dir), path = dir / "tiny.tfrecord";
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    const std::size_t byte = bit / 8;
    const auto put = [&](int value) {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(byte)).put(static_cast<char>(value));
    };
    put(sound[byte] ^ (1 << (bit % 8)));
    const Scanned scanned = scan_shard(path, test::schema_of_every_kind());
    if (scanned.findings.empty()) FAIL_CHECK("bit ", bit, " was flipped unseen");
    put(sound[byte]);
  }
}

TEST_CASE("record scan: a shard cut at any length is found, except between frames") {
  const TempDir dir;
  const std::size_t size = tiny_shard(dir).size(), frame = size / 3;
  for (std::size_t length = size; length-- > 0;) {
    CAPTURE(length);
    std::filesystem::resize_file(dir / "tiny.tfrecord", length);
    for (const bool reads_payload : {false, true}) {
      const Scanned scanned =
          scan_shard(dir / "tiny.tfrecord", test::schema_of_every_kind(), reads_payload);
      CHECK(scanned.rows.size() == length / frame);
      REQUIRE(scanned.findings.size() == (length % frame == 0 ? 0 : 1));
      if (length % frame != 0) CHECK(scanned.findings[0].length == length % frame);
    }
  }
}

TEST_CASE("record scan: hostile Examples under sound checksums give findings, never an error") {
  constexpr unsigned kSeed = 5, kFrames = 4000;
  const Record record =
      record_format.encode(test::sample_of_every_kind(), test::schema_of_every_kind(), {});
  const auto frame = record.parts[0].flattened();
  const Bytes payload = Bytes(frame).subspan(12, frame.size() - 16);
  std::mt19937 random(kSeed);
  std::string bytes;
  for (unsigned i = 0; i < kFrames; ++i) {
    std::vector<std::byte> changed(payload.begin(), payload.end());
    for (int change = 0; change < 3; ++change)
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    bytes += record_of(Bytes(changed).first(changed.size() - random() % 4));
  }
  for (const bool reads_payload : {false, true}) {
    const Scanned scanned = scan_bytes(bytes, test::schema_of_every_kind(), reads_payload);
    CHECK(scanned.rows.size() == kFrames);
    CHECK(scanned.findings.size() > kFrames / 2);
  }
}

TEST_CASE("record scan: a damaged payload is named with file, offset, sample and both checksums") {
  const TempDir dir;
  std::string bytes = tiny_shard(dir);
  const std::size_t frame = bytes.size() / 3;
  bytes[bytes.find("JPEG", frame)] = 'j';

  const Scanned scanned = scan_bytes(bytes, test::schema_of_every_kind());

  REQUIRE(scanned.findings.size() == 1);
  const Finding& finding = scanned.findings[0];
  CHECK(finding.message == "checksum mismatch in the payload of the frame");
  CHECK(finding.file == "a.tfrecord");
  CHECK(finding.offset == frame + 12);
  CHECK(finding.row == 1);
  CHECK(finding.sample->key == "b");
  CHECK(finding.found != finding.expected);
  CHECK(scanned.rows.size() == 3);
}

TEST_CASE("record scan: features that are not those of the schema are named") {
  const Schema schema{.fields = {{"label", Kind::integer, {}, {}}, {"x", Kind::bytes, {}, {}}}};
  const std::int64_t three[] = {3}, two[] = {3, 4};
  const Bytes twice[] = {as_bytes("AB"), as_bytes("CD")};
  const Feature key{"key", as_bytes("k")}, label{"label", Integers(three)}, x{"x", as_bytes("AB")};
  struct Row {
    std::vector<Feature> features;
    std::string_view message, field;
  };
  const Row rows[] = {
      {{key, x}, "feature 'label' is missing", "label"},
      {{label, x}, "feature 'key' is missing", "key"},
      {{key, label, label, x}, "feature 'label' is present more than once", "label"},
      {{key, label, x, {"y", as_bytes("AB")}},
       "record has features that the schema does not have",
       ""},
      {{key, x, label}, "features are not sorted by name", ""},
      {{key, {"label", as_bytes("3")}, x}, "feature 'label' holds the wrong type of list", "label"},
      {{key, label, {"x", Integers(three)}}, "feature 'x' holds the wrong type of list", "x"},
      {{key, {"label", Integers(two)}, x},
       "feature 'label' holds the wrong number of values",
       "label"},
      {{key, label, {"x", ByteList(twice)}}, "feature 'x' holds the wrong number of values", "x"},
      {{{"key", ByteList()}, label, x}, "feature 'key' holds the wrong number of values", "key"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const Scanned scanned = scan_bytes(framed_example(row.features), schema, false);
    REQUIRE(scanned.findings.size() == 1);
    CHECK(scanned.findings[0].message == row.message);
    CHECK(scanned.findings[0].field == row.field);
    CHECK(scanned.rows.size() == 1);
  }
}

TEST_CASE(
    "record scan: a tensor of another size, dtype or shape and a real of another size are named") {
  const Schema schema{
      .fields = {{"r", Kind::real, {}, {}}, {"t", Kind::tensor, DType::parse("<f4"), {2, 1}}}};
  const std::int64_t shape[] = {2, 1}, other[] = {1, 2};
  const Feature key{"key", as_bytes("k")}, real{"r", as_bytes("12345678")},
      tensor{"t", as_bytes("12345678")}, dtype{"t/dtype", as_bytes("<f4")},
      shaped{"t/shape", Integers(shape)};
  struct Row {
    std::vector<Feature> features;
    std::string_view message, found, expected;
  };
  const Row rows[] = {
      {{key, {"r", as_bytes("1234")}, tensor, dtype, shaped},
       "feature 'r' holds a value of the wrong size",
       "4 bytes",
       "8"},
      {{key, real, {"t", as_bytes("1234")}, dtype, shaped},
       "feature 't' holds a value of the wrong size",
       "4 bytes",
       "8"},
      {{key, real, tensor, {"t/dtype", as_bytes("<i4")}, shaped},
       "feature 't/dtype' holds the wrong dtype",
       "<i4",
       "<f4"},
      {{key, real, tensor, dtype, {"t/shape", Integers(other)}},
       "feature 't/shape' holds the wrong shape",
       "(1, 2)",
       "(2, 1)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const Scanned scanned = scan_bytes(framed_example(row.features), schema, false);
    REQUIRE(scanned.findings.size() == 1);
    CHECK(scanned.findings[0].message == row.message);
    CHECK(scanned.findings[0].found == row.found);
    CHECK(scanned.findings[0].expected == row.expected);
  }
}

TEST_CASE("record scan: a payload that is no Example is one finding, and the next frame is read") {
  const Schema schema{.fields = {}};
  const Feature key{"key", as_bytes("k")};

  const Scanned scanned =
      scan_bytes(record_of(as_bytes("hello")) + framed_example({&key, 1}), schema);

  REQUIRE(scanned.findings.size() == 1);
  CHECK(scanned.findings[0].message.starts_with("payload is not a tf.train.Example ("));
  REQUIRE(scanned.rows.size() == 2);
  CHECK(scanned.rows[0].key.offset == kMissing);
  CHECK(scanned.rows[1].record_offset == 21);
}

TEST_CASE("record scan: hostile frame lengths end the walk with one finding") {
  for (const std::uint64_t length :
       {std::uint64_t{1}, std::uint64_t{1} << 31, std::uint64_t{1} << 62, ~std::uint64_t{0} - 15,
        ~std::uint64_t{0}}) {
    CAPTURE(length);
    std::string bytes(as_text(frame_header(length)));
    bytes += "four";

    const Scanned scanned = scan_bytes(bytes, {});

    CHECK(scanned.rows.empty());
    REQUIRE(scanned.findings.size() == 1);
    CHECK(scanned.findings[0].message ==
          "frame reaches beyond the end of the file; the 16 bytes from here to the end are "
          "unaccounted for");
    CHECK(scanned.findings[0].length == 16);
  }
}

TEST_CASE("record scan: an empty file is a shard without samples") {
  const Scanned scanned = scan_bytes("", {});
  CHECK(scanned.rows.empty());
  CHECK(scanned.findings.empty());
}

TEST_CASE("record list: an extent is split into its elements") {
  const Record record =
      record_format.encode(test::sample_of_every_kind(), test::schema_of_every_kind(), {});
  const auto frame = record.parts[0].flattened();
  const FieldPlace& place = record.row.cells[5].place;

  const auto elements =
      record_format.split_list(Bytes(frame).subspan(place.offset, place.length), place.count);

  REQUIRE(elements.size() == 3);
  CHECK(as_text(elements[0]) == "one");
  CHECK(elements[1].empty());
  CHECK(as_text(elements[2]) == "three");
}

TEST_CASE("record list: an extent that does not fit its count or its own bytes is damaged") {
  struct Row {
    std::string_view bytes;
    std::uint32_t count;
  };
  constexpr Row kRows[] = {{"", 1},          {"0a00", 2}, {"0a00 0a00", 1}, {"0a05 41", 1},
                           {"0aff ffff", 1}, {"0800", 1}, {"0a00 0a", 2},   {"0a00", 0xffff'ffff}};
  for (const Row& row : kRows) {
    CAPTURE(row.bytes);
    const auto extent = test::unhex(row.bytes);
    CHECK(error_of([&] { (void)record_format.split_list(extent, row.count); }).code() ==
          Code::damaged);
  }
}

TEST_CASE("record detection: the first frame's checksum is the evidence") {
  const TempDir dir;
  const std::string sound = tiny_shard(dir);
  const auto bid = [](std::string_view bytes) {
    return record_format.bid({.path = "a", .head = as_bytes(bytes), .file_bytes = bytes.size()});
  };

  CHECK(bid(sound) == 40);
  CHECK(bid(record_of(as_bytes("hello"))) == 32);
  CHECK(bid(sound.substr(0, 15)) == 0);
  CHECK(bid("") == 0);
  CHECK(bid(std::string(4096, '\0')) == 0);
}

}  // namespace
}  // namespace shale
