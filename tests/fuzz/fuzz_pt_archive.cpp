#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"

#include "formats/pt/pt_archive.hpp"

// Any bytes are an archive of torch.save: no byte outside of them is asked for, and no tensor that
// can be read begins outside.
extern "C" int fuzz_pt_archive(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > size || length > size - offset) __builtin_trap();
    return bytes.subspan(offset, length);
  };
  try {
    const std::vector<shale::ZipMember> members = shale::read_zip_directory(size, view, "fuzz");
    if (!shale::is_pt_archive(members)) return 0;
    for (const shale::StoredTensor& tensor :
         shale::read_pt_archive(members, view, "fuzz").tensors) {
      if (tensor.obstacle.empty() && tensor.offset > size) __builtin_trap();
    }
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
