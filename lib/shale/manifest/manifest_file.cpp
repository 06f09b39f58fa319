#include "shale/manifest/manifest_file.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/plain_shard_line.hpp"

namespace shale {
namespace {

constexpr std::string_view kHashMember = "\"hash\": \"", kTail = "\"\n}\n";
constexpr std::string_view kBegin = "{\n\"format_version\": ";
constexpr std::uint64_t kHashDigits = 32;

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
        .hint("the manifest was changed after it was written; restore it from an intact copy");
  }
}

using LineVisitor = std::function<void(std::uint64_t offset, std::string_view line)>;

constexpr std::uint64_t kWindowBytes = 1 << 20;

// Hands out every line, without its end. Memory: a window, and the longest line, which is bounded.
void for_each_line(const InputFile& file, std::uint64_t most_bytes, const LineVisitor& visit) {
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
    if (window.size() > most_bytes) throw too_large_manifest(most_bytes);
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

std::string file_name_of(const ManifestShard& shard, std::string_view suffix) {
  return fmt::format("{}{}", shard.name, suffix);
}

// The files of a shard of ours are called what we call them.
void check_names(const ManifestShard& shard, std::uint64_t number, const ShardLayout& layout) {
  const auto check = [&](const std::string& found, const std::string& expected) {
    if (found == expected) return;
    throw Error(Code::damaged, "shard {} has '{}' where '{}' is expected", number, printable(found),
                printable(expected));
  };
  check(shard.name, shard_name(number));
  for (std::size_t i = 0; i < shard.files.size(); ++i)
    check(shard.files[i].name, file_name_of(shard, layout.file_suffixes[i]));
  if (layout.rows.has_index()) check(shard.index.name, file_name_of(shard, kIndexSuffix));
  if (layout.has_elements) check(shard.elements.name, file_name_of(shard, kElementsSuffix));
  check(shard.blocks.name, file_name_of(shard, kBlocksSuffix));
}

// Rows of one size lie inside of their files, so that nobody counts to a number that was made up.
void check_fixed_rows(const ManifestShard& shard, const Schema& schema, const ShardLayout& layout) {
  if (!shard.index.name.empty() || shard.bases.size() != schema.fields.size()) {
    throw Error(Code::damaged, "shard '{}' says where {} fields begin, but the schema has {}",
                shard.name, shard.bases.size(), schema.fields.size());
  }
  refuse_empty_rows(schema, shard.digest.samples);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const std::uint64_t bytes = shard.files[layout.part_file[layout.field_part[i]]].bytes;
    const std::uint64_t stride = fixed_bytes_of(schema.fields[i]).value(), base = shard.bases[i];
    if (base <= bytes && (stride == 0 || shard.digest.samples <= (bytes - base) / stride)) continue;
    throw Error(Code::damaged,
                "shard '{}': {} values of {} bytes do not fit after byte {} of a file of {}",
                shard.name, shard.digest.samples, stride, base, bytes);
  }
}

// What a shard's line says must agree with what the head says of all shards.
void check_shard(const ManifestShard& shard, std::uint64_t number, const Manifest& manifest) {
  const Schema& schema = manifest.schema;
  const ShardLayout& layout = manifest.layout;
  check_shard_files(shard, schema, layout);
  if (shard.state.has_value() != is_file_set(manifest)) {
    throw Error(Code::damaged, "shard '{}' {} the state of its file", shard.name,
                shard.state ? "has" : "lacks");
  }
  if (!layout.is_of_one_file()) check_names(shard, number, layout);
  if (layout.has_elements == shard.elements.name.empty()) {
    throw Error(Code::damaged, "shard '{}' {} list of elements, which is not what the layout says",
                shard.name, layout.has_elements ? "has no" : "has a");
  }
  if (layout.has_values == shard.values.name.empty()) {
    throw Error(Code::damaged, "shard '{}' {} file of values, which is not what the layout says",
                shard.name, layout.has_values ? "has no" : "has a");
  }
  if (layout.rows.has_strides()) return;
  if (shard.index.name.empty() || shard.index.bytes <= shard.digest.samples) {
    throw Error(Code::damaged, "shard '{}' has {} samples in an index of {} bytes", shard.name,
                shard.digest.samples, shard.index.bytes);
  }
}

// Errors of parsing get their place.
template <class Read>
auto read_at(const std::string& path, Read read) {
  try {
    return read();
  } catch (Error& error) {
    if (error.file().empty()) error.at(path);
    throw;
  }
}

ManifestShard shard_of_line(const std::string& path, std::string_view text,
                            const ManifestOutline& outline, std::uint64_t number) {
  const ShardLine& line = outline.shards[number];
  return read_at(path, [&] {
    ManifestShard shard = parse_shard_line(text);
    if (shard.digest.samples != line.samples) {
      throw Error(Code::damaged, "shard has {} samples, but its manifest had {} when it was opened",
                  shard.digest.samples, line.samples)
          .at(path, line.offset);
    }
    check_shard(shard, number, outline.manifest);
    return shard;
  });
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

void check_shard_files(const ManifestShard& shard, const Schema& schema,
                       const ShardLayout& layout) {
  // Beside a file of another tool its arrays may lie in a scratch file
  // (datasets/arrays_beside.hpp).
  const bool has_parts = layout.is_of_one_file() && !layout.part_file.empty() && !layout.has_values;
  const std::size_t files =
      has_parts ? std::ranges::max(layout.part_file) + std::size_t{1} : layout.file_suffixes.size();
  if (shard.files.size() != files) {
    throw Error(Code::damaged, "shard '{}' has {} files, its format writes {}", shard.name,
                shard.files.size(), files);
  }
  if (layout.rows.has_strides()) check_fixed_rows(shard, schema, layout);
}

bool lists_shard_file(const Manifest& manifest, std::string_view name) {
  const ShardLayout& layout = manifest.layout;
  const std::optional<std::uint64_t> number = shard_of_file(name);
  if (!number || *number >= manifest.shard_count || layout.is_of_one_file()) return false;
  const std::string_view suffix = name.substr(name.find('.'));
  return suffix == kBlocksSuffix || (suffix == kIndexSuffix && layout.rows.has_index()) ||
         (suffix == kElementsSuffix && layout.has_elements) ||
         std::find(layout.file_suffixes.begin(), layout.file_suffixes.end(), suffix) !=
             layout.file_suffixes.end();
}

std::uint64_t most_manifest_bytes(std::uint64_t memory_bytes) {
  constexpr std::uint64_t kAlways = std::uint64_t{32} << 20;
  return kAlways + memory_bytes / 4;
}

std::string self_hash_of(const InputFile& file) {
  const std::string ending = ending_of(file);
  if (!is_self_hash(ending)) {
    throw Error(Code::damaged, "manifest does not end with its own hash, at {} bytes", file.size())
        .at(file.path())
        .hint("the file was truncated or edited; restore it from an intact copy");
  }
  return ending.substr(kHashMember.size(), kHashDigits);
}

bool is_manifest(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (!facts || !S_ISREG(facts->st_mode)) return false;
  const InputFile file(path);
  std::string begin(std::min<std::uint64_t>(kBegin.size(), file.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(begin)));
  // Zeros are what some file systems leave of a file after a power cut; no JSON begins so.
  return kBegin.starts_with(begin) || begin.front() == '\0' || is_self_hash(ending_of(file));
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
  for (const auto& [name, value] : head_members(manifest))
    put(fmt::format("\"{}\": {},\n", name, value));
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
                       const std::function<void(const ManifestShard&)>& visit_shard,
                       std::uint64_t memory_bytes) {
  const InputFile file(paths.manifest);
  ManifestOutline outline = read_manifest_outline(file, memory_bytes);
  for (std::uint64_t number = 0; visit_shard && number < outline.shards.size(); ++number)
    visit_shard(read_shard_line(file, outline, number));
  return std::move(outline.manifest);
}

ManifestOutline read_manifest_outline(const InputFile& file, std::uint64_t memory_bytes) {
  prove_self_hash(file);
  constexpr std::string_view kShardsBegin = "\"shards\": [";
  const std::uint64_t most_bytes = most_manifest_bytes(memory_bytes);
  ManifestOutline outline;
  std::string head;
  std::uint64_t rows = 0;
  bool is_among_shards = false;
  const auto take_line = [&](std::uint64_t offset, std::string_view line) {
    const bool is_shard = is_among_shards && line.starts_with('{');
    is_among_shards = line == kShardsBegin || is_shard;
    if (head.size() + line.size() > most_bytes ||
        outline.shards.size() > most_bytes / (2 * sizeof(ShardLine)))
      throw too_large_manifest(most_bytes);
    if (!is_shard) {
      head += line;
      return;
    }
    if (line.ends_with(',')) line.remove_suffix(1);
    const std::uint64_t samples = samples_of_line(line);
    if (samples > ~rows) throw Error(Code::damaged, "the shards have more than 2^64 samples");
    outline.shards.push_back({rows, samples, offset, line.size()});
    rows += samples;
  };
  return read_at(file.path(), [&] {
    for_each_line(file, most_bytes, take_line);
    outline.manifest = parse_manifest_head(head, most_bytes);
    const Manifest& manifest = outline.manifest;
    if (manifest.shard_count != outline.shards.size() || manifest.digest.samples != rows) {
      throw Error(Code::damaged, "manifest has {} shards with {} samples, but it says {} with {}",
                  outline.shards.size(), rows, manifest.shard_count, manifest.digest.samples);
    }
    return std::move(outline);
  });
}

ManifestShard read_shard_line(const InputFile& file, const ManifestOutline& outline,
                              std::uint64_t number) {
  const ShardLine& line = outline.shards.at(number);
  std::string text(line.bytes, '\0');
  file.read_exact(line.offset, std::as_writable_bytes(std::span(text)));
  return shard_of_line(file.path(), text, outline, number);
}

ShardList::ShardList(std::shared_ptr<const InputFile> file, ManifestOutline outline)
    : file_(std::move(file)),
      outline_(std::make_shared<const ManifestOutline>(std::move(outline))) {}

std::vector<ShardLine> lines_of(std::span<const ManifestShard> shards) {
  std::vector<ShardLine> lines;
  std::uint64_t first_row = 0;
  for (const ManifestShard& shard : shards) {
    lines.push_back({first_row, shard.digest.samples, 0, 0});
    first_row += shard.digest.samples;
  }
  return lines;
}

ShardList::ShardList(Manifest manifest, std::vector<ManifestShard> shards)
    : outline_(std::make_shared<const ManifestOutline>(
          ManifestOutline{std::move(manifest), lines_of(shards)})),
      shards_(std::make_shared<const std::vector<ManifestShard>>(std::move(shards))) {}

ShardList open_shard_list(const DatasetPaths& paths, std::uint64_t memory_bytes) {
  auto file = std::make_shared<const InputFile>(paths.manifest);
  ManifestOutline outline = read_manifest_outline(*file, memory_bytes);
  return {std::move(file), std::move(outline)};
}

std::uint64_t ShardList::holding(std::uint64_t row) const {
  const std::vector<ShardLine>& lines = outline_->shards;
  const auto after = std::upper_bound(
      lines.begin(), lines.end(), row,
      [](std::uint64_t wanted, const ShardLine& line) { return wanted < line.first_row; });
  return static_cast<std::uint64_t>(after - lines.begin()) - 1;
}

ShardLineBytes ShardList::bytes(const std::function<void(const ManifestShard&)>& visit) const {
  ShardLineBytes sum;
  const auto add = [&](const ManifestShard& shard) {
    if (visit) visit(shard);
    sum.lists += shard.list_bytes();
    for (const ManifestFile* list : shard.lists()) sum.largest = std::max(sum.largest, list->bytes);
    for (const ManifestFile& file : shard.files) {
      sum.data += file.bytes;
      sum.largest = std::max(sum.largest, file.bytes);
    }
  };
  if (shards_) {
    std::ranges::for_each(*shards_, add);
    return sum;
  }
  for_each_line([&](std::uint64_t number, std::string_view line) {
    const std::optional<ManifestShard> plain = parse_plain_shard_line(line);
    add(plain ? *plain : (*this)[number]);
  });
  return sum;
}

void ShardList::for_each_line(const TakeLine& take) const {
  std::string window;
  std::uint64_t window_offset = 0;
  for (std::uint64_t number = 0; number < size(); ++number) {
    const ShardLine& line = outline_->shards[number];
    if (line.offset + line.bytes > window_offset + window.size()) {
      window_offset = line.offset;
      window.resize(std::min(std::max(line.bytes, kWindowBytes), file_->size() - line.offset));
      file_->read_exact(line.offset, std::as_writable_bytes(std::span(window)));
    }
    take(number, std::string_view(window).substr(line.offset - window_offset, line.bytes));
  }
}

void ShardList::for_each(const std::function<void(const ManifestShard&)>& visit) const {
  if (shards_) {
    std::ranges::for_each(*shards_, visit);
    return;
  }
  for_each_line([&](std::uint64_t number, std::string_view text) {
    visit(shard_of_line(file_->path(), text, *outline_, number));
  });
}

ManifestShard ShardList::operator[](std::uint64_t number) const {
  return shards_ ? (*shards_)[number] : read_shard_line(*file_, *outline_, number);
}

}  // namespace shale
