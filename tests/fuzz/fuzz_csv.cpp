#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shale/manifest/csv.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

// Any bytes are a CSV file: its rows are numbered one by one and hold no more than the file, or the
// error is about its content.
extern "C" int fuzz_csv(const std::uint8_t* data, std::size_t size) {
  const shale::test::FuzzedFile file({reinterpret_cast<const char*>(data), size});
  std::uint64_t rows = 0, bytes = 0;
  try {
    shale::read_csv(file.files()[0].path(), [&](std::uint64_t row, shale::CsvRow fields) {
      if (row != ++rows) __builtin_trap();
      for (const std::string_view field : fields) bytes += field.size();
      if (bytes > size) __builtin_trap();
    });
  } catch (const shale::Error& error) {
    if (error.code() != shale::Code::bad_content) __builtin_trap();
  }
  return 0;
}
