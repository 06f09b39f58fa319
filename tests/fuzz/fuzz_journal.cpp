#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/manifest/manifest_json.hpp"

// Any line of a journal is a shard, which gives a line that is the same shard, or is damaged.
extern "C" int fuzz_journal(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    try {
      const shale::ManifestShard shard = shale::parse_shard_line(line);
      (void)shale::parse_shard_line(shale::shard_line(shard));
    } catch (const shale::Error& error) {
      if (error.code() != shale::Code::damaged && error.code() != shale::Code::limit)
        __builtin_trap();
    }
  }
  return 0;
}
