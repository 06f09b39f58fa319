#include "shale/io/write_fully.hpp"

#include <cerrno>

#include <unistd.h>

#include "shale/io/free_space.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

Error no_room_error(int descriptor, std::uint64_t wanted) {
  const std::optional<std::uint64_t> free = free_space(descriptor);
  return Error(Code::io, "no space for {} bytes{}", wanted,
               free ? fmt::format(", only {} available", *free) : "");
}

}  // namespace

WriteOutcome try_write(int descriptor, Bytes bytes, std::uint64_t offset) noexcept {
  std::uint64_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = retried(descriptor, [&] {
      return ::pwrite(descriptor, bytes.data() + done, bytes.size() - done,
                      static_cast<off_t>(offset + done));
    });
    if (written <= 0) return {done, written < 0 ? errno : EIO};
    done += static_cast<std::uint64_t>(written);
  }
  return {done, 0};
}

Error write_error(int descriptor, const std::string& path, std::uint64_t offset,
                  std::uint64_t wanted, int error_number) {
  const auto placed = [&](Error error) {
    return error.at(path, offset).because_errno(error_number);
  };
  if (error_number == EFBIG) {
    return placed(Error(Code::io, "{} more bytes exceed the file size limit", wanted))
        .hint(room_hint(error_number));
  }
  if (is_no_room(error_number))
    return placed(no_room_error(descriptor, wanted)).hint(room_hint(error_number));
  return placed(Error(Code::io, "cannot write {} bytes", wanted));
}

void write_fully(int descriptor, Bytes bytes, std::uint64_t offset, const std::string& path) {
  const WriteOutcome outcome = try_write(descriptor, bytes, offset);
  if (outcome.error == 0) return;
  throw write_error(descriptor, path, offset + outcome.bytes, bytes.size() - outcome.bytes,
                    outcome.error);
}

}  // namespace shale
