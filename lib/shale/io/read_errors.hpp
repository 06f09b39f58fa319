#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {

/// The error for bytes that the storage did not hand out. Code::io, with the system's cause.
[[nodiscard]] Error read_failed(std::string_view path, std::optional<std::uint64_t> offset,
                                std::uint64_t bytes, int error_number);

/// The error for a read that ran into the end of the file after `found` bytes. Code::damaged; the
/// hint is the caller's: most often kTruncatedHint.
[[nodiscard]] Error read_ends_early(std::string_view path, std::uint64_t offset,
                                    std::uint64_t wanted, std::uint64_t found);

/// The error for an open file that does not tell its size. Code::io, with the system's cause.
[[nodiscard]] Error size_unknown(std::string_view path, int error_number);

inline constexpr std::string_view kTruncatedHint =
    "the file was truncated while it was read; restore it from an intact copy";

/// Errors: read_failed, and read_ends_early with kTruncatedHint for fewer bytes than were wanted.
void require_all(const ReadResult& read, std::string_view path, std::uint64_t offset,
                 std::uint64_t wanted);

/// pread until `into` is full, the file ends or an error stops it. Never throws.
[[nodiscard]] ReadResult try_read(int descriptor, std::span<std::byte> into, std::uint64_t offset,
                                  const FaultPlace& place) noexcept;

}  // namespace shale
