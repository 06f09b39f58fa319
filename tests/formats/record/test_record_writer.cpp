#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"

#include "formats/record/record_frames.hpp"
#include "tests/formats/record/record_tools.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::hex;

std::vector<std::byte> frame_of(const Sample& sample, const Schema& schema) {
  return record_format.encode(sample, schema, {}).parts.at(0).flattened();
}

std::uint32_t stored_crc(const std::vector<std::byte>& frame) {
  return ByteReader(Bytes(frame).last(kFrameTrailerBytes)).read_u32();
}

TEST_CASE("record encoder: a small sample has the bytes that the mapping says") {
  const Schema schema{.fields = {{"x", Kind::bytes, {}, {}}, {"label", Kind::integer, {}, {}}}};

  const auto frame = frame_of({.key = "k", .values = {as_bytes("AB"), std::int64_t{3}}}, schema);

  // reference/formats.md 3.2, with `key` in front.
  CHECK(hex(Bytes(frame).subspan(12, frame.size() - 16)) ==
        "0a2b"
        "0a0c0a036b657912050a030a016b"
        "0a0e0a056c6162656c12051a030a0103"
        "0a0b0a017812060a040a024142");
  CHECK(hex(frame_header(frame.size() - kFrameBytes)) == hex(Bytes(frame).first(12)));
}

TEST_CASE(
    "record encoder: the payload's checksum by pieces is the plain one, for any size of payload") {
  const Schema schema{.fields = {{"a", Kind::bytes, {}, {}},
                                 {"b", Kind::list, {}, {}},
                                 {"c", Kind::bytes, {}, {}}}};
  for (const unsigned size :
       {0U, 1U, 255U, 256U, 257U, 4000U, 8191U, 8192U, 8193U, 100'000U, 1'000'003U}) {
    CAPTURE(size);
    std::string large(size, '\0');
    for (std::size_t i = 0; i < size; ++i) large[i] = static_cast<char>(i * 7 + i / 251);
    const std::vector<Bytes> list = {as_bytes(large), as_bytes("x"), as_bytes(large)};
    const Record record =
        record_format.encode({.key = "k", .values = {as_bytes(large), list, Bytes()}}, schema, {});
    const auto frame = record.parts[0].flattened();

    CHECK(stored_crc(frame) == mask_crc(crc32c(Bytes(frame).subspan(12, frame.size() - 16))));
    for (const IndexCell& cell : record.row.cells) {
      CHECK(cell.place.crc32c ==
            crc32c(Bytes(frame).subspan(cell.place.offset, cell.place.length)));
    }
  }
}

TEST_CASE("record encoder: the row says where each value lies in the frame") {
  const Schema schema = test::schema_of_every_kind();
  const Record record = record_format.encode(test::sample_of_every_kind(), schema, {});
  const auto frame = record.parts[0].flattened();
  const auto at = [&](const FieldPlace& place) {
    return as_text(Bytes(frame).subspan(place.offset, place.length));
  };

  const auto& cells = record.row.cells;
  CHECK(at(record.row.key) == "cat/7.jpg");
  CHECK(record.row.key_hash == xxh3_64(as_bytes("cat/7.jpg")));
  CHECK(at(cells[0].place) == "JPEG");
  CHECK(at(cells[1].place) == "a cat");
  CHECK(cells[2].integer == -3);
  CHECK(cells[3].real == 0.1);
  CHECK(at(cells[4].place) == "AABBCCDDEEFF");
  CHECK(cells[5].place.count == 3);
  CHECK(at(cells[5].place) == std::string_view("\x0a\x03one\x0a\0\x0a\x05three", 14));
  CHECK(record.row.record_length == frame.size());
}

TEST_CASE("record encoder: empty values have length 0, checksum 0 and an offset inside the frame") {
  const Schema schema{.fields = {{"a", Kind::bytes, {}, {}}, {"z", Kind::list, {}, {}}}};
  const Record record =
      record_format.encode({.key = "", .values = {Bytes(), std::vector<Bytes>()}}, schema, {});

  for (const FieldPlace& place :
       {record.row.key, record.row.cells[0].place, record.row.cells[1].place}) {
    CHECK(place.length == 0);
    CHECK(place.crc32c == 0);
    CHECK(place.offset < record.parts[0].size());
  }
}

TEST_CASE("record encoder: nothing of the sample but its payload is borrowed") {
  const Schema schema = test::schema_of_every_kind();
  const std::string key(5000, 'k');
  auto sample = std::make_unique<Sample>(test::sample_of_every_kind(key));
  const auto expected = frame_of(*sample, schema);
  Record record = record_format.encode(*sample, schema, {});
  sample.reset();
  const Record moved = std::move(record);

  CHECK(moved.parts[0].flattened() == expected);
}

TEST_CASE("record encoder: an Example of 2 GiB is refused with both numbers, naming the sample") {
  const Schema schema{.fields = {{"frames", Kind::list, {}, {}}}};
  const std::string mebibyte(1 << 20, 'x');
  const std::vector<Bytes> list(2048, as_bytes(mebibyte));

  const Error error =
      error_of([&] { (void)record_format.encode({.key = "k", .values = {list}}, schema, {}); });

  CHECK(error.code() == Code::limit);
  CHECK(error.sample()->key == "k");
  CHECK(error.message() ==
        "tf.train.Example of 2147491886 bytes; protobuf holds at most 2147483647");
}

TEST_CASE("record encoder: a key longer than 64 KiB is refused") {
  const Schema schema{.fields = {}};
  const Sample sample{.key = std::string(65'537, 'k'), .values = {}};

  CHECK(error_of([&] { (void)record_format.encode(sample, schema, {}); }).code() == Code::limit);
}

TEST_CASE("record layout: a tensor of 65 axes is refused by name") {
  const Field deep{"deep", Kind::tensor, DType::parse("|u1"), std::vector<std::uint64_t>(65, 1)};

  const Error error = error_of([&] { (void)record_format.layout({.fields = {deep}}, {}); });

  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().find("'deep'") != std::string::npos);
}

TEST_CASE("record writer: append after close is refused") {
  const test::TempDir dir;
  const Schema schema{.fields = {}};
  std::vector<OutputFile> files;
  files.emplace_back(dir / "a.tfrecord", OutputFile::Options{.io = IoMode::buffered});
  const auto writer = record_format.create_shard(files, schema, {});
  (void)writer->close();

  const Record record = record_format.encode({.key = "k", .values = {}}, schema, {});

  CHECK(error_of([&] { (void)writer->append(record); }).code() == Code::bug);
}

}  // namespace
}  // namespace shale
