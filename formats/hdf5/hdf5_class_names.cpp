#include "formats/hdf5/hdf5_class_names.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/wire/hdf5_types.hpp"

// Behind the last column of a shard with class names, at a multiple of 64:
//
//  +0    object header of the label's dataset: as the others, then attribute info, and the
//        attribute `classes`, (n) strings of variable length; of each name
//        u32 bytes, u64 address of the collection, u32 its number there, from 1
//  then  zeros to a multiple of 8
//  then  a collection of the global heap
//        +0   "GCOL", u8 1, 3 zeros, u64 bytes of the collection: 4096, or more if the names need
//        it +16  of each name: u16 number, u16 1, 4 zeros, u64 bytes; the name, padded to 8 then
//        what is left, if it is 16 bytes or more: 8 zeros, u64 bytes, these among them; zeros
//  Source: HDF5 File Format Specification 3.0, III.E; the least size is H5HG_MINSIZE of the
//  library.

namespace shale {
namespace {

constexpr std::string_view kHeapSignature("GCOL\1\0\0\0", 8);
constexpr std::uint64_t kLeastHeap = 4096, kHeapObject = 16, kReference = 16;
// A message has less than 64 KiB, and this one 60 bytes beside the references.
constexpr std::uint64_t kMostNames = (65'536 - 64) / kReference;
// An object header but for the attribute, and the zeros around it: 162 bytes and 63 at most.
constexpr std::uint64_t kMostHeader = 512;

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t heap_bytes(std::span<const std::string> names) {
  std::uint64_t bytes = kHeapObject;
  for (const std::string& name : names) bytes += kHeapObject + padded(name.size());
  return std::max(bytes, kLeastHeap);
}

// A string of HDF5 ends at the first NUL, and an empty one has no place in a heap.
bool is_held(const std::string& name) {
  return !name.empty() && name.find('\0') == std::string::npos;
}

void append_zeros(ByteWriter& out, std::uint64_t bytes) {
  for (; bytes > 0; --bytes) out.write(std::uint8_t{0});
}

std::vector<std::byte> heap_of(std::span<const std::string> names) {
  const std::uint64_t bytes = heap_bytes(names);
  ByteWriter heap;
  heap.write_text(kHeapSignature);
  heap.write(bytes);
  std::uint16_t number = 0;
  for (const std::string& name : names) {
    heap.write(++number);
    heap.write(std::uint16_t{1});
    heap.write(std::uint32_t{0});
    heap.write(std::uint64_t{name.size()});
    heap.write_text(name);
    append_zeros(heap, padded(name.size()) - name.size());
  }
  if (const std::uint64_t left = bytes - heap.size(); left >= kHeapObject) {
    heap.write(std::uint64_t{0});
    heap.write(left);
  }
  append_zeros(heap, bytes - heap.size());
  return heap.take();
}

// Where the names lie that these references tell of. Nullopt: not as heap_of() puts them.
std::optional<std::uint64_t> heap_address(const Attribute& attribute) {
  std::optional<std::uint64_t> address;
  ByteReader references(attribute.value);
  for (std::uint64_t i = 0; i < attribute.sides[0]; ++i) {
    (void)references.read_u32();
    const std::uint64_t at = references.read_u64();
    if (at != address.value_or(at) || references.read_u32() != i + 1) return std::nullopt;
    address = at;
  }
  return address;
}

std::vector<std::string> names_in_heap(const InputFile& file, std::uint64_t address,
                                       std::uint64_t count) {
  std::byte head[kHeapObject];
  const std::uint64_t left = file.size() - std::min(address, file.size());
  ByteReader start(Bytes(head, file.read_some(address, head)), file.path(), address);
  if (as_text(start.read_bytes(kHeapSignature.size())) != kHeapSignature)
    throw Error(Code::damaged, "expected a collection of the global heap here")
        .at(file.path(), address);
  const std::uint64_t bytes = start.read_u64();
  if (bytes > left || bytes < kHeapObject) {
    throw Error(Code::damaged, "a collection of the global heap has {} bytes, but {} are left",
                bytes, left)
        .at(file.path(), address);
  }
  std::vector<std::byte> heap(bytes);
  file.read_exact(address, heap);
  ByteReader in(heap, file.path(), address);
  in.skip(kHeapObject);
  std::vector<std::string> names;
  for (std::uint64_t number = 1; number <= count; ++number) {
    if (in.read_u16() != number) return {};
    in.skip(6);
    const std::uint64_t size = in.read_u64();
    names.emplace_back(as_text(in.read_bytes(size)));
    in.skip(padded(size) - size);
  }
  return names;
}

std::uint64_t bytes_of_class_names(std::span<const std::string> names) {
  if (names.size() > kMostNames || !std::ranges::all_of(names, is_held)) return 0;
  return kMostHeader + names.size() * kReference + heap_bytes(names);
}

std::vector<std::string> read_class_names(const InputFile& file, std::string_view field) {
  const std::optional<std::uint64_t> header = address_of_dataset(file, field);
  if (!header) return {};
  for (const HeaderMessage& message : read_object_header(file, *header, kMaxDatasetBytes)) {
    if (message.type != MessageType::attribute) continue;
    const std::optional<Attribute> attribute = read_attribute(message, file.path());
    const bool has_names = attribute && attribute->name == kClassNamesAttribute &&
                           attribute->datatype == vlen_type_bytes(true) &&
                           attribute->sides.size() == 1 &&
                           attribute->value.size() / kReference == attribute->sides[0];
    if (!has_names) continue;
    if (const auto address = heap_address(*attribute))
      return names_in_heap(file, *address, attribute->sides[0]);
  }
  return {};
}

}  // namespace

std::vector<std::byte> named_header_bytes(
    std::uint64_t address, std::span<const std::string> names,
    const std::function<std::vector<std::byte>(std::span<const HeaderMessage>)>& header) {
  const auto with_heap_at = [&](std::uint64_t heap) {
    ByteWriter references;
    std::uint32_t number = 0;
    for (const std::string& name : names) {
      references.write(static_cast<std::uint32_t>(name.size()));
      references.write(heap);
      references.write(++number);
    }
    const HeaderMessage classes = attribute_message({.name = std::string(kClassNamesAttribute),
                                                     .datatype = vlen_type_bytes(true),
                                                     .sides = {names.size()},
                                                     .value = references.take()});
    return header(std::span(&classes, 1));
  };
  const std::uint64_t header_bytes = padded(with_heap_at(0).size());
  std::vector<std::byte> bytes = with_heap_at(address + header_bytes);
  bytes.resize(header_bytes);
  const std::vector<std::byte> heap = heap_of(names);
  bytes.insert(bytes.end(), heap.begin(), heap.end());
  return bytes;
}

const ClassPlace hdf5_class_place{.bytes = bytes_of_class_names, .read = read_class_names};

}  // namespace shale
