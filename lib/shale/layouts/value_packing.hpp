#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/decoder.hpp"
#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"

namespace shale::layouts {

/// Why the fields of values cannot be located in them.
struct ValuePacking {
  enum class Contents : std::uint8_t {
    other,
    pickles,
    pickled_lists,
    json,
    maps,
    lists,   ///< of msgpack
    datums,  ///< of Caffe, with float_data
  };

  Packing packing = Packing::none;
  bool is_block = false;  ///< LZ4 without a frame; `packing` is then none
  Contents contents = Contents::other;

  [[nodiscard]] bool is_compressed() const { return is_block || packing != Packing::none; }
  [[nodiscard]] bool is_any() const {
    return is_only_converted() || (is_compressed() && contents != Contents::other);
  }
  /// Nothing of such a value lies in it as a field.
  [[nodiscard]] bool is_only_converted() const {
    return contents == Contents::json || contents == Contents::datums || is_of_lists();
  }
  /// A value is a list, and no map of fields.
  [[nodiscard]] bool is_of_lists() const {
    return contents == Contents::lists || contents == Contents::pickled_lists;
  }
  /// "pickles that are compressed with gzip", "JSON".
  [[nodiscard]] std::string what_values_are() const;
};

/// A value that is a list as a map, or a pickled dict, whose field `values` it is.
[[nodiscard]] std::string with_list_as_field(const ValuePacking& packing, Bytes list);

/// By the first bytes: RFC 1952, 1950, 8878, and the frame format of LZ4.
[[nodiscard]] Packing packing_by_mark(Bytes head);

/// How a value is packed; of one that is compressed by the first bytes of what it is compressed
/// from. Errors: Code::damaged; those of the view.
[[nodiscard]] ValuePacking packing_of(const ViewBytes& view, std::uint64_t begin,
                                      std::uint64_t length);

/// Decompresses values, one after the other.
class ValueDecoder {
 public:
  /// The view is borrowed.
  ValueDecoder(const ViewBytes& view, std::uint64_t most_bytes)
      : view_(view), most_bytes_(most_bytes) {}

  /// Valid until the next call. Errors: Code::damaged for what is not compressed so, or ends early;
  /// Code::limit.
  Bytes decode(const ValuePacking& how, std::uint64_t begin, std::uint64_t length);

 private:
  [[nodiscard]] Error too_large() const;
  Bytes decode_block(std::uint64_t begin, std::uint64_t length);
  void grow();

  const ViewBytes& view_;
  std::uint64_t most_bytes_;
  std::vector<std::byte> value_;
};

}  // namespace shale::layouts
