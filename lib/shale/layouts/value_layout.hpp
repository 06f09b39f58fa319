#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/layouts/layout_field.hpp"

// Layouts of LMDB files that known programs write and read (docs/foreign.md). A file of one has the
// entries that describe it, exactly these, and else samples:
//   coclr      '%09d'  msgpack [frame, ...]          __keys__ __len__ __order__ __vlen__  (msgpack)
//   lyken-old  '7'     msgpack [{"data": bytes}, label]            __keys__               (msgpack)
//   caffe      any     Datum                                       none
//   xunge      '7'     pickle (bytes, label)                       __keys__ __len__       (pickle)
//   thecml     '7'     pickle ([bytes], array([label]))            __keys__ __len__       (pickle)
//   tensorpack '%08d'  pickle [field, ...]                         __keys__               (pickle)
//   tensorpack '%08d'  msgpack [field, ...], by msgpack_numpy      __keys__               (msgpack)
//   lsun       any     encoded image                               none
//   pickle     any     pickle of a list, tuple or dict of fields   none
// Writers of msgpack before 1.0 have str for bytes.

namespace shale::layouts {

/// True for what begins as a msgpack list; no pickle of protocol 2 and above does.
[[nodiscard]] bool looks_packed(const ViewBytes& view, std::uint64_t begin, std::uint64_t length);

/// A layout: a row.
struct LayoutFacts {
  Dialect dialect;
  std::span<const std::string_view> described_by;  ///< keys of the entries that are not samples
  /// The fields of a value. The label of a video is not in its value: it is the last field,
  /// and 0. Reads headers and numbers, not contents. Errors: Code::damaged, Code::unsupported and
  /// Code::limit, with the offset, for anything else; what the view throws.
  std::vector<LayoutField> (*parse)(const StoredValue& value);
  bool has_pickled_list = false;  ///< of keys; else it is msgpack
  bool may_be_packed = false;     ///< or its list and its values are msgpack
  bool is_by_number = false;      ///< samples whose keys are numbers are in their order
  bool has_videos = false;        ///< lists of frames, whose classes are in their keys
  bool has_usual_fields = false;  ///< in each file: an image (or frames) and a label
  bool may_be_described = false;  ///< entries that describe the file may be there (describes_file)
};
/// Whether an entry is not a sample, but says how many there are (a number as text, pickled or
/// packed, under a name that is used for it), or lists their keys. Errors: what the view throws.
[[nodiscard]] bool describes_file(std::string_view key, const StoredValue& value);
/// The number that such an entry holds; nullopt for any other value.
[[nodiscard]] std::optional<std::uint64_t> count_stored_in(const StoredValue& value);
/// Names under which files have the number of their samples.
[[nodiscard]] std::span<const std::string_view> count_keys();
/// Keys of entries that describe a file in one of the layouts.
[[nodiscard]] std::span<const std::string_view> meta_keys();

[[nodiscard]] std::span<const LayoutFacts> all_layouts();
/// Errors: Code::unsupported for a dialect that no LMDB file has.
[[nodiscard]] const LayoutFacts& facts_of(Dialect layout);

/// "not of layout coclr: ...". To be thrown.
[[nodiscard]] Error not_of_layout(const LayoutFacts& layout, std::string_view fact);

}  // namespace shale::layouts
