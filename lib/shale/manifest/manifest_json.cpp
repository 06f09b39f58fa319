#include "shale/manifest/manifest_json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/manifest/image_report_json.hpp"
#include "shale/manifest/name_json.hpp"
#include "shale/manifest/plain_shard_line.hpp"
#include "shale/manifest/schema_json.hpp"
#include "shale/manifest/untrusted_json.hpp"

namespace shale {
namespace {

Json file_to_json(const ManifestFile& file) {
  // No hash is zero: it stands for a file that was never read as a whole.
  return {{"name", name_to_json(file.name)},
          {"bytes", file.bytes},
          {"xxh3_128", file.hash == Hash128{} ? Json(nullptr) : Json(file.hash.hex())}};
}

// Of samples whose payload was never read there is no digest, and of keys that are not stored none:
// no sum of hashes is zero but that of no samples.
Json digest_to_json(const DatasetDigest& digest, bool was_read) {
  if (!was_read) return nullptr;
  Json json = {{"content", digest.content.hex()}, {"ordered", digest.ordered.hex()}};
  json["keys"] = digest.keys == Hash128{} ? Json(nullptr) : Json(digest.keys.hex());
  return json;
}

// What only a reader that knows of it can read.
constexpr std::string_view kFixedRows = "fixed_rows";
// The index of a single FILE that shale itself wrote: its samples lie as in a shard.
constexpr std::string_view kOwnFile = "own_file";
// A part of a run: `source` is that of the whole.
constexpr std::string_view kPart = "part";
// The set was appended to: `source` sums up what `sources` lists.
constexpr std::string_view kSources = "sources";
constexpr std::string_view kElements = "elements";    // lists have one
constexpr std::string_view kLayout = "layout";        // its dialect is one that names a layout
constexpr std::string_view kTransform = "transform";  // the payload is not that of the source
constexpr std::string_view kRagged = "ragged";        // a tensor's shape is each sample's own
constexpr std::string_view kOptional = "optional";    // a value may be absent
constexpr std::string_view kFileSet = "file_set";     // the shards are files of other tools
constexpr std::string_view kClasses = "classes";      // fixed rows, and class names in the files
constexpr std::string_view kValues = "values";        // some are next to a file of another tool
constexpr std::string_view kKnownRequirements[] = {kFixedRows, kOwnFile,  kPart,      kSources,
                                                   kLayout,    kElements, kTransform, kRagged,
                                                   kOptional,  kFileSet,  kClasses,   kValues};
// What of the input is not in the samples.
constexpr std::string_view kLeftOut = "left_out", kLeftOutMore = "left_out_more";
// The keys of the samples are stored, and are no more than their numbers.
constexpr std::string_view kNumbers = "numbers";

Json layout_to_json(const ShardLayout& layout, const Schema& schema) {
  Json json = {{"files", layout.file_suffixes},   {"part_file", layout.part_file},
               {"field_part", layout.field_part}, {"key_part", layout.key_part},
               {"has_keys", layout.has_keys},     {"has_whole_records", layout.has_whole_records}};
  if (layout.rows.has_strides()) {
    json["strides"] = Json::array();
    for (const Field& field : schema.fields) json["strides"].push_back(*fixed_bytes_of(field));
  }
  if (layout.has_elements) json["has_elements"] = true;
  if (layout.has_values) json["has_values"] = true;
  if (layout.has_classes) json["has_classes"] = true;
  if (layout.is_of_one_file()) {
    json["dialect"] = name_of(layout.dialect);
    json["has_checksums"] = layout.has_checksums;
  }
  if (!layout.known_as.empty()) json["known_as"] = layout.known_as;
  if (!layout.keys.empty()) json["keys"] = name_to_json(layout.keys);
  if (!layout.database.empty()) json["database"] = name_to_json(layout.database);
  return json;
}

std::uint32_t small_number(const Json& value, const char* name, std::uint64_t below) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= below) {
    throw Error(Code::damaged, "member '{}' holds a value that is not a number below {}", name,
                below);
  }
  return value.get<std::uint32_t>();
}
Hash128 hash_at(const Json& object, const char* name) {
  const std::optional<Hash128> hash = Hash128::from_hex(text_at(object, name));
  if (!hash) throw Error(Code::damaged, "member '{}' is not 32 lower-case hex digits", name);
  return *hash;
}

// A file name of a dataset never leads out of its directory. Only a file that was given its name by
// a user may be hidden.
ManifestFile any_file_from_json(const Json& json) {
  ManifestFile file{name_from_json(member(json, "name")), number_at(json, "bytes"), {}};
  if (!member(json, "xxh3_128").is_null()) file.hash = hash_at(json, "xxh3_128");
  return file;
}

ManifestFile file_from_json(const Json& json, bool may_be_hidden = false) {
  ManifestFile file = any_file_from_json(json);
  const bool is_refused =
      may_be_hidden ? file.name == "." || file.name == ".." : file.name.starts_with('.');
  if (file.name.empty() || is_refused || file.name.find('/') != std::string::npos ||
      file.name.find('\0') != std::string::npos) {
    throw Error(Code::damaged, "'{}' is not a valid file name in a dataset", printable(file.name));
  }
  return file;
}

// A file of a set, by its path in the folder of the set.
ManifestFile member_from_json(const Json& json) {
  ManifestFile file = any_file_from_json(json);
  bool leads_out = file.name.find('\0') != std::string::npos;
  for (std::size_t begin = 0; begin <= file.name.size();) {
    const std::size_t end = std::min(file.name.find('/', begin), file.name.size());
    const std::string_view part = std::string_view(file.name).substr(begin, end - begin);
    leads_out = leads_out || part.empty() || part == "." || part == "..";
    begin = end + 1;
  }
  if (!leads_out) return file;
  throw Error(Code::damaged, "'{}' is not a path in the folder of a set", printable(file.name));
}

DatasetDigest digest_from_json(const Json& json, std::uint64_t samples) {
  DatasetDigest digest;
  digest.samples = samples;
  if (json.is_null()) return digest;
  digest.content = hash_at(json, "content");
  digest.ordered = hash_at(json, "ordered");
  if (!member(json, "keys").is_null()) digest.keys = hash_at(json, "keys");
  return digest;
}

// They follow from the schema; readers that have no schema find them in the manifest.
void check_strides(const Json& strides, const ShardLayout& layout, const Schema& schema) {
  Json expected = Json::array();
  for (const Field& field : schema.fields) expected.push_back(fixed_bytes_of(field).value_or(0));
  const bool is_fixed = has_fixed_fields(schema) && !layout.has_keys && !layout.has_whole_records;
  if (is_fixed && strides == expected) return;
  throw Error(Code::damaged, "strides of the rows do not match the schema");
}

ShardLayout layout_from_json(const Json& json, const Schema& schema) {
  ShardLayout layout;
  for (const Json& suffix : array_at(json, "files"))
    layout.file_suffixes.push_back(suffix.get_ref<const std::string&>());
  layout.has_values = json.contains("has_values") && flag_at(json, "has_values");
  const std::size_t files = layout.file_suffixes.size() + (layout.has_values ? 1 : 0);
  for (const Json& file : array_at(json, "part_file"))
    layout.part_file.push_back(small_number(file, "part_file", files));
  for (const Json& part : array_at(json, "field_part")) {
    layout.field_part.push_back(small_number(part, "field_part", layout.part_file.size()));
  }
  layout.key_part = small_number(member(json, "key_part"), "key_part", layout.part_file.size());
  layout.has_keys = flag_at(json, "has_keys");
  layout.has_whole_records = flag_at(json, "has_whole_records");
  if (json.contains("strides")) {
    check_strides(array_at(json, "strides"), layout, schema);
    layout.rows = RowStorage::columns();
  }
  layout.has_elements = json.contains("has_elements") && flag_at(json, "has_elements");
  layout.has_classes = json.contains("has_classes") && flag_at(json, "has_classes");
  if (layout.has_elements && (!schema.has_lists() || layout.rows.has_strides()))
    throw Error(Code::damaged, "elements are listed, but no field is a list");
  if (layout.has_values && (!json.contains("dialect") || layout.rows.has_strides()))
    throw Error(Code::damaged, "a shard of shale's own has a file of values");
  if (json.contains("dialect")) {
    layout.dialect = dialect_named(text_at(json, "dialect"));
    layout.has_checksums = flag_at(json, "has_checksums");
    if (!layout.is_of_one_file()) throw Error(Code::damaged, "layout does not match a single file");
    if (json.contains("known_as")) layout.known_as = text_at(json, "known_as");
    if (json.contains("keys")) layout.keys = name_from_json(json["keys"]);
    if (json.contains("database")) layout.database = name_from_json(json["database"]);
  }
  if (layout.field_part.size() != schema.fields.size()) {
    throw Error(Code::damaged, "layout places {} fields, but the schema has {}",
                layout.field_part.size(), schema.fields.size());
  }
  return layout;
}

ManifestShard shard_from_json(const Json& json) {
  ManifestShard shard;
  shard.name = printable(name_from_json(member(json, "name")));
  shard.payload_bytes = number_at(json, "payload_bytes");
  shard.digest = digest_from_json(member(json, "digest"), number_at(json, "samples"));
  if (json.contains("state")) shard.state = parse_file_state(text_at(json, "state"));
  for (const Json& file : array_at(json, "files"))
    shard.files.push_back(shard.state ? member_from_json(file) : file_from_json(file, true));
  if (!member(json, "index").is_null()) shard.index = file_from_json(member(json, "index"), true);
  if (!member(json, "blocks").is_null())
    shard.blocks = file_from_json(member(json, "blocks"), true);
  if (json.contains("elements")) shard.elements = file_from_json(member(json, "elements"), true);
  if (json.contains("values")) shard.values = file_from_json(member(json, "values"), true);
  if (!json.contains("bases")) return shard;
  for (const Json& base : array_at(json, "bases")) {
    if (!base.is_number_unsigned())
      throw Error(Code::damaged, "a base of a shard's rows is not a whole number");
    shard.bases.push_back(base.get<std::uint64_t>());
  }
  return shard;
}

std::optional<ImageReport> images_from_json(const Json& json) {
  const auto found = json.find("images");
  if (found == json.end()) return std::nullopt;
  return parse_image_report(found->dump());
}

PartNumber part_from_json(const Json& json) {
  const PartNumber part{number_at(json, "index"), number_at(json, "count")};
  if (part.count <= kMostParts && part.index < part.count) return part;
  throw Error(Code::damaged, "there is no part {} of {}", part.index, part.count);
}

ManifestSource source_from_json(const Json& source) {
  ManifestSource made{text_at(source, "kind"),
                      number_at(source, "samples"),
                      number_at(source, "bytes"),
                      hash_at(source, "fingerprint"),
                      std::nullopt,
                      source.contains("origin") ? text_at(source, "origin") : std::string()};
  if (source.contains("digest")) made.digest = digest_from_json(source["digest"], 0);
  return made;
}

// As a person may see it; what was written so stays.
std::string shown(const std::string& text) {
  const std::optional<std::string> bytes = unescaped(text);
  return bytes && printable(*bytes) == text ? text : printable(text);
}

std::vector<std::pair<std::string, std::string>> options_from_json(const Json& json) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& option : json.items())
    options.emplace_back(printable(option.key()), shown(name_from_json(option.value())));
  return options;
}

std::vector<ManifestTransform> transform_from_json(const Json& json) {
  std::vector<ManifestTransform> transform;
  for (const Json& each : json) {
    transform.push_back({name_from_json(member(each, "field")),
                         options_from_json(member(each, "parameters")), text_at(each, "filter"),
                         text_at(each, "codec")});
  }
  return transform;
}

LeftOutList left_out_from_json(const Json& json) {
  LeftOutList left_out;
  for (const Json& each : array_at(json, kLeftOut.data())) {
    LeftOut one{text_at(each, "kind"), name_from_json(member(each, "name")),
                text_at(each, "reason")};
    if (!member(each, "samples").is_null()) one.samples = number_at(each, "samples");
    left_out.entries.push_back(std::move(one));
  }
  if (json.contains(kLeftOutMore)) left_out.more = number_at(json, kLeftOutMore.data());
  return left_out;
}

ManifestRun run_from_json(const Json& json) {
  ManifestRun run;
  run.source = source_from_json(json);
  run.options = options_from_json(member(json, "options"));
  run.samples = number_at(json, "written");
  if (run.source.digest) run.source.digest->samples = run.samples;
  run.shards = number_at(json, "shards");
  if (json.contains("after")) run.after = hash_at(json, "after");
  return run;
}

// The runs of a set that was appended to add up to the set.
void check_runs(const Manifest& manifest) {
  std::uint64_t written = manifest.digest.samples, shards = manifest.shard_count,
                read = manifest.source.samples;
  bool agrees = manifest.runs.size() > 1;
  for (const ManifestRun& run : manifest.runs) {
    const bool is_first = &run == &manifest.runs.front();
    agrees = agrees && run.samples <= written && run.shards <= shards &&
             run.source.samples <= read && (run.after == Hash128{}) == is_first;
    written -= run.samples;
    shards -= run.shards;
    read -= run.source.samples;
  }
  if (agrees && written == 0 && shards == 0 && read == 0) return;
  throw Error(Code::damaged, "its {} runs do not add up to the dataset", manifest.runs.size());
}

// That so many samples may hold: a sample that is a list any number of them, another one per field.
std::uint64_t most_images(const Manifest& manifest, std::uint64_t samples) {
  const std::vector<std::size_t> fields = reported_image_fields(manifest);
  const bool has_lists = std::ranges::any_of(
      fields, [&](std::size_t field) { return manifest.schema.fields[field].kind == Kind::list; });
  const std::uint64_t images = std::max<std::uint64_t>(1, fields.size());
  return has_lists || samples > ~std::uint64_t{0} / images ? ~std::uint64_t{0} : samples * images;
}

// What one member says is what others say. The shards are counted as their lines are found.
void check_counts(const Manifest& manifest) {
  // A program knows no more than the samples of its own part.
  const bool is_of_whole = !manifest.part || manifest.source.kind == kProgramKind;
  const std::uint64_t samples = manifest.digest.samples,
                      all = is_of_whole ? manifest.source.samples
                                        : manifest.part->share_of(manifest.source.samples);
  // A copy of a dataset still knows what its own source left out.
  const bool is_copy = manifest.source.kind == kDatasetKind ||
                       std::ranges::any_of(manifest.runs, [](const ManifestRun& run) {
                         return run.source.kind == kDatasetKind;
                       });
  const bool agrees = samples <= all && (is_copy ? manifest.skipped >= all - samples
                                                 : manifest.skipped == all - samples);
  if (!agrees) {
    throw Error(Code::damaged,
                "{} samples and {} skipped ones do not add up to the {} of the source", samples,
                manifest.skipped, all);
  }
  if (!manifest.images) return;
  if (image_fields_of(manifest).empty() && manifest.transform.empty())
    throw Error(Code::damaged, "images are reported, but no field holds any");
  const std::uint64_t most = all > ~manifest.skipped ? ~std::uint64_t{0} : all + manifest.skipped;
  std::uint64_t left = most_images(manifest, is_copy ? most : all);
  for (const auto& [type, count] : manifest.images->types) {
    if (count > left)
      throw Error(Code::damaged, "more images are reported than the {} samples of the source", all);
    left -= count;
  }
  for (const auto& [what, count] : manifest.images->odd) {
    if (count > (is_copy ? most : all))
      throw Error(Code::damaged, "{} images are '{}', but the source has {} samples", count, what,
                  all);
  }
  const auto& duplicates = manifest.images->duplicates;
  if (duplicates && (duplicates->samples > samples || duplicates->relabelled > duplicates->samples))
    throw Error(Code::damaged, "{} of {} samples are duplicates, {} of them with another label",
                duplicates->samples, samples, duplicates->relabelled);
}

Manifest manifest_from_json(const Json& json) {
  Manifest manifest;
  if (const std::uint64_t version = number_at(json, "format_version");
      version != kManifestVersion) {
    throw Error(Code::unsupported, "format_version is {}, but this version of shale reads {}",
                version, kManifestVersion)
        .hint("use the version of shale that wrote it: " + text_at(json, "generator"));
  }
  for (const Json& requirement : array_at(json, "requires")) {
    if (std::ranges::find(kKnownRequirements, requirement) != std::end(kKnownRequirements))
      continue;
    if (!requirement.is_string()) throw Error(Code::damaged, "a requirement is not a string");
    throw Error(Code::unsupported, "requires '{}', which this version of shale does not support",
                printable(requirement.get_ref<const std::string&>()));
  }
  manifest.generator = text_at(json, "generator");
  manifest.format = text_at(json, "format");
  manifest.options = options_from_json(member(json, "options"));
  manifest.schema = schema_from_json(array_at(json, "schema"));
  manifest.layout = layout_from_json(member(json, "layout"), manifest.schema);
  manifest.schema.has_keys = manifest.layout.has_keys && !json.contains("keys");
  for (const Json& name : array_at(json, "classes"))
    manifest.classes.push_back(name_from_json(name));
  const Json& source = member(json, "source");
  manifest.source = source_from_json(source);
  if (source.contains("file")) {
    const Json& file = member(source, "file");
    manifest.source.file = {hash_at(file, "head"), hash_at(file, "middle"), hash_at(file, "tail")};
  }
  if (json.contains("part")) manifest.part = part_from_json(json["part"]);
  if (json.contains(kTransform))
    manifest.transform = transform_from_json(array_at(json, kTransform.data()));
  manifest.skipped = number_at(json, "skipped");
  manifest.ignored = number_at(json, "ignored");
  if (json.contains(kLeftOut)) manifest.left_out = left_out_from_json(json);
  manifest.images = images_from_json(json);
  for (const Json& file : array_at(json, "files")) manifest.files.push_back(file_from_json(file));
  manifest.digest = digest_from_json(member(json, "digest"), number_at(json, "samples"));
  if (manifest.source.digest) manifest.source.digest->samples = manifest.digest.samples;
  manifest.payload_bytes = number_at(json, "payload_bytes");
  manifest.shard_count = number_at(json, "shard_count");
  if (json.contains("sources")) {
    for (const Json& run : array_at(json, "sources")) manifest.runs.push_back(run_from_json(run));
    check_runs(manifest);
  }
  check_counts(manifest);
  return manifest;
}

Json source_to_json(const ManifestSource& source) {
  Json json = {{"kind", source.kind},
               {"samples", source.samples},
               {"bytes", source.bytes},
               {"fingerprint", source.fingerprint.hex()}};
  if (source.digest) json["digest"] = digest_to_json(*source.digest, true);
  return json;
}

Json options_to_json(const std::vector<std::pair<std::string, std::string>>& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options) json[name] = name_to_json(value);
  return json;
}

Json transform_to_json(const std::vector<ManifestTransform>& transform) {
  Json json = Json::array();
  for (const ManifestTransform& each : transform) {
    json.push_back({{"field", name_to_json(each.field)},
                    {"parameters", options_to_json(each.parameters)},
                    {"filter", each.filter},
                    {"codec", each.codec}});
  }
  return json;
}

Json left_out_to_json(const LeftOut& one) {
  return {{"kind", one.kind},
          {"name", name_to_json(one.name)},
          {"reason", one.reason},
          {"samples", one.samples ? Json(*one.samples) : Json(nullptr)}};
}

Json run_to_json(const ManifestRun& run) {
  Json json = source_to_json(run.source);
  if (!run.source.origin.empty()) json["origin"] = run.source.origin;
  json["options"] = options_to_json(run.options);
  json["written"] = run.samples;
  json["shards"] = run.shards;
  if (run.after != Hash128{}) json["after"] = run.after.hex();
  return json;
}

Json head_to_json(const Manifest& manifest) {
  Json json;
  json["format_version"] = kManifestVersion;
  json["requires"] = Json::array();
  if (manifest.layout.rows.has_strides()) json["requires"].push_back(kFixedRows);
  const ShardLayout& layout = manifest.layout;
  if (layout.is_of_one_file() && layout.dialect == Dialect::own)
    json["requires"].push_back(kOwnFile);
  if (manifest.part) json["requires"].push_back(kPart);
  if (!manifest.runs.empty()) json["requires"].push_back(kSources);
  if (is_layout(layout.dialect) || !layout.keys.empty() || !layout.database.empty())
    json["requires"].push_back(kLayout);
  if (layout.has_elements) json["requires"].push_back(kElements);
  if (layout.has_values) json["requires"].push_back(kValues);
  if (!manifest.transform.empty()) json["requires"].push_back(kTransform);
  if (manifest.schema.has_ragged()) json["requires"].push_back(kRagged);
  if (manifest.schema.has_optional()) json["requires"].push_back(kOptional);
  if (is_file_set(manifest)) json["requires"].push_back(kFileSet);
  // Of fixed rows a reader proves every byte around them.
  if (layout.has_classes && layout.rows.has_strides()) json["requires"].push_back(kClasses);
  json["generator"] = manifest.generator;
  json["format"] = manifest.format;
  json["options"] = options_to_json(manifest.options);
  json["schema"] = schema_to_json(manifest.schema);
  if (manifest.layout.has_keys && !manifest.schema.has_keys) json["keys"] = kNumbers;
  json["layout"] = layout_to_json(manifest.layout, manifest.schema);
  json["source"] = source_to_json(manifest.source);
  if (const auto& file = manifest.source.file) {
    json["source"]["file"] = {
        {"head", file->head.hex()}, {"middle", file->middle.hex()}, {"tail", file->tail.hex()}};
  }
  if (!manifest.source.origin.empty()) json["source"]["origin"] = manifest.source.origin;
  if (manifest.part)
    json["part"] = {{"index", manifest.part->index}, {"count", manifest.part->count}};
  if (!manifest.transform.empty()) json[kTransform] = transform_to_json(manifest.transform);
  if (!manifest.runs.empty()) json["sources"] = Json::array();
  for (const ManifestRun& run : manifest.runs) json["sources"].push_back(run_to_json(run));
  json["samples"] = manifest.digest.samples;
  json["payload_bytes"] = manifest.payload_bytes;
  json["shard_count"] = manifest.shard_count;
  json["skipped"] = manifest.skipped;
  json["ignored"] = manifest.ignored;
  for (const LeftOut& one : manifest.left_out.entries)
    json[kLeftOut].push_back(left_out_to_json(one));
  if (manifest.left_out.more > 0) json[kLeftOutMore] = manifest.left_out.more;
  if (manifest.images) {
    json["images"] = Json::parse(image_report_json(*manifest.images));
  }
  json["digest"] = digest_to_json(manifest.digest, manifest.layout.has_checksums);
  json["classes"] = Json::array();
  for (const std::string& name : manifest.classes) json["classes"].push_back(name_to_json(name));
  json["files"] = Json::array();
  for (const ManifestFile& file : manifest.files) json["files"].push_back(file_to_json(file));
  return json;
}

// What shale writes nests 5 deep, and no object of it has more than 20 members. (What nests
// without end overflows the stack of whoever walks it; members are looked up one by one.)
constexpr std::size_t kDeepest = 16, kMostMembers = 1024;
// What one value takes beside its text, at most, measured by malloc.
constexpr std::uint64_t kValueBytes = 96;

class BoundedParse {
 public:
  explicit BoundedParse(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  Json operator()(std::string_view text) {
    take(text.size());
    const auto watch = [this](int depth, Json::parse_event_t event, Json& parsed) {
      meet(depth, event, parsed);
      return true;
    };
    return Json::parse(text, watch);
  }

 private:
  void meet(int depth, Json::parse_event_t event, const Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (level > kDeepest) throw Error(Code::damaged, "values are nested deeper than {}", kDeepest);
    if (event == Json::parse_event_t::object_start) members_.at(level + 1) = 0;
    if (event == Json::parse_event_t::key && ++members_.at(level) > kMostMembers)
      throw Error(Code::damaged, "an object has more than {} members", kMostMembers);
    const auto* text = parsed.get_ptr<const Json::string_t*>();
    take(kValueBytes + (text != nullptr ? text->size() : 0));
  }

  void take(std::uint64_t bytes) {
    taken_ += bytes;
    if (taken_ > most_bytes_) throw too_large_manifest(most_bytes_);
  }

  std::uint64_t most_bytes_, taken_ = 0;
  std::array<std::size_t, kDeepest + 2> members_{};
};

// Errors of the library speak of its own workings.
template <class Make>
auto parse_as(std::string_view what, std::string_view text, std::uint64_t most_bytes, Make make) {
  try {
    return make(BoundedParse(most_bytes)(text));
  } catch (const Json::parse_error& error) {
    throw Error(Code::damaged, "{} is not valid JSON, from its byte {} on", what, error.byte);
  } catch (const Json::exception&) {
    throw Error(Code::damaged, "{} is not JSON as shale writes it", what);
  }
}

}  // namespace

bool is_file_set(const Manifest& manifest) {
  return manifest.layout.is_of_one_file() && manifest.source.kind == kFileSetKind;
}

Error too_large_manifest(std::uint64_t most_bytes) {
  Error error(Code::limit, "manifest takes more than {} of memory", format_size(most_bytes));
  return error.hint("pass a larger --memory if you trust it");
}

std::vector<ManifestMember> head_members(const Manifest& manifest) {
  std::vector<ManifestMember> members;
  const Json head = head_to_json(manifest);
  for (const auto& [name, value] : head.items()) members.push_back({name, value.dump()});
  return members;
}

Manifest parse_manifest_head(std::string_view text, std::uint64_t most_bytes) {
  return parse_as("the head of the manifest", text, most_bytes, manifest_from_json);
}

ManifestShard parse_shard_line(std::string_view line, std::uint64_t most_bytes) {
  // What is parsed takes no more than some times what is read.
  if (line.size() <= most_bytes / 16) {
    if (std::optional<ManifestShard> shard = parse_plain_shard_line(line)) return *std::move(shard);
  }
  return parse_as("the line of a shard", line, most_bytes, shard_from_json);
}

}  // namespace shale
