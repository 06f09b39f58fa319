#include "tools/facts.hpp"

#include <algorithm>
#include <functional>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/manifest/image_report_json.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/report/report_json.hpp"

namespace shale::tools {
namespace {

template <class Value>
void put(Json& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}

void put_text(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = printable(text);
}

std::string_view name_of(Code code) {
  constexpr std::string_view kNames[] = {"usage", "unsupported", "not_found",   "exists",
                                         "io",    "damaged",     "bad_content", "schema",
                                         "limit", "mismatch",    "interrupted", "bug"};
  return kNames[static_cast<std::size_t>(code)];
}

// A free side is null.
Json shape_facts(std::span<const std::uint64_t> shape) {
  Json json = Json::array();
  for (const std::uint64_t side : shape) json.push_back(side == kFreeSide ? Json() : Json(side));
  return json;
}

Json schema_facts(const Manifest& manifest) {
  Json fields = Json::array();
  for (Field field : manifest.schema.fields) {
    const std::optional<DType> dtype = stored_dtype_of(field, manifest.layout.rows);
    if (dtype) field.dtype = *dtype;
    Json json = {{"name", field.name}, {"kind", shale::name_of(field.kind)}};
    json["type"] = field_type_text(field);
    if (dtype) {
      json["dtype"] = dtype->descr();
      json["shape"] = shape_facts(field.shape);
    }
    if (field.elements != Kind::bytes) json["elements"] = shale::name_of(field.elements);
    if (field.is_json) json["format"] = "json";
    if (field.is_optional) json["optional"] = true;
    fields.push_back(std::move(json));
  }
  return fields;
}

// Words as a program wants them.
std::string code_of(std::string words) {
  std::ranges::replace(words, ' ', '_');
  return words;
}

Json transform_facts(const ManifestTransform& transform) {
  Json json = {{"field", printable(transform.field)}, {"parameters", Json::object()}};
  for (const auto& [name, value] : transform.parameters) json["parameters"][name] = value;
  json["filter"] = transform.filter;
  json["codec"] = transform.codec;
  return json;
}

Json plan_facts(const DrawPlan& plan) {
  return {{"strategy", name_of(plan.strategy)},
          {"passes", plan.passes},
          {"read_bytes", plan.read_bytes},
          {"written_bytes", plan.written_bytes},
          {"scratch_bytes", plan.scratch_bytes}};
}

// Only where there is any.
void put_left_out(Json& json, const LeftOutList& left_out) {
  for (const LeftOut& one : left_out.entries) {
    json["left_out"].push_back({{"kind", one.kind},
                                {"name", printable(one.name)},
                                {"reason", one.reason},
                                {"samples", one.samples ? Json(*one.samples) : Json(nullptr)}});
  }
  if (left_out.more > 0) json["left_out_more"] = left_out.more;
}

}  // namespace

Json error_facts(const Error& error) {
  Json json;
  json["code"] = name_of(error.code());
  json["message"] = printable(error.message());
  put_text(json, "file", error.file());
  put(json, "byte", error.offset());
  if (error.sample()) {
    put_text(json, "key", error.sample()->key);
    put(json, "sample", error.sample()->index);
  }
  put_text(json, "cause", error.cause());
  put_text(json, "hint", error.hint());
  return {{"error", json}};
}

Json finding_facts(const Finding& finding) { return finding_json(finding); }

Json manifest_facts(const Manifest& manifest) {
  Json json;
  json["format"] = manifest.format;
  json["generator"] = manifest.generator;
  json["samples"] = manifest.digest.samples;
  json["bytes"] = manifest.payload_bytes;
  json["shards"] = manifest.shard_count;
  json["classes"] = manifest.classes.size();
  json["fields"] = schema_facts(manifest);
  json["skipped"] = manifest.skipped;
  json["ignored"] = manifest.ignored;
  put_left_out(json, manifest.left_out);
  if (manifest.images) json["images"] = Json::parse(shale::image_report_json(*manifest.images));
  for (const ManifestTransform& transform : manifest.transform)
    json["transform"].push_back(transform_facts(transform));
  json["source"] = {{"kind", manifest.source.kind},
                    {"samples", manifest.source.samples},
                    {"bytes", manifest.source.bytes},
                    {"fingerprint", manifest.source.fingerprint.hex()}};
  if (manifest.source.digest)
    json["source"]["content_digest"] = manifest.source.digest->content.hex();
  for (const ManifestRun& run : manifest.runs) {
    json["sources"].push_back({{"kind", run.source.kind},
                               {"samples", run.source.samples},
                               {"bytes", run.source.bytes},
                               {"fingerprint", run.source.fingerprint.hex()},
                               {"written", run.samples},
                               {"shards", run.shards}});
  }
  if (manifest.part)
    json["part"] = {{"index", manifest.part->index}, {"count", manifest.part->count}};
  json["options"] = Json::object();
  for (const auto& [name, value] : manifest.options) json["options"][name] = value;
  // Of payload that was never read there is no digest.
  const bool has_digests = manifest.layout.has_checksums;
  const auto digest = [](const Hash128& hash, bool is_known) {
    return is_known ? Json(hash.hex()) : Json(nullptr);
  };
  json["content_digest"] = digest(manifest.digest.content, has_digests);
  json["ordered_digest"] = digest(manifest.digest.ordered, has_digests);
  json["key_digest"] = digest(manifest.digest.keys, has_digests && manifest.layout.has_keys);
  return json;
}

namespace {

// What a plan and a report have in common; of a plan there is no report. Several datasets at once:
// what can be added up, and all of each by its name.
Json sum_facts(const ConvertOutput& output, const ConvertReport* report) {
  const Manifest& sum = output.manifest;
  Json json = {{"output", printable(output.output)},
               {"format", sum.format},
               {"generator", sum.generator},
               {"samples", sum.digest.samples},
               {"bytes", sum.payload_bytes},
               {"shards", sum.shard_count},
               {"file_bytes", output.file_bytes},
               {"classes", sum.classes.size()},
               {"skipped", sum.skipped},
               {"ignored", sum.ignored},
               {"complete", report != nullptr},
               {"was_complete", report != nullptr && report->was_complete},
               {"dry_run", report == nullptr}};
  put_left_out(json, sum.left_out);
  // Of the samples of all splits in any order: that of the whole input, where it was divided.
  if (report != nullptr) json["content_digest"] = sum.digest.content.hex();
  json["splits"] = Json::object();
  return json;
}

Json output_facts(const ConvertOutput& output, const ConvertPlan* plan, const ConvertReport* report,
                  std::string_view path) {
  Json json = manifest_facts(output.manifest);
  json["output"] = printable(path);
  json["file_bytes"] = output.file_bytes;
  json["complete"] = report != nullptr;
  json["was_complete"] = report != nullptr && report->was_complete;
  if (report != nullptr && report->was_complete) json["was_compared"] = report->was_compared;
  if (output.appended)
    json["appended"] = {{"samples", output.appended->samples}, {"shards", output.appended->shards}};
  json["dry_run"] = report == nullptr;
  if (plan != nullptr) {
    put(json, "estimated_from", plan->measured);
    // Nothing was hashed: a zero digest would look like one.
    for (const char* digest : {"content_digest", "ordered_digest", "key_digest"})
      json.erase(digest);
  }
  if (output.is_of_files())
    json["index"] =
        report == nullptr || report->index.empty() ? Json(nullptr) : Json(printable(report->index));
  for (const WrittenList& list : output.lists)
    json["lists"].push_back({{"file", list.name}, {"rows", list.rows}});
  json["first_skipped"] = Json::array();
  return json;
}

}  // namespace

Json convert_facts(const ConvertPlan& plan, std::string_view output) {
  if (plan.complete) return convert_facts(*plan.complete, output);
  if (plan.splits.empty()) return output_facts(plan, &plan, nullptr, output);
  Json json = sum_facts(plan, nullptr);
  for (const ConvertPlan& split : plan.splits)
    json["splits"][split.split] = convert_facts(split, split.output);
  return json;
}

Json convert_facts(const ConvertReport& report, std::string_view output) {
  if (!report.splits.empty()) {
    Json json = sum_facts(report, &report);
    const SplitDuplicates& found = report.in_two_splits;
    json["in_two_splits"] = {
        {"samples", found.samples},
        {"list", found.list.empty() ? Json(nullptr) : Json(printable(found.list))}};
    for (const ConvertReport& split : report.splits)
      json["splits"][split.split] = convert_facts(split, split.output);
    return json;
  }
  Json json = output_facts(report, nullptr, &report, output);
  for (const SkippedSample& sample : report.first_skipped) {
    json["first_skipped"].push_back({{"key", printable(sample.key)},
                                     {"reason", sample.reason},
                                     {"detail", printable(sample.detail)}});
  }
  if (report.was_verified) json["verification"] = verify_facts(report.verification);
  return json;
}

std::string lists_text(const Manifest& manifest, std::string_view name) {
  std::vector<std::string> lists;
  for (const ManifestFile& file : manifest.files) {
    if (is_list_name(file.name, name)) lists.push_back(file.name);
  }
  if (lists.size() < 2) return lists.empty() ? "" : lists.front();
  const std::size_t stem = name.rfind('.');
  return fmt::format("{}*{}", name.substr(0, stem), name.substr(stem));
}

std::string listed_in(const Manifest& manifest, std::string_view name) {
  const std::string lists = lists_text(manifest, name);
  return lists.empty() ? "" : fmt::format(" (listed in {})", lists);
}

std::string counts_text(const NamedCounts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(count), name);
  }
  return text;
}

std::string sizes_text(const ImageSizes& sizes) {
  const auto range = [](const std::map<std::uint64_t, std::uint64_t>& counts) {
    return fmt::format("{} to {}", counts.begin()->first,
                       next_size_bound(counts.rbegin()->first) - 1);
  };
  return fmt::format("shorter side {} pixels, longer side {}", range(sizes.shorter),
                     range(sizes.longer));
}

std::string shapes_text(const ImageSizes& sizes) {
  constexpr std::size_t kShown = 5;
  std::vector<std::pair<std::uint64_t, std::string>> shapes;
  for (const auto& [aspect, count] : sizes.aspects)
    shapes.emplace_back(count,
                        fmt::format("{} of {}:{}", format_count(count), aspect[0], aspect[1]));
  std::ranges::stable_sort(shapes, std::greater<>(), [](const auto& shape) { return shape.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, shapes.size()); ++i)
    text += (i == 0 ? "" : ", ") + shapes[i].second;
  return shapes.size() > kShown ? text + " ..." : text;
}

std::string duplicates_text(const DuplicateCounts& counts) {
  std::string text = format_counted(counts.samples, "image that an earlier sample has",
                                    "images that earlier samples have");
  if (counts.relabelled > 0)
    text += fmt::format(", {} with another label", format_count(counts.relabelled));
  return text;
}

std::string complete_text(const ConvertReport& report, std::string_view output) {
  return fmt::format(
      "{} is already complete: {}\n", printable(output),
      report.was_compared ? "the content of the input is the same" : "nothing was done");
}

Json verify_facts(const VerifyReport& report) {
  Json json;
  json["ok"] = report.findings == 0;
  json["shards"] = report.shards;
  json["samples"] = report.samples;
  json["bytes"] = report.bytes;
  json["findings"] = report.findings;
  json["bad_when_written"] = report.bad_when_written;
  json["undecoded"] = report.undecoded;
  const SecondOpinion& opinion = report.second_opinion;
  if (!opinion.library.empty()) {
    json["second_opinion"] = {{"library", opinion.library},
                              {"shards", opinion.shards},
                              {"samples", opinion.samples},
                              {"findings", opinion.findings}};
  }
  const SourceComparison& comparison = report.comparison;
  if (comparison.verdict != SourceVerdict::none) {
    json["comparison"] = {{"verdict", name_of(comparison.verdict)},
                          {"same", comparison.same},
                          {"different", comparison.different},
                          {"not_in_source", comparison.not_in_source},
                          {"not_in_dataset", comparison.not_in_dataset},
                          {"skipped", comparison.skipped},
                          {"findings", comparison.findings}};
  }
  json["first_findings"] = Json::array();
  for (const Finding& finding : report.first_findings)
    json["first_findings"].push_back(finding_facts(finding));
  json["notes"] = report.notes;
  if (report.stray_count > 0) {
    json["stray_count"] = report.stray_count;
    for (const std::string& name : report.strays) json["strays"].push_back(printable(name));
  }
  return json;
}

Json info_facts(const DatasetInfo& info) {
  Json json = {{"version", kInfoVersion}};
  if (!info.is_complete) {
    json["complete"] = false;
    return json;
  }
  json["kind"] = info.manifest.layout.dialect == Dialect::own ? "dataset" : "file";
  json.update(manifest_facts(info.manifest));
  if (info.is_join()) json["kind"] = json["format"] = "join";
  if (const std::string_view layout = layout_name_of(info.manifest.layout); !layout.empty())
    json["layout"] = layout;
  json["complete"] = info.bad_file_count == 0;
  if (info.bad_file_count > 0) {
    json["bad_file_count"] = info.bad_file_count;
    for (const ManifestFile& file : info.bad_files)
      json["bad_files"].push_back(printable(file.name));
  }
  json["indexed"] = info.is_indexed;
  json["file_bytes"] = info.file_bytes;
  json["largest_file"] = info.largest_file;
  json["class_names"] = Json::array();
  for (const std::string& name : info.manifest.classes)
    json["class_names"].push_back(printable(name));
  if (!info.notes.empty()) json["notes"] = info.notes;
  return json;
}

Json formats_facts() {
  Json formats = Json::array();
  for (const Format* format : all_formats()) {
    std::vector<std::string_view> kinds;
    for (const Kind kind : format->can.kinds) kinds.push_back(shale::name_of(kind));
    formats.push_back({{"name", format->name},
                       {"summary", format->summary},
                       {"suffixes", std::vector<std::string_view>(format->suffixes.begin(),
                                                                  format->suffixes.end())},
                       {"kinds", kinds},
                       {"self_checksummed", format->can.self_checksummed},
                       {"reads", true},
                       {"writes", true}});
  }
  return {{"formats", formats}};
}

namespace {

Json texts_of(const Value& list) {
  Json texts = Json::array();
  for (std::uint64_t i = 0; i < count_elements(list); ++i) {
    std::string text;
    element_of(list, i).for_each_piece([&](Bytes piece) { text += as_text(piece); });
    texts.push_back(printable(text));
  }
  return texts;
}

}  // namespace

Json sample_facts(const FoundSample& found) {
  Json json;
  json["row"] = found.row;
  json["shard"] = found.shard;
  json["shard_row"] = found.shard_row;
  json["key"] = printable(found.sample.key);
  json["fields"] = Json::object();
  ShapeWalk shapes(found.place.sides);
  for (std::size_t i = 0; i < found.schema.fields.size(); ++i) {
    const Field& field = found.schema.fields[i];
    const IndexCell& cell = found.place.cells[i];
    const auto shape = shapes.next(field);
    Json value = {{"kind", shale::name_of(field.kind)}};
    if (is_absent(cell, field)) {
      value["missing"] = true;
    } else if (field.kind == Kind::integer) {
      value["value"] = cell.integer;
      const bool is_class = i == found.label && cell.integer >= 0 &&
                            static_cast<std::uint64_t>(cell.integer) < found.classes.size();
      if (is_class)
        value["class"] = printable(found.classes[static_cast<std::size_t>(cell.integer)]);
    } else if (field.kind == Kind::real) {
      value["value"] = cell.real;
    } else {
      value["offset"] = cell.place.offset;
      value["length"] = cell.place.length;
      if (found.has_crc32c) value["crc32c"] = fmt::format("{:08x}", cell.place.crc32c);
      if (field.kind == Kind::list) value["count"] = cell.place.count;
      if (field.is_ragged()) value["shape"] = shape_facts(shape);
      if (field.kind == Kind::text)
        value["value"] = printable(as_text(std::get<Bytes>(found.sample.values[i])));
      if (field.kind == Kind::list && field.holds_text())
        value["values"] = texts_of(found.sample.values[i]);
    }
    json["fields"][field.name] = std::move(value);
  }
  return json;
}

Json parts_facts(const PartsReport& report) {
  Json json = {{"count", report.count},
               {"complete", report.missing.empty()},
               {"missing", report.missing},
               {"array", array_expression(report.missing)},
               {"parts", Json::array()}};
  for (const FoundPart& part : report.parts) {
    Json entry = {{"path", printable(part.path)},
                  {"index", part.number.index},
                  {"state", code_of(std::string(name_of(part.state)))}};
    put_text(entry, "fault", part.fault);
    json["parts"].push_back(std::move(entry));
  }
  return json;
}

Json merge_facts(const MergeReport& report, const MergeRequest& request, bool is_plan) {
  Json json = manifest_facts(report.manifest);
  json["output"] = printable(request.output);
  json["parts"] = report.parts;
  json["dry_run"] = is_plan;
  json["was_complete"] = report.was_complete;
  json["moved"] = request.moves && !is_plan;
  json["linked_files"] = report.linked_files;
  json["copied_files"] = report.copied_files;
  json["copied_bytes"] = report.copied_bytes;
  return json;
}

Json rebuild_facts(const RebuildReport& report, bool is_plan) {
  Json json = {{"dry_run", is_plan},
               {"whole", report.whole},
               {"rebuilt", report.rebuilt},
               {"failed", report.failed},
               {"shards", Json::array()}};
  for (const RebuiltShard& shard : report.shards) {
    Json entry = {{"name", shard.name},
                  {"was_whole", shard.was_whole},
                  {"has_index", shard.has_index},
                  {"index_written", shard.index_written},
                  {"blocks_written", shard.blocks_written}};
    put_text(entry, "fault", shard.fault);
    json["shards"].push_back(std::move(entry));
  }
  return json;
}

namespace {

Json damage_facts(const RepairPlan& plan, std::uint64_t repaired, bool is_plan) {
  Json json = {{"checked", plan.checked},
               {"repaired", repaired},
               {"left", plan.files.size() - repaired},
               {"dry_run", is_plan},
               {"files", Json::array()}};
  for (const RepairedFile& file : plan.files) {
    Json entry = {{"name", printable(file.file.name)},
                  {"fault", file.fault},
                  {"remedy", code_of(std::string(name_of(file.remedy)))}};
    put_text(entry, "obstacle", file.obstacle);
    json["files"].push_back(std::move(entry));
  }
  for (const std::string& name : plan.strays) json["strays"].push_back(printable(name));
  return json;
}

}  // namespace

Json repair_facts(const RepairPlan& plan) { return damage_facts(plan, 0, true); }

Json repair_facts(const RepairReport& report) {
  return damage_facts(report, report.files.size() - report.left(), false);
}

Json indexed_file_facts(const IndexedFile& indexed, const DatasetPaths& paths, bool is_plan) {
  Json json = manifest_facts(indexed.manifest);
  if (is_plan) json["bytes"] = nullptr;
  json.update({{"dry_run", is_plan}, {"index", printable(paths.manifest)}});
  json["checksums"] = indexed.manifest.layout.has_checksums;
  json["notes"] = indexed.notes;
  return json;
}

namespace {

Json drawn_facts(const ResampleOutput& output, const ResampleRequest& request, bool is_plan) {
  const ConvertRequest& conversion = request.conversion;
  Json json;
  json["output"] = printable(conversion.output);
  json["mode"] = name_of(conversion.order.draw->mode);
  json["seed"] = conversion.order.draw->seed;
  json["source_rows"] = output.source_rows;
  json["rows"] = output.rows;
  json["dry_run"] = is_plan;
  json["arrays"] = Json::array();
  for (const ResampledArray& array : output.arrays) {
    Json facts = {{"path", printable(array.path)},
                  {"dtype", printable(dtype_of_column(array.field).descr())},
                  {"shape", shape_of_column(array.field, array.rows)},
                  {"file_bytes", array.file_bytes}};
    facts.update(plan_facts(array.plan));
    json["arrays"].push_back(std::move(facts));
  }
  return json;
}

}  // namespace

Json resample_facts(const ResampleReport& report, const ResampleRequest& request) {
  Json json = drawn_facts(report, request, false);
  if (report.dataset) json["dataset"] = convert_facts(*report.dataset, request.conversion.output);
  return json;
}

Json resample_facts(const ResamplePlan& plan, const ResampleRequest& request) {
  Json json = drawn_facts(plan, request, true);
  for (const auto& [field, drawn] : plan.field_plans) {
    Json facts = {{"field", printable(field)}};
    facts.update(plan_facts(drawn));
    json["field_plans"].push_back(std::move(facts));
  }
  if (plan.dataset) json["dataset"] = convert_facts(*plan.dataset, request.conversion.output);
  return json;
}

std::string payload_text(const Manifest& manifest) {
  const std::vector<Field>& fields = manifest.schema.fields;
  const bool has_payload = std::any_of(fields.begin(), fields.end(),
                                       [](const Field& field) { return is_located(field.kind); });
  return has_payload ? format_size(manifest.payload_bytes) + " of payload" : "numbers only";
}

std::string image_work_text(const Manifest& manifest) {
  std::string text;
  for (const ManifestTransform& transform : manifest.transform)
    text += (text.empty() ? "" : "; ") + text_of(transform);
  return text;
}

std::string array_text(const Field& field, std::uint64_t rows) {
  return array_text(dtype_of_column(field), shape_of_column(field, rows));
}

std::string look_command(const Format& format, const std::string& file) {
  return format.look_at_file.empty() ? "shale info " + file
                                     : fmt::format(fmt::runtime(format.look_at_file), file);
}

std::string next_command(const ConvertReport& report, const std::string& output) {
  if (!report.splits.empty()) {
    const ConvertReport& first = report.splits.front();
    if (first.manifest.part)
      return "shale parts " + printable(join_path(report.output, first.split));
    return "shale verify " + output;
  }
  if (!report.first_file.empty()) return "shale info " + printable(report.first_file);
  if (!report.is_of_files()) return "shale verify " + output;
  if (is_archive_name(output))
    return fmt::format("python3 -c 'import numpy; print(numpy.load(\"{}\").files)'", output);
  return look_command(format_named(report.manifest.format), output);
}

}  // namespace shale::tools
