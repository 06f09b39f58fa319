#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/encode_batch.hpp"
#include "shale/encoding/image_hash.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/unit/encoding/listed_source.hpp"

namespace shale {
namespace {

using namespace test;

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
