#include "shale/io/safe_descriptor.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

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

std::string path_of(int descriptor) {
  std::error_code error;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error).string();
  if (!path.starts_with('/') || path.ends_with(" (deleted)")) return {};
  const std::string here = std::filesystem::current_path(error).string() + "/";
  return !error && path.starts_with(here) ? path.substr(here.size()) : path;
}

}  // namespace shale
