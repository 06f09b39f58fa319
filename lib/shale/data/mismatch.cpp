#include "shale/data/mismatch.hpp"

#include "shale/base/printable.hpp"

namespace shale {
namespace {

Mismatch hash_mismatch(std::string message, const Hash128& found, const Hash128& expected) {
  return {std::move(message), "xxh3-128 " + found.hex(), expected.hex()};
}

}  // namespace

Error Mismatch::error() const {
  return Error(Code::damaged, "{}: found {}, expected {}", message, found, expected);
}

void Mismatch::describe_in(Finding& finding) const {
  finding.message = message;
  finding.found = found;
  finding.expected = expected;
}

Mismatch checksum_mismatch(std::uint64_t bytes, std::uint32_t found, std::uint32_t expected) {
  return {fmt::format("checksum mismatch in {} bytes", bytes),
          fmt::format("crc32c 0x{:08x}", found), fmt::format("0x{:08x}", expected)};
}

Mismatch file_hash_mismatch(const Hash128& found, const Hash128& expected) {
  return hash_mismatch("file hash mismatch", found, expected);
}

Mismatch block_hash_mismatch(const Hash128& found, const Hash128& expected) {
  return hash_mismatch("block hash mismatch", found, expected);
}

Mismatch block_list_mismatch(std::string_view file, const Hash128& found, const Hash128& expected) {
  return hash_mismatch(fmt::format("block list does not match the hash of {}", printable(file)),
                       found, expected);
}

Mismatch file_size_mismatch(std::uint64_t found, std::uint64_t expected) {
  return {"file size mismatch", fmt::format("{} bytes", found), fmt::format("{}", expected)};
}

}  // namespace shale
