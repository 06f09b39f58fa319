#include "shale/folders/folder_entry.hpp"

#include "shale/base/bytes.hpp"
#include "shale/base/path_text.hpp"

// An entry, numbers big-endian:
//   u32 rank, folder, NUL, file name, NUL, u64 bytes, i64 modified_ns, i64 label, u64 offset, u8 1
//   if it has a label
// NUL is less than any byte of a name, hence "a" < "a-b" < "a/b".

namespace shale {
namespace {

constexpr std::uint64_t kEntryTrailerBytes = 34;  // NUL and what is behind it

}  // namespace

std::string folder_entry(std::uint32_t rank, std::string_view folder, const WalkedFile& file,
                         std::optional<std::int64_t> label) {
  std::string entry;
  append_big_endian(entry, rank);
  entry.append(folder).append(1, '\0').append(file.name).append(1, '\0');
  append_big_endian(entry, file.bytes);
  append_big_endian(entry, file.modified_ns);
  append_big_endian(entry, label.value_or(0));
  append_big_endian(entry, file.offset);
  return entry.append(1, label ? '\1' : '\0');
}

ListedFile parse_folder_entry(std::string_view entry) {
  const std::string_view path = entry.substr(
      sizeof(std::uint32_t), entry.size() - sizeof(std::uint32_t) - kEntryTrailerBytes);
  const std::string_view trailer = entry.substr(entry.size() - kEntryTrailerBytes + 1);
  const std::size_t folder_end = path.find('\0');
  return {.path = join_path(path.substr(0, folder_end), path.substr(folder_end + 1)),
          .bytes = read_big_endian(trailer.substr(0, 8)),
          .modified_ns = static_cast<std::int64_t>(read_big_endian(trailer.substr(8, 8))),
          .label = static_cast<std::int64_t>(read_big_endian(trailer.substr(16, 8))),
          .offset = read_big_endian(trailer.substr(24, 8)),
          .has_label = trailer.back() != '\0'};
}

}  // namespace shale
