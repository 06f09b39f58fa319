#include "shale/io/free_space.hpp"

#include <sys/statvfs.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"

namespace shale {

std::optional<std::uint64_t> free_space(const std::string& folder) {
  struct statvfs system {};
  if (::statvfs(folder.c_str(), &system) != 0) return std::nullopt;
  return std::uint64_t{system.f_bavail} * system.f_frsize;
}

void require_free_space(const std::string& folder, std::uint64_t bytes) {
  const std::optional<std::uint64_t> free = bytes == 0 ? std::nullopt : free_space(folder);
  if (!free || *free >= bytes) return;
  throw Error(Code::io, "{} are needed here, {} are free", format_size(bytes), format_size(*free))
      .at(folder)
      .hint("make room, or choose another folder; --tmp moves what is temporary");
}

}  // namespace shale
