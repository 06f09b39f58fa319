#include <cstddef>
#include <cstdint>
#include <memory>

#include "shale/base/error.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

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
extern "C" int fuzz_lmdb_cursor(const std::uint8_t* data, std::size_t size) {
  const shale::test::FuzzedFile file({reinterpret_cast<const char*>(data), size});
  expect_error_or_end([&] {
    const auto map =
        shale::open_lmdb_map(std::make_shared<const shale::InputFile>(file.files()[0].path()));
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
  return 0;
}
