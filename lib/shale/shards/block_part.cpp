#include "shale/shards/block_part.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/output_file.hpp"

namespace shale {
namespace {

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  return is_all ? std::optional(number) : std::nullopt;
}

Error not_a_part(std::string_view text) {
  return Error(Code::usage, "--sample '{}' is not a part", printable(text))
      .hint("pass 5% or 10GiB, of which each day reads another part, or N/T for part N of T");
}

// Where a part begins: the first ones have a block more, if they are not all of one size.
std::uint64_t first_of(std::uint64_t number, std::uint64_t count, std::uint64_t blocks) {
  const std::uint64_t whole = blocks / count, rest = blocks % count;
  return number * whole + std::min(number, rest);
}

}  // namespace

std::uint64_t number_of_day() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::days>(now).count());
}

BlockPart parse_block_part(std::string_view text, std::uint64_t day) {
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto number = number_in<std::uint64_t>(text.substr(0, slash));
    const auto count = number_in<std::uint64_t>(text.substr(slash + 1));
    if (!number || !count || *count == 0) throw not_a_part(text);
    return {.number = *number, .count = *count};
  }
  if (text.ends_with('%')) {
    const auto share = number_in<double>(text.substr(0, text.size() - 1));
    constexpr double kLeast = 1e-6, kRounding = 1e-9;
    if (!share || !(*share >= kLeast) || *share > 100) throw not_a_part(text);
    return {.number = day,
            .count = static_cast<std::uint64_t>(std::ceil(100 / *share - kRounding)),
            .is_of_day = true};
  }
  const std::uint64_t bytes = parse_size(text, "--sample");
  if (bytes < kBlockBytes) {
    throw Error(Code::usage, "--sample {} is less than a block of 1 MiB", printable(text))
        .hint("pass 1MiB or more");
  }
  return {.number = day, .bytes = bytes, .is_of_day = true};
}

BlocksOfPart blocks_of_part(const BlockPart& part, std::uint64_t blocks) {
  const std::uint64_t at_once = std::max<std::uint64_t>(part.bytes / kBlockBytes, 1);
  const std::uint64_t count =
      part.count > 0 ? part.count : std::max<std::uint64_t>((blocks + at_once - 1) / at_once, 1);
  const std::uint64_t number = part.number % count;
  return {.first = first_of(number, count, blocks),
          .last = first_of(number + 1, count, blocks),
          .number = number,
          .count = count};
}

}  // namespace shale
