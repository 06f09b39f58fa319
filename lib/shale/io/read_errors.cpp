#include "shale/io/read_errors.hpp"

#include "shale/base/size_text.hpp"

namespace shale {

Error read_failed(std::string_view path, std::optional<std::uint64_t> offset, std::uint64_t bytes,
                  int error_number) {
  return Error(Code::io, "cannot read {}", format_counted(bytes, "byte", "bytes"))
      .at(path, offset)
      .because_errno(error_number);
}

Error read_ends_early(std::string_view path, std::uint64_t offset, std::uint64_t wanted,
                      std::uint64_t found) {
  return Error(Code::damaged, "{} expected here, but the file ends after {}",
               format_counted(wanted, "byte", "bytes"), format_count(found))
      .at(path, offset);
}

}  // namespace shale
