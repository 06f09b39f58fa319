#include "shale/io/read_errors.hpp"

#include <cerrno>
#include <charconv>
#include <string>

#include <unistd.h>

#include "shale/base/size_text.hpp"
#include "shale/io/safe_descriptor.hpp"

namespace shale {
namespace {

// What has no name is opened again by its descriptor: that says nothing to anybody.
constexpr std::string_view kDescriptors = "/proc/self/fd/";

std::string resolved(std::string_view path) {
  int descriptor = -1;
  const std::string_view digits = path.substr(kDescriptors.size());
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), descriptor);
  const std::string found = path_of(descriptor);
  return found.empty() ? "a scratch file" : found;
}

}  // namespace

Error read_failed(std::string_view path, std::optional<std::uint64_t> offset, std::uint64_t bytes,
                  int error_number) {
  return Error(Code::io, "cannot read {}", format_counted(bytes, "byte", "bytes"))
      .at(path.starts_with(kDescriptors) ? resolved(path) : std::string(path), offset)
      .because_errno(error_number);
}

Error read_ends_early(std::string_view path, std::uint64_t offset, std::uint64_t wanted,
                      std::uint64_t found) {
  return Error(Code::damaged, "{} expected here, but the file ends after {}",
               format_counted(wanted, "byte", "bytes"), format_count(found))
      .at(path, offset);
}

Error size_unknown(std::string_view path, int error_number) {
  return Error(Code::io, "cannot determine its size").at(path).because_errno(error_number);
}

void require_all(const ReadResult& read, std::string_view path, std::uint64_t offset,
                 std::uint64_t wanted) {
  if (read.error != 0) throw read_failed(path, offset, wanted, read.error);
  if (read.bytes < wanted)
    throw read_ends_early(path, offset, wanted, read.bytes).hint(std::string(kTruncatedHint));
}

ReadResult try_read(int descriptor, std::span<std::byte> into, std::uint64_t offset,
                    const FaultPlace& place) noexcept {
  ReadResult result;
  while (result.bytes < into.size()) {
    const ssize_t got = retried(place, [&] {
      return ::pread(descriptor, into.data() + result.bytes, into.size() - result.bytes,
                     static_cast<off_t>(offset + result.bytes));
    });
    if (got < 0) result.error = errno;
    if (got <= 0) break;
    result.bytes += static_cast<std::uint64_t>(got);
  }
  return result;
}

}  // namespace shale
