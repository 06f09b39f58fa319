#include "shale/shards/unread_extent.hpp"

#include <utility>

#include "shale/data/mismatch.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"

namespace shale {

UnreadExtent::UnreadExtent(Place place, std::function<void()> step)
    : UnreadBytes(place.bytes, place.crc32c), place_(std::move(place)), step_(std::move(step)) {}

void UnreadExtent::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (step_) step_();
  const std::uint64_t begin = place_.offset + offset;
  const ReadResult result = try_read(place_.descriptor, into, begin, place_.descriptor);
  if (result.bytes == into.size()) return;
  const std::string path = path_of(place_.descriptor);
  if (result.error != 0)
    throw read_failed(path, begin + result.bytes, into.size() - result.bytes, result.error);
  require_all(result, path, begin, into.size());
}

Error UnreadExtent::wrong_checksum(std::uint32_t found, std::uint32_t expected) const {
  const std::string path = path_of(place_.descriptor);
  if (!place_.crc32c) return changed_between_reads(size()).at(path, place_.offset);
  return checksum_mismatch(size(), found, expected)
      .error()
      .at(path, place_.offset)
      .hint("run 'shale verify' to list all the damage");
}

Error changed_between_reads(std::uint64_t bytes) {
  return Error(Code::io, "the {} bytes of a value changed between two reads of them", bytes)
      .hint(
          "something is writing to the input; wait until it stops, then run the same command "
          "again");
}

}  // namespace shale
