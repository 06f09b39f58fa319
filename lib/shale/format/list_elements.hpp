#pragma once

#include <functional>
#include <span>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// The bytes in which a field of the schema is stored; null for values beside a file, of which the
/// scan that makes them says all.
using ViewOfField = std::function<const ViewBytes&(std::size_t field)>;

/// Fills IndexRow::elements of a row of lists that has none yet, from the headers in the lists, and
/// the crc32c of each, if wanted. Errors: Code::damaged if a list does not hold the elements that
/// the row says.
void locate_elements(IndexRow& row, const Schema& schema, const Format& format,
                     const ViewOfField& view, bool with_crc32c);

/// The elements of a list whose bytes were read: by its own framing, or by `elements`, which then
/// are those of this list. Errors: Code::damaged.
[[nodiscard]] std::vector<Bytes> split_list(const Format& format, Bytes extent,
                                            const FieldPlace& list,
                                            std::span<const FieldPlace> elements);

/// The same for a list that stays unread, whose bytes lie where `list` says. Errors: those of
/// reading, too.
[[nodiscard]] std::vector<Unread> split_unread_list(
    const Format& format, const Unread& extent, const FieldPlace& list,
    std::span<const FieldPlace> elements,
    const std::function<Unread(const FieldPlace& element)>& make);

/// The elements of a list that the source already knows (KnownValue): u32 length, little-endian,
/// and bytes for each. Errors: Code::damaged.
[[nodiscard]] std::vector<Bytes> elements_of_known(Bytes run);

/// The error for a list that holds another number of elements than its row says.
[[nodiscard]] Error wrong_element_count(std::uint64_t found, std::uint64_t expected);
/// The error for an element outside the extent of its list.
[[nodiscard]] Error element_outside(const FieldPlace& element, const FieldPlace& list);

/// The elements of one field, out of those of all lists of a sample in IndexRow::elements; empty if
/// there are none.
[[nodiscard]] std::span<const FieldPlace> elements_of_field(std::span<const FieldPlace> elements,
                                                            std::span<const IndexCell> cells,
                                                            const Schema& schema,
                                                            std::size_t field);

/// Fills in the elements, like locate_elements, of the rows that a scan of a shard's files gives.
class ElementScan {
 public:
  /// Everything is borrowed. `view`, if there is one, reads the shard's only file.
  ElementScan(const Format& format, const ShardInput& input, const ViewBytes& view = {});
  /// Does nothing for layouts without an element list.
  void locate(IndexRow& row);

 private:
  const Format& format_;
  const Schema& schema_;
  const ShardLayout& layout_;
  bool reads_payload_;
  std::vector<WindowReader> windows_;  // one per file
  std::vector<ViewBytes> views_;       // one per file
};

/// locate_elements for a record of a sample that was encoded.
void locate_elements(Record& record, const Schema& schema, const Format& format,
                     const ShardLayout& layout);

}  // namespace shale
