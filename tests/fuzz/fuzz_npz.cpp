#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shale/arrays/array_file.hpp"
#include "shale/arrays/open_member.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

namespace {

// What a member can be made to give is bounded by its announced size, not by memory.
void read_all(const shale::ArrayFile& array) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::vector<std::byte> rows(4096);
  const auto stream = shale::open_member(array);
  std::uint64_t left = std::min(array.bytes(), kMost);
  while (left > 0) {
    const std::uint64_t length = std::min<std::uint64_t>(left, rows.size());
    stream->read_rows(std::span(rows).first(length));
    left -= length;
  }
}

}  // namespace

// Any bytes are an .npy or idx file, one of them in gzip, an .npz archive, or a pickle: its arrays
// lie inside of it, or of what was made of its lists, and can be read, or the error is a
// shale::Error about the file.
extern "C" int fuzz_npz(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const shale::test::FuzzedFile file(bytes);
  try {
    for (const shale::ArrayFile& array : shale::open_arrays(file.files()[0].path()).arrays) {
      const std::uint64_t all = array.file->size();
      const bool is_inside =
          array.archived.has_value() ||
          (array.data_offset <= all && array.bytes() <= all - array.data_offset &&
           (!array.member.empty() || array.bytes() == all - array.data_offset));
      if (!is_inside || array.shape.empty()) __builtin_trap();
      if (!array.is_located()) read_all(array);
    }
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
    if (error.file() != file.files()[0].path()) __builtin_trap();
  }
  return 0;
}
