#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/format.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/wire/msgpack_map.hpp"

namespace shale::layouts {

inline constexpr std::string_view kPlainHint =
    "pass --parse plain: each value is then one field of bytes, 'value'";

/// Learns the schema from values that are msgpack maps, as they are met one after the other.
class MapSurvey {
 public:
  /// Errors: Code::unsupported, with the sample, for a value that is not such a map, or whose
  /// fields are not those of the values before it; what the view throws.
  void add(std::string_view key, const StoredValue& value);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// `where`: the file, for errors. Errors: as add.
  [[nodiscard]] Survey survey(std::string_view where) &&;

 private:
  static Error not_of_maps(const std::string& fact);
  [[noreturn]] void refuse(const std::string& fact) const;
  void check_key();
  [[nodiscard]] LayoutField field_of(const MsgpackEntry& value) const;
  [[nodiscard]] std::string take_tensor(Field& field, const MsgpackEntry& value) const;
  [[nodiscard]] bool is_text(const MsgpackEntry& value) const;
  [[nodiscard]] bool are_texts(const MsgpackEntry& value, const FieldPlace& list) const;
  [[nodiscard]] bool is_short_text(const FieldPlace& place) const;

  const StoredValue* value_ = nullptr;  // at hand, as are its key and its map
  std::string_view key_;
  std::vector<MsgpackEntry> map_;
  std::uint64_t count_ = 0;
  std::ptrdiff_t keys_ = 0;  // entries 'key' of a map: 0 or 1
  std::vector<LayoutField> found_;
  CommonFields common_;
};

}  // namespace shale::layouts
