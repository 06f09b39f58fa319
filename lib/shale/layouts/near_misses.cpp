#include "shale/layouts/near_misses.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/layouts/value_layout.hpp"

namespace shale::layouts {
namespace {

// How many samples fitted, and one more if it was a sample that did not.
std::uint64_t samples_until(const Error& error) {
  return error.sample() ? error.sample()->index.value_or(0) + 1 : 0;
}

}  // namespace

std::optional<std::vector<std::string_view>> meta_keys_in(const MapOpener& open) {
  try {
    const auto map = open();
    std::vector<std::string_view> found;
    std::ranges::copy_if(meta_keys(), std::back_inserter(found), [&](std::string_view key) {
      return map->find(as_bytes(key)).has_value();
    });
    return found;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;  // the survey of its entries says more
  }
}

std::string note_of(const Error& error) {
  return fmt::format(
      "read as plain entries; {}{}",
      error.sample() ? fmt::format("sample '{}': ", printable(error.sample()->key)) : "",
      error.message());
}

std::vector<std::string> notes_of(const std::vector<Error>& near_misses) {
  std::uint64_t furthest = 0;
  for (const Error& error : near_misses) furthest = std::max(furthest, samples_until(error));
  std::vector<std::string> notes;
  for (const Error& error : near_misses) {
    if (samples_until(error) < furthest) continue;
    std::string note = note_of(error);
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }
  return notes;
}

std::string note_of_unknown(const std::vector<std::string_view>& keys) {
  std::string names;
  for (std::size_t i = 0; i < keys.size(); ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == keys.size() ? " and " : ", ", keys[i]);
  return fmt::format("read as plain entries; {} {}, but no known layout has exactly {}", names,
                     keys.size() == 1 ? "describes the file" : "describe the file",
                     keys.size() == 1 ? "this entry" : "these entries");
}

}  // namespace shale::layouts
