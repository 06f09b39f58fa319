#include "shale/archives/stream_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/wire/stream_kind.hpp"
#include "shale/wire/tar_reader.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLeastWindow = 1 << 20, kUsualWindow = 8 << 20;
constexpr std::uint64_t kLeastForOthers = 12 << 20;    // write buffers, lists, samples
constexpr std::uint64_t kBuffersOfStream = 512 << 10;  // pieces, and the tables of a decoder
constexpr std::array<std::string_view, 5> kArchiveNames = {".tar.gz", ".tgz", ".taz", ".tar.zst",
                                                           ".tzst"};

Packing packing_of(StreamKind kind) {
  return kind == StreamKind::gzip   ? Packing::gzip
         : kind == StreamKind::zstd ? Packing::zstd
                                    : Packing::none;
}

bool has_archive_name(std::string_view name) {
  return std::any_of(kArchiveNames.begin(), kArchiveNames.end(),
                     [name](std::string_view suffix) { return name.ends_with(suffix); });
}

bool begins_like_tar(UnpackedStream& stream) {
  return stream_kind_of(stream.peek(kTarBlockBytes)) == StreamKind::tar;
}

// Of a regular file.
bool is_compressed_archive(const std::string& file) {
  auto input = std::make_unique<InputStream>(file);
  const StreamKind kind = stream_kind_of(input->peek(kTarBlockBytes));
  if (packing_of(kind) == Packing::none) return false;
  if (has_archive_name(file)) return true;  // opening it says what is wrong, if anything is
  const std::uint64_t window = std::min(zstd_window_of(input->peek(kTarBlockBytes)), kUsualWindow);
  try {
    UnpackedStream stream(std::move(input), packing_of(kind), std::max(window, kLeastWindow));
    return begins_like_tar(stream);
  } catch (const Error& error) {
    if (error.code() != Code::damaged && error.code() != Code::limit) throw;
    return false;  // two bytes at its beginning were all it had of a compressed file
  }
}

// For zstd: what the first frame asks for, if half of the memory has room for it.
std::uint64_t window_for(const std::string& name, Packing packing, Bytes head,
                         std::uint64_t memory_bytes) {
  if (packing != Packing::zstd) return 0;
  const std::uint64_t usual = std::clamp(memory_bytes / 8, kLeastWindow, kUsualWindow);
  const std::uint64_t wanted = zstd_window_of(head);
  const std::uint64_t most =
      std::min(memory_bytes / 2, memory_bytes - std::min(memory_bytes, kLeastForOthers));
  if (wanted <= most) return std::max(wanted, usual);
  throw Error(Code::limit, "decompressing it takes a window of {}, but --memory has room for {}",
              format_size(wanted), format_size(most))
      .at(name)
      .hint(enough_memory_hint(std::max(2 * wanted, wanted + kLeastForOthers)) +
            ", or compress it again without --long and --ultra");
}

}  // namespace

std::optional<StandingPart> standing_part_of_path(const std::string& path) {
  std::string_view part = path;
  for (;;) {
    while (part.size() > 1 && part.ends_with('/')) part.remove_suffix(1);
    std::string name(part);
    if (const std::optional<struct stat> facts = facts_behind(name)) {
      std::string_view rest = std::string_view(path).substr(part.size());
      while (rest.starts_with('/')) rest.remove_prefix(1);
      return StandingPart{std::move(name), std::string(rest), *facts};
    }
    const std::size_t slash = part.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return std::nullopt;
    part = part.substr(0, slash);
  }
}

std::optional<StreamPath> stream_of_path(const std::string& path, TarsAs tars) {
  const std::string in_stdin = std::string(kStdin) + "/";
  if (path == kStdin) return StreamPath{path, ""};
  if (path.starts_with(in_stdin) && !facts_at(std::string(kStdin)))
    return StreamPath{std::string(kStdin), path.substr(in_stdin.size())};
  const std::optional<StandingPart> part = standing_part_of_path(path);
  if (!part) return std::nullopt;
  const mode_t mode = part->facts.st_mode;
  const bool is_archive = S_ISREG(mode) && is_compressed_archive(part->path);
  if (!S_ISFIFO(mode) && !is_archive) return std::nullopt;
  const bool may_be_samples = is_archive && part->rest.empty() && tars != TarsAs::files;
  if (may_be_samples && (tars == TarsAs::samples || is_archive_of_samples(part->path)))
    return std::nullopt;
  return StreamPath{part->path, part->rest};
}

OpenedStream open_stream(const StreamPath& path, std::unique_ptr<InputStream> input,
                         std::uint64_t memory_bytes, const std::function<void()>& stop_if_asked) {
  if (!input) input = std::make_unique<InputStream>(path.file, stop_if_asked);
  const std::string name = input->name();
  const Bytes head = input->peek(kTarBlockBytes);
  const StreamKind kind = stream_kind_of(head);
  if (kind == StreamKind::xz || kind == StreamKind::bzip2) {
    throw Error(Code::unsupported, "is compressed with {}, which is not supported", name_of(kind))
        .at(name)
        .hint(fmt::format("decompress it on the way: '{} -dc FILE | shale convert - OUTPUT ...'",
                          name_of(kind)));
  }
  const Packing packing = packing_of(kind);
  const std::uint64_t window = window_for(name, packing, head, memory_bytes);
  OpenedStream opened{.bytes = std::make_unique<UnpackedStream>(std::move(input), packing, window),
                      .memory_bytes = window + kBuffersOfStream};
  if (begins_like_tar(*opened.bytes)) return opened;
  throw Error(Code::unsupported, "does not begin like a tar archive{}",
              packing == Packing::none ? "" : " when it is decompressed")
      .at(name)
      .hint(
          "make a tar archive of the files, and send or name that; what is not an archive is read "
          "from a file");
}

}  // namespace shale
