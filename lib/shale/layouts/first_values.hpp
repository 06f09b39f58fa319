#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/view_bytes.hpp"
#include "shale/format/key_map.hpp"
#include "shale/io/input_file.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/layouts/value_packing.hpp"

// What the first values of a map tell. Damage tells nothing: whoever walks the map says more of it.

namespace shale::layouts {

/// Opens the map of a file, which outlives what is made with it. Errors: those of
/// Format::open_map.
using MapOpener = std::function<std::shared_ptr<const KeyMap>()>;

/// The first value that does not describe the file, with a view of it. Errors: Code::io.
class FirstValue {
 public:
  FirstValue(const InputFile& file, const MapOpener& open);
  /// False also where there is none, or it is damaged.
  [[nodiscard]] bool looks(bool (*like)(const ViewBytes&, std::uint64_t, std::uint64_t)) const {
    return entry_ && like(view_, entry_->value_offset, entry_->value_bytes);
  }
  [[nodiscard]] bool is_there() const { return entry_.has_value(); }
  /// Of one that is there.
  [[nodiscard]] StoredValue value() const {
    return {view_, entry_->value_offset, entry_->value_bytes, file_.path()};
  }
  [[nodiscard]] std::string_view key() const { return as_text(entry_->key); }
  /// Of at most so many bytes; nullopt: there is none.
  [[nodiscard]] std::optional<std::string_view> text(std::uint64_t most) const;

 private:
  const InputFile& file_;
  WindowReader window_{file_, 4096};
  ViewBytes view_ = window_.views();
  std::optional<KeyMapEntry> entry_;
};

/// How the values of a file are packed, by the first one that does not describe it: a file that is
/// damaged on the way to it has other contents. Errors: Code::io.
[[nodiscard]] ValuePacking packing_of_values(const InputFile& file, const MapOpener& open);

/// What the first values look like, and what can be made of them; empty: nothing is known of it.
[[nodiscard]] std::string note_of_kinds(const InputFile& file, const MapOpener& open);

/// Of a file whose first value is JSON but for something in it, such as the NaN that Python writes;
/// else empty.
[[nodiscard]] std::string note_of_json(const InputFile& file, const MapOpener& open);

}  // namespace shale::layouts
