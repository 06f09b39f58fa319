#include "shale/io/safe_descriptor.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace shale {
namespace {

constexpr int kLastStandardDescriptor = 2;

}  // namespace

int above_standard_descriptors(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > kLastStandardDescriptor) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kLastStandardDescriptor + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return moved;
}

}  // namespace shale
