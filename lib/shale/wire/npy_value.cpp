#include "shale/wire/npy_value.hpp"

#include <algorithm>
#include <cstring>

#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/byte_swap.hpp"

namespace shale {
namespace {

// Along the last axis elements lie apart by the product of all other sides.
void reorder(const NpyHeader& header, Bytes from, std::span<std::byte> into) {
  const std::size_t axes = header.shape.size();
  const std::uint64_t item = header.dtype.item_bytes();
  std::vector<std::uint64_t> strides(axes, item), position(axes);
  for (std::size_t i = 1; i < axes; ++i) strides[i] = strides[i - 1] * header.shape[i - 1];
  std::uint64_t source = 0;
  for (std::uint64_t done = 0; done < into.size(); done += item) {
    std::memcpy(into.data() + done, from.data() + source, item);
    for (std::size_t i = axes; i-- > 0;) {
      source += strides[i];
      if (++position[i] < header.shape[i]) break;
      source -= strides[i] * header.shape[i];
      position[i] = 0;
    }
  }
}

bool needs_reordering(const NpyHeader& header) {
  return header.fortran_order && npy_data_bytes(header) > 0 &&
         std::ranges::count_if(header.shape, [](std::uint64_t side) { return side != 1; }) > 1;
}

}  // namespace

NpyHeader parse_npy_value(Bytes head, std::uint64_t file_bytes, std::string_view where) {
  NpyHeader header = parse_npy_header(head, where);
  if (header.dtype.is_structured()) {
    throw Error(Code::unsupported, "array has columns with names: {}", dtype_text(header.dtype))
        .at(where, 0);
  }
  check_npy_size(header, file_bytes, where);
  const std::uint64_t end = header.data_offset + npy_data_bytes(header);
  if (end < file_bytes)
    throw npy_goes_on(header, file_bytes - end,
                      head.subspan(std::min<std::uint64_t>(end, head.size())), where, end);
  return header;
}

NpyValue read_npy_value(const Field& field, std::span<std::byte> file, std::span<std::byte> room,
                        std::string_view where) {
  const NpyHeader header = parse_npy_value(file, file.size(), where);
  if (header.dtype != field.dtype || !shape_fits(header.shape, field.shape)) {
    throw Error(Code::bad_content, "array is {}, not {}", array_text(header.dtype, header.shape),
                array_text(field.dtype, field.shape))
        .at(where);
  }
  const std::uint64_t bytes = npy_data_bytes(header);
  const bool is_reordered = needs_reordering(header);
  std::span<std::byte> elements = file.subspan(header.data_offset, bytes);
  if (is_reordered) {
    reorder(header, elements, room.first(bytes));
    elements = room.first(bytes);
  }
  if (!header.swaps.empty()) swap_bytes(elements, header.dtype.item_bytes(), header.swaps);
  return {.elements = elements, .shape = header.shape, .room_bytes = is_reordered ? bytes : 0};
}

}  // namespace shale
