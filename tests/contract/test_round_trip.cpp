#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

void check_equal(const SampleSet& written, const ReadSet& read) {
  REQUIRE(read.samples.size() == written.samples.size());
  for (std::size_t i = 0; i < written.samples.size(); ++i) {
    CAPTURE(i);
    const Sample &expected = written.samples[i], &found = read.samples[i].sample;
    CHECK(found.key == (read.manifest.layout.has_keys ? expected.key : std::to_string(i)));
    REQUIRE(found.values.size() == expected.values.size());
    CHECK(found.sides == expected.sides);
    for (std::size_t f = 0; f < expected.values.size(); ++f) {
      CAPTURE(written.schema.fields[f].name);
      CHECK(are_equal(found.values[f], expected.values[f]));
    }
  }
}

TEST_CASE("round trip: odd keys and odd values of every kind come back to the bit") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = odd_samples(schema);
    for (const std::uint64_t shard_samples : {1U, 5U, 1000U}) {
      const TempDir dir;
      (void)write_set(format, set, dir / "out", {.limit_samples = shard_samples});
      check_equal(set, read_set(dir / "out"));
      CHECK(first_finding(verified(dir / "out", VerifyDepth::deep)) == "");
    }
  });
}

TEST_CASE("round trip: each claimed kind may be the only field") {
  for_each_format([](const Format& format) {
    for (const Kind kind : format.can.kinds) {
      CAPTURE(name_of(kind));
      const TempDir dir;
      const SampleSet set = odd_samples(holds_arrays_only(format) ? fixed_schema_of({&kind, 1})
                                                                  : schema_of({&kind, 1}));
      (void)write_set(format, set, dir / "out");
      check_equal(set, read_set(dir / "out"));
      CHECK(first_finding(verified(dir / "out", VerifyDepth::deep)) == "");
    }
  });
}

TEST_CASE("round trip: values that lie across hash blocks and verified ranges come back") {
  for_each_format([](const Format& format) {
    const TempDir dir;
    if (holds_arrays_only(format)) return;  // its values have one size: test_arrays.cpp
    SampleSet set = plain_samples(full_schema(format), 4, 100);
    set.samples[1].values[0] = set.keep(std::string((9 << 20) + 3, 'L'));
    set.samples[2].values[0] = set.keep(std::string((1 << 20) - 1, 'M'));
    (void)write_set(format, set, dir / "out");
    check_equal(set, read_set(dir / "out"));
    CHECK(first_finding(verified(dir / "out", VerifyDepth::deep)) == "");
  });
}

TEST_CASE("round trip: a ragged tensor has no elements, one, a million, or is absent") {
  for_each_format([](const Format& format) {
    if (!format.can.holds_ragged || !format.can.holds_optional) return;
    const auto tensor = [](std::string name, std::vector<std::uint64_t> shape, bool is_optional) {
      return Field{.name = std::move(name),
                   .kind = Kind::tensor,
                   .dtype = DType::parse("<f4"),
                   .shape = std::move(shape),
                   .is_optional = is_optional};
    };
    SampleSet set{.schema = {.fields = {tensor("boxes", {kFreeSide, 4}, true),
                                        tensor("any", {kFreeSide, kFreeSide}, false),
                                        tensor("line", {kFreeSide}, true)}},
                  .samples = {},
                  .memory = {}};
    const auto floats = [&](std::uint64_t count) {
      return Value(set.keep(std::string(4 * count, static_cast<char>(count))));
    };
    const std::uint64_t million = 1'000'000;
    set.samples = {
        {"none", {floats(0), floats(0), floats(0)}, {0, 4, 3, 0, 0}},
        {"one", {floats(4), floats(1), floats(1)}, {1, 4, 1, 1, 1}},
        {"absent", {std::monostate(), floats(0), std::monostate()}, {0, 0, 0, million, 0}},
        {"million",
         {floats(million), floats(million), floats(million)},
         {million / 4, 4, 1000, 1000, million}}};
    const TempDir dir;
    (void)write_set(format, set, dir / "out");
    check_equal(set, read_set(dir / "out"));
    CHECK(first_finding(verified(dir / "out", VerifyDepth::deep)) == "");
  });
}

TEST_CASE("round trip: an empty value has length 0, checksum 0 and an offset that can be read at") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = odd_samples(schema);
    (void)write_set(format, set, dir / "out");
    const ReadSet read = read_set(dir / "out");
    const ShardReader reader(dir / "out", read.manifest, read.shards[0]);
    for (const IndexRow& row : read.rows[0]) {
      for (std::size_t f = 0; f < set.schema.fields.size(); ++f) {
        const FieldPlace& place = row.cells[f].place;
        if (!is_located(set.schema.fields[f].kind) || is_absent(row.cells[f], set.schema.fields[f]))
          continue;
        CHECK(place.offset <= reader.file_of_field(f).size() - place.length);
        if (place.length == 0) CHECK(place.crc32c == 0);
      }
    }
  });
}

TEST_CASE("round trip: the index holds the hash of each key") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;
    const TempDir dir;
    (void)write_set(format, odd_samples(full_schema(format)), dir / "out");
    const ReadSet read = read_set(dir / "out");
    for (std::size_t i = 0; i < read.samples.size(); ++i) {
      CHECK(read.rows[0][i].key_hash == xxh3_64(as_bytes(read.samples[i].sample.key)));
    }
  });
}

TEST_CASE("round trip: a set of no samples is a set, with no shard") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const Manifest manifest = write_set(format, {schema, {}, {}}, dir / "out");
    CHECK(manifest.shard_count == 0);
    CHECK(read_set(dir / "out").samples.empty());
    CHECK(first_finding(verified(dir / "out")) == "");
  });
}

// A row as its bytes: there a NaN is equal to itself.
std::vector<std::byte> bytes_of_row(const IndexColumns& columns, const IndexRow& row) {
  ByteWriter bytes;
  columns.encode(row, bytes);
  return bytes.take();
}

TEST_CASE("round trip: encoding is pure, and borrows nothing of the sample but its payload") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = odd_samples(schema);
    const ShardLayout layout = format.layout(set.schema, defaults(format));
    const IndexColumns columns(set.schema, layout);
    for (const Sample& sample : set.samples) {
      auto copy = std::make_unique<Sample>(sample);
      const Record record = encoded(format, *copy, set.schema, defaults(format));
      copy.reset();
      const Record again = encoded(format, sample, set.schema, defaults(format));
      // Where rows are fixed there is none: it follows from their number.
      if (layout.rows.has_index())
        CHECK(bytes_of_row(columns, record.row) == bytes_of_row(columns, again.row));
      REQUIRE(record.parts.size() == layout.part_file.size());
      for (std::size_t i = 0; i < record.parts.size(); ++i) {
        CHECK(record.parts[i].flattened() == again.parts[i].flattened());
      }
    }
  });
}

}  // namespace
}  // namespace shale
