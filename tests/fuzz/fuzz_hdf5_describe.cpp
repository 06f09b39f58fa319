#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_steps.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

// Any bytes are what a child whose memory is corrupt sends: u16 length and message, repeated.
extern "C" int fuzz_hdf5_describe(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const shale::test::FuzzedFile fuzzed(bytes);
  const shale::InputFile& file = fuzzed.files()[0];
  try {
    shale::Hdf5DescriptionReader reader(file.size());
    while (bytes.size() >= 2) {
      const std::size_t length = static_cast<std::uint8_t>(bytes[0]) +
                                 256 * std::size_t{static_cast<std::uint8_t>(bytes[1])};
      bytes.remove_prefix(2);
      reader.take(shale::as_bytes(bytes.substr(0, length)));
      bytes.remove_prefix(std::min(length, bytes.size()));
    }
    const shale::Hdf5Description description = reader.finish();
    if (shale::has_hdf5_steps(description))
      shale::check_steps_lie_in_place(shale::find_hdf5_steps(description, file), file);
    (void)shale::find_hdf5_columns(description, file);
  } catch (const shale::Error& error) {
    const bool is_about_bytes = error.code() == shale::Code::damaged ||
                                error.code() == shale::Code::unsupported ||
                                error.code() == shale::Code::limit;
    if (!is_about_bytes) __builtin_trap();
  }
  return 0;
}
