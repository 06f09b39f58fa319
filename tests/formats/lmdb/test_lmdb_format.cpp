#include <random>

#include <doctest/doctest.h>

#include "formats/lmdb/lmdb_format.hpp"
#include "tests/formats/lmdb/lmdb_judge.hpp"
#include "tests/support/sample_sets.hpp"

namespace shale {
namespace {

using test::error_of;
using test::LmdbJudge;
using test::SampleSet;
using test::TempDir;

struct WrittenShard {
  std::vector<IndexRow> rows;
  std::uint64_t bytes = 0, foretold = 0;
};

WrittenShard write_shard(const std::string& path, const SampleSet& set) {
  WrittenShard shard;
  std::vector<OutputFile> files;
  files.emplace_back(path, OutputFile::Options{.io = IoMode::buffered});
  const auto writer = lmdb_format.create_shard(files, set.schema, OptionSet(lmdb_format.options));
  const auto sizer = lmdb_format.create_sizer(set.schema, {});
  std::size_t placed = 0;
  const auto place = [&](std::span<const std::uint64_t> offsets) {
    for (const std::uint64_t offset : offsets) {
      move_places(shard.rows[placed++], offset,
                  std::vector<std::uint64_t>(set.schema.fields.size(), offset), offset);
    }
  };
  for (const Sample& sample : set.samples) {
    const Record record = lmdb_format.encode(sample, set.schema, OptionSet(lmdb_format.options));
    shard.rows.push_back(record.row);
    const std::uint64_t part_bytes[] = {record.parts[0].size()};
    shard.foretold = sizer->size_with(part_bytes)[0];
    sizer->add(part_bytes);
    place(writer->append(record));
  }
  place(writer->close().late_offsets);
  CHECK(placed == set.samples.size());
  shard.bytes = files[0].finish().bytes;
  return shard;
}

// True if the bytes at each place of a row are those of the sample.
bool are_in_place(std::string_view file, const IndexRow& row, const Sample& sample) {
  const auto at = [&](const FieldPlace& place) { return file.substr(place.offset, place.length); };
  bool fits = at(row.key) == sample.key;
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    const IndexCell& cell = row.cells[i];
    if (const auto* bytes = std::get_if<Bytes>(&sample.values[i]))
      fits = fits && at(cell.place) == as_text(*bytes);
    if (const auto* list = std::get_if<std::vector<Bytes>>(&sample.values[i])) {
      const auto elements = lmdb_format.split_list(as_bytes(at(cell.place)), cell.place.count);
      fits = fits && std::equal(elements.begin(), elements.end(), list->begin(), list->end(),
                                [](Bytes a, Bytes b) { return as_text(a) == as_text(b); });
    }
  }
  return fits;
}

TEST_CASE("lmdb shard: every place of every row points at the sample's bytes") {
  const Schema schema = test::schema_of(lmdb_format.can.kinds);
  for (const SampleSet& set : {test::odd_samples(schema), test::plain_samples(schema, 500, 3000),
                               test::plain_samples(schema, 40, 100'000)}) {
    const TempDir dir;
    const WrittenShard shard = write_shard(dir / "a.lmdb", set);
    const std::string file = test::read_text(dir / "a.lmdb");
    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      CAPTURE(i);
      CHECK(are_in_place(file, shard.rows[i], set.samples[i]));
    }
  }
}

TEST_CASE("lmdb shard: liblmdb finds the encoded samples under 8-digit keys from 00000000") {
  const SampleSet set = test::plain_samples(test::schema_of(lmdb_format.can.kinds), 300, 3000);
  const TempDir dir;
  (void)write_shard(dir / "a.lmdb", set);
  test::LmdbEntries expected;
  for (std::size_t i = 0; i < set.samples.size(); ++i) {
    const auto map = lmdb_format.encode(set.samples[i], set.schema, OptionSet(lmdb_format.options))
                         .parts[0]
                         .flattened();
    expected[fmt::format("{:08}", i)] = as_text(map);
  }

  CHECK(test::difference(LmdbJudge(dir / "a.lmdb"), expected) == "");
}

TEST_CASE("lmdb sizer: foretells the file's size to the byte, for random sets" *
          doctest::test_suite("slow")) {
  const Schema schemas[] = {test::schema_of(lmdb_format.can.kinds),
                            {.fields = {{"image", Kind::bytes, {}, {}}}}};
  for (const Schema& schema : schemas) {
    for (const std::size_t count : {1U, 2U, 3U, 50U, 700U, 5000U}) {
      for (const std::size_t most_bytes : {0U, 30U, 700U, 3000U, 9000U}) {
        CAPTURE(count);
        CAPTURE(most_bytes);
        const TempDir dir;
        const WrittenShard shard =
            write_shard(dir / "a.lmdb", test::plain_samples(schema, count, most_bytes));
        CHECK(shard.bytes == shard.foretold);
      }
    }
  }
}

TEST_CASE("lmdb sizer: one more sample never makes the file smaller") {
  const auto sizer = lmdb_format.create_sizer({}, {});
  std::mt19937_64 random(1);
  std::uint64_t before = 2 * lmdb::kPageBytes;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t part_bytes[] = {random() % 3000};
    const std::uint64_t size = sizer->size_with(part_bytes)[0];
    if (size < before) FAIL_CHECK("sample ", i, " shrinks the file");
    sizer->add(part_bytes);
    before = size;
  }
}

TEST_CASE("lmdb sizer: the keys of a shard end at 99999999") {
  const auto sizer = lmdb_format.create_sizer({}, {});
  const std::uint64_t part_bytes[] = {3};
  for (std::uint64_t i = 0; i < kMaxLmdbSamples; ++i) sizer->add(part_bytes);

  CHECK(sizer->size_with(part_bytes)[0] == std::uint64_t{1} << 62);
}

TEST_CASE("lmdb shard: append after close is refused") {
  const TempDir dir;
  std::vector<OutputFile> files;
  files.emplace_back(dir / "a.lmdb", OutputFile::Options{.io = IoMode::buffered});
  const auto writer = lmdb_format.create_shard(files, {}, OptionSet(lmdb_format.options));
  (void)writer->close();
  const Record record =
      lmdb_format.encode({.key = "k", .values = {}}, {}, OptionSet(lmdb_format.options));

  CHECK(error_of([&] { (void)writer->append(record); }).code() == Code::bug);
}

TEST_CASE("lmdb encoder: a sample of 4 GiB is refused with both numbers, naming the sample") {
  const Schema schema{.fields = {{"frames", Kind::list, {}, {}}}};
  const std::string mebibyte(1 << 20, 'x');
  const std::vector<Bytes> list(4096, as_bytes(mebibyte));

  const Error error = error_of([&] {
    (void)lmdb_format.encode({.key = "k", .values = {list}}, schema,
                             OptionSet(lmdb_format.options));
  });

  CHECK(error.code() == Code::limit);
  CHECK(error.sample()->key == "k");
  CHECK(error.message() ==
        "encoded sample of 4294987794 bytes; an LMDB value holds at most 4294967295");
}

TEST_CASE("lmdb bid: the magic and the version of meta page 0 are the evidence") {
  const auto bid = [](std::string_view head) {
    return lmdb_format.bid({.path = "a", .head = as_bytes(head), .file_bytes = 1 << 20});
  };
  const TempDir dir;
  (void)test::write_pages(dir / "a", {});
  std::string head = test::read_text(dir / "a").substr(0, 4096);

  CHECK(bid(head) == 64);
  CHECK(bid(head.substr(0, 24)) == 64);
  CHECK(bid(head.substr(0, 23)) == 32);
  CHECK(bid(head.substr(0, 19)) == 0);
  head[20] = 2;
  CHECK(bid(head) == 32);
  head[16] = 'x';
  CHECK(bid(head) == 0);
  CHECK(bid("") == 0);
}

TEST_CASE("lmdb bid: files that only the scan can refuse by name are recognised") {
  const auto bid = [](std::size_t offset, std::string_view magic) {
    const std::string head = std::string(offset, '\0') + std::string(magic);
    return lmdb_format.bid({.path = "a", .head = as_bytes(head), .file_bytes = 1 << 20});
  };
  constexpr std::string_view kMagic = "\xde\xc0\xef\xbe", kSwapped = "\xbe\xef\xc0\xde";

  CHECK(bid(12, kMagic) == 32);
  CHECK(bid(24, kMagic) == 32);
  CHECK(bid(16, kSwapped) == 32);
  CHECK(bid(12, kSwapped) == 0);
  CHECK(bid(0, kMagic) == 0);
}

}  // namespace
}  // namespace shale
