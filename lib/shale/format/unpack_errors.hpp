#pragma once

#include <cstdint>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/base/finding.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale {

/// The error for a file that takes more bytes unpacked than the temporary folder has.
[[nodiscard]] inline Error no_room_to_unpack(std::string_view path, std::uint64_t bytes,
                                             std::uint64_t available) {
  return Error(Code::io,
               "the file takes {} unpacked, but only {} are available in the temporary folder",
               format_size(bytes), format_size(available))
      .at(path)
      .hint("set TMPDIR to a folder on a disk with that much free space");
}

/// The error for a file of which a scan has found damage, before anything is made of it.
[[nodiscard]] inline Error is_damaged(std::string_view path, const Finding& finding) {
  return Error(Code::damaged, "the file is damaged: {}", describe(finding))
      .hint(fmt::format("run 'shale verify {}' to list all the damage", printable(path)));
}

}  // namespace shale
