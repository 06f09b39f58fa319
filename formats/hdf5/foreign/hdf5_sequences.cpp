#include "formats/hdf5/foreign/hdf5_sequences.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/byte_swap.hpp"

#include "formats/hdf5/hdf5_library.hpp"

namespace shale {
namespace {

// What the library calls to convert stored elements into those of memory. They stay as they are.
herr_t keep_references(hid_t stored, hid_t memory, H5T_cdata_t* data, std::size_t, std::size_t,
                       std::size_t, void*, void*, hid_t) noexcept {
  if (data->command != H5T_CONV_INIT) return 0;
  data->need_bkg = H5T_BKG_NO;
  const bool fits = H5Tget_size(stored) == Hdf5Sequences::kReferenceBytes &&
                    H5Tget_size(memory) == Hdf5Sequences::kReferenceBytes;
  return fits ? 0 : -1;
}

}  // namespace

Hdf5Sequences::Hdf5Sequences(const InputFile& file, std::int64_t opened, bool is_strict)
    : file_(file), heap_(file), is_strict_(is_strict) {
  const Hdf5Handle creation(H5Fget_create_plist(opened), H5Pclose);
  std::size_t address_bytes = 0, length_bytes = 0;
  hsize_t user_block = 0;
  if (H5Pget_sizes(creation.id(), &address_bytes, &length_bytes) < 0 ||
      H5Pget_userblock(creation.id(), &user_block) < 0)
    throw hdf5_failure("the HDF5 library cannot read the superblock");
  base_address_ = user_block;
  const Hdf5Handle sequence(H5Tvlen_create(H5T_NATIVE_UCHAR), H5Tclose);
  const Hdf5Handle references(type_of_references(), H5Tclose);
  has_usual_sizes_ = address_bytes == sizeof(std::uint64_t) &&
                     length_bytes == sizeof(std::uint64_t) &&
                     H5Tregister(H5T_PERS_SOFT, "references", sequence.id(), references.id(),
                                 &keep_references) >= 0;
}

std::int64_t Hdf5Sequences::type_of_references() { return H5Tcreate(H5T_OPAQUE, kReferenceBytes); }

std::vector<std::byte> Hdf5Sequences::at(Bytes reference, const Hdf5Dataset& of,
                                         std::uint64_t most_bytes) {
  ByteReader in(reference, "a reference to the global heap");
  const std::uint64_t item = of.sequence_item_bytes();
  const std::uint64_t length = in.read_u32() * item, address = in.read_u64();
  const std::uint32_t object = in.read_u32();
  // Of a file that may be damaged, an empty value is one only if its object is empty, too.
  const bool is_nothing = length == 0 && address == 0;
  if (is_nothing || (!is_strict_ && (length == 0 || address == 0))) return {};
  if (length > most_bytes) {
    throw Error(Code::limit, "a value of {}, more than the {} that it may have",
                format_size(length), format_size(most_bytes));
  }
  if (address > file_.size() - base_address_) {
    throw Error(Code::damaged, "a reference to the global heap at byte {} of {}", address,
                file_.size());
  }
  const std::uint64_t offset = heap_.place_of({length, base_address_ + address, object});
  std::vector<std::byte> value(length);
  file_.read_exact(offset, value);
  if (of.type == Hdf5Type::vlen_text)
    value.erase(std::ranges::find(value, std::byte{0}), value.end());
  if (is_strict_ && of.type == Hdf5Type::vlen_text && value.size() + 1 < length) {
    throw Error(Code::damaged, "a string of {} bytes has a NUL behind the first {}", length,
                value.size());
  }
  if (of.type == Hdf5Type::vlen_numbers && of.descr.starts_with('>')) {
    const bool is_complex = of.descr[1] == 'c';
    const std::array swaps = {
        ByteSwap{.offset = 0,
                 .width = static_cast<std::uint32_t>(is_complex ? item / 2 : item),
                 .count = is_complex ? 2U : 1U}};
    swap_bytes(value, item, swaps);
  }
  return value;
}

}  // namespace shale
