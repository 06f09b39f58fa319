#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_archive.hpp"

// Any bytes behind a local header are a zip archive: what its directory says lies inside of it and
// is no longer than deflate can make it, or the error is a shale::Error about the file.
extern "C" int fuzz_zip(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = "PK\x03\x04" + std::string(reinterpret_cast<const char*>(data), size);
  const auto check = [&](shale::FileTree& tree, const shale::WalkedFile& member) {
    const shale::ArchivedFile place = tree.place_of(member.offset);
    const std::uint64_t stored = place.packed_bytes > 0 ? place.packed_bytes : member.bytes;
    if (place.offset > bytes.size() || stored > bytes.size() - place.offset) __builtin_trap();
    if (place.packed_bytes > 0 && member.bytes / 1033 > place.packed_bytes) __builtin_trap();
    std::vector<std::byte> head(std::min<std::uint64_t>(member.bytes, 64));
    if (shale::read_beginning(place, head) > head.size()) __builtin_trap();
    if (!tree.damage_of(member.offset).empty() && member.bytes > 0) __builtin_trap();
  };
  shale::test::walk_archive(bytes, check);
  shale::test::walk_archive(bytes, check, shale::OnDamage::leave_out);
  return 0;
}
