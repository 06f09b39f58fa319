#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "shale/format/format.hpp"

namespace shale::test {

/// Scans bytes as a shard of (image, label), with and without payload. Traps if a row points
/// outside of them.
inline void scan_as_shard(const Format& format, std::string_view bytes) {
  const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0 ||
      ::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    __builtin_trap();
  Schema schema;
  schema.fields = {{.name = "image", .kind = Kind::bytes},
                   {.name = "label", .kind = Kind::integer}};
  const OptionSet options(format.options);
  const ShardLayout layout = format.layout(schema, options);
  std::vector<InputFile> files;
  files.emplace_back("/proc/self/fd/" + std::to_string(descriptor));
  const auto check_row = [&](const IndexRow& row) {
    const FieldPlace& image = row.cells.at(0).place;
    const bool is_inside =
        image.offset == kMissing ||
        (image.offset <= bytes.size() && image.length <= bytes.size() - image.offset);
    if (!is_inside) __builtin_trap();
  };
  for (const bool reads_payload : {false, true}) {
    format.scan({files, schema, layout, reads_payload}, options, check_row, [](const Finding&) {});
  }
  ::close(descriptor);
}

}  // namespace shale::test
