#include "shale/shards/manifest_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/shards/naming.hpp"

namespace shale {
namespace {

// In our own words: the parser's are about its insides.
std::string cause_of(const nlohmann::json::exception& error) {
  if (const auto* syntax = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return fmt::format("the JSON ends or is wrong at its byte {}", syntax->byte);
  return "a member is missing, or is of another type";
}

using Json = nlohmann::ordered_json;

constexpr std::string_view kHashMember = "\"hash\": \"", kTail = "\"\n}\n";
constexpr std::string_view kBegin = "{\n\"format_version\": ";
constexpr std::uint64_t kHashDigits = 32;

// Names are raw bytes, JSON is UTF-8: a name that is not UTF-8 stands as {"bytes": hex}.
Json name_to_json(const std::string& name) {
  if (is_utf8(name)) return name;
  std::string hex;
  for (const char c : name) hex += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
  return {{"bytes", hex}};
}

Json file_to_json(const ManifestFile& file) {
  // No hash is zero: it stands for a file that was never read as a whole.
  return {{"name", file.name},
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
// The keys of the samples are stored, and are no more than their numbers.
constexpr std::string_view kNumbers = "numbers";

Json schema_to_json(const Schema& schema) {
  Json fields = Json::array();
  for (const Field& field : schema.fields) {
    Json json = {{"name", field.name}, {"kind", name_of(field.kind)}};
    if (field.dtype.item_bytes() > 0) json["dtype"] = field.dtype.descr();
    if (field.kind == Kind::tensor) json["shape"] = field.shape;
    fields.push_back(std::move(json));
  }
  return fields;
}

Json layout_to_json(const ShardLayout& layout, const Schema& schema) {
  Json json = {{"files", layout.file_suffixes},   {"part_file", layout.part_file},
               {"field_part", layout.field_part}, {"key_part", layout.key_part},
               {"has_keys", layout.has_keys},     {"has_whole_records", layout.has_whole_records}};
  if (layout.has_fixed_rows) {
    json["strides"] = Json::array();
    for (const Field& field : schema.fields) json["strides"].push_back(*fixed_bytes_of(field));
  }
  if (layout.dialect != Dialect::own) {
    json["dialect"] = name_of(layout.dialect);
    json["has_checksums"] = layout.has_checksums;
  }
  return json;
}

// Untrusted JSON, member by member. nlohmann's own get<> casts a negative number to a huge one.
const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Error(Code::damaged, "member '{}' is missing", name);
  return *found;
}
std::uint64_t number_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_number_unsigned())
    throw Error(Code::damaged, "member '{}' is not a whole number", name);
  return value.get<std::uint64_t>();
}
std::string text_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) throw Error(Code::damaged, "member '{}' is not a string", name);
  return value.get<std::string>();
}
bool flag_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_boolean()) throw Error(Code::damaged, "member '{}' is not true or false", name);
  return value.get<bool>();
}
const Json& array_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_array()) throw Error(Code::damaged, "member '{}' is not an array", name);
  return value;
}
std::uint32_t small_number(const Json& value, const char* name, std::uint64_t below) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= below) {
    throw Error(Code::damaged, "member '{}' holds {}, expected a number below {}", name,
                value.dump(), below);
  }
  return value.get<std::uint32_t>();
}
Hash128 hash_at(const Json& object, const char* name) {
  const std::optional<Hash128> hash = Hash128::from_hex(text_at(object, name));
  if (!hash) throw Error(Code::damaged, "member '{}' is not 32 lower-case hex digits", name);
  return *hash;
}

std::string name_from_json(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const std::string hex = text_at(json, "bytes");
  const bool is_hex =
      hex.size() % 2 == 0 && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex) throw Error(Code::damaged, "name is not pairs of lower-case hex digits");
  std::string name;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    name += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return name;
}

// A file name of a dataset never leads out of its directory.
ManifestFile file_from_json(const Json& json) {
  ManifestFile file{text_at(json, "name"), number_at(json, "bytes"), {}};
  if (!member(json, "xxh3_128").is_null()) file.hash = hash_at(json, "xxh3_128");
  if (file.name.empty() || file.name.starts_with('.') || file.name.find('/') != std::string::npos ||
      file.name.find('\0') != std::string::npos) {
    throw Error(Code::damaged, "file name '{}' is not one of a dataset", printable(file.name));
  }
  return file;
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

Schema schema_from_json(const Json& json) {
  Schema schema;
  for (const Json& entry : json) {
    Field field;
    field.name = text_at(entry, "name");
    field.kind = kind_named(text_at(entry, "kind"));
    if (field.kind == Kind::tensor || entry.contains("dtype"))
      field.dtype = DType::parse(text_at(entry, "dtype"));
    if (field.kind == Kind::tensor) {
      for (const Json& side : array_at(entry, "shape")) {
        if (!side.is_number_unsigned())
          throw Error(Code::damaged, "shape of field '{}' is not numbers", field.name);
        field.shape.push_back(side.get<std::uint64_t>());
      }
    }
    schema.fields.push_back(std::move(field));
  }
  validate_schema(schema);
  return schema;
}

// They follow from the schema; readers that have no schema find them in the manifest.
void check_strides(const Json& strides, const ShardLayout& layout, const Schema& schema) {
  Json expected = Json::array();
  for (const Field& field : schema.fields) expected.push_back(fixed_bytes_of(field).value_or(0));
  const bool is_fixed = has_fixed_fields(schema) && !layout.has_keys && !layout.has_whole_records;
  if (is_fixed && strides == expected) return;
  throw Error(Code::damaged, "strides of the rows are {}, the schema makes {}", strides.dump(),
              is_fixed ? expected.dump() : "none");
}

ShardLayout layout_from_json(const Json& json, const Schema& schema) {
  ShardLayout layout;
  for (const Json& suffix : array_at(json, "files"))
    layout.file_suffixes.push_back(suffix.get<std::string>());
  for (const Json& file : array_at(json, "part_file")) {
    layout.part_file.push_back(small_number(file, "part_file", layout.file_suffixes.size()));
  }
  for (const Json& part : array_at(json, "field_part")) {
    layout.field_part.push_back(small_number(part, "field_part", layout.part_file.size()));
  }
  layout.key_part = small_number(member(json, "key_part"), "key_part", layout.part_file.size());
  layout.has_keys = flag_at(json, "has_keys");
  layout.has_whole_records = flag_at(json, "has_whole_records");
  layout.has_fixed_rows = json.contains("strides");
  if (layout.has_fixed_rows) check_strides(array_at(json, "strides"), layout, schema);
  if (json.contains("dialect")) {
    layout.dialect = dialect_named(text_at(json, "dialect"));
    layout.has_checksums = flag_at(json, "has_checksums");
  }
  if (layout.field_part.size() != schema.fields.size()) {
    throw Error(Code::damaged, "layout places {} fields, the schema has {}",
                layout.field_part.size(), schema.fields.size());
  }
  return layout;
}

ManifestShard shard_from_json(const Json& json) {
  ManifestShard shard;
  shard.name = text_at(json, "name");
  shard.payload_bytes = number_at(json, "payload_bytes");
  shard.digest = digest_from_json(member(json, "digest"), number_at(json, "samples"));
  for (const Json& file : array_at(json, "files")) shard.files.push_back(file_from_json(file));
  if (!member(json, "index").is_null()) shard.index = file_from_json(member(json, "index"));
  if (!member(json, "blocks").is_null()) shard.blocks = file_from_json(member(json, "blocks"));
  if (!json.contains("bases")) return shard;
  for (const Json& base : array_at(json, "bases")) {
    if (!base.is_number_unsigned())
      throw Error(Code::damaged, "base {} of a shard's rows is not a whole number", base.dump());
    shard.bases.push_back(base.get<std::uint64_t>());
  }
  return shard;
}

std::optional<ImageReport> images_from_json(const Json& json) {
  const auto found = json.find("images");
  if (found == json.end()) return std::nullopt;
  ImageReport report;
  const auto counts_at = [&](const char* what) {
    std::map<std::string, std::uint64_t> counts;
    const Json& object = member(*found, what);
    for (const auto& entry : object.items())
      counts[entry.key()] = number_at(object, entry.key().c_str());
    return counts;
  };
  report.types = counts_at("types");
  report.odd = counts_at("odd");
  return report;
}

Manifest manifest_from_json(const Json& json) {
  Manifest manifest;
  if (const std::uint64_t version = number_at(json, "format_version");
      version != kManifestVersion) {
    throw Error(Code::unsupported, "format_version is {}, this shale reads {}", version,
                kManifestVersion)
        .hint("use the version of shale that wrote it: " + text_at(json, "generator"));
  }
  for (const Json& requirement : array_at(json, "requires")) {
    if (requirement == kFixedRows) continue;
    throw Error(Code::unsupported, "requires '{}', which this shale does not know",
                requirement.is_string() ? requirement.get<std::string>() : requirement.dump());
  }
  manifest.generator = text_at(json, "generator");
  manifest.format = text_at(json, "format");
  for (const auto& [name, value] : member(json, "options").items()) {
    manifest.options.emplace_back(name,
                                  value.is_string() ? value.get<std::string>() : value.dump());
  }
  manifest.schema = schema_from_json(array_at(json, "schema"));
  manifest.layout = layout_from_json(member(json, "layout"), manifest.schema);
  manifest.schema.has_keys = manifest.layout.has_keys && !json.contains("keys");
  for (const Json& name : array_at(json, "classes"))
    manifest.classes.push_back(name_from_json(name));
  const Json& source = member(json, "source");
  manifest.source = {text_at(source, "kind"),
                     number_at(source, "samples"),
                     number_at(source, "bytes"),
                     hash_at(source, "fingerprint"),
                     std::nullopt,
                     std::nullopt};
  if (source.contains("file")) {
    const Json& file = member(source, "file");
    manifest.source.file = {hash_at(file, "head"), hash_at(file, "middle"), hash_at(file, "tail")};
  }
  if (source.contains("mtime_ns")) manifest.source.mtime_ns = number_at(source, "mtime_ns");
  manifest.skipped = number_at(json, "skipped");
  manifest.ignored = number_at(json, "ignored");
  manifest.images = images_from_json(json);
  for (const Json& file : array_at(json, "files")) manifest.files.push_back(file_from_json(file));
  manifest.digest = digest_from_json(member(json, "digest"), number_at(json, "samples"));
  manifest.payload_bytes = number_at(json, "payload_bytes");
  manifest.shard_count = number_at(json, "shard_count");
  return manifest;
}

Json head_to_json(const Manifest& manifest) {
  Json json;
  json["format_version"] = kManifestVersion;
  json["requires"] = Json::array();
  if (manifest.layout.has_fixed_rows) json["requires"].push_back(kFixedRows);
  json["generator"] = manifest.generator;
  json["format"] = manifest.format;
  json["options"] = Json::object();
  for (const auto& [name, value] : manifest.options) json["options"][name] = value;
  json["schema"] = schema_to_json(manifest.schema);
  if (manifest.layout.has_keys && !manifest.schema.has_keys) json["keys"] = kNumbers;
  json["layout"] = layout_to_json(manifest.layout, manifest.schema);
  json["source"] = {{"kind", manifest.source.kind},
                    {"samples", manifest.source.samples},
                    {"bytes", manifest.source.bytes},
                    {"fingerprint", manifest.source.fingerprint.hex()}};
  if (const auto& file = manifest.source.file) {
    json["source"]["file"] = {
        {"head", file->head.hex()}, {"middle", file->middle.hex()}, {"tail", file->tail.hex()}};
  }
  if (manifest.source.mtime_ns) json["source"]["mtime_ns"] = *manifest.source.mtime_ns;
  json["samples"] = manifest.digest.samples;
  json["payload_bytes"] = manifest.payload_bytes;
  json["shard_count"] = manifest.shard_count;
  json["skipped"] = manifest.skipped;
  json["ignored"] = manifest.ignored;
  if (manifest.images)
    json["images"] = {{"types", manifest.images->types}, {"odd", manifest.images->odd}};
  json["digest"] = digest_to_json(manifest.digest, manifest.layout.has_checksums);
  json["classes"] = Json::array();
  for (const std::string& name : manifest.classes) json["classes"].push_back(name_to_json(name));
  json["files"] = Json::array();
  for (const ManifestFile& file : manifest.files) json["files"].push_back(file_to_json(file));
  return json;
}

// Every byte of the file but the 32 digits of the hash itself, which are compared. Returns nothing:
// proved or thrown.
void prove_self_hash(const InputFile& file) {
  const std::string expected = self_hash_of(file);
  const std::uint64_t tail_bytes = kHashDigits + kTail.size();
  Hasher128 hasher;
  std::vector<std::byte> chunk(256 * 1024);
  for (std::uint64_t offset = 0; offset < file.size() - tail_bytes;) {
    const std::uint64_t want =
        std::min<std::uint64_t>(chunk.size(), file.size() - tail_bytes - offset);
    file.read_exact(offset, std::span(chunk).first(want));
    hasher.update(Bytes(chunk).first(want));
    offset += want;
  }
  hasher.update(as_bytes(kTail));
  const std::string found = hasher.digest().hex();
  if (found != expected) {
    throw Error(Code::damaged, "manifest's bytes hash to {}, expected {}", found, expected)
        .at(file.path())
        .hint(
            "the manifest was changed after it was written; copy it again from where it was whole");
  }
}

using LineVisitor = std::function<void(std::uint64_t offset, std::string_view line)>;

// Hands out every line, without its end. Memory: a window, and the longest line.
void for_each_line(const InputFile& file, const LineVisitor& visit) {
  constexpr std::uint64_t kWindowBytes = 1 << 20;
  std::string window;
  std::uint64_t window_offset = 0;
  for (std::uint64_t offset = 0; offset < file.size();) {
    const std::size_t kept = window.size();
    window.resize(kept + std::min(kWindowBytes, file.size() - offset));
    file.read_exact(offset, std::as_writable_bytes(std::span(window).subspan(kept)));
    offset += window.size() - kept;
    std::size_t begin = 0;
    for (std::size_t end = window.find('\n', kept); end != std::string::npos;
         end = window.find('\n', begin)) {
      visit(window_offset + begin, std::string_view(window).substr(begin, end - begin));
      begin = end + 1;
    }
    window.erase(0, begin);
    window_offset += begin;
  }
  if (!window.empty()) visit(window_offset, window);
}

// Of a shard's line only this is parsed: the first `,"samples":` cannot stand inside a string,
// whose quotes are escaped.
std::uint64_t samples_of_line(std::string_view line) {
  constexpr std::string_view kMember = ",\"samples\":";
  const std::size_t member_begin = line.find(kMember);
  std::uint64_t samples = 0;
  if (member_begin != std::string_view::npos) {
    const char* const begin = line.data() + member_begin + kMember.size();
    const auto [end, error] = std::from_chars(begin, line.data() + line.size(), samples);
    if (error == std::errc() && end != line.data() + line.size() && *end == ',') return samples;
  }
  throw Error(Code::damaged, "a shard's line does not say how many samples it holds");
}

std::string ending_of(const InputFile& file) {
  const std::uint64_t bytes = kHashMember.size() + kHashDigits + kTail.size();
  std::string ending(std::min(bytes, file.size()), '\0');
  file.read_exact(file.size() - ending.size(), std::as_writable_bytes(std::span(ending)));
  return ending;
}

bool is_self_hash(std::string_view ending) {
  return ending.size() == kHashMember.size() + kHashDigits + kTail.size() &&
         ending.starts_with(kHashMember) && ending.ends_with(kTail);
}

}  // namespace

std::string self_hash_of(const InputFile& file) {
  const std::string ending = ending_of(file);
  if (!is_self_hash(ending)) {
    throw Error(Code::damaged, "manifest does not end with its own hash, at {} bytes", file.size())
        .at(file.path())
        .hint("the file was cut or edited; copy it again from where it was whole");
  }
  return ending.substr(kHashMember.size(), kHashDigits);
}

bool is_manifest(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const InputFile file(path);
  std::string begin(std::min<std::uint64_t>(kBegin.size(), file.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(begin)));
  // Zeros are what some file systems leave of a file after a power cut; no JSON begins so.
  return kBegin.starts_with(begin) || begin.front() == '\0' || is_self_hash(ending_of(file));
}

std::string shard_line(const ManifestShard& shard) {
  const bool was_read = !shard.blocks.name.empty();
  Json json = {{"name", shard.name},
               {"samples", shard.digest.samples},
               {"payload_bytes", shard.payload_bytes},
               {"files", Json::array()},
               {"index", shard.index.name.empty() ? Json(nullptr) : file_to_json(shard.index)},
               {"blocks", was_read ? file_to_json(shard.blocks) : Json(nullptr)},
               {"digest", digest_to_json(shard.digest, was_read)}};
  if (shard.index.name.empty()) json["bases"] = shard.bases;
  for (const ManifestFile& file : shard.files) json["files"].push_back(file_to_json(file));
  return json.dump();
}

ManifestShard parse_shard_line(std::string_view line) {
  try {
    return shard_from_json(Json::parse(line));
  } catch (const Json::exception& error) {
    throw Error(Code::damaged, "shard line is not what shale writes").because(cause_of(error));
  }
}

void write_manifest(const std::string& directory, const Manifest& manifest,
                    const ForEachShard& shards) {
  write_manifest_file(join_path(directory, kManifestName), manifest, shards);
}

void write_manifest_file(const std::string& path, const Manifest& manifest,
                         const ForEachShard& shards) {
  const std::string temporary_path = path + ".tmp";
  OutputFile file(temporary_path,
                  {.io = IoMode::buffered, .buffer_bytes = 256 * 1024, .buffers = 1});
  Hasher128 hasher;
  const auto put = [&](std::string_view text) {
    hasher.update(as_bytes(text));
    file.append(as_bytes(text));
  };
  put("{\n");
  const Json head = head_to_json(manifest);
  for (const auto& [name, value] : head.items()) {
    put(fmt::format("\"{}\": {},\n", name, value.dump()));
  }
  put("\"shards\": [");
  std::string_view separator = "\n";
  shards([&](const ManifestShard& shard) {
    put(fmt::format("{}{}", separator, shard_line(shard)));
    separator = ",\n";
  });
  put("\n],\n");
  put(kHashMember);
  hasher.update(as_bytes(kTail));
  file.append(as_bytes(hasher.digest().hex()));
  file.append(as_bytes(kTail));
  (void)file.finish();
  rename_file(temporary_path, path);
  const std::size_t slash = path.rfind('/');
  sync_directory(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Manifest read_manifest(const DatasetPaths& paths,
                       const std::function<void(const ManifestShard&)>& visit_shard) {
  const std::string& path = paths.manifest;
  const InputFile file(path);
  prove_self_hash(file);
  std::uint64_t shards = 0;
  std::string top_member;
  const auto filter = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key) top_member = parsed.get<std::string>();
    if (depth != 2 || event != Json::parse_event_t::object_end || top_member != "shards")
      return true;
    ++shards;
    if (visit_shard) visit_shard(shard_from_json(parsed));
    return false;  // dropped: only one shard is held at a time
  };
  // The file that was proved, not the one that has its name by now.
  const int descriptor = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  std::FILE* stream = descriptor < 0 ? nullptr : ::fdopen(descriptor, "rb");
  if (stream == nullptr) {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw Error(Code::io, "the manifest cannot be read").at(path).because_errno(error);
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(stream, std::fclose);
  try {
    Manifest manifest = manifest_from_json(Json::parse(stream, filter));
    if (manifest.shard_count != shards) {
      throw Error(Code::damaged, "manifest lists {} shards, its shard_count is {}", shards,
                  manifest.shard_count);
    }
    return manifest;
  } catch (const Json::exception& error) {
    throw Error(Code::damaged, "manifest is not the JSON that shale writes")
        .at(path)
        .because(cause_of(error));
  } catch (Error& error) {
    if (error.file().empty()) error.at(path);
    throw;
  }
}

ManifestOutline read_manifest_outline(const InputFile& file) {
  prove_self_hash(file);
  constexpr std::string_view kShardsBegin = "\"shards\": [";
  ManifestOutline outline;
  std::string head;
  std::uint64_t rows = 0;
  bool is_among_shards = false;
  const auto take_line = [&](std::uint64_t offset, std::string_view line) {
    const bool is_shard = is_among_shards && line.starts_with('{');
    is_among_shards = line == kShardsBegin || is_shard;
    if (!is_shard) {
      head += line;
      return;
    }
    if (line.ends_with(',')) line.remove_suffix(1);
    const std::uint64_t samples = samples_of_line(line);
    outline.shards.push_back({rows, samples, offset, line.size()});
    rows += samples;
  };
  try {
    for_each_line(file, take_line);
    outline.manifest = manifest_from_json(Json::parse(head));
    const Manifest& manifest = outline.manifest;
    if (manifest.shard_count != outline.shards.size() || manifest.digest.samples != rows) {
      throw Error(Code::damaged, "manifest has {} shards with {} samples, it says {} with {}",
                  outline.shards.size(), rows, manifest.shard_count, manifest.digest.samples);
    }
    return outline;
  } catch (const Json::exception& error) {
    throw Error(Code::damaged, "the head of the manifest is not the JSON that shale writes")
        .at(file.path())
        .because(cause_of(error));
  } catch (Error& error) {
    if (error.file().empty()) error.at(file.path());
    throw;
  }
}

ManifestShard read_shard_line(const InputFile& file, const ShardLine& line) {
  std::string text(line.bytes, '\0');
  file.read_exact(line.offset, std::as_writable_bytes(std::span(text)));
  ManifestShard shard = parse_shard_line(text);
  if (shard.digest.samples != line.samples) {
    throw Error(Code::damaged, "shard has {} samples, its manifest had {} when it was opened",
                shard.digest.samples, line.samples)
        .at(file.path(), line.offset);
  }
  return shard;
}

}  // namespace shale
