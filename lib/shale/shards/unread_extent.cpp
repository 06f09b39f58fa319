#include "shale/shards/unread_extent.hpp"

#include <utility>

#include <unistd.h>

#include "shale/data/mismatch.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {

UnreadExtent::UnreadExtent(Place place, std::function<void()> step)
    : UnreadBytes(place.bytes, place.crc32c), place_(std::move(place)), step_(std::move(step)) {}

void UnreadExtent::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (step_) step_();
  const std::uint64_t begin = place_.offset + offset;
  for (std::uint64_t done = 0; done < into.size();) {
    const ssize_t got = retried(place_.descriptor, [&] {
      return ::pread(place_.descriptor, into.data() + done, into.size() - done,
                     static_cast<off_t>(begin + done));
    });
    if (got < 0)
      throw read_failed(path_of(place_.descriptor), begin + done, into.size() - done, errno);
    if (got == 0) {
      throw read_ends_early(path_of(place_.descriptor), begin, into.size(), done)
          .hint(std::string(kTruncatedHint));
    }
    done += static_cast<std::uint64_t>(got);
  }
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
