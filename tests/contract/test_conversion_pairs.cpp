#include <algorithm>

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

using namespace test;

// Runs `check` for every ordered pair of formats, with a schema of all kinds that both claim: of
// columns of several dtypes where one of the two holds nothing else. Of instrumented pairs a
// fourth.
void for_each_pair(const std::function<void(const Format&, const Format&, const Schema&)>& check) {
  std::size_t number = test_seed();
  for (const Format* from : all_formats()) {
    for (const Format* to : all_formats()) {
      if (kIsInstrumented && number++ % 4 != 0) continue;
      CAPTURE(from->name);
      CAPTURE(to->name);
      std::vector<Kind> kinds;
      for (const Kind kind : from->can.kinds) {
        if (std::ranges::find(to->can.kinds, kind) != to->can.kinds.end()) kinds.push_back(kind);
      }
      const bool has_arrays = holds_arrays_only(*from) || holds_arrays_only(*to);
      check(*from, *to, has_arrays ? fixed_schema_of(kinds) : schema_of(kinds));
    }
  }
}

// Keys that are no more than numbers are stored by some formats, and by others not.
void check_digests(const Manifest& found, const Manifest& expected) {
  CHECK(found.digest.samples == expected.digest.samples);
  CHECK(found.digest.content == expected.digest.content);
  CHECK(found.digest.ordered == expected.digest.ordered);
  if (found.layout.has_keys && expected.layout.has_keys)
    CHECK(found.digest.keys == expected.digest.keys);
  CHECK((found.digest.keys == Hash128{}) == !found.layout.has_keys);
}

// What both formats can give back: keys only where both store them.
SampleSet odd_samples_of(const Format& from, const Format& to, const Schema& schema) {
  SampleSet set = odd_samples(schema);
  if (holds_arrays_only(from) || holds_arrays_only(to)) return numbered(std::move(set));
  return set;
}

TEST_CASE("conversion: digests survive between all ordered pairs of formats") {
  for_each_pair([](const Format& from, const Format& to, const Schema& schema) {
    const TempDir dir;
    const Manifest source =
        write_set(from, odd_samples_of(from, to, schema), dir / "from", {.limit_samples = 5});

    const ConvertReport report = convert(conversion(dir / "from", dir / "to", to), {});

    check_digests(report.manifest, source);
    CHECK(report.manifest.schema.fields == schema.fields);
    CHECK(report.manifest.payload_bytes == source.payload_bytes);
    CHECK(first_finding(verified(dir / "to", VerifyDepth::deep)) == "");
  });
}

TEST_CASE("conversion: verify --against the source finds nothing between any two formats") {
  for_each_pair([](const Format& from, const Format& to, const Schema& schema) {
    const TempDir dir;
    (void)write_set(from, odd_samples_of(from, to, schema), dir / "from", {.limit_samples = 5});
    (void)convert(conversion(dir / "from", dir / "to", to), {});
    VerifyRequest request;
    request.dataset = dir / "to";
    request.against = {dir / "from"};

    CHECK(first_finding(verify(request, {}, {})) == "");
  });
}

TEST_CASE("conversion: there and back through another format gives the same shards") {
  for_each_pair([](const Format& from, const Format& to, const Schema& schema) {
    const TempDir dir;
    (void)write_set(from, odd_samples_of(from, to, schema), dir / "from");
    (void)convert(conversion(dir / "from", dir / "there", to), {});
    (void)convert(conversion(dir / "there", dir / "back", from), {});

    std::vector<std::string> differing = differing_files(dir / "from", dir / "back");

    CHECK(differing ==
          std::vector<std::string>{std::string(kManifestName)});  // it names its source and options
  });
}

TEST_CASE("conversion: a shuffled one has the same content and key digests, in another order") {
  for_each_pair([](const Format& from, const Format& to, const Schema& schema) {
    const TempDir dir;
    const Manifest source =
        write_set(from, plain_samples(schema, 50, 30), dir / "from", {.limit_samples = 8});
    ConvertRequest request = conversion(dir / "from", dir / "to", to);
    request.order.is_shuffled = true;

    const Manifest found = convert(request, {}).manifest;

    CHECK(found.digest.content == source.digest.content);
    if (found.layout.has_keys && source.layout.has_keys)
      CHECK(found.digest.keys == source.digest.keys);
    CHECK(found.digest.ordered != source.digest.ordered);
  });
}

TEST_CASE("conversion: overwriting a set of another format leaves no file of the old one") {
  for_each_pair([](const Format& from, const Format& to, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 9, 30);
    (void)write_set(from, set, dir / "from");
    (void)convert(conversion(dir / "from", dir / "fresh", to), {});
    (void)convert(conversion(dir / "from", dir / "out", from), {});
    ConvertRequest request = conversion(dir / "from", dir / "out", to);
    request.overwrite = true;
    (void)convert(request, {});

    CHECK(differing_files(dir / "fresh", dir / "out").empty());
  });
}

}  // namespace
}  // namespace shale
