#include "report_samples.hpp"

#include <array>

#include <fmt/format.h>

namespace shale::test {
namespace {

// Python: zlib and struct, 1 x 1, 8-bit grey.
constexpr std::array<unsigned char, 67> kPng = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
    0xda, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0xe5, 0x27, 0xde, 0xfc, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

// Numbers the words, so that no two places have the same one.
class Words {
 public:
  explicit Words(std::string word) : word_(std::move(word)) {}
  std::string operator()() { return fmt::format("{}{:04}", word_, next_++); }

 private:
  std::string word_;
  int next_ = 0;
};

Histogram histogram_of(std::string unit) {
  return {"range", std::move(unit), true, {{1, 2, 3}, {2, 4, 0}, {4, 8, 7}}, {10, 10}};
}

ReportSample sample_of(Words& words) {
  ReportSample sample;
  sample.key = words();
  sample.row = 5;
  sample.label = 1;
  sample.class_name = words();
  sample.bytes = 1234;
  sample.width = 640;
  sample.height = 480;
  sample.type = words();
  sample.odd = {words(), words()};
  sample.thumbnail = smallest_png();
  sample.masks = {{words(), smallest_png()}, {words(), {}, words()}};
  sample.frames = {smallest_png(), smallest_png()};
  sample.frame_count = 16;
  return sample;
}

std::vector<ContactSheet> sheets_of(Words& words) {
  ReportSample damaged;
  damaged.key = words();
  damaged.problem = words();
  damaged.is_damaged = true;
  ReportSample in_words;
  in_words.key = words();
  in_words.values = {{words(), words()}};
  return {{SheetKind::random, words(), {}, {}, 0, {sample_of(words), in_words, sample_of(words)}},
          {SheetKind::of_class, words(), 1, words(), 9, {sample_of(words)}},
          {SheetKind::odd, words(), {}, {}, 3, {sample_of(words)}},
          {SheetKind::problem, words(), {}, {}, 1, {damaged}}};
}

std::vector<FieldFacts> fields_of(Words& words) {
  FieldFacts column;
  column.name = words();
  column.kind = "tensor";
  column.dtype = words();
  column.role = FieldRole::number;
  column.has_numbers = column.is_constant = true;
  column.values = 10;
  column.minimum = column.maximum = column.mean = 3;
  column.note = words();
  FieldFacts field = column;
  field.name = words();
  field.is_constant = false;
  field.nan_count = field.infinite_count = field.missing = 1;
  field.bytes = 100;
  field.shape = {3, 4};
  field.histogram = histogram_of(words());
  field.columns = {column};
  ValuePreview with_text;
  with_text.text = words();
  ValuePreview with_line = with_text;
  with_line.row = 1;
  with_line.line = {1, 2, 0.5};
  ValuePreview with_image = with_text;
  with_image.row = 2;
  with_image.image = smallest_png();
  field.previews = {with_text, with_line, with_image};
  return {field};
}

Finding finding_of(Words& words) {
  Finding finding;
  finding.message = words();
  finding.file = words();
  finding.offset = 7;
  finding.row = 3;
  finding.sample = SampleId{words(), 3};
  finding.field = words();
  finding.expected = words();
  finding.found = words();
  return finding;
}

void add_sets_facts(ReportFacts& facts, Words& words) {
  facts.shards = {2, 5000, 10, 4096, {{words(), 3, 1, 2000}, {words(), 4, 2, 3000}}, {}, {}};
  facts.shards.fullest = facts.shards.shards[1];
  facts.shards.emptiest = facts.shards.shards[0];
  facts.order.shuffle_score = 0.25;
  facts.order.neighbours = 9;
  facts.order.differing = 2;
  facts.order.expected_differing = 0.5;
  facts.order.runs = {{0, 0, 0, 1}, {5, 0, 1, 1}};
  facts.order.verdict = words();
  facts.order.from = {10, 10};
  facts.left_out = {2, 1, {{words(), 2, {words()}}}, {{words(), 1, {words()}}}, words(), words()};
  facts.integrity.state = VerifyState::damaged;
  facts.integrity.finding_count = 1;
  facts.integrity.findings = {finding_of(words)};
  facts.integrity.notes = {words()};
  facts.integrity.met = {finding_of(words)};
  facts.integrity.command = words();
  facts.origin = {words(),
                  words(),
                  12,
                  9999,
                  {{words(), words()}},
                  {{words(), words()}},
                  {{words(), 3, 1, {{words(), words()}}}},
                  words(),
                  words()};
  facts.snippets = {{words(), words(), words() + "\n"}};
}

}  // namespace

ReportImage smallest_png() {
  ReportImage image;
  for (const unsigned char byte : kPng) image.bytes.push_back(static_cast<std::byte>(byte));
  image.media_type = "image/png";
  image.width = image.height = 1;
  return image;
}

ReportFacts facts_of_everything(const std::string& word) {
  Words words(word);
  ReportFacts facts;
  facts.generator = words();
  facts.path = "/data/" + words();
  facts.format = words();
  facts.what = words();
  facts.samples = 10;
  facts.payload_bytes = 4000;
  facts.notes = {words()};
  facts.options = {{words(), words()}};
  facts.looked_at = {10, 10};
  facts.sheets = sheets_of(words);
  facts.classes.field = words();
  facts.classes.classes = {{0, words(), 8}, {1, words(), 2}, {2, {}, 0}};
  facts.classes.class_count = 3;
  facts.classes.empty_classes = facts.classes.without_label = 1;
  facts.classes.largest = facts.classes.classes[0];
  facts.classes.smallest = facts.classes.classes[1];
  facts.classes.from = {10, 10};
  facts.images = ImageFacts{};
  facts.images->fields = {words()};
  facts.images->types = {{words(), 9}};
  facts.images->odd = {{words(), 1}};
  facts.images->changed = {{words(), 2}};
  facts.images->shorter = histogram_of(words());
  facts.images->longer = histogram_of(words());
  facts.images->aspects = {{words(), 10}};
  facts.images->repeated = 2;
  facts.images->relabelled = 1;
  facts.images->from = {10, 10};
  facts.fields = fields_of(words);
  facts.sample_bytes = histogram_of("bytes");
  add_sets_facts(facts, words);
  return facts;
}

ClassFacts many_classes(std::size_t count, const std::string& prefix) {
  constexpr std::size_t kHalf = 100;
  constexpr std::size_t kListed = 10'000;
  ClassFacts facts;
  facts.field = "label";
  facts.class_count = count;
  const auto class_at = [&](std::size_t label) {
    return ClassCount{static_cast<std::int64_t>(label), fmt::format("{}{}", prefix, label),
                      count - label};
  };
  for (std::size_t label = 0; label < count; ++label) {
    if (count <= 2 * kHalf || label < kHalf || label + kHalf >= count)
      facts.classes.push_back(class_at(label));
    if (count > 2 * kHalf && label < kListed) facts.list.push_back(class_at(label));
  }
  facts.largest = class_at(0);
  facts.smallest = class_at(count - 1);
  if (count > 2 * kHalf)
    facts.sizes = {"samples", "samples", true, {{1, 10, 9}, {10, 100, 90}}, {count, count}};
  facts.from = {count, count};
  return facts;
}

}  // namespace shale::test
