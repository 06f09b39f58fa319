#include "shale/verify/compared_entry.hpp"

#include "shale/base/bytes.hpp"

namespace shale {

// The key so that entries sort by it whatever follows, and whatever bytes it has: NUL is written
// NUL 1, the end NUL NUL.
std::string entry_of(std::string_view key, std::uint64_t first, std::uint64_t second) {
  std::string entry;
  for (const char c : key) {
    entry += c;
    if (c == '\0') entry += '\1';
  }
  entry.append(2, '\0');
  entry.append(as_text(bytes_of(first))).append(as_text(bytes_of(second)));
  return entry;
}

std::string ComparedEntry::key() const {
  std::string key;
  for (std::size_t i = 0; i + 2 < sort_key.size(); ++i) {
    key += sort_key[i];
    if (sort_key[i] == '\0') ++i;
  }
  return key;
}

std::optional<ComparedEntry> next_entry(ExternalSorter& list) {
  const std::optional<std::string_view> text = list.next();
  if (!text) return std::nullopt;
  // The end of the key is the first NUL that is not followed by 1.
  std::size_t end = text->find('\0');
  while ((*text)[end + 1] != '\0') end = text->find('\0', end + 2);
  end += 2;
  ByteReader numbers(as_bytes(text->substr(end, 16)));
  ComparedEntry entry{std::string(text->substr(0, end)), 0, 0, std::string(text->substr(end + 16))};
  entry.first = numbers.read_u64();
  entry.second = numbers.read_u64();
  return entry;
}

}  // namespace shale
