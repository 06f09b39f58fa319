#include "shale/io/file_part.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "shale/io/read_errors.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {

// "/proc/self/fd/DESCRIPTOR@OFFSET+BYTES": no file of /proc has such a name.
std::string link_of_part(const NamelessFile& file, std::uint64_t offset, std::uint64_t bytes) {
  return fmt::format("{}@{}+{}", file.link(), offset, bytes);
}

std::optional<int> open_part(const std::string& path) {
  constexpr std::string_view kOpenFiles = "/proc/self/fd/";
  if (!path.starts_with(kOpenFiles) || path.find('@') == path.npos) return std::nullopt;
  const char *at = path.data() + kOpenFiles.size(), *const end = path.data() + path.size();
  std::array<std::uint64_t, 3> numbers{};
  for (std::uint64_t& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    at = next + (next == end ? 0 : 1);
  }
  const auto [descriptor, offset, bytes] = numbers;
  std::vector<std::byte> copied(bytes);
  require_all(try_read(static_cast<int>(descriptor), copied, offset, path), path, offset, bytes);
  const NamelessFile copy(NamelessFile::InMemory{path});
  write_fully(copy.descriptor(), copied, 0, path);
  return copy.duplicate();
}

}  // namespace shale
