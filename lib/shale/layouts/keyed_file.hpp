#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "shale/format/key_map.hpp"
#include "shale/io/input_file.hpp"

namespace shale::layouts {

/// A file of entries that are found by their keys, as its format opens it.
struct KeyedFile {
  const InputFile& file;
  /// One of the maps in it, by name; empty: that of the file itself. Errors: same as
  /// Format::open_map; Code::usage for a name that the file does not have.
  std::function<std::shared_ptr<const KeyMap>(std::string_view name)> open;
  /// Where in the file the key of an entry is.
  std::uint64_t (*key_offset_of)(const KeyMapEntry& entry);
  std::uint64_t longest_key;
};

}  // namespace shale::layouts
