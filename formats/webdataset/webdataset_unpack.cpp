#include <algorithm>
#include <memory>
#include <vector>

#include "shale/base/decoder.hpp"
#include "shale/base/error.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/unpacked_stream.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/wire/stream_kind.hpp"

#include "formats/webdataset/webdataset_foreign.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPieceBytes = 256 * 1024, kMostZstdWindow = 8 << 20;

Packing packing_of(Bytes head) {
  const StreamKind kind = stream_kind_of(head.first(std::min(head.size(), kStreamKindBytes)));
  return kind == StreamKind::gzip   ? Packing::gzip
         : kind == StreamKind::zstd ? Packing::zstd
                                    : Packing::none;
}

Packing packing_of(const InputFile& file) {
  std::vector<std::byte> head(std::min(kStreamKindBytes, file.size()));
  head.resize(file.read_some(0, head));
  return packing_of(Bytes(head));
}

}  // namespace

int bid_for_compressed_samples(const Probe& probe) {
  // What follows the first look only if that is too little of the archive.
  constexpr std::uint64_t kLooks[] = {4 << 20, 24 << 20};
  const Packing packing = packing_of(probe.head);
  if (packing == Packing::none || probe.file == nullptr) return 0;
  const NamelessFile begin(NamelessFile::InMemory{"archive"});
  std::uint64_t bytes = 0;
  const auto bid = [&] {
    const InputFile file(begin.link());
    std::vector<std::byte> head(std::min(kTarBlockBytes, file.size()));
    file.read_exact(0, head);
    return bid_for_samples_in_tar({probe.path, head, file.size(), &file});
  };
  std::vector<std::byte> piece(kPieceBytes);
  try {
    UnpackedStream stream(std::make_unique<InputStream>(probe.file->path()), packing,
                          kMostZstdWindow);
    if (stream_kind_of(stream.peek(kStreamKindBytes)) != StreamKind::tar) return 0;
    for (const std::uint64_t most : kLooks) {
      while (bytes < most) {
        const std::uint64_t filled = stream.read(piece);
        if (filled == 0) return bid();
        write_fully(begin.descriptor(), Bytes(piece).first(filled), bytes, begin.path());
        bytes += filled;
      }
      if (const int found = bid(); found > 0) return found;
    }
    return 0;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
  }
  return bid();
}

void refuse_compressed_tar(const InputFile& file) {
  const Packing packing = packing_of(file);
  if (packing == Packing::none) return;
  throw Error(Code::unsupported,
              "is a tar archive compressed with {}, so samples cannot be located in it",
              name_of(packing))
      .at(file.path())
      .hint(fmt::format("'shale convert {} OUT --to record' decompresses and converts it",
                        shell_word(file.path())));
}

std::optional<UnpackReport> unpack_webdataset(const UnpackRequest& request) {
  constexpr std::uint64_t kBufferBytes = 1 << 20;
  const Packing packing = packing_of(request.file);
  if (packing == Packing::none) return std::nullopt;
  const auto stop_if_asked = [&request] {
    if (request.progress) request.progress(0, 0);
  };
  UnpackedStream stream(std::make_unique<InputStream>(request.file.path(), stop_if_asked), packing,
                        request.memory_bytes / 4);
  OutputFile out(request.into.duplicate(), request.into.path(),
                 {.io = IoMode::buffered, .buffer_bytes = kBufferBytes, .buffers = 1});
  std::vector<std::byte> piece(kPieceBytes);
  while (const std::uint64_t filled = stream.read(piece)) {
    out.append(Bytes(piece).first(filled));
    stop_if_asked();
  }
  (void)out.finish();
  UnpackReport report;
  report.is_decompressed = true;
  return report;
}

}  // namespace shale
