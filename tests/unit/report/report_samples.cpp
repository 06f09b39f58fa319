#include "report_samples.hpp"

#include <array>

#include <fmt/format.h>

#include "shale/base/printable.hpp"

namespace shale::test {
namespace {

// Python: zlib and struct, 1 x 1, 8-bit grey.
constexpr std::array<unsigned char, 67> kPng = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
    0xda, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0xe5, 0x27, 0xde, 0xfc, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

// What a report says; each ~ becomes a word of its own.
constexpr const char* kEverything = R"json({
  "generator": "~", "path": "/data/~", "format": "~", "what": "~", "samples": 10, "bytes": 4000,
  "damaged": true, "looked_at": {"looked_at": 10, "of": 10}, "options": {"~": "~"}, "notes": ["~"],
  "sheets": [
    {"kind": "random", "caption": "~", "samples": [
      {"row": 1, "key": "~", "bytes": 1234, "label": 1, "class": "~", "type": "~", "width": 640,
       "height": 480, "odd": ["~", "~"], "thumbnail": {"width": 1, "height": 1}, "frames": 16,
       "masks": [{"name": "~"}, {"name": "~", "problem": "~"}]},
      {"row": 2, "key": "~", "bytes": 5, "values": {"~": "~"}},
      {"row": 3, "key": "~", "bytes": 6, "label": 1, "thumbnail": {"width": 1, "height": 1}}]},
    {"kind": "class", "caption": "~", "label": 1, "class": "~", "of_samples": 9, "samples": [
      {"row": 4, "key": "~", "bytes": 6, "label": 1, "thumbnail": {"width": 1, "height": 1}}]},
    {"kind": "odd", "caption": "~", "of_samples": 3, "samples": [
      {"row": 5, "key": "~", "bytes": 6, "odd": ["~"], "thumbnail": {"width": 1, "height": 1}}]},
    {"kind": "problem", "caption": "~", "of_samples": 1, "samples": [
      {"row": 6, "key": "~", "bytes": 6, "problem": "~", "damaged": true}]}],
  "classes": {"field": "~", "count": 3, "empty": 1, "without_class": 1,
    "from": {"looked_at": 10, "of": 10},
    "classes": [{"label": 0, "samples": 80, "name": "~"}, {"label": 1, "samples": 2, "name": "~"},
                {"label": 2, "samples": 0}],
    "largest": {"label": 0, "samples": 80, "name": "~"},
    "smallest": {"label": 1, "samples": 2, "name": "~"}},
  "images": {"fields": ["~"], "from": {"looked_at": 10, "of": 10}, "from_manifest": false,
    "types": [{"name": "~", "count": 9}], "odd": [{"name": "~", "count": 1}],
    "shorter": {"bars": [[1, 2, 3], [2, 4, 0], [4, 8, 7]], "unit": "~"},
    "longer": {"bars": [[1, 2, 3], [2, 4, 0], [4, 8, 7]], "unit": "~"},
    "aspects": [{"name": "~", "count": 10}], "odd_images": 1, "changed": [{"name": "~", "count": 2}],
    "repeated": 2, "relabelled": 1},
  "fields": [
    {"name": "~", "kind": "tensor", "role": "array", "from": {"looked_at": 10, "of": 10},
     "missing": 1, "dtype": "~", "shape": [3, 4], "bytes": 100, "least_bytes": 1, "most_bytes": 9,
     "values": 10, "nan": 1, "infinite": 1, "zero": 1, "minimum": 3.0, "maximum": 4.0, "mean": 3.5,
     "deviation": 0.5, "constant": false,
     "histogram": {"bars": [[1, 2, 3], [2, 4, 0]], "unit": "~"},
     "columns": [{"name": "~", "kind": "tensor", "role": "number", "missing": 0, "dtype": "~",
                  "shape": [], "values": 10, "nan": 0, "infinite": 0, "zero": 0, "minimum": 3,
                  "maximum": 3, "mean": 3.0, "constant": true, "note": "~",
                  "from": {"looked_at": 10, "of": 10}}],
     "previews": [{"row": 0, "text": "~"}, {"row": 1, "line": [1, 2, null, 0.5]},
                  {"row": 2, "image": {"width": 1, "height": 1}}],
     "note": "~"}],
  "sample_bytes": {"bars": [[1, 2, 3], [2, 4, 0], [4, 8, 7]], "unit": "bytes",
                   "from": {"looked_at": 10, "of": 10}},
  "shards": {"count": 2, "file_bytes": 5000, "bound_bytes": 2500, "bound_samples": 10,
    "fullest": {"name": "~", "samples": 4, "bytes": 2, "file_bytes": 3000},
    "emptiest": {"name": "~", "samples": 3, "bytes": 1, "file_bytes": 2000},
    "shards": [{"name": "~", "samples": 3, "bytes": 1, "file_bytes": 2000},
               {"name": "~", "samples": 4, "bytes": 2, "file_bytes": 3000}]},
  "order": {"verdict": "~", "from": {"looked_at": 10, "of": 10}, "shuffle_score": 0.25,
    "neighbours": 9, "differing": 2, "expected_differing": 0.5, "runs": [[0, 0, 0, 1], [5, 0, 1, 1]]},
  "left_out": {"skipped": 2, "ignored": 1, "skipped_file": "~", "ignored_file": "~",
    "skipped_by": [{"reason": "~", "count": 2, "examples": ["~"]}],
    "ignored_by": [{"reason": "~", "count": 1, "examples": ["~"]}], "damaged_lists": ["~"]},
  "integrity": {"state": "damaged", "met": [
      {"message": "~", "file": "~", "byte": 7, "row": 3, "key": "~", "field": "~", "found": "~",
       "expected": "~"}],
    "shards": 2, "samples": 10, "bytes": 4000, "findings": 2,
    "first_findings": [{"message": "~", "shard": "~"}], "notes": ["~"], "command": "~"},
  "origin": {"generator": "~", "source": "~", "source_samples": 12, "source_bytes": 9999,
    "options": {"~": "~"}, "transforms": {"~": "~"},
    "runs": [{"source": "~", "samples": 3, "shards": 1, "options": {"~": "~"}}], "part": "~",
    "content_digest": "~"},
  "snippets": [{"title": "~", "language": "~", "code": "~\n"}]
})json";

// Numbers the words, so that no two places have the same one.
class Words {
 public:
  explicit Words(const std::string& word) : word_(printable(word)) {}

  Json in(const Json& json) {
    if (json.is_string()) return in_text(json.get<std::string>());
    if (!json.is_structured()) return json;
    Json filled = json.is_array() ? Json::array() : Json::object();
    if (json.is_array())
      for (const Json& one : json) filled.push_back(in(one));
    else
      for (const auto& [name, value] : json.items()) filled[in_text(name)] = in(value);
    return filled;
  }

 private:
  std::string in_text(std::string text) {
    if (const std::size_t at = text.find('~'); at != std::string::npos)
      text.replace(at, 1, fmt::format("{}{:04}", word_, next_++));
    return text;
  }

  std::string word_;
  int next_ = 0;
};

}  // namespace

ReportImage smallest_png() {
  ReportImage image;
  for (const unsigned char byte : kPng) image.bytes.push_back(static_cast<std::byte>(byte));
  image.media_type = "image/png";
  image.width = image.height = 1;
  return image;
}

ReportFacts facts_of_everything(const std::string& word) {
  ReportFacts facts;
  facts.json = Words(word).in(Json::parse(kEverything));
  for (const std::uint64_t row : {1u, 3u, 4u, 5u}) {
    ReportSample& sample = facts.pictures.samples[row];
    sample.thumbnail = smallest_png();
    sample.masks = {{word, smallest_png()}, {word, {}, word}};
    if (row == 1) sample.frames = {smallest_png(), smallest_png()};
  }
  facts.pictures.previews[{0, 2}] = smallest_png();
  return facts;
}

ReportFacts facts_of_nothing() {
  return {.json = Json::parse(R"json({
    "generator": "", "path": "", "format": "", "what": "", "samples": 0, "bytes": 0,
    "looked_at": {"looked_at": 0, "of": 0}, "options": {}, "notes": [], "sheets": [], "fields": [],
    "sample_bytes": {"bars": []}, "shards": {"count": 0, "file_bytes": 0, "shards": []},
    "order": {"verdict": "", "runs": []}, "left_out": {"skipped": 0, "ignored": 0},
    "integrity": {"state": "not asked", "met": []}, "origin": {}, "snippets": []})json")};
}

Json many_classes(std::size_t count, const std::string& prefix) {
  constexpr std::size_t kHalf = 100, kListed = 10'000;
  const auto class_at = [&](std::size_t label) {
    return Json{{"label", label},
                {"samples", count - label},
                {"name", fmt::format("{}{}", printable(prefix), label)}};
  };
  Json facts = {{"field", "label"},
                {"count", count},
                {"from", {{"looked_at", count}, {"of", count}}},
                {"classes", Json::array()},
                {"largest", class_at(0)},
                {"smallest", class_at(count - 1)},
                {"by_size", Json::array()},
                {"sizes", {{"bars", {{1, 10, 9}, {10, 100, 90}}}, {"unit", "samples"}}}};
  for (std::size_t label = 0; label < count; ++label) {
    if (label < kHalf || label + kHalf >= count) facts["classes"].push_back(class_at(label));
    if (label < kListed) facts["by_size"].push_back(class_at(label));
  }
  return facts;
}

}  // namespace shale::test
