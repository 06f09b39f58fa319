#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/parquet/delta_numbers.hpp"
#include "shale/parquet/hybrid_runs.hpp"
#include "shale/parquet/parquet_codec.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/parquet/parquet_slots.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/parquet/parquet_vector.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::unhex;

struct OpenVector {
  explicit OpenVector(std::size_t at = 0, std::byte flipped = {}) {
    file[at] ^= flipped;
    footer = read_parquet_footer(view, file.size(), "file");
    columns = columns_of(footer);
  }
  std::vector<std::byte> file = test::parquet_vector();
  ViewBytes view = [this](std::uint64_t offset, std::uint64_t length) {
    if (offset > file.size() || length > file.size() - offset)
      throw Error(Code::damaged, "behind the end").at("file", offset);
    return Bytes(file).subspan(offset, length);
  };
  ParquetFooter footer;
  std::vector<ParquetColumn> columns;

  ParquetSlots slots(std::size_t column, ParquetSlots::Use use) {
    ParquetSlots made(view, "file", columns[column], use, test::kVectorFooter);
    made.check_pages();
    made.open(footer.row_groups[0].chunks[column]);
    return made;
  }
};

TEST_CASE("parquet columns: levels count the nodes that may be missing or repeated") {
  OpenVector vector;
  REQUIRE(vector.columns.size() == 4);
  CHECK(vector.columns[0].most_definition == 2);
  CHECK(vector.columns[2].most_definition == 1);
  CHECK(dotted_name(vector.footer, vector.columns[1]) == "image.path");
}

TEST_CASE("parquet slots: a stored value is located, and what is null is not") {
  OpenVector vector;
  ParquetSlots slots = vector.slots(0, ParquetSlots::Use::places);

  REQUIRE(slots.next());
  CHECK(slots.has_value());
  const ParquetPlace place = slots.place();
  CHECK(place.offset == 41);
  CHECK(place.length == 3);
  REQUIRE(slots.next());
  CHECK(slots.definition() == 0);
  REQUIRE(slots.next());
  CHECK(slots.definition() == 1);
  CHECK(!slots.has_value());
  CHECK(!slots.next());
}

TEST_CASE("parquet slots: a page that is not what its CRC says is refused with its place") {
  OpenVector vector;
  vector.file[43] ^= std::byte{1};
  ParquetSlots slots = vector.slots(0, ParquetSlots::Use::places);
  const Error error = error_of([&] { (void)slots.next(); });
  CHECK(error.message().starts_with("page has the CRC"));
  CHECK(error.offset() == 4);
}

TEST_CASE("hybrid runs: runs and groups of bits give their numbers, the last group may be cut") {
  const std::vector<std::byte> mixed = unhex("03884612");  // a group of width 3
  HybridRuns runs(mixed, 3);
  for (const std::uint32_t expected : {0U, 1U, 2U, 3U, 4U, 4U, 4U}) CHECK(runs.next() == expected);

  const std::vector<std::byte> repeated = unhex("9003 02");  // 200 times
  HybridRuns twos(repeated, 2);
  for (int i = 0; i < 200; ++i) CHECK(twos.next() == 2);
  CHECK(error_of([&] { (void)twos.next(); }).code() == Code::damaged);

  const std::vector<std::byte> cut = unhex("05 ffff ff");  // two groups of width 2, one is whole
  HybridRuns bits(cut, 2);
  for (int i = 0; i < 12; ++i) CHECK(bits.next() == 3);
  CHECK(error_of([&] { (void)bits.next(); }).code() == Code::damaged);
}

TEST_CASE("hybrid runs: a run of more numbers than are left, or are there, is refused") {
  const std::vector<std::byte> repeated = unhex("0a 01"), packed = unhex("8324 00");
  HybridRuns five(repeated, 1, 4), many(packed, 2, 4);
  CHECK(error_of([&] { (void)five.next(); }).message() ==
        "a run of 5 values, 4 are left in its page");
  CHECK(error_of([&] { (void)many.next(); }).message() ==
        "a run of 2305 groups of 8, of which 1 bytes are there");
}

TEST_CASE("hybrid runs: they may end where nothing but filling follows") {
  const std::vector<std::byte> packed = unhex("03884612"), repeated = unhex("0a 01");
  HybridRuns three(packed, 3, 3), five(repeated, 1, 5);
  CHECK(!three.may_end());
  (void)three.next();
  CHECK(three.may_end());
  for (int i = 0; i < 4; ++i) (void)five.next();
  CHECK(!five.may_end());
  (void)five.next();
  CHECK(five.may_end());
}

TEST_CASE("hybrid runs: a run of nothing, or of a number that is too large, is refused") {
  const std::vector<std::byte> none = unhex("00 00"), wide = unhex("02 04");
  HybridRuns empty(none, 1), large(wide, 2);
  CHECK(error_of([&] { (void)empty.next(); }).message() == "a run of no values");
  CHECK(error_of([&] { (void)large.next(); }).code() == Code::damaged);
}

TEST_CASE("delta numbers: lengths as pyarrow writes them, the first of a block included") {
  // 9, then ten times 1 but for a 2 at the eleventh: DELTA_BYTE_ARRAY of "caption 0", "caption 1"
  // ...
  const std::vector<std::byte> bytes =
      unhex("8001 04 14 12 0f 04000000 80888888 98878888 88080000 00000000");
  DeltaNumbers numbers(bytes);
  REQUIRE(numbers.count() == 20);
  const std::vector<int> expected = {9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const int number : expected) CHECK(numbers.next() == number);
  CHECK(numbers.end() == bytes.size());
  CHECK(error_of([&] { (void)numbers.next(); }).code() == Code::damaged);
}

TEST_CASE("delta numbers: blocks of no size, and widths above 64, are refused") {
  for (const std::string_view hex : {"00 04 01 00", "8001 00 01 00", "8001 05 01 00"}) {
    CAPTURE(hex);
    const std::vector<std::byte> bytes = unhex(hex);
    CHECK(error_of([&] { (void)DeltaNumbers(bytes); }).code() == Code::damaged);
  }
  const std::vector<std::byte> wide = unhex("8001 04 02 00 00 41000000");
  DeltaNumbers numbers(wide);
  (void)numbers.next();
  CHECK(error_of([&] { (void)numbers.next(); }).message() == "deltas of 65 bits");
}

TEST_CASE("parquet codec: a page that says another size than it has is refused") {
  const std::vector<std::byte> snappy = unhex("05 10 68656c6c6f");  // "hello"
  CHECK(as_text(unpack_page(ParquetCodec::snappy, snappy, 5)) == "hello");
  CHECK(error_of([&] { (void)unpack_page(ParquetCodec::snappy, snappy, 6); }).code() ==
        Code::damaged);
  const std::vector<std::byte> bomb = unhex("ffffffff0f 10 68656c6c6f");
  CHECK(error_of([&] { (void)unpack_page(ParquetCodec::snappy, bomb, 0xffff'ffff); }).code() ==
        Code::limit);
  const std::vector<std::byte> lying = unhex("ffffff7f 10 68656c6c6f");
  CHECK(error_of([&] { (void)unpack_page(ParquetCodec::snappy, lying, 0x0fff'ffff); }).code() ==
        Code::damaged);
  CHECK(error_of([&] { (void)unpack_page(ParquetCodec::lzo, snappy, 5); }).code() ==
        Code::unsupported);
}

TEST_CASE("parquet values: dictionaries, booleans, split bytes and joined strings are decoded") {
  const ParquetStorage int32{ParquetType::int32}, text{ParquetType::byte_array},
      flag{ParquetType::boolean};
  const ParquetDictionary words(text, unhex("01000000 61 02000000 6262"), 2);
  const std::vector<std::byte> indices = unhex("01 03 02");  // width 1, a group: 0, 1, 0 ...
  ParquetValues of_words(text, ParquetEncoding::rle_dictionary, indices, &words, 100);
  CHECK(as_text(of_words.next()) == "a");
  CHECK(as_text(of_words.next()) == "bb");

  const std::vector<std::byte> bits = unhex("05");
  ParquetValues flags(flag, ParquetEncoding::plain, bits, nullptr, 100);
  CHECK(flags.next()[0] == std::byte{1});
  CHECK(flags.next()[0] == std::byte{0});
  CHECK(flags.next()[0] == std::byte{1});

  const std::vector<std::byte> split = unhex("01 02 00 00 00 00 00 80");  // 1 and 0x80000002
  ParquetValues numbers(int32, ParquetEncoding::byte_stream_split, split, nullptr, 100);
  CHECK(test::hex(numbers.next()) == "01000000");
  CHECK(test::hex(numbers.next()) == "02000080");
  CHECK(error_of([&] { (void)numbers.next(); }).code() == Code::damaged);
}

TEST_CASE("parquet values: what points outside of its page or dictionary is refused") {
  const ParquetStorage text{ParquetType::byte_array};
  CHECK(error_of([&] {
          (void)ParquetDictionary(text, unhex("01000000 61"), 1'000'000'000);
        }).message() == "dictionary of 1000000000 values in 5 bytes");
  CHECK(error_of([&] { (void)ParquetDictionary(text, unhex("ffffff7f 61"), 1); }).code() ==
        Code::damaged);
  const ParquetDictionary words(text, unhex("01000000 61"), 1);
  const std::vector<std::byte> indices = unhex("08 02 05");
  ParquetValues of_words(text, ParquetEncoding::rle_dictionary, indices, &words, 100);
  CHECK(error_of([&] { (void)of_words.next(); }).message() == "value 5 of a dictionary of 1");
  CHECK(error_of([&] {
          (void)ParquetValues(text, ParquetEncoding::rle_dictionary, indices, nullptr, 100);
        }).code() == Code::damaged);
  const std::vector<std::byte> long_value = unhex("ff000000 61");
  ParquetValues plain(text, ParquetEncoding::plain, long_value, nullptr, 100);
  CHECK(error_of([&] { (void)plain.next(); }).message() ==
        "value of 255 bytes, 1 left in its page");
}

TEST_CASE("parquet values: more deltas than the page has values are not counted to their end") {
  // 2^60 lengths, of blocks of 2^24 without bits: two bytes for each block.
  const std::vector<std::byte> many = unhex("80808008 01 808080808080808010 00 0000 0000 0000");
  const ParquetStorage text{ParquetType::byte_array};
  for (const ParquetEncoding encoding :
       {ParquetEncoding::delta_length_byte_array, ParquetEncoding::delta_byte_array}) {
    const Error error = error_of([&] { (void)ParquetValues(text, encoding, many, nullptr, 100); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.message() == "1152921504606846976 deltas in a page of 100 values");
  }
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return Bytes(many).subspan(offset, length);
  };
  ParquetPlaces places(view);
  CHECK(error_of([&] {
          places.begin_page(ParquetEncoding::delta_length_byte_array, 0, many.size(), 100);
        }).code() == Code::damaged);
}

TEST_CASE("parquet values: split values that are longer than their page take no memory") {
  const ParquetStorage huge{ParquetType::fixed_bytes, 0x7fff'ffff};
  const std::vector<std::byte> page = unhex("0102");
  ParquetValues values(huge, ParquetEncoding::byte_stream_split, page, nullptr, 1);
  CHECK(error_of([&] { (void)values.next(); }).message() ==
        "the page has no more than 0 split values");
}

TEST_CASE("parquet pages: levels are no longer than the values of their page can need") {
  OpenVector vector;
  std::vector<std::byte> page(1 << 20);
  page[2] = std::byte{8};  // levels of 2^19 bytes
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return Bytes(page).subspan(offset, length);
  };
  ParquetPageHeader header;
  header.slots = 100;
  const Error error =
      error_of([&] { (void)read_levels(view, page.size(), header, vector.columns[0]); });
  CHECK(error.message() == "levels of 524288 bytes for 100 values, at most 4896 are possible");
  header.kind = ParquetPageKind::data_v2;
  header.definition_bytes = 524288;
  CHECK(error_of([&] {
          (void)read_levels(view, page.size(), header, vector.columns[0]);
        }).message() == error.message());
  header.slots = 1 << 20;
  CHECK(read_levels(view, page.size(), header, vector.columns[0]).definition.size() == 524288);
}

TEST_CASE("parquet slots: values and places are counted, the refusal names the page") {
  for (const ParquetSlots::Use use : {ParquetSlots::Use::values, ParquetSlots::Use::places}) {
    OpenVector vector;
    ParquetExpansion expansion(0);
    expansion.give((1 << 30) - 2);
    ParquetSlots slots = vector.slots(0, use);
    slots.count_in(expansion);
    REQUIRE(slots.next());
    const Error error = error_of(
        [&] { use == ParquetSlots::Use::values ? (void)slots.value() : (void)slots.place(); });
    CHECK(error.code() == Code::limit);
    CHECK(error.file() == "file");
    CHECK(error.offset() == 4);
  }
  OpenVector vector;
  ParquetExpansion expansion(0);
  std::uint64_t held = 0;
  expansion.exchange(held, ParquetExpansion::kMostHeld - 1);
  ParquetSlots slots = vector.slots(0, ParquetSlots::Use::values);
  slots.count_in(expansion);
  CHECK(error_of([&] { (void)slots.next(); }).message().starts_with("page of "));
}

TEST_CASE("parquet slots: any bit of a file may be wrong, which is an error or another value") {
  constexpr int kMostSlots = 1000;  // a chunk may say that it has more
  const std::vector<std::byte> whole = test::parquet_vector();
  const auto read = [](OpenVector& vector, std::size_t column, ParquetSlots::Use use) {
    ParquetExpansion expansion(vector.file.size());
    ParquetSlots slots(vector.view, "file", vector.columns[column], use, test::kVectorFooter);
    slots.count_in(expansion);
    slots.open(vector.footer.row_groups.at(0).chunks[column]);
    for (int i = 0; i < kMostSlots && slots.next(); ++i) {
      if (!slots.has_value()) continue;
      if (use == ParquetSlots::Use::values) {
        const Bytes value = slots.value();
        CHECK(value.size() < vector.file.size());
      } else {
        const ParquetPlace place = slots.place();
        CHECK(place.offset + place.length <= vector.file.size());
      }
    }
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      try {
        OpenVector vector(at, std::byte{1} << bit);
        for (std::size_t i = 0; i < vector.columns.size() && !vector.footer.row_groups.empty(); ++i)
          read(vector, i, ParquetSlots::Use::values);
        read(vector, 0, ParquetSlots::Use::places);
      } catch (const Error& error) {
        CHECK((error.code() == Code::damaged || error.code() == Code::unsupported ||
               error.code() == Code::limit));
        CHECK(error.file() == "file");
      }
    }
  }
}

}  // namespace
}  // namespace shale
