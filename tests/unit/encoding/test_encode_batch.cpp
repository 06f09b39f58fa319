#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/encode_batch.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/unit/encoding/listed_source.hpp"

namespace shale {
namespace {

using namespace test;

std::vector<EncodedSample> encode(Source& source, const Format& format, OnError on_error,
                                  Batch& kept, bool has_keys = true) {
  const OptionSet options(format.options);
  ShardLayout layout = format.layout(source.info().schema, options);
  layout.has_keys = layout.has_keys && has_keys;
  BatchReader reader(BatchReader::Options{});
  EncodedBatch encoded = encode_batch(batch_of(source, 50), source.info(),
                                      {format, options, layout, on_error}, reader);
  kept = std::move(encoded.batch);  // the records point into its buffer
  return std::move(encoded.samples);
}

const std::string kPhoto = "P5\n1 1\n255\nx";

TEST_CASE("encode batch: a record has the digests and the payload of its sample") {
  const TempDir dir;
  ListedSource source(dir, numbered({"one", ""}));
  Batch kept;
  const auto samples = encode(source, toy_format, OnError::fail, kept);

  REQUIRE(samples.size() == 2);
  const Sample first{"0", {Bytes(as_bytes("one")), std::int64_t{0}}};
  DatasetDigest expected;
  expected.add(digest_of(first, source.info().schema));
  CHECK(samples[0].record->digest == expected);
  CHECK(samples[0].read == expected);
  CHECK(samples[0].record->payload_bytes == 3);
  CHECK(samples[1].record->payload_bytes == 0);
  CHECK_FALSE(samples[0].image.has_value());
}

TEST_CASE(
    "encode batch: where no keys are stored the record has no digest of them, the input has") {
  const TempDir dir;
  ListedSource source(dir, numbered({"one"}));
  Batch kept;
  const auto samples = encode(source, toy_format, OnError::fail, kept, false);

  CHECK(samples[0].record->digest.keys == Hash128{});
  CHECK(samples[0].read.keys != Hash128{});
}

TEST_CASE("encode batch: a bad image is left out, kept or an error, as is asked") {
  const TempDir dir;
  const auto photos = [&] {
    ListedSource source(dir, {{"a.pgm", kPhoto}, {"b.pgm", "no image"}, {"c.pgm", kPhoto}});
    source.info().image_fields = {0};
    return source;
  };
  Batch kept;
  ListedSource source = photos();
  const auto skipped = encode(source, toy_format, OnError::skip, kept);
  REQUIRE(skipped.size() == 3);
  CHECK(skipped[0].record.has_value());
  CHECK_FALSE(skipped[1].record.has_value());
  CHECK(skipped[1].key == "b.pgm");
  CHECK_FALSE(skipped[1].fault.empty());
  source = photos();
  CHECK(encode(source, toy_format, OnError::keep, kept)[1].record.has_value());
  source = photos();
  const Error error = error_of([&] { (void)encode(source, toy_format, OnError::fail, kept); });
  CHECK(error.code() == Code::bad_content);
  CHECK(error.sample()->key == "b.pgm");
  CHECK(error.sample()->index == 51);
}

TEST_CASE("encode batch: of several images of a sample each is counted, and a bad one is named") {
  const TempDir dir;
  for (const bool is_good : {true, false}) {
    CAPTURE(is_good);
    ListedSource source(dir, {{"a.pgm", kPhoto}});
    source.info().schema.fields.push_back({.name = "mask", .kind = Kind::bytes});
    source.info().image_fields = {0, 2};
    PendingSample& sample = source.pending.front();
    const std::string mask = is_good ? std::string(kPhoto) : "no image";
    write_file(dir / "mask.jpg", mask);
    sample.cells.resize(3);
    sample.files = {{.path = dir / "mask.jpg", .bytes = mask.size(), .field = 2}};
    sample.bytes += mask.size();
    Batch kept;
    const EncodedSample encoded = std::move(encode(source, toy_format, OnError::skip, kept)[0]);
    CHECK(encoded.record.has_value() == is_good);
    if (is_good) {
      CHECK(encoded.all_images->types.at("pnm") == 2);
      CHECK(encoded.image->odd == std::vector<std::string_view>{"gray", "wrong-suffix"});
    } else {
      CHECK(encoded.fault.text == "of field 'mask' is not an image of a known type");
    }
  }
}

TEST_CASE("encode batch: a sample without one of its files is left out or an error, never kept") {
  const TempDir dir;
  for (const OnError on_error : {OnError::skip, OnError::keep, OnError::fail}) {
    ListedSource source(dir, {{"a.pgm", kPhoto}});
    source.pending.front().lacks = "partner .txt";
    Batch kept;
    if (on_error == OnError::skip) {
      const auto samples = encode(source, toy_format, on_error, kept);
      CHECK_FALSE(samples[0].record.has_value());
      CHECK(name_of(samples[0].fault.code) == "missing-partner");
      CHECK(samples[0].fault.text == "has no partner .txt");
      continue;
    }
    const Error error = error_of([&] { (void)encode(source, toy_format, on_error, kept); });
    CHECK(error.code() == Code::bad_content);
    CHECK(error.sample()->key == "a.pgm");
  }
}

TEST_CASE("encode batch: what is left out counts as read, where the input has a digest") {
  const TempDir dir;
  for (const bool has_digest : {false, true}) {
    CAPTURE(has_digest);
    ListedSource source(dir, numbered({"no image"}));
    source.info().image_fields = {0};
    if (has_digest) source.info().digest.emplace();
    Batch kept;
    const auto samples = encode(source, toy_format, OnError::skip, kept);
    CHECK_FALSE(samples[0].record.has_value());
    CHECK(samples[0].read.samples == (has_digest ? 1 : 0));
  }
}

TEST_CASE("encode batch: a run is one record of its columns where rows are stored so") {
  const TempDir dir;
  RunSource source(dir, 200);
  Batch kept;
  const auto samples = encode(source, toy_rows_format, OnError::fail, kept);

  REQUIRE(samples.size() == 1);
  const Record& record = *samples[0].record;
  CHECK(as_text(record.parts[0].flattened()) == source.x);
  CHECK(as_text(record.parts[1].flattened()) == source.y);
  CHECK(record.digest.samples == 200);
  CHECK(record.payload_bytes == source.x.size());
}

TEST_CASE("encode batch: elsewhere each row is a sample whose key is its number, with one digest") {
  const TempDir dir;
  RunSource whole(dir, 200), rows(dir, 200);
  Batch kept, kept_rows;
  Format by_rows = toy_rows_format;
  by_rows.layout = [](const Schema& schema, const OptionSet& options) {
    ShardLayout layout = toy_rows_format.layout(schema, options);
    layout.rows = RowStorage::indexed();
    return layout;
  };
  const auto run = encode(whole, toy_rows_format, OnError::fail, kept);
  const auto samples = encode(rows, by_rows, OnError::fail, kept_rows);

  REQUIRE(samples.size() == 200);
  CHECK(samples[0].key == "100");
  CHECK(samples[199].key == "299");
  DatasetDigest all;
  for (const EncodedSample& sample : samples) all.append(sample.record->digest);
  CHECK(all == run[0].record->digest);
}

// As whoever reads a shard takes it.
Hash128 hash_of_stored(const Schema& schema, std::size_t field, std::string_view stored) {
  Hasher128 hasher = begin_image_hash(schema, field, stored.size());
  hasher.update(as_bytes(stored.substr(0, stored.size() / 3)));
  hasher.update(as_bytes(stored.substr(stored.size() / 3)));
  return hasher.digest();
}

std::vector<EncodedSample> encode_hashed(Source& source, std::optional<std::size_t> field,
                                         Batch& kept) {
  const OptionSet options(toy_format.options);
  const ShardLayout layout = toy_format.layout(source.info().schema, options);
  BatchReader reader(BatchReader::Options{});
  EncodedBatch encoded = encode_batch(batch_of(source), source.info(),
                                      {toy_format, options, layout, OnError::fail, field}, reader);
  kept = std::move(encoded.batch);  // the records point into its buffer
  return std::move(encoded.samples);
}

TEST_CASE(
    "image hash: of a first field it is that of its stored bytes, whatever else a sample has") {
  const TempDir dir;
  const std::string large(100'000, 'x');
  ListedSource source(dir, {{"a", "one"}, {"b", "two"}, {"c", "one"}, {"d", ""}, {"e", large}});
  Batch kept;
  const auto samples = encode_hashed(source, 0, kept);

  const Schema& schema = source.info().schema;
  CHECK(is_hashed_as_head(schema, 0));
  CHECK(samples[0].image_hash == hash_of_stored(schema, 0, "one"));
  CHECK(samples[1].image_hash == hash_of_stored(schema, 0, "two"));
  CHECK(samples[2].image_hash == samples[0].image_hash);  // with another key and label
  CHECK(samples[3].image_hash == hash_of_stored(schema, 0, ""));
  CHECK(samples[4].image_hash == hash_of_stored(schema, 0, large));
  CHECK(samples[0].image_hash != samples[1].image_hash);
}

TEST_CASE("image hash: the digests are the same with it and without") {
  const TempDir dir;
  ListedSource source(dir, numbered({"one", "two"})), again(dir, numbered({"one", "two"}));
  Batch kept, kept_again;
  const auto with = encode_hashed(source, 0, kept);
  const auto without = encode_hashed(again, {}, kept_again);
  for (std::size_t i = 0; i < with.size(); ++i) {
    CHECK(with[i].record->digest == without[i].record->digest);
    CHECK(with[i].image_hash.has_value());
    CHECK_FALSE(without[i].image_hash.has_value());
  }
}

TEST_CASE("image hash: elsewhere it is xxh3-128 of the stored bytes, from their pieces") {
  const Schema schema{.fields = {{"label", Kind::integer, {}, {}}, {"frames", Kind::list, {}, {}}}};
  ShardLayout layout;
  layout.field_part = {0, 0};
  Record record;
  Blob& part = record.parts.emplace_back();
  part.append_copy(as_bytes("head"));
  const std::string frame(5000, 'y');
  part.append_view(as_bytes(frame));
  part.append_copy(as_bytes("tail"));
  record.row.cells.resize(2);
  record.row.cells[1].place = {.offset = 2, .length = 5004};

  CHECK_FALSE(is_hashed_as_head(schema, 0));
  CHECK_FALSE(is_hashed_as_head(schema, 1));
  const std::string stored = "ad" + frame + "ta";
  CHECK(image_hash_of(record, layout, 1) == xxh3_128(as_bytes(stored)));
  CHECK(image_hash_of(record, layout, 1) == hash_of_stored(schema, 1, stored));
  record.row.cells[1].place.offset = kMissing;
  CHECK_FALSE(image_hash_of(record, layout, 1).has_value());
}

TEST_CASE("image hash: bytes that are not in memory are not read for it, those around them are") {
  const TempDir dir;
  ShardLayout layout;
  layout.field_part = {0};
  Record record;
  Blob& part = record.parts.emplace_back();
  part.append_copy(as_bytes("head"));
  part.append_unread(std::make_shared<const BytesOfSize>(100));
  record.row.cells.resize(1);
  record.row.cells[0].place = {.offset = 0, .length = 4};
  CHECK(image_hash_of(record, layout, 0) == xxh3_128(as_bytes("head")));
  record.row.cells[0].place = {.offset = 2, .length = 50};
  CHECK_FALSE(image_hash_of(record, layout, 0).has_value());
}

}  // namespace
}  // namespace shale
