#include <array>
#include <limits>
#include <random>
#include <sstream>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/data/digest.hpp"
#include "shale/data/fixed_value.hpp"

#include "tests/support/doc_table.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

// The three samples of docs/digests.md.
struct Samples {
  Schema schema;
  Sample tench, empty, large;

  Samples() {
    schema.fields = {
        {.name = "image", .kind = Kind::bytes, .dtype = {}, .shape = {}},
        {.name = "caption", .kind = Kind::text, .dtype = {}, .shape = {}},
        {.name = "label", .kind = Kind::integer, .dtype = {}, .shape = {}},
        {.name = "weight", .kind = Kind::real, .dtype = {}, .shape = {}},
        {.name = "vector", .kind = Kind::tensor, .dtype = DType::parse("<f4"), .shape = {2, 3}},
        {.name = "frames", .kind = Kind::list, .dtype = {}, .shape = {}}};
    for (std::size_t i = 0; i < 100'000; ++i) {
      image_ += static_cast<char>(static_cast<std::uint32_t>(i) * 2654435761U >> 24);
    }
    negative_.fill(-1.5F);
    tench = {
        "n01440764/42.jpg",
        {as_bytes("\xff\xd8\xff\xd9"), as_bytes("une tanche, fra\u00eeche"), std::int64_t{-1}, 0.5,
         vector(rising_), std::vector<Bytes>{as_bytes("one"), as_bytes(""), as_bytes("three")}}};
    empty = {"",
             {Bytes(), Bytes(), std::numeric_limits<std::int64_t>::max(), -0.0, vector(zeros_),
              std::vector<Bytes>()}};
    large = {"\xff",
             {as_bytes(image_), as_bytes(caption_), std::int64_t{0}, 1e300, vector(negative_),
              std::vector<Bytes>{as_bytes(frame_)}}};
  }

  const Sample& named(std::string_view name) const {
    return name == "tench" ? tench : name == "empty" ? empty : large;
  }

 private:
  using Six = std::array<float, 6>;
  static Bytes vector(const Six& numbers) { return std::as_bytes(std::span(numbers)); }

  std::string image_, caption_ = std::string(300, 'x'), frame_ = std::string(5000, 'y');
  Six rising_ = {0, 1, 2, 3, 4, 5}, zeros_{}, negative_{};
};

SampleDigest numbered(std::uint64_t i) {
  const Hash128 content{i * 0x9e3779b97f4a7c15, ~i}, keyed{~i * 3, i * i};
  return {content, keyed};
}

DatasetDigest run_of(std::uint64_t begin, std::uint64_t end) {
  DatasetDigest digest;
  for (std::uint64_t i = begin; i < end; ++i) digest.add(numbered(i));
  return digest;
}

}  // namespace

TEST_CASE("digest: the head is told by the first field alone, and changes no digest") {
  const Samples samples;
  for (const std::string_view name : {"tench", "empty", "large"}) {
    CAPTURE(name);
    const Sample& sample = samples.named(name);
    const HeadedDigest headed = headed_digest_of(sample, samples.schema);
    CHECK(headed.digest == digest_of(sample, samples.schema));
    const Bytes first = std::get<Bytes>(sample.values.front());
    Hasher128 hasher = begin_head(samples.schema.fields.front(), first.size());
    hasher.update(first);
    CHECK(headed.head == hasher.digest());
    Sample other = samples.tench;
    other.values.front() = first;
    CHECK(headed_digest_of(other, samples.schema).head == headed.head);
  }
}

TEST_CASE("digests: the vectors of docs/digests.md hold") {
  const Samples samples;
  const auto rows = test::doc_table(
      "digests.md", "| samples, in order | content_digest | ordered_digest | key_digest |");
  REQUIRE(rows.size() == 8);
  for (const auto& row : rows) {
    CAPTURE(row.at(0));
    DatasetDigest digest;
    std::istringstream names(row[0] == "none" ? "" : row[0]);
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      digest.add(digest_of(samples.named(name), samples.schema));
    }
    CHECK(digest.content.hex() == row.at(1));
    CHECK(digest.ordered.hex() == row.at(2));
    CHECK(digest.keys.hex() == row.at(3));
  }
}

TEST_CASE("sample digest: the content does not know the key, the key digest knows both") {
  Samples samples;
  const SampleDigest before = digest_of(samples.tench, samples.schema);
  samples.tench.key = "other";
  const SampleDigest renamed = digest_of(samples.tench, samples.schema);
  CHECK(renamed.content == before.content);
  CHECK(renamed.keyed != before.keyed);

  samples.tench.key = "n01440764/42.jpg";
  samples.tench.values[2] = std::int64_t{-2};
  const SampleDigest relabelled = digest_of(samples.tench, samples.schema);
  CHECK(relabelled.content != before.content);
  CHECK(relabelled.keyed != before.keyed);
}

TEST_CASE("sample digest: no byte moves between neighbours unseen") {
  Schema two;
  two.fields = {{.name = "a", .dtype = {}, .shape = {}}, {.name = "b", .dtype = {}, .shape = {}}};
  const auto content_of = [&](std::string_view a, std::string_view b) {
    return digest_of({"k", {as_bytes(a), as_bytes(b)}}, two).content;
  };
  CHECK(content_of("xy", "z") != content_of("x", "yz"));
  CHECK(content_of("", "z") != content_of("z", ""));

  Schema list;
  list.fields = {{.name = "a", .kind = Kind::list, .dtype = {}, .shape = {}}};
  const auto frames_of = [&](std::vector<Bytes> frames) {
    return digest_of({"k", {std::move(frames)}}, list).content;
  };
  CHECK(frames_of({as_bytes("xy")}) != frames_of({as_bytes("x"), as_bytes("y")}));
  CHECK(frames_of({}) != frames_of({Bytes()}));
}

TEST_CASE("sample digest: name, kind, dtype and shape of a field count") {
  const Field base{
      .name = "x", .kind = Kind::tensor, .dtype = DType::parse("<f4"), .shape = {2, 3}};
  const auto content_of = [](const Field& field) {
    return digest_of({"k", {as_bytes("012345678901234567890123")}}, {{field}}).content;
  };
  Field renamed = base, reshaped = base, retyped = base, plain = base;
  renamed.name = "y";
  reshaped.shape = {3, 2};
  retyped.dtype = DType::parse("<i4");
  plain.kind = Kind::bytes;
  for (const Field& other : {renamed, reshaped, retyped, plain})
    CHECK(content_of(other) != content_of(base));
}

TEST_CASE("dataset digest: runs join wherever they are cut") {
  const DatasetDigest whole = run_of(0, 300);
  for (std::uint64_t cut = 0; cut <= 300; ++cut) {
    CAPTURE(cut);
    DatasetDigest joined = run_of(0, cut);
    joined.append(run_of(cut, 300));
    CHECK(joined == whole);
  }
}

TEST_CASE("dataset digest: joining is associative for runs no one can add up") {
  DatasetDigest a = run_of(0, 3), b = run_of(3, 5), c = run_of(5, 6);
  a.samples = std::uint64_t{1} << 40;
  b.samples = 0x123456789abcdef;
  c.samples = (std::uint64_t{1} << 62) + 1;
  DatasetDigest left = a, right = b;
  left.append(b);
  left.append(c);
  right.append(c);
  a.append(right);
  CHECK(left == a);
}

TEST_CASE("dataset digest: another order changes the ordered digest only") {
  DatasetDigest forward = run_of(0, 2), backward;
  backward.add(numbered(1));
  backward.add(numbered(0));
  CHECK(forward.content == backward.content);
  CHECK(forward.keys == backward.keys);
  CHECK(forward.ordered != backward.ordered);
}

TEST_CASE(
    "digest: an absent value counts as if the schema had no such field, but an empty one does "
    "not") {
  const Field image{.name = "image", .kind = Kind::bytes, .dtype = {}, .shape = {}};
  const Field mask{.name = "mask", .kind = Kind::bytes, .dtype = {}, .shape = {}};
  const Bytes jpeg = as_bytes("JPEG");
  const auto content = [](const Sample& sample, const Schema& schema) {
    return digest_of(sample, schema).content;
  };
  const Hash128 alone = content({"k", {jpeg}}, {.fields = {image}});
  CHECK(content({"k", {jpeg, std::monostate()}}, {.fields = {image, mask}}) == alone);
  CHECK(content({"k", {jpeg, Bytes()}}, {.fields = {image, mask}}) != alone);
}

namespace {

// Columns of random bytes, and what digest_of says of each of their samples.
void check_rows(const Schema& schema, std::uint64_t rows, std::mt19937_64& random) {
  std::vector<std::vector<std::byte>> stored;
  std::vector<Bytes> columns;
  for (const Field& field : schema.fields) {
    std::vector<std::byte>& column = stored.emplace_back(rows * fixed_bytes_of(field).value());
    const bool is_bool = field.dtype.descr() == "|b1" && field.kind == Kind::integer;
    for (std::byte& byte : column) byte = static_cast<std::byte>(random() & (is_bool ? 1U : 255U));
    columns.emplace_back(column);
  }
  DatasetDigest expected;
  for (std::uint64_t row = 0; row < rows; ++row) {
    Sample sample{std::to_string(row), {}};
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      const std::uint64_t stride = fixed_bytes_of(field).value();
      const Bytes value = columns[i].subspan(row * stride, stride);
      if (field.kind == Kind::tensor) {
        sample.values.emplace_back(value);
      } else if (field.kind == Kind::integer) {
        sample.values.emplace_back(read_number(value, field).integer);
      } else {
        sample.values.emplace_back(read_number(value, field).real);
      }
    }
    SampleDigest digest = digest_of(sample, schema);
    digest.keyed = {};
    expected.add(digest);
  }
  CHECK(digest_of_rows(columns, rows, schema) == expected);
}

}  // namespace

TEST_CASE("rows digest: columns have the digest of their samples, of any schema and number") {
  constexpr std::string_view kDtypes[] = {"|b1", "|i1", "|u1", "<i2",  "<u4", "<i8",
                                          "<f4", "<f8", "<f2", "<c16", "|S7", "<u8"};
  // Up to 2,048 bytes a tensor is copied, beyond it is hashed where it lies.
  const std::vector<std::uint64_t> shapes[] = {{},     {1},    {2, 3},  {4, 0, 2},
                                               {2048}, {2049}, {300, 3}};
  constexpr std::uint64_t kSeed = 20261122;
  CAPTURE(kSeed);
  std::mt19937_64 random(kSeed);
  for (int schema_number = 0; schema_number < 60; ++schema_number) {
    CAPTURE(schema_number);
    Schema schema;
    for (std::uint64_t fields = 1 + random() % 5; fields > 0; --fields) {
      schema.fields.push_back(field_of_column("f" + std::to_string(fields),
                                              DType::parse(kDtypes[random() % std::size(kDtypes)]),
                                              shapes[random() % std::size(shapes)]));
    }
    for (const std::uint64_t rows : {0U, 1U, 2U, 17U}) check_rows(schema, rows, random);
  }
}

TEST_CASE("rows digest: rows without any bytes count all the same") {
  const Schema schema{.fields = {field_of_column("void", DType::parse("<f4"), {0})}};
  std::mt19937_64 random(1);
  check_rows(schema, 5, random);
}

TEST_CASE("rows digest: a bool that is none is damaged, by field") {
  const Schema schema{.fields = {field_of_column("flag", DType::parse("|b1"), {})}};
  const Bytes column = as_bytes(std::string_view("\0\1\2", 3));
  const Error error = test::error_of([&] { (void)digest_of_rows({&column, 1}, 3, schema); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "bool of field 'flag' is 2, neither 0 nor 1");
}

}  // namespace shale
