#include "formats/hdf5/hdf5_heap.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"

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
  if (reference.length > found->length) {
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

}  // namespace shale
