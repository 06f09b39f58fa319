#include "shale/report/page_seal.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/io/input_file.hpp"

namespace shale {
namespace {

constexpr std::string_view kSealBegin = "<!-- shale report, xxh3-128 of all before this line: ";
constexpr std::string_view kSealEnd = " -->\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kSealBytes = kSealBegin.size() + kHashDigits + kSealEnd.size();

std::optional<Hash128> hash_in_seal(std::string_view seal) {
  if (!seal.starts_with(kSealBegin) || !seal.ends_with(kSealEnd)) return std::nullopt;
  return Hash128::from_hex(seal.substr(kSealBegin.size(), kHashDigits));
}

Hash128 hash_of_front(const InputFile& file, std::uint64_t bytes) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  Hasher128 hasher;
  std::vector<std::byte> read;
  for (std::uint64_t at = 0; at < bytes; at += read.size()) {
    read.resize(std::min(kAtOnce, bytes - at));
    file.read_exact(at, read);
    hasher.update(read);
  }
  return hasher.digest();
}

}  // namespace

std::string sealed(std::string page) {
  page += fmt::format("{}{}{}", kSealBegin, xxh3_128(as_bytes(page)).hex(), kSealEnd);
  return page;
}

PageState page_state(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> read(std::min<std::uint64_t>(kPageBegin.size(), file.size()));
  file.read_exact(0, read);
  if (as_text(read) != kPageBegin) return PageState::foreign;
  if (file.size() < kPageBegin.size() + kSealBytes) return PageState::begun;
  read.resize(kSealBytes);
  file.read_exact(file.size() - kSealBytes, read);
  const std::optional<Hash128> expected = hash_in_seal(as_text(read));
  if (!expected) return PageState::begun;
  return hash_of_front(file, file.size() - kSealBytes) == *expected ? PageState::whole
                                                                    : PageState::changed;
}

}  // namespace shale
