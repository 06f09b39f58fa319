#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/dtype.hpp"
#include "shale/wire/pickle_reader.hpp"

// Arrays of NumPy and tensors of PyTorch as pickle has them:
//   _reconstruct(ndarray, (0,), b'b')      state (1, shape, dtype, is Fortran's order, bytes)
//   _frombuffer(bytes, dtype, shape, 'C')
//   scalar(dtype, bytes)
//   dtype('f4', ...)                       state (version, byte order, ...)
//   _rebuild_tensor_v2(_load_from_bytes(bytes), first, shape, strides, requires_grad, hooks)
// The bytes of a tensor are a file of torch.save() in its way before 1.6: pickles of a number, of
// the protocol, of the machine, of ('storage', type, key, device, elements, None) as a persistent
// id, and of the key; u64 elements; the elements.
// Source: numpy/core/multiarray.py, numpy/_core; torch/_tensor.py, torch/storage.py,
// torch/serialization.py (_legacy_save).

namespace shale {

/// Its elements in C order, little-endian, unless PickledOrders::all are taken.
struct PickledArray {
  DType dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0, length = 0;  ///< of the elements, in what was viewed
  /// They lie there as text, a character for each byte: only where kPickledEncode was allowed.
  bool is_latin1 = false;
  bool is_fortran = false;           ///< they lie in Fortran's order
  std::vector<ByteSwap> swaps = {};  ///< what of an element lies big-endian
};

/// Which orders of elements, and of their bytes, are taken.
enum class PickledOrders : std::uint8_t { plain, all };

/// What protocol 2 of Python 3 calls for bytes.
inline constexpr std::string_view kPickledEncode = "_codecs encode";
/// The bytes that such a string in UTF-8 stands for; nullopt for one with other characters.
[[nodiscard]] std::optional<std::vector<std::byte>> latin1_bytes(std::string_view text);

/// The globals that they are made of, for read_pickle.
[[nodiscard]] std::span<const std::string_view> pickled_array_globals();

/// What finds arrays in the pickle that begins at `begin`; all is borrowed.
class PickledArrays {
 public:
  PickledArrays(const ViewBytes& view, std::uint64_t begin, std::string_view where,
                PickledOrders orders = PickledOrders::plain)
      : view_(view), begin_(begin), where_(where), orders_(orders) {}

  /// Nullopt for what is neither array nor tensor. Errors: Code::unsupported, with what is found
  /// and expected, for one that does not lie in the pickle as it is (strides, other types;
  /// Fortran's order and big-endian ones unless all orders are taken); Code::damaged; those of the
  /// view.
  [[nodiscard]] std::optional<PickledArray> array_of(const PickleValue& value) const;
  /// A number of NumPy, as an array of shape (). Nullopt and errors as array_of().
  [[nodiscard]] std::optional<PickledArray> scalar_of(const PickleValue& value) const;
  /// A short string; those of Python 2 are bytes. Nullopt for anything else.
  [[nodiscard]] std::optional<std::string> name_in(const PickleValue& value) const;
  /// Code::unsupported: what the pickle has there, and what was expected.
  [[nodiscard]] Error refused(const PickleValue& found, std::string_view expected) const;

 private:
  struct Storage;

  [[nodiscard]] StoredDType dtype_of(const PickleValue& value) const;
  [[nodiscard]] bool takes_order(bool is_c, bool is_fortran) const;
  [[nodiscard]] PickledArray array_in(const PickleValue& array, const PickleValue& dtype,
                                      const PickleValue& shape, const PickleValue& data) const;
  [[nodiscard]] PickledArray tensor_in(const PickleValue& tensor) const;
  [[nodiscard]] Storage storage_in(const PickleValue& tensor) const;
  [[nodiscard]] std::vector<std::uint64_t> numbers_in(const PickleValue& array,
                                                      const PickleValue& numbers) const;

  const ViewBytes& view_;
  std::uint64_t begin_;
  std::string_view where_;
  PickledOrders orders_;
};

}  // namespace shale
