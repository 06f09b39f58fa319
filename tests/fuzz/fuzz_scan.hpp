#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"

namespace shale::test {

/// A file of these bytes, in memory.
class FuzzedFile {
 public:
  explicit FuzzedFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 ||
        ::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      __builtin_trap();
    files_.emplace_back("/proc/self/fd/" + std::to_string(descriptor_));
  }
  ~FuzzedFile() { ::close(descriptor_); }
  FuzzedFile(const FuzzedFile&) = delete;
  FuzzedFile& operator=(const FuzzedFile&) = delete;
  [[nodiscard]] const std::vector<InputFile>& files() const { return files_; }

 private:
  int descriptor_;
  std::vector<InputFile> files_;
};

inline void need_inside(const FieldPlace& place, std::uint64_t size) {
  const bool is_inside =
      place.offset == kMissing || (place.offset <= size && place.length <= size - place.offset);
  if (!is_inside) __builtin_trap();
}

/// Scans bytes as a file of another tool, as the survey says. Traps if a row points outside of
/// them.
inline void scan_as_surveyed(const Format& format, std::string_view bytes) {
  const FuzzedFile file(bytes);
  Survey survey;
  try {
    survey = format.survey(file.files()[0], Dialect::plain, {});
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::bug) __builtin_trap();
    return;
  }
  const auto check_row = [&](const IndexRow& row) {
    need_inside(row.key, bytes.size());
    for (const IndexCell& cell : row.cells) need_inside(cell.place, bytes.size());
    for (const FieldPlace& element : row.elements) need_inside(element, bytes.size());
  };
  for (const bool reads_payload : {false, true}) {
    format.scan({file.files(), survey.schema, survey.layout, reads_payload},
                OptionSet(format.options), check_row, [](const Finding&) {});
  }
}

/// Scans bytes as a shard of a field of bytes or lists, and a label, with and without payload.
/// Traps if a row points outside of them.
inline void scan_as_shard(const Format& format, std::string_view bytes, Kind kind = Kind::bytes) {
  const FuzzedFile file(bytes);
  Schema schema;
  schema.fields = {{.name = kind == Kind::list ? "frames" : "image", .kind = kind},
                   {.name = "label", .kind = Kind::integer}};
  const OptionSet options(format.options);
  const ShardLayout layout = format.layout(schema, options);
  const auto check_row = [&](const IndexRow& row) {
    need_inside(row.cells.at(0).place, bytes.size());
    for (const FieldPlace& element : row.elements) need_inside(element, bytes.size());
  };
  for (const bool reads_payload : {false, true}) {
    format.scan({file.files(), schema, layout, reads_payload}, options, check_row,
                [](const Finding&) {});
  }
}

}  // namespace shale::test
