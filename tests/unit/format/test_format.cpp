#include <doctest/doctest.h>

#include "shale/format/format.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

// A registry of its own: what a bid is follows from the path, so that each test chooses the winner.
int bid_if_contains(const Probe& probe, std::string_view word, int bits) {
  return probe.path.find(word) == std::string_view::npos ? 0 : bits;
}

Format toy(std::string_view name, std::string_view summary, int (*bid)(const Probe&)) {
  Format format{};
  format.name = name;
  format.summary = summary;
  format.bid = bid;
  return format;
}

const Format kWeak =
    toy("tar", "a weak bidder", [](const Probe& p) { return bid_if_contains(p, "a", 8); });
const Format kStrong =
    toy("columns", "a strong one", [](const Probe& p) { return bid_if_contains(p, "b", 64); });
const Format kEqual =
    toy("late", "as weak, but later", [](const Probe& p) { return bid_if_contains(p, "a", 8); });
const Format kMute = toy("mute", "never bids", nullptr);
const Format* const kTable[] = {&kMute, &kWeak, &kStrong, &kEqual};

const Format* detect(std::string_view path) { return detect_format({path, {}, 0}); }

ShardLayout two_files() {
  ShardLayout layout;
  layout.file_suffixes = {".a", ".b"};
  layout.part_file = {0, 1, 1};
  return layout;
}

using Sizes = std::vector<std::uint64_t>;

}  // namespace

std::span<const Format* const> all_formats() { return kTable; }

TEST_CASE("format by name: the exact name finds the row") {
  CHECK(&format_named("columns") == &kStrong);
  CHECK(&format_named("mute") == &kMute);
}

TEST_CASE("format by name: an unknown one is a usage error that lists what there is, one a line") {
  const Error error = error_of([] { (void)format_named("Tar\n"); });
  CHECK(error.code() == Code::usage);
  CHECK(error.message() == "unknown format 'Tar\\n'");
  CHECK(error.hint() ==
        "choose one of these with --to\n"
        "  mute     never bids\n"
        "  tar      a weak bidder\n"
        "  columns  a strong one\n"
        "  late     as weak, but later");
}

TEST_CASE("schema check: a kind that the format does not claim is refused by field and format") {
  constexpr Kind kClaimed[] = {Kind::bytes, Kind::integer};
  Format format = toy("columns", "", nullptr);
  format.can.kinds = kClaimed;
  Schema schema;
  schema.fields = {{.name = "image", .dtype = {}, .shape = {}},
                   {.name = "label", .kind = Kind::integer, .dtype = {}, .shape = {}}};
  CHECK_NOTHROW(check_schema_fits(format, schema));

  schema.fields.push_back({.name = "frames", .kind = Kind::list, .dtype = {}, .shape = {}});
  const Error error = error_of([&] { check_schema_fits(format, schema); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message() == "format 'columns' cannot hold field 'frames' of kind list");
}

TEST_CASE("schema check: a name that the format reserves for itself is refused") {
  constexpr Kind kClaimed[] = {Kind::bytes};
  constexpr std::string_view kMine[] = {"image_offset"};
  Format format = toy("columns", "", nullptr);
  format.can.kinds = kClaimed;
  format.reserved_fields = kMine;
  Schema schema;
  schema.fields = {{.name = "image_offset", .dtype = {}, .shape = {}}};
  CHECK(error_of([&] { check_schema_fits(format, schema); }).code() == Code::schema);
}

TEST_CASE("format detection: the highest bid wins, the first of equals, and nobody if none bids") {
  CHECK(detect("b") == &kStrong);
  CHECK(detect("ab") == &kStrong);
  CHECK(detect("a") == &kWeak);
  CHECK(detect("x") == nullptr);
}

TEST_CASE("sum sizer: fixed bytes, bytes a sample and the parts add up, file by file") {
  const auto sizer = make_sum_sizer(two_files(), {100, 8}, {0, 12});
  const Sizes first = {10, 20, 30}, second = {1, 2, 3};
  CHECK(sizer->size_with(first) == Sizes{110, 70});
  CHECK(sizer->size_with(first) == Sizes{110, 70});
  sizer->add(first);
  CHECK(sizer->size_with(second) == Sizes{111, 87});
  sizer->add(second);
  CHECK(sizer->size_with(Sizes{0, 0, 0}) == Sizes{111, 99});
}

TEST_CASE("sum sizer: numbers that do not fit the layout are a bug, told at once") {
  CHECK(error_of([] { (void)make_sum_sizer(two_files(), {1}, {1, 1}); }).code() == Code::bug);
  CHECK(error_of([] { (void)make_sum_sizer(two_files(), {1, 1}, {}); }).code() == Code::bug);
  ShardLayout stray = two_files();
  stray.part_file.push_back(2);
  CHECK(error_of([&] { (void)make_sum_sizer(stray, {1, 1}, {1, 1}); }).code() == Code::bug);
  const auto sizer = make_sum_sizer(two_files(), {1, 1}, {1, 1});
  CHECK(error_of([&] { (void)sizer->size_with(Sizes{1}); }).code() == Code::bug);
}

TEST_CASE("survey: samples of one file all lie in its one part, and have keys") {
  const Survey survey = Survey::of_one_file(
      {.fields = {{.name = "a"}, {.name = "b", .kind = Kind::integer}}}, Dialect::msgpack);

  CHECK(survey.layout.file_suffixes == std::vector<std::string>{""});
  CHECK(survey.layout.part_file == std::vector<std::uint32_t>{0});
  CHECK(survey.layout.field_part == std::vector<std::uint32_t>{0, 0});
  CHECK(survey.layout.dialect == Dialect::msgpack);
  CHECK(survey.layout.has_keys);
  CHECK(survey.layout.rows.has_index());
}

TEST_CASE("survey: columns of one file are a part each, without keys and index") {
  const Survey survey = Survey::of_columns(
      {.fields = {{.name = "a", .kind = Kind::integer}, {.name = "b", .kind = Kind::integer}}}, 5,
      {64, 128});

  CHECK(survey.layout.part_file == std::vector<std::uint32_t>{0, 0});
  CHECK(survey.layout.field_part == std::vector<std::uint32_t>{0, 1});
  CHECK(survey.layout.rows.has_strides());
  CHECK_FALSE(survey.layout.has_keys);
  CHECK_FALSE(survey.schema.has_keys);
  CHECK(survey.samples == 5);
  CHECK(survey.bases == Sizes{64, 128});
}

}  // namespace shale
