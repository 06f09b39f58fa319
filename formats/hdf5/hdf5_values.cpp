#include "formats/hdf5/hdf5_values.hpp"

#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"

//  An element of variable length, as a dataset stores it (16 bytes where addresses have 8):
//  +0   u32  length, in elements of the sequence
//  +4   u64  address of its collection in the global heap, counted from the base address; 0: none
//  +12  u32  number of its object there
//  Source: HDF5 File Format Specification 3.0, IV.B "Disk Format: Level 2B - Data Object Data
//  Storage", variable-length types.

namespace shale {

Hdf5Values::Hdf5Values(const Hdf5ForeignColumn& column, std::uint64_t base_address,
                       const InputFile& file, Hdf5Heap& heap)
    : form_(column.form),
      base_address_(base_address),
      file_(file),
      heap_(heap),
      rows_(*column.data, file) {
  if (column.offsets != nullptr) offsets_.emplace(*column.offsets, file);
  if (column.firsts != nullptr) firsts_.emplace(*column.firsts, file);
}

FieldPlace Hdf5Values::place_of(std::uint64_t row) {
  switch (form_) {
    case Hdf5ForeignColumn::Form::flat:
      return flat_place(row, 1);
    case Hdf5ForeignColumn::Form::list:
      return list_place(row);
    case Hdf5ForeignColumn::Form::vlen:
      return heap_place(row);
    case Hdf5ForeignColumn::Form::padded:
      return padded_place(row);
    case Hdf5ForeignColumn::Form::rows:
      break;
  }
  return row_place(row);
}

FieldPlace Hdf5Values::row_place(std::uint64_t row) {
  // Rows of no bytes are stored nowhere, and yet not missing.
  if (rows_.row_bytes() == 0) return {.offset = 0};
  const std::optional<std::uint64_t> offset = rows_.locate(row);
  if (!offset) return {};
  return {.offset = *offset, .length = rows_.row_bytes()};
}

// Of values one after the other.
FieldPlace Hdf5Values::flat_place(std::uint64_t first, std::uint64_t values) {
  const std::uint64_t at = *offsets_->locate(first);
  // A negative offset is a huge one.
  const auto begin = static_cast<std::uint64_t>(offsets_->integer(first));
  const auto end = static_cast<std::uint64_t>(offsets_->integer(first + values));
  if (begin > end || end > rows_.count()) {
    throw not_ascending(begin, end, rows_.count()).at(file_.path(), at);
  }
  if (begin == end) return {.offset = at};
  const std::optional<std::uint64_t> offset = rows_.locate(begin, end - begin);
  if (offset) return {.offset = *offset, .length = end - begin};
  if (!rows_.exists(begin) && !rows_.exists(end - 1)) return {};
  throw cannot_locate_error(rows_.dataset(), "splits values over several chunks")
      .at(file_.path(), at);
}

Error Hdf5Values::not_ascending(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) const {
  return Error(Code::damaged, "offsets {} and {} of '{}' do not ascend within its {} bytes", begin,
               end, printable(rows_.dataset().name), bytes);
}

FieldPlace Hdf5Values::list_place(std::uint64_t row) {
  const auto first = static_cast<std::uint64_t>(firsts_->integer(row));
  const auto end = static_cast<std::uint64_t>(firsts_->integer(row + 1));
  // That they ascend was found out before these were taken for lists; the file may change.
  const std::uint64_t values = offsets_->count() - 1;
  if (first > end || end > values) {
    throw Error(Code::damaged, "elements {} to {} of '{}', which has {}, are not a list", first,
                end, printable(rows_.dataset().name), values)
        .at(file_.path(), *firsts_->locate(row));
  }
  check_elements(end - first);
  FieldPlace place = flat_place(first, end - first);
  if (place.offset != kMissing) place.count = static_cast<std::uint32_t>(end - first);
  return place;
}

std::vector<FieldPlace> Hdf5Values::elements_of(std::uint64_t row, const FieldPlace& list) {
  std::vector<FieldPlace> elements;
  const auto first = static_cast<std::uint64_t>(firsts_->integer(row));
  std::uint64_t done = 0;
  for (std::uint64_t i = first; i < first + list.count; ++i) {
    const auto begin = static_cast<std::uint64_t>(offsets_->integer(i));
    const auto end = static_cast<std::uint64_t>(offsets_->integer(i + 1));
    if (begin > end || end - begin > list.length - done) {
      throw not_ascending(begin, end, list.length).at(file_.path(), *offsets_->locate(i));
    }
    elements.push_back({.offset = list.offset + done, .length = end - begin});
    done += end - begin;
  }
  return elements;
}

FieldPlace Hdf5Values::heap_place(std::uint64_t row) {
  const std::optional<std::uint64_t> at = rows_.locate(row);
  if (!at) return {};
  ByteReader in(rows_.bytes(row), file_.path(), *at);
  const std::uint64_t length = in.read_u32(), address = in.read_u64();
  const std::uint32_t object = in.read_u32();
  if (length == 0 || address == 0) return {.offset = *at};
  if (address > file_.size() - base_address_) {
    throw Error(Code::damaged, "a value of '{}' refers to the global heap at byte {} of {}",
                printable(rows_.dataset().name), address, file_.size())
        .at(file_.path(), *at);
  }
  // Each value has bytes of its own; were they shared, reading all would not end.
  if (row < next_row_) heap_bytes_ = 0;
  next_row_ = row + 1;
  heap_bytes_ += length;
  if (heap_bytes_ > file_.size()) {
    throw Error(Code::damaged, "values of '{}' overlap: {} bytes in a file of {}",
                printable(rows_.dataset().name), heap_bytes_, file_.size())
        .at(file_.path(), *at);
  }
  return {.offset = heap_.place_of({length, base_address_ + address, object}), .length = length};
}

FieldPlace Hdf5Values::padded_place(std::uint64_t row) {
  FieldPlace place = row_place(row);
  const Bytes stored = rows_.bytes(row);
  while (place.length > 0 && stored[place.length - 1] == std::byte{0}) --place.length;
  return place;
}

}  // namespace shale
