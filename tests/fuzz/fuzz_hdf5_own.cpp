#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "formats/hdf5/hdf5_format.hpp"
#include "tests/formats/hdf5/mend_checksums.hpp"

// Any bytes are a shard: the scan gives rows and findings, and ends. No fuzzer guesses checksums,
// so they are mended.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  shale::test::mend_checksums(bytes);
  const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0 || ::write(descriptor, bytes.data(), size) != static_cast<ssize_t>(size))
    __builtin_trap();
  shale::Schema schema;
  schema.fields = {{.name = "image", .kind = shale::Kind::bytes},
                   {.name = "label", .kind = shale::Kind::integer}};
  const shale::OptionSet options(shale::hdf5_format.options);
  const shale::ShardLayout layout = shale::hdf5_format.layout(schema, options);
  std::vector<shale::InputFile> files;
  files.emplace_back("/proc/self/fd/" + std::to_string(descriptor));
  for (const bool reads_payload : {false, true}) {
    const auto check_row = [&](const shale::IndexRow& row) {
      const shale::FieldPlace& image = row.cells.at(0).place;
      const bool is_inside = image.offset == shale::kMissing ||
                             (image.offset <= size && image.length <= size - image.offset);
      if (!is_inside) __builtin_trap();
    };
    shale::hdf5_format.scan({files, schema, layout, reads_payload}, options, check_row,
                            [](const shale::Finding&) {});
  }
  ::close(descriptor);
  return 0;
}
