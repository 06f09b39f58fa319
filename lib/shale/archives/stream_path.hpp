#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "shale/io/unpacked_stream.hpp"

namespace shale {

/// What tar archives are read as: by content (is_archive_of_samples); as files of a folder; as
/// samples.
enum class TarsAs { found, files, samples };

/// The part of a path that stands, and what follows it: "x.tar/a/b" is x.tar and "a/b".
struct StandingPart {
  std::string path, rest;
  struct stat facts;  ///< of what links lead to
};
/// Nullopt: nothing of it stands. Errors: Code::io.
[[nodiscard]] std::optional<StandingPart> standing_part_of_path(const std::string& path);

/// A tar archive that is read as a stream, and the folder in it.
struct StreamPath {
  std::string file;    ///< "-": stdin
  std::string folder;  ///< "": all of it
};

/// A path that leads into such an archive: "-" and "-/folder" (unless there is something of that
/// name), a FIFO, and a file that is compressed with gzip or zstd and begins like a tar archive, or
/// has the name of one: "x.tar.gz/folder". Nullopt for any other, and for a file of samples.
/// Nothing is read of what can be read only once: what stdin holds shows when it is opened. Errors:
/// Code::io.
[[nodiscard]] std::optional<StreamPath> stream_of_path(const std::string& path,
                                                       TarsAs tars = TarsAs::found);

/// The same, and stdin may hold a list of files instead.
[[nodiscard]] inline bool is_stdin(const StreamPath& path) { return path.file == kStdin; }

/// Opens it, decompressed; `input`: a stream that was opened before, or null. Its window is at most
/// half of `memory_bytes`. Errors: Code::unsupported, by name, for other compressions, and for what
/// does not begin like a tar archive; same as of InputStream and UnpackedStream.
struct OpenedStream {
  std::unique_ptr<UnpackedStream> bytes;
  std::uint64_t memory_bytes = 0;  ///< that it takes
};
[[nodiscard]] OpenedStream open_stream(const StreamPath& path, std::unique_ptr<InputStream> input,
                                       std::uint64_t memory_bytes,
                                       const std::function<void()>& stop_if_asked);

}  // namespace shale
