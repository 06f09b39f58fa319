#include "shale/labels/hashed_rows.hpp"

#include <algorithm>
#include <array>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"

// An entry: xxh3-128 of the key, u64 first, u64 second, all big-endian; sorted bytewise.

namespace shale {
namespace {

constexpr std::uint64_t kHashOfKeyBytes = 16, kEntryBytes = 32, kEntriesAtOnce = 32;

using Block = std::array<std::byte, kEntryBytes * kEntriesAtOnce>;

std::string hash_text(std::string_view key) {
  const std::array<std::byte, kHashOfKeyBytes> hash = xxh3_128(as_bytes(key)).bytes();
  return std::string(as_text(hash));
}

}  // namespace

HashedRows::HashedRows(const std::string& scratch_folder, std::uint64_t memory_bytes)
    : sorter_(std::in_place, scratch_folder, memory_bytes), file_(scratch_folder) {}

void HashedRows::add(std::string_view key, std::uint64_t first, std::uint64_t second) {
  std::string entry = hash_text(key);
  append_big_endian(entry, first);
  append_big_endian(entry, second);
  sorter_->add(entry);
}

void HashedRows::finish(const std::function<void()>& stop_if_asked) {
  sorter_->finish();
  while (const std::optional<std::string_view> entry = sorter_->next()) {
    stop_if_asked();
    file_.append(as_bytes(*entry));
    ++count_;
  }
  sorter_.reset();
}

std::vector<HashedRows::Numbers> HashedRows::find(std::string_view key) {
  const std::string hash = hash_text(key);
  Block block{};
  // Those before `low` are less, `high` and those behind it are not.
  std::uint64_t low = 0, high = count_;
  while (high - low > kEntriesAtOnce / 2) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::span<std::byte> one = std::span(block).first(kEntryBytes);
    file_.read_exact(middle * kEntryBytes, one);
    (as_text(one.first(kHashOfKeyBytes)) < hash ? low : high) = middle;
  }
  std::vector<Numbers> found;
  while (low < count_) {
    const std::uint64_t entries = std::min(kEntriesAtOnce, count_ - low);
    file_.read_exact(low * kEntryBytes, std::span(block).first(entries * kEntryBytes));
    for (std::uint64_t i = 0; i < entries; ++i) {
      const std::string_view entry =
          as_text(std::span(block).subspan(i * kEntryBytes, kEntryBytes));
      const std::string_view its_hash = entry.substr(0, kHashOfKeyBytes);
      if (its_hash > hash) return found;
      if (its_hash == hash)
        found.emplace_back(read_big_endian(entry.substr(kHashOfKeyBytes, 8)),
                           read_big_endian(entry.substr(kHashOfKeyBytes + 8)));
    }
    low += entries;
  }
  return found;
}

}  // namespace shale
