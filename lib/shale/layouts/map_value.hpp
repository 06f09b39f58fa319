#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/layouts/number_list.hpp"
#include "shale/wire/msgpack_map.hpp"

// Values that are a msgpack map of fields, shale's own among them.

namespace shale::layouts {

/// True if an entry of a map can be a value of this field. What shale itself writes has one type
/// for each kind; other writers have str for bytes, booleans for integers and floats of 32 bits.
/// Of a tensor only that it is a map: see read_tensor.
[[nodiscard]] bool can_hold(const Field& field, const MsgpackEntry& entry, bool is_own);

/// {"dtype": str, "shape": array of integers, "data": bin}, as shale writes a tensor; or what
/// msgpack-numpy packs, as it writes a ragged one.
struct TensorValue {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  FieldPlace data;
  bool is_ragged = false;  ///< as msgpack-numpy has it
};
/// Nullopt for a map of anything else; if not `is_own`, in any order, and str or bin all the same.
/// Errors: same as parse_msgpack_map.
[[nodiscard]] std::optional<TensorValue> read_tensor(const ViewBytes& view,
                                                     const MsgpackEntry& entry, bool is_own);

/// As parse_msgpack_map, of a map of another writer: a map in it has its entries as fields of both
/// names (`outer_inner`), but for arrays of NumPy; a number of NumPy is a number. Errors: same.
[[nodiscard]] std::vector<MsgpackEntry> parse_map_of_fields(const ViewBytes& view,
                                                            std::uint64_t begin,
                                                            std::uint64_t length,
                                                            std::string_view where);
/// Whether all of a value is such a map. Errors: Code::io.
[[nodiscard]] bool is_map_of_fields(const StoredValue& value);
/// The numbers of an array of numbers and arrays (number_list.hpp); nullopt for anything else.
/// Errors: what the view throws.
[[nodiscard]] std::optional<NumberList> numbers_in(const ViewBytes& view, const MsgpackEntry& entry,
                                                   ListsOfNumbers lists);
/// True for what begins as a msgpack map that has entries; no pickle and no text does.
[[nodiscard]] bool looks_like_map(const ViewBytes& view, std::uint64_t begin, std::uint64_t length);

/// The entry of this name; null if there is none.
[[nodiscard]] const MsgpackEntry* find_entry(const std::vector<MsgpackEntry>& map,
                                             std::string_view name);

}  // namespace shale::layouts
