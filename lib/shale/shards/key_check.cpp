#include "shale/shards/key_check.hpp"

#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/layout.hpp"

namespace shale {

Error key_is_not_unique(std::string_view key) {
  return Error(Code::schema, "the key is not unique: two samples have it")
      .for_sample(key)
      .hint("keys name samples; rename one of the two in the source");
}

KeyCheck::KeyCheck(const std::string& work_folder, std::uint64_t memory_bytes)
    : keys_(work_folder, memory_bytes) {}

// An entry is u64 hash (big-endian), then the key: equal keys come one after the other.
void KeyCheck::add(std::uint64_t hash, std::string_view key) {
  entry_.clear();
  append_big_endian(entry_, hash);
  keys_.add(entry_.append(key));
}

void KeyCheck::finish() {
  keys_.finish();
  std::string previous;
  while (const std::optional<std::string_view> entry = keys_.next()) {
    if (*entry == previous) throw key_is_not_unique(entry->substr(sizeof(std::uint64_t)));
    previous = *entry;
  }
}

NameCheck::NameCheck(const std::string& work_folder, std::uint64_t memory_bytes)
    : names_(work_folder, memory_bytes) {}

// An entry is the name, NUL, the key: no name holds a NUL.
void NameCheck::add(std::string_view name, std::string_view key) {
  entry_.assign(name);
  entry_ += '\0';
  names_.add(entry_.append(key));
}

void NameCheck::finish(const Format& format) {
  names_.finish();
  std::string previous;
  while (const std::optional<std::string_view> entry = names_.next()) {
    const std::size_t end = entry->find('\0');
    const std::string_view name = entry->substr(0, end), key = entry->substr(end + 1);
    const bool is_same = !previous.empty() && std::string_view(previous).starts_with(name) &&
                         previous[name.size()] == '\0';
    if (is_same) {
      Error error(Code::schema, "its readers would know this sample and '{}' by one name, '{}'",
                  printable(std::string_view(previous).substr(end + 1)), printable(name));
      error.for_sample(key);
      if (!format.layouts.empty())
        error.hint(fmt::format("pass --layout {}, or rename one of the two in the source",
                               format.layouts.front()->name));
      throw std::move(error);
    }
    previous = *entry;
  }
}

}  // namespace shale
