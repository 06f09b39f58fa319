#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "shale/format/source.hpp"

namespace shale {

/// A file of an archive, from what was read of it: the same bytes, or, if it is deflated, what it
/// is unpacked to at the beginning of `room`, which is then shorter by that. What the archive has
/// a checksum of is proved. Errors: Code::damaged, naming archive and byte.
[[nodiscard]] std::span<std::byte> unpacked_file(const PendingFile& file, std::span<std::byte> read,
                                                 std::span<std::byte>& room);

/// Errors: Code::damaged if the archive has another checksum of the file than `found`.
void check_archived(const ArchivedFile& file, std::string_view name, std::uint32_t found);

}  // namespace shale
