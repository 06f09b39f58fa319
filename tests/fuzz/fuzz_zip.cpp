#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shale/archives/archive_tree.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

namespace {

constexpr int kMostEntered = 20'000;

}  // namespace

// Any bytes behind a local header are a zip archive: what its directory says lies inside of it and
// is no longer than deflate can make it, or the error is a shale::Error about the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = "PK\x03\x04" + std::string(reinterpret_cast<const char*>(data), size);
  const shale::test::FuzzedFile file(bytes);
  const std::string path = file.files()[0].path();
  int entered = 0;
  shale::FolderRequest request;
  request.root = path;
  request.scratch_folder = "/tmp";
  request.memory_bytes = 1 << 20;
  request.stop_if_asked = [&entered] {
    if (++entered > kMostEntered) throw shale::Error(shale::Code::interrupted, "enough");
  };
  try {
    const auto tree = shale::open_archive_tree(request, {{path}, ""});
    tree->walk("", {.keep_hidden = true, .wants_size = {}}, [&](const shale::WalkedFile& member) {
      request.stop_if_asked();
      const shale::ArchivedFile place = tree->place_of(member.offset);
      const std::uint64_t stored = place.packed_bytes > 0 ? place.packed_bytes : member.bytes;
      if (place.offset > bytes.size() || stored > bytes.size() - place.offset) __builtin_trap();
      if (place.packed_bytes > 0 && member.bytes / 1033 > place.packed_bytes) __builtin_trap();
      std::vector<std::byte> head(std::min<std::uint64_t>(member.bytes, 64));
      if (shale::read_beginning(place, head) > head.size()) __builtin_trap();
    });
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
