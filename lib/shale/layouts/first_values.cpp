#include "shale/layouts/first_values.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/json_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/layouts/json_value.hpp"
#include "shale/layouts/value_kinds.hpp"
#include "shale/layouts/value_layout.hpp"

namespace shale::layouts {

FirstValue::FirstValue(const InputFile& file, const MapOpener& open) : file_(file) {
  try {
    const auto map = open();
    const auto cursor = map->cursor();
    for (bool is_there = cursor->first(); is_there; is_there = cursor->next()) {
      entry_ = cursor->current();
      const bool is_value = entry_ && !entry_->is_database;
      if (is_value && !describes_file(as_text(entry_->key), value())) return;
      entry_.reset();
      if (!is_value) return;
    }
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
  }
}

std::optional<std::string_view> FirstValue::text(std::uint64_t most) const {
  if (!entry_ || entry_->value_bytes == 0 || entry_->value_bytes > most) return std::nullopt;
  return as_text(view_(entry_->value_offset, entry_->value_bytes));
}

ValuePacking packing_of_values(const InputFile& file, const MapOpener& open) {
  try {
    const FirstValue first(file, open);
    if (!first.is_there()) return {};
    const StoredValue value = first.value();
    return packing_of(value.view, value.begin, value.length);
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return {};
  }
}

std::string note_of_kinds(const InputFile& file, const MapOpener& open) {
  ValueKinds kinds;
  try {
    WindowReader window(file, ValueKinds::kHeadBytes);
    const ViewBytes view = window.views();
    const auto map = open();
    const auto cursor = map->cursor();
    std::uint64_t left = ValueKinds::kMost;
    for (bool is_there = cursor->first(); is_there && left > 0; is_there = cursor->next(), --left) {
      const std::optional<KeyMapEntry> entry = cursor->current();
      if (!entry || entry->is_database) return {};
      const std::uint64_t bytes = std::min(entry->value_bytes, ValueKinds::kHeadBytes);
      kinds.add(as_text(entry->key), bytes == 0 ? "" : as_text(view(entry->value_offset, bytes)),
                entry->value_bytes);
    }
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return {};
  }
  return kinds.note(file.path());
}

std::string note_of_json(const InputFile& file, const MapOpener& open) {
  constexpr std::uint64_t kMostBytes = 8 << 20;
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  try {
    const FirstValue first(file, open);
    const std::optional<std::string_view> value = first.text(kMostBytes);
    if (!value) return {};
    std::string_view body = trimmed(*value);
    if (body.starts_with(kMark)) body = trimmed(body.substr(kMark.size()));
    const bool is_closed = body.ends_with(body.starts_with('[') ? ']' : '}');
    if (!begins_like_json(body) || !is_closed) return {};
    const std::optional<std::string> fault = json_fault(*value);
    if (!fault && parse_json(*value)) return {};
    return fmt::format("read as plain entries; sample '{}': the value begins like JSON, but {}",
                       printable(first.key()),
                       fault.value_or("it is nested too deep, or has too many values"));
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return {};
  }
}

}  // namespace shale::layouts
