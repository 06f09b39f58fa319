#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

namespace shale {

/// What is wrong with a member of an archive, by its name. Offsets of stored members count from
/// their first byte.
[[nodiscard]] Error in_member(const Error& error, const ZipMember& member, const std::string& path);

/// The bytes of one member, from its first on. Borrows the file. Memory: 220 KiB if it is deflated.
class MemberBytes {
 public:
  MemberBytes(const InputFile& file, const ZipMember& member);

  /// Fills `into`. With the member's last byte, all of them are proved by checksum and sizes.
  /// Errors: Code::damaged; Code::io; Code::bug for more bytes than are left.
  void read(std::span<std::byte> into);

 private:
  template <class... Args>
  [[nodiscard]] Error damaged(fmt::format_string<Args...> format, Args&&... args) const;
  void inflate(std::span<std::byte> into);
  [[nodiscard]] std::size_t inflate_some(std::span<std::byte> into);
  void prove();
  void prove_end();

  const InputFile* file_;
  ZipMember member_;
  std::optional<Inflater> inflater_;
  std::vector<std::byte> buffer_;
  Bytes piece_;              // what is not taken yet of buffer_
  std::uint64_t taken_ = 0;  // compressed bytes that the inflater has
  std::uint64_t given_ = 0;
  std::uint32_t crc32_ = 0;
  bool has_ended_ = false, has_stalled_ = false;
};

}  // namespace shale
