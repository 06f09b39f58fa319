#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/format/archive_file.hpp"
#include "shale/wire/tar_reader.hpp"

#include "tests/fuzz/fuzz_archive.hpp"

// Any bytes are a tar archive: what its members say lies inside of it, or the error is a
// shale::Error about the file; the same for the folder that it is.
extern "C" int fuzz_tar(const std::uint8_t* data, std::size_t size) {
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

  shale::test::walk_archive(bytes, [size](shale::FileTree&, const shale::WalkedFile& member) {
    if (member.offset > size || member.bytes > size - member.offset) __builtin_trap();
  });
  return 0;
}
