#include "shale/trees/hdf5_values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"

//  An element of variable length, as a dataset stores it (16 bytes where addresses have 8):
//  +0   u32  length, in elements of the sequence
//  +4   u64  address of its collection in the global heap, counted from the base address; 0: none
//  +12  u32  number of its object there
//  Source: HDF5 File Format Specification 3.0, IV.B "Disk Format: Level 2B - Data Object Data
//  Storage", variable-length types.

//  A collection of the global heap (little-endian; lengths of 8 bytes, the only ones read here):
//  +0   "GCOL"
//  +4   u8   version, 1
//  +5   3 bytes, reserved
//  +8   u64  size of the collection in bytes, these 16 included
//  +16  objects, one after the other:
//         +0   u16  number; 0 is the free space, the last of all
//         +2   u16  references to it
//         +4   u32  reserved
//         +8   u64  length of its data in bytes (of the free space: with these 16)
//         +16  data, padded to a multiple of 8
//  https://docs.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html#GlobalHeap

namespace shale {
namespace {

constexpr std::uint64_t kHeaderBytes = 16, kPadding = 8;
// Numbers are u16 and distinct.
constexpr std::size_t kMostHeapObjects = 65'535;
// The library fills up to 16 collections at a time.
constexpr std::size_t kMostRecent = 32, kMostRecentObjects = 2 * kMostHeapObjects;
// The library's collections are read once, or, where values were written in random order, once an
// element: some 100 objects for each 50 bytes of the file.
constexpr std::uint64_t kMostWalksPerObject = 1024, kSpareWalks = 1 << 20;

}  // namespace

Error Hdf5Heap::damage(std::uint64_t address, std::string message) const {
  return Error(Code::damaged, "global heap: {}", message).at(file_.path(), address);
}

std::uint64_t Hdf5Heap::place_of(const Hdf5HeapReference& reference) {
  const Collection& collection = collection_at(reference.collection);
  const auto found = std::lower_bound(
      collection.objects.begin(), collection.objects.end(), reference.object,
      [](const Object& object, std::uint32_t number) { return object.number < number; });
  if (found == collection.objects.end() || found->number != reference.object) {
    throw damage(reference.collection,
                 fmt::format("the collection has no object {}", reference.object));
  }
  const bool is_twice =
      std::next(found) != collection.objects.end() && std::next(found)->number == reference.object;
  if (is_twice) {
    throw damage(reference.collection,
                 fmt::format("the collection has two objects {}", reference.object));
  }
  if (reference.length != found->length) {
    throw damage(found->offset, fmt::format("object {} has {} bytes, but {} are requested",
                                            reference.object, found->length, reference.length));
  }
  return found->offset;
}

const Hdf5Heap::Collection& Hdf5Heap::collection_at(std::uint64_t address) {
  const auto known =
      std::find_if(recent_.begin(), recent_.end(),
                   [&](const Collection& collection) { return collection.address == address; });
  if (known == recent_.begin() && known != recent_.end()) return *known;
  Collection collection;
  if (known != recent_.end()) {
    collection = std::move(*known);
    recent_.erase(known);
  } else {
    collection = read_collection(address);
    recent_objects_ += collection.objects.size();
  }
  recent_.push_front(std::move(collection));
  forget_old();
  return recent_.front();
}

void Hdf5Heap::forget_old() {
  while (recent_.size() > 1 &&
         (recent_.size() > kMostRecent || recent_objects_ > kMostRecentObjects)) {
    recent_objects_ -= recent_.back().objects.size();
    recent_.pop_back();
  }
}

Hdf5Heap::Collection Hdf5Heap::read_collection(std::uint64_t address) {
  const std::uint64_t size = file_.size();
  if (address > size || size - address < kHeaderBytes)
    throw damage(address, fmt::format("a collection begins there, but the file ends at {}", size));
  ByteReader header(window_.view(address, kHeaderBytes), file_.path(), address);
  const bool is_collection = as_text(header.read_bytes(4)) == "GCOL" && header.read_u8() == 1;
  header.skip(3);
  const std::uint64_t bytes = header.read_u64();
  if (!is_collection) throw damage(address, "no collection begins there");
  if (bytes < kHeaderBytes || bytes > size - address) {
    throw damage(address, fmt::format("a collection of {} bytes, but {} are left in the file",
                                      bytes, size - address));
  }
  Collection collection{.address = address, .objects = {}};
  const std::uint64_t end = address + bytes;
  for (std::uint64_t at = address + kHeaderBytes; end - at >= kHeaderBytes;) {
    ByteReader object(window_.view(at, kHeaderBytes), file_.path(), at);
    const std::uint16_t number = object.read_u16();
    if (number == 0) break;
    object.skip(6);
    const std::uint64_t length = object.read_u64();
    const std::uint64_t left = end - at - kHeaderBytes;
    if (length > left) {
      throw damage(at, fmt::format("object {} has {} bytes, but {} are left in its collection",
                                   number, length, left));
    }
    if (collection.objects.size() == kMostHeapObjects)
      throw damage(address, "a collection has more objects than object numbers");
    collection.objects.push_back({at + kHeaderBytes, length, number});
    at += kHeaderBytes + std::min(left, (length + kPadding - 1) / kPadding * kPadding);
  }
  walked_objects_ += collection.objects.size() + 1;
  if (walked_objects_ / kMostWalksPerObject > size / kHeaderBytes + kSpareWalks) {
    throw Error(Code::limit, "global heap: values jump between its collections too often")
        .at(file_.path(), address);
  }
  std::stable_sort(
      collection.objects.begin(), collection.objects.end(),
      [](const Object& left, const Object& right) { return left.number < right.number; });
  return collection;
}

Hdf5Values::Hdf5Values(const Hdf5ForeignColumn& column, std::uint64_t base_address,
                       const InputFile& file, Hdf5Heap& heap)
    : form_(column.form),
      base_address_(base_address),
      file_(file),
      heap_(heap),
      rows_(*column.data, file),
      item_bytes_(column.data->sequence_item_bytes()) {
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
  const std::uint64_t length = in.read_u32() * item_bytes_, address = in.read_u64();
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
