#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/archives/archive_tree.hpp"
#include "shale/format/archive_file.hpp"
#include "shale/wire/tar_reader.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

namespace {

// Without links, so that it ends: of a hostile set of links a walk may be as long as 2 to the 40th.
constexpr int kMostEntered = 200;

}  // namespace

// Any bytes are a tar archive: what its members say lies inside of it, or the error is a
// shale::Error about the file; the same for the folder that it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    shale::TarReader reader(0, size, "x");
    while (reader.wanted() > 0) {
      if (reader.offset() > size || reader.wanted() > size - reader.offset()) __builtin_trap();
      const auto member =
          reader.take(shale::as_bytes(bytes).subspan(reader.offset(), reader.wanted()));
      if (member && (member->offset > size || member->bytes > size - member->offset))
        __builtin_trap();
    }
    reader.finish();
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::bug || error.file() != "x") __builtin_trap();
  }

  const shale::test::FuzzedFile file(bytes);
  const std::string path = file.files()[0].path();
  int entered = 0;
  shale::FolderRequest request;
  request.root = path;
  request.scratch_folder = "/tmp";
  request.memory_bytes = 1 << 20;
  request.stop_if_asked = [&entered] {
    if (++entered > kMostEntered * 100) throw shale::Error(shale::Code::interrupted, "enough");
  };
  try {
    const auto tree = shale::open_archive_tree(request, {{path}, ""});
    tree->walk("", {.keep_hidden = true, .wants_size = {}}, [&](const shale::WalkedFile& member) {
      request.stop_if_asked();
      if (member.offset > size || member.bytes > size - member.offset) __builtin_trap();
    });
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
