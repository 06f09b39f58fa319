#include "shale/io/free_space.hpp"

#include <sys/statvfs.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"

namespace shale {

namespace {

std::uint64_t free_bytes_of(const struct statvfs& system) {
  return std::uint64_t{system.f_bavail} * system.f_frsize;
}

}  // namespace

std::optional<std::uint64_t> free_space(const std::string& folder) {
  struct statvfs system {};
  return ::statvfs(folder.c_str(), &system) == 0 ? std::optional(free_bytes_of(system))
                                                 : std::nullopt;
}

std::optional<std::uint64_t> free_space(int descriptor) {
  struct statvfs system {};
  return ::fstatvfs(descriptor, &system) == 0 ? std::optional(free_bytes_of(system)) : std::nullopt;
}

void require_free_space(const std::string& folder, std::uint64_t bytes, std::string_view hint) {
  const std::optional<std::uint64_t> free = bytes == 0 ? std::nullopt : free_space(folder);
  if (!free || *free >= bytes) return;
  throw Error(Code::io, "needs {} of free space, only {} available", format_size(bytes),
              format_size(*free))
      .at(folder)
      .hint(std::string(hint));
}

}  // namespace shale
