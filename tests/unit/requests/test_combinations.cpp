#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "shale/requests/combinations.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using Change = std::function<void(ConvertRequest&)>;

// How each option of the table is given.
const std::map<std::string_view, Change> kGiven{
    {"append", [](auto& request) { request.is_append = true; }},
    {"classes", [](auto& request) { request.order.choice.classes = {"a"}; }},
    {"classes-from", [](auto& request) { request.classes.from = "names.txt"; }},
    {"class-order", [](auto& request) { request.classes.order = ClassOrder::natural; }},
    {"limit", [](auto& request) { request.order.choice.limit = 3; }},
    {"compress", [](auto& request) { request.asked.compression = "none"; }},
    {"drop", [](auto& request) { request.fields.dropped = {"label"}; }},
    {"lossy", [](auto& request) { request.fields.is_lossy = true; }},
    {"ext", [](auto& request) { request.files.suffixes = {".wav"}; }},
    {"group frames", [](auto& request) { request.files.groups_frames = true; }},
    {"keys", [](auto& request) { request.order.choice.keys = KeyForm::raw; }},
    {"layout", [](auto& request) { request.layout = "grid-per-class"; }},
    {"listing", [](auto& request) { request.files.listing.shared = "listing"; }},
    {"new-classes", [](auto& request) { request.classes.adds = true; }},
    {"on-error keep", [](auto& request) { request.on_error = OnError::keep; }},
    {"overwrite", [](auto& request) { request.overwrite = true; }},
    {"part",
     [](auto& request) {
       request.order.part = PartNumber{0, 2};
     }},
    {"seed", [](auto& request) { request.asked.has_seed = true; }},
    {"select", [](auto& request) { request.order.choice.select_file = "keys"; }},
    {"select -", [](auto& request) { request.order.choice.select_file = "-"; }},
    {"select or --exclude", [](auto& request) { request.order.choice.select_file = "keys"; }},
    {"shard-samples", [](auto& request) { request.asked.shard_samples = 7; }},
    {"shard-size", [](auto& request) { request.asked.shard_bytes = 1000; }},
    {"shards", [](auto& request) { request.shards = 3; }},
    {"split-by", [](auto& request) { request.split_by = SplitBy::prefix; }},
    {"split", [](auto& request) { request.split.parts.resize(2); }},
    {"to", [](auto& request) { request.asked.format = "grid", request.format = "another"; }},
    {"verify", [](auto& request) { request.verify = true; }},
    {"with-index", [](auto& request) { request.asked.with_index = true; }},
};

Change output(const std::string& path, const std::string& layout = "") {
  return [=](ConvertRequest& request) { request.output = path, request.layout = layout; };
}

// What each of them meets.
const std::map<std::string_view, Change> kWith{
    {"- as output", output("-")},
    {"--append", kGiven.at("append")},
    {"--classes-from", kGiven.at("classes-from")},
    {"--fields", [](auto& request) { request.fields.only = {"image"}; }},
    {"--fields, --drop or --rename",
     [](auto& request) {
       request.fields.renamed = {{"x", "y"}};
     }},
    {"--encode raw", [](auto& request) { request.images.encode.emplace("", EncodeAs::raw); }},
    {"--split", kGiven.at("split")},
    {"a file of a layout", output("out.grid", "other-grid")},
    {"a file per class", output("out", "grid-per-class")},
    {"a file per list", output("out", "grid-per-list")},
    {"an .npz archive", output("out.npz")},
    {"any output but an .npz archive", output("out.npy")},
    {"neither --select nor --exclude", [](auto&) {}},
    {"neither --shuffle nor shares in --split", [](auto&) {}},
    {"no --cast", [](auto&) {}},
    {"no --append", [](auto&) {}},
    {"one file", output("out.grid")},
    {"shards", [](auto&) {}},
    {"stdin as input", [](auto& request) { request.inputs = {"-"}; }},
    {kFolderOfSplits, [](auto&) {}},
    {kStream, [](auto&) {}},
};

ConvertRequest shards() {
  ConvertRequest request;
  request.inputs = {"in"};
  request.output = "out";
  request.format = "grid";
  return request;
}

void check_refused(const Exclusion& row) {
  ConvertRequest request = shards();
  kWith.at(row.with)(request);
  kGiven.at(row.option)(request);
  CHECK(row.is_given(request));
  const Error error = error_of([&] {
    if (row.is_with != nullptr) return refuse_combinations(request);
    refuse_combinations(request, row.with);
  });
  CHECK(error.code() == Code::usage);
  CHECK(error.message().find('{') == std::string::npos);
  const std::string_view word = row.option.substr(0, row.option.find(' '));
  CHECK(error.message().find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("combinations: each row is refused, with a reason that names its option") {
  for (const Exclusion& row : exclusions()) {
    CAPTURE(row.option);
    CAPTURE(row.with);
    REQUIRE(kGiven.contains(row.option));
    REQUIRE(kWith.contains(row.with));
    check_refused(row);
  }
}

TEST_CASE("combinations: no row is there twice, and a plain conversion meets none") {
  std::set<std::pair<std::string_view, std::string_view>> pairs;
  for (const Exclusion& row : exclusions()) {
    CAPTURE(row.option);
    CHECK(pairs.emplace(row.option, row.with).second);
    CHECK(!row.is_given(shards()));
  }
  refuse_combinations(shards());
}

}  // namespace shale
