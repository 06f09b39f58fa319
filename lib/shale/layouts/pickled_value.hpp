#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/layouts/number_list.hpp"

// Values and lists of keys that Python pickled. Parsed by shale/wire/pickle_reader.hpp: nothing is
// imported or called.

namespace shale::layouts {

/// What a pickle is to be.
enum class PickledForm : std::uint8_t {
  pair,          ///< (bytes, int)
  batch,         ///< ([bytes], array([int])), or a list of one int
  list,          ///< a list or tuple of fields
  list_or_dict,  ///< the same, or a dict of them by name, or an object with such a dict as its
                 ///< state
};

/// As LayoutFacts::parse. A field is bytes, a string, a number, or an array of NumPy: one of uint8
/// in one dimension is bytes. `lists`: what becomes of those of numbers and arrays.
[[nodiscard]] std::vector<LayoutField> parse_pickled_value(
    PickledForm form, const StoredValue& value, ListsOfNumbers lists = ListsOfNumbers::find);

/// The class of a pickled object, "graphs.data.Data"; empty for anything else. Errors: same as
/// parse_pickled_value.
[[nodiscard]] std::string class_of_pickle(const StoredValue& value);

/// A pickled int. Errors: same as parse_pickled_value.
[[nodiscard]] std::int64_t parse_pickled_integer(const ViewBytes& view, std::uint64_t begin,
                                                 std::uint64_t length, std::string_view where);

/// Where one key of a list lies.
using UsePickledKey = std::function<void(std::uint64_t offset, std::uint64_t length)>;
/// A pickled list of bytes, of any length, as it goes by. Returns how many there are. Errors: same
/// as parse_pickled_value; what `use` throws.
std::uint64_t for_each_pickled_key(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                   std::string_view where, const UsePickledKey& use);

/// True for what begins and ends as a pickle of protocol 2 and above does.
[[nodiscard]] bool looks_pickled(const ViewBytes& view, std::uint64_t begin, std::uint64_t length);

}  // namespace shale::layouts
