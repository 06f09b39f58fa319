#include "shale/sources/tars_of_samples.hpp"

#include <algorithm>
#include <utility>

#include "shale/archives/archive_path.hpp"
#include "shale/archives/archive_set.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/wire/stream_kind.hpp"
#include "shale/wire/tar_reader.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPieceBytes = 256 << 10;
// How much of a stream is looked at; what follows only if that is too little of it: a first image
// may be large.
constexpr std::uint64_t kLooks[] = {4 << 20, 24 << 20};

bool is_read_once(const std::string& path) {
  if (path == kStdin) return true;
  const std::optional<struct stat> facts = facts_behind(path);
  return facts && S_ISFIFO(facts->st_mode);
}

// As much of a tar as its first members take, which say what it holds: whoever writes the stream
// may wait for what becomes of them.
Bytes first_members_of(InputStream& stream, std::uint64_t most) {
  constexpr int kMembers = 256;
  TarReader reader(0, kEndOfTarStream, stream.name());
  const auto end = [&reader] { return reader.offset() + reader.wanted(); };
  try {
    for (int members = 0; members < kMembers && reader.wanted() > 0 && end() <= most;) {
      const Bytes held = stream.peek(end());
      if (held.size() < end()) return held;
      if (reader.take(held.subspan(reader.offset(), reader.wanted()))) ++members;
    }
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
  }
  return stream.peek(std::min(most, end()));
}

bool begins_with_samples(InputStream& stream, TarsAs tars) {
  const StreamKind kind = stream_kind_of(stream.peek(kStreamKindBytes));
  if (kind != StreamKind::tar && kind != StreamKind::gzip && kind != StreamKind::zstd) return false;
  if (tars == TarsAs::samples) return true;
  for (const std::uint64_t most : kLooks) {
    const NamelessFile begin(NamelessFile::InMemory{"archive"});
    const Bytes held = kind == StreamKind::tar ? first_members_of(stream, most) : stream.peek(most);
    write_fully(begin.descriptor(), held, 0, begin.path());
    if (is_archive_of_samples(begin.link())) return true;
    if (held.size() < most) break;
  }
  return false;
}

}  // namespace

std::optional<KeptSamples> keep_samples(InputRequest& request, const Events& events) {
  if (request.inputs.size() != 1 || !is_read_once(request.inputs.front())) return std::nullopt;
  // An index that is named is that of a file.
  if (!request.container.index_folder.empty()) return std::nullopt;
  const TarsAs tars = tars_as(request);
  if (tars == TarsAs::files) return std::nullopt;
  const std::function<void()> stop_if_asked = [&events] { events.stop_if_asked(); };
  const std::string path = request.inputs.front();
  auto stream = std::make_unique<InputStream>(path, stop_if_asked);
  if (!begins_with_samples(*stream, tars)) {
    request.stdin_copy->hold(std::move(stream));
    return std::nullopt;
  }
  const OpenedStream opened =
      open_stream({path, ""}, std::move(stream), request.memory_bytes, stop_if_asked);
  const auto file = std::make_shared<const NamelessFile>(temporary_folder());
  std::vector<std::byte> piece(kPieceBytes);
  std::uint64_t bytes = 0;
  while (const std::uint64_t filled = opened.bytes->read(piece)) {
    write_fully(file->descriptor(), Bytes(piece).first(filled), bytes, file->path());
    bytes += filled;
    stop_if_asked();
  }
  request.inputs.front() = file->link();
  return KeptSamples{file, path};
}

TarsAs tars_of_source(const Manifest& manifest) {
  const ManifestSource& source = manifest.source;
  return made_from(source.origin.empty() ? source.kind : source.origin).is_files ? TarsAs::files
                                                                                 : TarsAs::found;
}

bool is_input_of_samples(const std::string& path) {
  const bool is_of_files = archive_of_path(path) || stream_of_path(path);
  return !is_of_files &&
         (archive_of_path(path, TarsAs::files) || stream_of_path(path, TarsAs::files));
}

bool are_compressed_samples(const std::string& path) {
  const auto is_compressed = [](const std::string& file) {
    return is_archive_of_samples(file) && stream_of_path(file, TarsAs::files);
  };
  if (const std::optional<std::string> file = file_of_path(path)) return is_compressed(*file);
  if (has_archive_suffix(path)) return false;  // a pattern of others: they are not looked for
  const std::optional<std::vector<SetMember>> files = files_of_set(path);
  return files && is_compressed(files->front().path);
}

}  // namespace shale
