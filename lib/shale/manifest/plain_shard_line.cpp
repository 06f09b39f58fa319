#include "shale/manifest/plain_shard_line.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace shale {
namespace {

constexpr std::size_t kLineHexDigits = 32;

bool is_plain_char(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

bool is_plain_name(std::string_view name) { return std::ranges::all_of(name, is_plain_char); }

// As file_from_json has it.
bool is_name_of_file(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos;
}

void append_hash(std::string& line, const Hash128& hash) {
  if (hash == Hash128{}) {
    line += "null";
  } else {
    line.append(1, '"').append(hash.hex()).append(1, '"');
  }
}

void append_file(std::string& line, const ManifestFile& file) {
  fmt::format_to(std::back_inserter(line), R"({{"name":"{}","bytes":{},"xxh3_128":)", file.name,
                 file.bytes);
  append_hash(line, file.hash);
  line += '}';
}

void append_file_or_null(std::string& line, const ManifestFile& file) {
  if (file.name.empty()) {
    line += "null";
  } else {
    append_file(line, file);
  }
}

// The rest of a line. Each function takes what it names from the front, or nothing and says so.
class PlainLine {
 public:
  explicit PlainLine(std::string_view line) : rest_(line) {}

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  // The rest of the last list of a line.
  bool end_of_list() {
    const std::size_t end = rest_.find(']');
    if (end == std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return text("}");
  }
  bool text(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::optional<std::string_view> name() {
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos || !is_plain_name(rest_.substr(0, end))) return std::nullopt;
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return name;
  }
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    const char* const begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + rest_.size(), value);
    if (error != std::errc() || (*begin == '0' && end - begin > 1)) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - begin));
    return value;
  }
  // 32 digits and a quote.
  std::optional<Hash128> hash() {
    const auto value = Hash128::from_hex(rest_.substr(0, kLineHexDigits));
    if (!value) return std::nullopt;
    rest_.remove_prefix(kLineHexDigits);
    return text("\"") ? value : std::nullopt;
  }
  std::optional<Hash128> hash_or_null() {
    if (text("null")) return Hash128{};
    return text("\"") ? hash() : std::nullopt;
  }
  // Without its hash: bytes, for those who want no more.
  std::optional<std::uint64_t> file_bytes() {
    if (!text("{\"name\":\"")) return std::nullopt;
    const std::optional<std::string_view> of = name();
    if (!of || !is_name_of_file(*of) || !text(",\"bytes\":")) return std::nullopt;
    const std::optional<std::uint64_t> bytes = number();
    if (!text(",\"xxh3_128\":")) return std::nullopt;
    return (text("null") || skip_hash()) && text("}") ? bytes : std::nullopt;
  }
  bool skip_hash() {
    if (rest_.size() < kLineHexDigits + 2) return false;
    rest_.remove_prefix(kLineHexDigits + 2);
    return true;
  }
  bool skip_digest() {
    return text("null") ||
           (text("{\"content\":") && skip_hash() && text(",\"ordered\":") && skip_hash() &&
            text(",\"keys\":") && (text("null") || skip_hash()) && text("}"));
  }
  bool file(ManifestFile& into) {
    if (!text("{\"name\":\"")) return false;
    const std::optional<std::string_view> of = name();
    if (!of || !is_name_of_file(*of) || !text(",\"bytes\":")) return false;
    const std::optional<std::uint64_t> bytes = number();
    if (!bytes || !text(",\"xxh3_128\":")) return false;
    const std::optional<Hash128> hash = hash_or_null();
    if (!hash || !text("}")) return false;
    into = {std::string(*of), *bytes, *hash};
    return true;
  }
  bool file_or_null(ManifestFile& into) { return text("null") || file(into); }

 private:
  std::string_view rest_;
};

bool take_head(PlainLine& line, ManifestShard& shard) {
  if (!line.text("{\"name\":\"")) return false;
  const std::optional<std::string_view> name = line.name();
  if (!name || !line.text(",\"samples\":")) return false;
  const std::optional<std::uint64_t> samples = line.number();
  if (!samples || !line.text(",\"payload_bytes\":")) return false;
  const std::optional<std::uint64_t> payload = line.number();
  if (!payload || !line.text(",\"files\":[")) return false;
  shard.name = *name;
  shard.digest.samples = *samples;
  shard.payload_bytes = *payload;
  return true;
}

bool take_digest(PlainLine& line, DatasetDigest& digest) {
  if (line.text("null")) return true;
  if (!line.text("{\"content\":\"")) return false;
  const std::optional<Hash128> content = line.hash();
  if (!content || !line.text(",\"ordered\":\"")) return false;
  const std::optional<Hash128> ordered = line.hash();
  if (!ordered || !line.text(",\"keys\":")) return false;
  const std::optional<Hash128> keys = line.hash_or_null();
  if (!keys || !line.text("}")) return false;
  digest.content = *content;
  digest.ordered = *ordered;
  digest.keys = *keys;
  return true;
}

bool take_bases(PlainLine& line, std::vector<std::uint64_t>& bases) {
  if (line.text("]")) return true;
  do {
    const std::optional<std::uint64_t> base = line.number();
    if (!base) return false;
    bases.push_back(*base);
  } while (line.text(","));
  return line.text("]");
}

}  // namespace

std::optional<std::string> plain_shard_line(const ManifestShard& shard) {
  const auto is_plain = [](const ManifestFile& file) { return is_plain_name(file.name); };
  if (!is_plain_name(shard.name) || !std::ranges::all_of(shard.files, is_plain) ||
      !is_plain(shard.index) || !is_plain(shard.blocks) || !is_plain(shard.elements))
    return std::nullopt;
  std::string line = fmt::format(R"({{"name":"{}","samples":{},"payload_bytes":{},"files":[)",
                                 shard.name, shard.digest.samples, shard.payload_bytes);
  for (const ManifestFile& file : shard.files) {
    if (&file != &shard.files.front()) line += ',';
    append_file(line, file);
  }
  line += "],\"index\":";
  append_file_or_null(line, shard.index);
  line += ",\"blocks\":";
  append_file_or_null(line, shard.blocks);
  line += ",\"digest\":";
  if (shard.blocks.name.empty()) {
    line += "null";
  } else {
    line += fmt::format(R"({{"content":"{}","ordered":"{}","keys":)", shard.digest.content.hex(),
                        shard.digest.ordered.hex());
    append_hash(line, shard.digest.keys);
    line += '}';
  }
  if (!shard.elements.name.empty()) {
    line += ",\"elements\":";
    append_file(line, shard.elements);
  }
  if (shard.index.name.empty()) line += fmt::format(",\"bases\":[{}]", fmt::join(shard.bases, ","));
  return line += '}';
}

std::optional<ManifestShard> parse_plain_shard_line(std::string_view text) {
  PlainLine line(text);
  ManifestShard shard;
  if (!take_head(line, shard)) return std::nullopt;
  while (!line.text("]")) {
    if (!shard.files.empty() && !line.text(",")) return std::nullopt;
    if (!line.file(shard.files.emplace_back())) return std::nullopt;
  }
  const bool is_whole = line.text(",\"index\":") && line.file_or_null(shard.index) &&
                        line.text(",\"blocks\":") && line.file_or_null(shard.blocks) &&
                        line.text(",\"digest\":") && take_digest(line, shard.digest) &&
                        (!line.text(",\"elements\":") || line.file(shard.elements)) &&
                        (!line.text(",\"bases\":[") || take_bases(line, shard.bases)) &&
                        line.text("}") && line.is_at_end();
  if (!is_whole) return std::nullopt;
  return shard;
}

std::optional<ShardLineBytes> bytes_of_plain_line(std::string_view text) {
  PlainLine line(text);
  ManifestShard head;
  if (!take_head(line, head)) return std::nullopt;
  ShardLineBytes sum;
  const auto add = [&](std::uint64_t& to) {
    const std::optional<std::uint64_t> bytes = line.file_bytes();
    if (!bytes) return false;
    to += *bytes;
    sum.largest = std::max(sum.largest, *bytes);
    return true;
  };
  for (bool is_first = true; !line.text("]"); is_first = false) {
    if ((!is_first && !line.text(",")) || !add(sum.data)) return std::nullopt;
  }
  const bool is_whole = line.text(",\"index\":") && (line.text("null") || add(sum.lists)) &&
                        line.text(",\"blocks\":") && (line.text("null") || add(sum.lists)) &&
                        line.text(",\"digest\":") && line.skip_digest() &&
                        (!line.text(",\"elements\":") || add(sum.lists)) &&
                        (line.text(",\"bases\":[") ? line.end_of_list() : line.text("}")) &&
                        line.is_at_end();
  if (!is_whole) return std::nullopt;
  return sum;
}

}  // namespace shale
