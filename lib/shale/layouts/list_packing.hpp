#pragma once

#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/format/format.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/layouts/number_list.hpp"

namespace shale::layouts {

/// Makes msgpack maps of values that are pickled dicts or msgpack maps, with their lists of numbers
/// and of arrays as arrays. learn() is told all values, then pack() each of them.
class ListPacking {
 public:
  explicit ListPacking(bool are_pickles) : are_pickles_(are_pickles) {}

  /// Errors: as parse_pickled_value and parse_map_of_fields.
  void learn(Bytes value);
  /// Whether any list can be an array.
  [[nodiscard]] bool has_any() const { return lists_.has_any(); }
  /// Errors: as learn; Code::unsupported for fields that no file has (CommonFields::add).
  [[nodiscard]] std::string pack(std::string_view key, Bytes value);
  /// What was packed, of pickles alone: maps say it themselves. Errors: as CommonFields::survey.
  [[nodiscard]] Survey survey() && { return std::move(common_).survey(Dialect::msgpack); }

 private:
  [[nodiscard]] std::string pack_pickle(std::string_view key, Bytes value);
  [[nodiscard]] std::string pack_map(Bytes value) const;

  bool are_pickles_;
  NumberLists lists_;
  CommonFields common_;
};

}  // namespace shale::layouts
