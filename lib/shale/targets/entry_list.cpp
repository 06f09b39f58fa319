#include "shale/targets/entry_list.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kHeadBytes = 4096;  // says nearly always how large an image is

}  // namespace

std::uint64_t write_entry_list(const FormatLayout& layout, const std::string& data,
                               const std::string& path) {
  OutputFile list(path, {.io = IoMode::buffered, .buffer_bytes = 1 << 16, .buffers = 1});
  const auto file = std::make_shared<const InputFile>(data);
  const auto cursor = layout.format->open_map(file)->cursor();
  std::vector<std::byte> value;
  std::uint64_t lines = 0;
  for (bool is_there = cursor->first(); is_there; is_there = cursor->next(), ++lines) {
    const KeyMapEntry entry = cursor->current().value();
    std::string line;
    for (std::uint64_t most = kHeadBytes; line.empty(); most = entry.value_bytes) {
      value.resize(std::min(most, entry.value_bytes));
      file->read_exact(entry.value_offset, value);
      line = layout.layout->entry_line(as_text(entry.key), value);
      if (!line.empty() || value.size() < entry.value_bytes) continue;
      throw Error(Code::unsupported, "the value of '{}' is not an image whose size is known",
                  printable(as_text(entry.key)))
          .at(layout.layout->entries_name);
    }
    list.append(as_bytes(line));
  }
  (void)list.finish();
  return lines;
}

}  // namespace shale
