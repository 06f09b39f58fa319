#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/hdf5_metadata.hpp"

namespace {

// Metadata has checksums, which no fuzzer guesses: superblock and object headers get the ones that
// their bytes deserve.
void mend_checksums(std::string& bytes) {
  const auto mend = [&](std::size_t begin, std::uint64_t length) {
    if (length < 4 || length > bytes.size() - begin) return;
    const std::string_view covered = std::string_view(bytes).substr(begin, length - 4);
    const std::uint32_t sum = shale::lookup3(shale::as_bytes(covered));
    std::memcpy(bytes.data() + begin + length - 4, &sum, sizeof(sum));
  };
  mend(0, shale::kSuperblockBytes);
  for (std::size_t at = bytes.find("OHDR"); at != std::string::npos;
       at = bytes.find("OHDR", at + 4)) {
    if (bytes.size() - at < 8) return;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    if ((byte(5) & 3) == 0) mend(at, 7U + byte(6) + 4);
    if ((byte(5) & 3) == 1) mend(at, 8U + (byte(6) | byte(7) << 8U) + 4);
  }
}

}  // namespace

// Any bytes are a shard: the scan gives rows and findings, and ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  mend_checksums(bytes);
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
