#include "shale/manifest/plain_shard_line.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/manifest/name_json.hpp"

namespace shale {
namespace {

constexpr std::size_t kLineHexDigits = 32;

std::optional<FileFingerprint> file_state_of(std::string_view hex) {
  if (hex.size() != 3 * kLineHexDigits) return std::nullopt;
  const auto part = [&](std::size_t i) {
    return Hash128::from_hex(hex.substr(i * kLineHexDigits, kLineHexDigits));
  };
  const auto head = part(0), middle = part(1), tail = part(2);
  if (!head || !middle || !tail) return std::nullopt;
  return FileFingerprint{*head, *middle, *tail};
}

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

void append_name(std::string& line, const std::string& name) {
  if (is_plain_name(name)) {
    line.append(1, '"').append(name).append(1, '"');
  } else {
    line += name_to_json(name).dump();
  }
}

void append_file(std::string& line, const ManifestFile& file) {
  line += "{\"name\":";
  append_name(line, file.name);
  fmt::format_to(std::back_inserter(line), R"(,"bytes":{},"xxh3_128":)", file.bytes);
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

// The rest of a line. Each function takes what it names from the front and is true, or false.
class PlainLine {
 public:
  explicit PlainLine(std::string_view line) : rest_(line) {}

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  bool text(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  // Up to its quote, which goes too.
  bool name(std::string& into) {
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos || !is_plain_name(rest_.substr(0, end))) return false;
    into = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool number(std::uint64_t& into) {
    const char* const begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + rest_.size(), into);
    if (error != std::errc() || (*begin == '0' && end - begin > 1)) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - begin));
    return true;
  }
  bool hash(Hash128& into) {
    if (!text("\"")) return false;
    const auto value = Hash128::from_hex(rest_.substr(0, kLineHexDigits));
    if (!value) return false;
    into = *value;
    rest_.remove_prefix(kLineHexDigits);
    return text("\"");
  }
  bool state(std::optional<FileFingerprint>& into) {
    into = file_state_of(rest_.substr(0, 3 * kLineHexDigits));
    if (!into) return false;
    rest_.remove_prefix(3 * kLineHexDigits);
    return text("\"");
  }
  bool hash_or_null(Hash128& into) { return text("null") || hash(into); }
  bool file(ManifestFile& into) {
    return text("{\"name\":\"") && name(into.name) && is_name_of_file(into.name) &&
           text(",\"bytes\":") && number(into.bytes) && text(",\"xxh3_128\":") &&
           hash_or_null(into.hash) && text("}");
  }
  bool file_or_null(ManifestFile& into) { return text("null") || file(into); }
  bool digest_or_null(DatasetDigest& into) {
    return text("null") ||
           (text("{\"content\":") && hash(into.content) && text(",\"ordered\":") &&
            hash(into.ordered) && text(",\"keys\":") && hash_or_null(into.keys) && text("}"));
  }
  // The rest of an array, one `take` each.
  template <class Value>
  bool array(std::vector<Value>& into, bool (PlainLine::*take)(Value&)) {
    if (text("]")) return true;
    do {
      if (!(this->*take)(into.emplace_back())) return false;
    } while (text(","));
    return text("]");
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string shard_line(const ManifestShard& shard) {
  std::string line = "{\"name\":";
  append_name(line, shard.name);
  line += fmt::format(R"(,"samples":{},"payload_bytes":{},"files":[)", shard.digest.samples,
                      shard.payload_bytes);
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
  if (!shard.values.name.empty()) {
    line += ",\"values\":";
    append_file(line, shard.values);
  }
  if (shard.index.name.empty()) line += fmt::format(",\"bases\":[{}]", fmt::join(shard.bases, ","));
  if (shard.state) {
    line += fmt::format(R"(,"state":"{}{}{}")", shard.state->head.hex(), shard.state->middle.hex(),
                        shard.state->tail.hex());
  }
  return line += '}';
}

FileFingerprint parse_file_state(std::string_view hex) {
  if (const std::optional<FileFingerprint> state = file_state_of(hex)) return *state;
  throw Error(Code::damaged, "the state of a file is not 96 lower-case hex digits");
}

std::optional<ManifestShard> parse_plain_shard_line(std::string_view text) {
  PlainLine line(text);
  ManifestShard shard;
  const bool is_whole =
      line.text("{\"name\":\"") && line.name(shard.name) && line.text(",\"samples\":") &&
      line.number(shard.digest.samples) && line.text(",\"payload_bytes\":") &&
      line.number(shard.payload_bytes) && line.text(",\"files\":[") &&
      line.array(shard.files, &PlainLine::file) && line.text(",\"index\":") &&
      line.file_or_null(shard.index) && line.text(",\"blocks\":") &&
      line.file_or_null(shard.blocks) && line.text(",\"digest\":") &&
      line.digest_or_null(shard.digest) &&
      (!line.text(",\"elements\":") || line.file(shard.elements)) &&
      (!line.text(",\"values\":") || line.file(shard.values)) &&
      (!line.text(",\"bases\":[") || line.array(shard.bases, &PlainLine::number)) &&
      (!line.text(",\"state\":\"") || line.state(shard.state)) && line.text("}") &&
      line.is_at_end();
  return is_whole ? std::optional(std::move(shard)) : std::nullopt;
}

}  // namespace shale
