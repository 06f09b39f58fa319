#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

constexpr Kind kAllKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                              Kind::real,  Kind::tensor, Kind::list};

Schema schema_of_field(const std::string& name, Kind kind) {
  return {.fields = {{name, kind, kind == Kind::tensor ? DType::parse("<f4") : DType(), {}}}};
}

TEST_CASE("refusal: a kind that the format does not claim, by field, kind and format") {
  for_each_format([](const Format& format) {
    for (const Kind kind : kAllKinds) {
      const bool is_claimed = std::ranges::find(format.can.kinds, kind) != format.can.kinds.end();
      const Schema schema = schema_of_field("caption", kind);
      if (is_claimed) {
        CHECK_NOTHROW(check_schema_fits(format, schema));
        continue;
      }
      const Error error = error_of([&] { check_schema_fits(format, schema); });
      CHECK(error.code() == Code::unsupported);
      for (const std::string_view part :
           {std::string_view("'caption'"), name_of(kind), format.name}) {
        CHECK(error.message().find(part) != std::string::npos);
      }
    }
  });
}

TEST_CASE("refusal: a conversion to a format that cannot hold a field leaves no trace") {
  for (const Format* from : all_formats()) {
    for_each_format([&](const Format& to) {
      for (const Kind kind : from->can.kinds) {
        if (std::ranges::find(to.can.kinds, kind) != to.can.kinds.end()) continue;
        const TempDir dir;
        (void)write_set(*from, odd_samples(schema_of_field("caption", kind)), dir / "from");
        const Error error =
            error_of([&] { (void)convert(conversion(dir / "from", dir / "to", to), {}); });
        CHECK(error.code() == Code::unsupported);
        CHECK(!std::filesystem::exists(dir / "to"));
      }
    });
  }
}

TEST_CASE("refusal: field names that are reserved, by everyone or by the format itself") {
  for_each_format([](const Format& format) {
    std::vector<std::string> names = {"offset", "length", "crc32c", "key_hash", "key",  "record",
                                      "index",  "blocks", "a.b",    "a\nb",     "\x7f", ""};
    names.emplace_back("a\0b", 3);
    if (!format.can.holds_slashes) names.emplace_back("a/b");
    names.insert(names.end(), format.reserved_fields.begin(), format.reserved_fields.end());
    for (const std::string& name : names) {
      CAPTURE(name);
      const Error error =
          error_of([&] { check_schema_fits(format, schema_of_field(name, format.can.kinds[0])); });
      CHECK(error.code() == Code::schema);
      CHECK(error.message().find("field name '") != std::string::npos);
    }
  });
}

TEST_CASE("refusal: a sample that is not of the schema, by field and sample") {
  for_each_format([](const Format& format) {
    for (const Kind kind : format.can.kinds) {
      CAPTURE(name_of(kind));
      const Schema schema = schema_of_field("value", kind);
      Sample drifted{"cat/7", {}};
      drifted.values.emplace_back(std::int64_t{7});
      if (kind == Kind::integer) drifted.values[0] = as_bytes("7");
      const Error error = error_of([&] { check_sample(drifted, schema); });
      CHECK(error.code() == Code::schema);
      CHECK(error.sample()->key == "cat/7");
      CHECK(error.message().find("'value'") != std::string::npos);
    }
  });
}

TEST_CASE("refusal: two samples with one key, in whichever shards, by that key") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // it stores no keys
    for (const std::string& key : odd_keys()) {
      const TempDir dir;
      SampleSet set = plain_samples(full_schema(format), 9, 20);
      set.samples[1].key = set.samples[7].key = key;
      const Error error =
          error_of([&] { (void)write_set(format, set, dir / "out", {.limit_samples = 3}); });
      CHECK(error.code() == Code::schema);
      CHECK(error.sample()->key == key);
      CHECK(!std::filesystem::exists(dir / "out/dataset.json"));
    }
  });
}

TEST_CASE("refusal: a record after the shard is closed") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 7, 60);
    std::vector<OutputFile> files;
    const ShardLayout layout = format.layout(set.schema, defaults(format));
    for (const std::string& suffix : layout.file_suffixes) {
      files.emplace_back(dir / ("shard" + suffix), OutputFile::Options{.io = IoMode::buffered});
    }
    const OptionSet options = defaults(format);
    const auto writer = format.create_shard(files, set.schema, options);
    (void)writer->close();
    const Record record = encoded(format, set.samples[0], set.schema, options);

    CHECK(error_of([&] { (void)writer->append(record); }).code() == Code::bug);
  });
}

TEST_CASE("refusal: an option that the format does not have") {
  for_each_format([](const Format& format) {
    OptionSet options(format.options);
    CHECK(error_of([&] { options.set("no_such_option", "1"); }).code() == Code::usage);
  });
}

}  // namespace
}  // namespace shale
