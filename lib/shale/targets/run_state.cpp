#include "shale/targets/run_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "shale/base/error.hpp"
#include "shale/manifest/naming.hpp"

// NAME=VALUE, separated by blanks; label, where there is one; of a stream stream=BYTES:HASH; with
// image work taken=SAMPLES:CONTENT:ORDERED:KEYS; of casts unfit=COUNT:NUMBER:KEY:FIRST, the last
// two in hexadecimal digits; of images "images=yes", type:NAME, odd:NAME, changed:NAME,
// shorter:PIXELS, longer:PIXELS and aspect:WIDTH:HEIGHT.

namespace shale {
namespace {

constexpr std::string_view kType = "type:", kOdd = "odd:", kChanged = "changed:", kTaken = "taken",
                           kUnfit = "unfit",
                           kShorter = "shorter:", kLonger = "longer:", kAspect = "aspect:";

Error damaged_state() {
  return Error(Code::damaged, "the state of the unfinished run cannot be read")
      .hint("pass --overwrite to discard that run and start again");
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) throw damaged_state();
  return number;
}

Hash128 hash_in(std::string_view text) {
  const std::optional<Hash128> hash = Hash128::from_hex(text);
  if (!hash) throw damaged_state();
  return *hash;
}

// BYTES:HASH
DurableRows rows_in(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw damaged_state();
  return {.bytes = number_in(text.substr(0, colon)), .hash = hash_in(text.substr(colon + 1))};
}

std::array<std::string_view, 4> split_in_four(std::string_view text) {
  std::array<std::string_view, 4> parts;
  for (std::string_view& part : parts) {
    part = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

// SAMPLES:CONTENT:ORDERED:KEYS
DatasetDigest digest_in(std::string_view text) {
  const auto parts = split_in_four(text);
  return {number_in(parts[0]), hash_in(parts[1]), hash_in(parts[2]), hash_in(parts[3])};
}

std::string hex_of(std::string_view text) {
  std::string hex;
  for (const char byte : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string from_hex(std::string_view hex) {
  std::string text;
  for (; !hex.empty(); hex.remove_prefix(2)) {
    unsigned byte = 0;
    const char* const end = hex.data() + std::min<std::size_t>(2, hex.size());
    const auto parsed = std::from_chars(hex.data(), end, byte, 16);
    if (hex.size() < 2 || parsed.ec != std::errc() || parsed.ptr != end) throw damaged_state();
    text += static_cast<char>(byte);
  }
  return text;
}

// COUNT:NUMBER:KEY:FIRST
UnfitCount unfit_in(std::string_view text) {
  const auto parts = split_in_four(text);
  return {.count = number_in(parts[0]),
          .number = number_in(parts[1]),
          .key = from_hex(parts[2]),
          .first = from_hex(parts[3])};
}

std::string text_of(const DurableRows& rows) {
  return fmt::format("{}:{}", rows.bytes, rows.hash.hex());
}

void take_image_entry(ImageReport& images, std::string_view name, std::string_view value) {
  const auto rest_of = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!name.starts_with(prefix)) return std::nullopt;
    return name.substr(prefix.size());
  };
  if (const auto type = rest_of(kType)) images.types[std::string(*type)] = number_in(value);
  if (const auto what = rest_of(kOdd)) images.odd[std::string(*what)] = number_in(value);
  if (const auto what = rest_of(kChanged)) images.changed[std::string(*what)] = number_in(value);
  if (const auto side = rest_of(kShorter))
    images.sizes.shorter[number_in(*side)] = number_in(value);
  if (const auto side = rest_of(kLonger)) images.sizes.longer[number_in(*side)] = number_in(value);
  if (const auto aspect = rest_of(kAspect)) {
    const std::size_t colon = std::min(aspect->find(':'), aspect->size());
    const std::string_view height = aspect->substr(std::min(colon + 1, aspect->size()));
    images.sizes.aspects[{number_in(aspect->substr(0, colon)), number_in(height)}] =
        number_in(value);
  }
}

void take_entry(RunState& state, std::string_view name, std::string_view value) {
  if (name == "samples") state.samples = number_in(value);
  if (name == "bad") state.bad = number_in(value);
  if (name == "skipped") state.skipped = number_in(value);
  if (name == "read") state.read.samples = number_in(value);
  if (name == "content") state.read.content = hash_in(value);
  if (name == "ordered") state.read.ordered = hash_in(value);
  if (name == "keys") state.read.keys = hash_in(value);
  if (name == kSkippedName) state.skipped_list = rows_in(value);
  if (name == kImagesName) state.images_list = rows_in(value);
  if (name == "stream") {
    const DurableRows point = rows_in(value);
    state.stream = {.bytes = point.bytes, .hash = point.hash};
  }
  if (name == "label") state.label = static_cast<std::int64_t>(number_in(value));
  if (name == kTaken) state.taken = digest_in(value);
  if (name == kUnfit) state.unfit = unfit_in(value);
  if (name == "images") state.images.emplace();
  if (state.images) take_image_entry(*state.images, name, value);
}

}  // namespace

std::string state_line(const RunState& state) {
  std::string line = fmt::format(
      "samples={} bad={} skipped={} read={} content={} ordered={} keys={} {}={} {}={}",
      state.samples, state.bad, state.skipped, state.read.samples, state.read.content.hex(),
      state.read.ordered.hex(), state.read.keys.hex(), kSkippedName, text_of(state.skipped_list),
      kImagesName, text_of(state.images_list));
  if (state.label) line += fmt::format(" label={}", static_cast<std::uint64_t>(*state.label));
  if (const auto& taken = state.taken) {
    line += fmt::format(" {}={}:{}:{}:{}", kTaken, taken->samples, taken->content.hex(),
                        taken->ordered.hex(), taken->keys.hex());
  }
  if (const UnfitCount& unfit = state.unfit; unfit.count > 0) {
    line += fmt::format(" {}={}:{}:{}:{}", kUnfit, unfit.count, unfit.number, hex_of(unfit.key),
                        hex_of(unfit.first));
  }
  if (state.stream)
    line += fmt::format(" stream={}:{}", state.stream->bytes, state.stream->hash.hex());
  if (!state.images) return line;
  line += " images=yes";
  for (const auto& [name, count] : state.images->types)
    line += fmt::format(" {}{}={}", kType, name, count);
  for (const auto& [name, count] : state.images->odd)
    line += fmt::format(" {}{}={}", kOdd, name, count);
  for (const auto& [name, count] : state.images->changed)
    line += fmt::format(" {}{}={}", kChanged, name, count);
  const ImageSizes& sizes = state.images->sizes;
  for (const auto& [side, count] : sizes.shorter)
    line += fmt::format(" {}{}={}", kShorter, side, count);
  for (const auto& [side, count] : sizes.longer)
    line += fmt::format(" {}{}={}", kLonger, side, count);
  for (const auto& [aspect, count] : sizes.aspects)
    line += fmt::format(" {}{}:{}={}", kAspect, aspect[0], aspect[1], count);
  return line;
}

RunState state_from_line(std::string_view line) {
  RunState state;
  while (!line.empty()) {
    const std::string_view entry = line.substr(0, line.find(' '));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) throw damaged_state();
    take_entry(state, entry.substr(0, equals), entry.substr(equals + 1));
    line.remove_prefix(std::min(entry.size() + 1, line.size()));
  }
  return state;
}

}  // namespace shale
