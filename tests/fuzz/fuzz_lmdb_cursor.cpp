#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "shale/base/error.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"

namespace {

void check_entry(const std::optional<shale::KeyMapEntry>& entry, std::size_t size) {
  if (!entry) return;
  const bool is_inside =
      entry->value_offset <= size && entry->value_bytes <= size - entry->value_offset;
  if (!is_inside || (entry->value && entry->value->size() != entry->value_bytes)) __builtin_trap();
}

// Keys ascend, so a walk meets each entry once: there are no more than two bytes each would give.
void walk(const shale::KeyMap& map, std::size_t size, bool (shale::KeyCursor::*move)()) {
  const auto cursor = map.cursor();
  for (std::size_t count = 0; (cursor.get()->*move)(); ++count) {
    if (count > size) __builtin_trap();
    check_entry(cursor->current(), size);
    check_entry(map.find(cursor->current()->key), size);
  }
}

template <class Act>
void expect_error_or_end(Act act) {
  try {
    act();
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
}

}  // namespace

// Any bytes are an LMDB file: look-ups and moves give entries of it or an error, and end.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size))
    __builtin_trap();
  expect_error_or_end([&] {
    const auto map = shale::open_lmdb_map(
        std::make_shared<const shale::InputFile>("/proc/self/fd/" + std::to_string(descriptor)));
    expect_error_or_end([&] { walk(*map, size, &shale::KeyCursor::next); });
    expect_error_or_end([&] { walk(*map, size, &shale::KeyCursor::prev); });
    for (const std::string_view key : {"", "0", "00000003", "m", "\xff"}) {
      expect_error_or_end([&] {
        const auto cursor = map->cursor();
        (void)cursor->seek_range(shale::as_bytes(key));
        check_entry(cursor->current(), size);
        (void)cursor->prev();
        check_entry(cursor->current(), size);
      });
    }
  });
  ::close(descriptor);
  return 0;
}
