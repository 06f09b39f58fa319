#include "shale/report/report_json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/report/time_text.hpp"

namespace shale {
namespace {

using Json = nlohmann::ordered_json;

template <class Range, class Make>
Json list_of(const Range& range, Make make) {
  Json list = Json::array();
  for (const auto& one : range) list.push_back(make(one));
  return list;
}

void put_name(Json& json, const char* member, const std::string& name) {
  if (!name.empty()) json[member] = printable(name);
}

void put_number(Json& json, const char* member, const std::optional<double>& number) {
  if (number && std::isfinite(*number)) json[member] = *number;
}

void put_bound(Json& json, const char* member, const std::optional<double>& number,
               const std::optional<WholeNumber>& whole) {
  if (!whole) return put_number(json, member, number);
  if (whole->is_negative)
    json[member] = whole->as_int64();
  else
    json[member] = whole->magnitude;
}

Json json_of(const SampledFrom& from) { return {{"looked_at", from.looked_at}, {"of", from.of}}; }

Json json_of(const NamedCount& named) { return {{"name", named.name}, {"count", named.count}}; }

Json json_of(const std::vector<NamedCount>& counts) {
  return list_of(counts, [](const NamedCount& one) { return json_of(one); });
}

Json json_of(const std::vector<NamedText>& texts) {
  Json json = Json::object();
  for (const auto& [name, text] : texts) json[name] = text;
  return json;
}

Json json_of(const Histogram& histogram) {
  Json json = {{"bars", list_of(histogram.bars,
                                [](const HistogramBar& bar) {
                                  return Json{bar.low, bar.high, bar.count};
                                })},
               {"from", json_of(histogram.from)}};
  if (!histogram.unit.empty()) json["unit"] = histogram.unit;
  return json;
}

Json json_of(const ReportImage& image) {
  return {{"media_type", image.media_type},
          {"width", image.width},
          {"height", image.height},
          {"bytes", image.bytes.size()}};
}

Json json_of(const ReportSample& sample) {
  Json json = {{"row", sample.row}, {"key", printable(sample.key)}, {"bytes", sample.bytes}};
  if (sample.label) json["label"] = *sample.label;
  put_name(json, "class", sample.class_name);
  put_name(json, "type", sample.type);
  if (sample.width > 0) {
    json["width"] = sample.width;
    json["height"] = sample.height;
  }
  if (!sample.odd.empty()) json["odd"] = sample.odd;
  if (!sample.thumbnail.bytes.empty()) json["thumbnail"] = json_of(sample.thumbnail);
  if (!sample.problem.empty()) {
    json["problem"] = sample.problem;
    json["damaged"] = sample.is_damaged;
  }
  if (!sample.masks.empty()) {
    json["masks"] = list_of(sample.masks, [](const ReportOverlay& mask) {
      Json one = {{"name", printable(mask.name)}};
      if (!mask.problem.empty()) one["problem"] = mask.problem;
      return one;
    });
  }
  if (sample.frame_count > 0) json["frames"] = sample.frame_count;
  if (!sample.values.empty()) json["values"] = json_of(sample.values);
  return json;
}

Json json_of(const ContactSheet& sheet) {
  Json json = {{"kind", name_of(sheet.kind)}, {"caption", sheet.caption}};
  if (sheet.label) json["label"] = *sheet.label;
  put_name(json, "class", sheet.class_name);
  if (sheet.of_samples > 0) json["of_samples"] = sheet.of_samples;
  json["samples"] = list_of(sheet.samples, [](const ReportSample& one) { return json_of(one); });
  return json;
}

Json json_of(const ClassCount& count) {
  Json json = {{"label", count.label}, {"samples", count.count}};
  put_name(json, "name", count.class_name);
  return json;
}

Json json_of(const ClassFacts& classes) {
  const auto counts = [](const std::vector<ClassCount>& list) {
    return list_of(list, [](const ClassCount& one) { return json_of(one); });
  };
  Json json = {{"field", printable(classes.field)}, {"count", classes.class_count},
               {"empty", classes.empty_classes},    {"without_class", classes.without_label},
               {"from", json_of(classes.from)},     {"classes", counts(classes.classes)}};
  if (classes.largest.count > 0) {
    json["largest"] = json_of(classes.largest);
    json["smallest"] = json_of(classes.smallest);
  }
  if (!classes.list.empty()) {
    json["by_size"] = counts(classes.list);
    json["sizes"] = json_of(classes.sizes);
  }
  return json;
}

Json json_of(const ImageFacts& images) {
  Json json = {{"fields", list_of(images.fields, [](const auto& name) { return printable(name); })},
               {"from", json_of(images.from)},
               {"from_manifest", images.is_from_manifest},
               {"types", json_of(images.types)},
               {"odd", json_of(images.odd)},
               {"shorter", json_of(images.shorter)},
               {"longer", json_of(images.longer)},
               {"aspects", json_of(images.aspects)}};
  if (images.odd_images) json["odd_images"] = *images.odd_images;
  if (!images.changed.empty()) json["changed"] = json_of(images.changed);
  if (images.repeated) {
    json["repeated"] = *images.repeated;
    json["relabelled"] = images.relabelled;
  }
  return json;
}

void put_numbers(Json& json, const FieldFacts& field) {
  json["values"] = field.values;
  json["nan"] = field.nan_count;
  json["infinite"] = field.infinite_count;
  json["zero"] = field.zero_count;
  put_bound(json, "minimum", field.minimum, field.least_whole);
  put_bound(json, "maximum", field.maximum, field.most_whole);
  if (!field.times.empty() && field.least_whole && field.most_whole) {
    json["first_time"] = time_text(field.least_whole->as_int64(), field.times);
    json["last_time"] = time_text(field.most_whole->as_int64(), field.times);
  }
  put_number(json, "mean", field.mean);
  put_number(json, "deviation", field.deviation);
  json["constant"] = field.is_constant;
  json["histogram"] = json_of(field.histogram);
}

Json json_of(const ValuePreview& preview) {
  Json json = {{"row", preview.row}};
  if (!preview.image.bytes.empty()) json["image"] = json_of(preview.image);
  if (!preview.line.empty()) {
    json["line"] = list_of(preview.line, [](double value) {
      return std::isfinite(value) ? Json(value) : Json(nullptr);
    });
  }
  if (!preview.text.empty()) json["text"] = preview.text;
  return json;
}

Json json_of(const FieldFacts& field) {
  Json json = {{"name", printable(field.name)},
               {"kind", field.kind},
               {"role", name_of(field.role)},
               {"from", json_of(field.from)},
               {"missing", field.missing}};
  if (!field.dtype.empty()) {
    json["dtype"] = field.dtype;
    json["shape"] = field.shape;
  }
  if (field.most_bytes > 0) {
    json["bytes"] = field.bytes;
    json["least_bytes"] = field.least_bytes;
    json["most_bytes"] = field.most_bytes;
  }
  if (field.has_numbers) put_numbers(json, field);
  if (!field.columns.empty())
    json["columns"] = list_of(field.columns, [](const FieldFacts& one) { return json_of(one); });
  if (!field.previews.empty())
    json["previews"] =
        list_of(field.previews, [](const ValuePreview& one) { return json_of(one); });
  if (!field.note.empty()) json["note"] = field.note;
  return json;
}

Json json_of(const ShardFacts& shard) {
  return {{"name", printable(shard.name)},
          {"samples", shard.samples},
          {"bytes", shard.payload_bytes},
          {"file_bytes", shard.file_bytes}};
}

Json json_of(const ShardsFacts& shards) {
  Json json = {{"count", shards.count}, {"file_bytes", shards.file_bytes}};
  if (shards.bound_bytes > 0) json["bound_bytes"] = shards.bound_bytes;
  if (shards.bound_samples > 0) json["bound_samples"] = shards.bound_samples;
  if (shards.count > 0) {
    json["fullest"] = json_of(shards.fullest);
    json["emptiest"] = json_of(shards.emptiest);
  }
  json["shards"] = list_of(shards.shards, [](const ShardFacts& one) { return json_of(one); });
  return json;
}

Json json_of(const OrderFacts& order) {
  Json json = {{"verdict", order.verdict}, {"from", json_of(order.from)}};
  put_number(json, "shuffle_score", order.shuffle_score);
  json["neighbours"] = order.neighbours;
  json["differing"] = order.differing;
  json["expected_differing"] = order.expected_differing;
  json["runs"] = list_of(order.runs, [](const OrderFacts::Run& run) {
    return Json{run.first_row, run.least, run.median, run.most};
  });
  return json;
}

Json json_of(const std::vector<LeftOut>& reasons) {
  return list_of(reasons, [](const LeftOut& left) {
    return Json{
        {"reason", left.reason},
        {"count", left.count},
        {"examples", list_of(left.examples, [](const auto& name) { return printable(name); })}};
  });
}

Json json_of(const LeftOutFacts& left_out) {
  Json json = {{"skipped", left_out.skipped},
               {"skipped_by", json_of(left_out.skipped_by)},
               {"ignored", left_out.ignored},
               {"ignored_by", json_of(left_out.ignored_by)}};
  put_name(json, "skipped_file", left_out.skipped_file);
  put_name(json, "ignored_file", left_out.ignored_file);
  if (!left_out.damaged_lists.empty()) {
    json["damaged_lists"] =
        list_of(left_out.damaged_lists, [](const auto& name) { return printable(name); });
  }
  return json;
}

template <class Number>
void put(Json& json, const char* member, const std::optional<Number>& number) {
  if (number) json[member] = *number;
}

Json json_of(const std::vector<Finding>& findings) {
  return list_of(findings, [](const Finding& one) { return finding_json(one); });
}

Json json_of(const IntegrityFacts& integrity) {
  Json json = {{"state", name_of(integrity.state)}, {"met", json_of(integrity.met)}};
  if (integrity.state != VerifyState::not_asked) {
    json["shards"] = integrity.shards;
    json["samples"] = integrity.samples;
    json["bytes"] = integrity.bytes;
    json["findings"] = integrity.finding_count;
    json["first_findings"] = json_of(integrity.findings);
    json["notes"] = integrity.notes;
  }
  json["command"] = integrity.command;
  return json;
}

Json json_of(const OriginFacts& origin) {
  Json json = {
      {"generator", origin.generator},           {"source", origin.source_kind},
      {"source_samples", origin.source_samples}, {"source_bytes", origin.source_bytes},
      {"options", json_of(origin.options)},      {"transforms", json_of(origin.transforms)}};
  if (!origin.runs.empty()) {
    json["runs"] = list_of(origin.runs, [](const RunFacts& run) {
      return Json{{"source", run.source_kind},
                  {"samples", run.samples},
                  {"shards", run.shards},
                  {"options", json_of(run.options)}};
    });
  }
  if (!origin.part.empty()) json["part"] = origin.part;
  if (!origin.content_digest.empty()) json["content_digest"] = origin.content_digest;
  return json;
}

}  // namespace

Json finding_json(const Finding& finding) {
  Json json;
  json["message"] = printable(finding.message);
  put_name(json, "file", finding.file);
  put(json, "byte", finding.offset);
  put(json, "bytes", finding.length);
  put_name(json, "shard", finding.shard);
  put(json, "row", finding.row);
  if (finding.sample) {
    put_name(json, "key", finding.sample->key);
    put(json, "sample", finding.sample->index);
  }
  put_name(json, "field", finding.field);
  put_name(json, "found", finding.found);
  put_name(json, "expected", finding.expected);
  return json;
}

Json report_facts_json(const ReportFacts& facts) {
  Json json = {{"generator", facts.generator},
               {"path", printable(facts.path)},
               {"format", facts.format},
               {"what", facts.what},
               {"samples", facts.samples},
               {"bytes", facts.payload_bytes},
               {"damaged", facts.is_damaged()},
               {"looked_at", json_of(facts.looked_at)},
               {"options", json_of(facts.options)},
               {"notes", facts.notes}};
  json["sheets"] = list_of(facts.sheets, [](const ContactSheet& one) { return json_of(one); });
  if (!facts.classes.field.empty()) json["classes"] = json_of(facts.classes);
  if (facts.images) json["images"] = json_of(*facts.images);
  json["fields"] = list_of(facts.fields, [](const FieldFacts& one) { return json_of(one); });
  json["sample_bytes"] = json_of(facts.sample_bytes);
  json["shards"] = json_of(facts.shards);
  json["order"] = json_of(facts.order);
  json["left_out"] = json_of(facts.left_out);
  json["integrity"] = json_of(facts.integrity);
  json["origin"] = json_of(facts.origin);
  json["snippets"] = list_of(facts.snippets, [](const Snippet& one) {
    return Json{{"title", one.title}, {"language", one.language}, {"code", one.code}};
  });
  return json;
}

}  // namespace shale
