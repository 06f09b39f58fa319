#include "shale/format/archive_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kHashedEndBytes = 64 * 1024;

struct stat facts_of(const InputFile& file) {
  struct stat facts {};
  const auto ask = [&] {
    return file.descriptor() < 0 ? ::stat(file.path().c_str(), &facts)
                                 : ::fstat(file.descriptor(), &facts);
  };
  if (retried(file.path(), ask) != 0) throw size_unknown(file.path(), errno);
  return facts;
}

std::int64_t modified(const struct stat& facts) {
  return std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

Hash128 hash_of_ends(const InputFile& file) {
  Hasher128 hasher;
  std::vector<std::byte> end(std::min(kHashedEndBytes, file.size()));
  for (const std::uint64_t at : {std::uint64_t{0}, file.size() - end.size()}) {
    file.read_exact(at, end);
    hasher.update(end);
  }
  return hasher.digest();
}

}  // namespace

ArchiveFile::ArchiveFile(std::string path, bool stays_open)
    : file_(std::move(path)),
      modified_ns_(modified(facts_of(file_))),
      fingerprint_(
          fmt::format("{} bytes, {}, {}", file_.size(), modified_ns_, hash_of_ends(file_).hex())) {
  if (!stays_open) file_.close();
}

void ArchiveFile::refuse_changes() const {
  const struct stat facts = facts_of(file_);
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (bytes == file_.size() && modified(facts) == modified_ns_) return;
  throw Error(Code::mismatch, "archive has changed since its contents were listed: it {}",
              bytes != file_.size() ? fmt::format("had {} bytes and has {}", file_.size(), bytes)
                                    : "was modified in between")
      .at(file_.path())
      .hint(
          "wait until nothing writes to it, then run the same command again, or pass --overwrite "
          "to start again with the archive as it is now");
}

ReadRequest request_of(const ArchivedFile& file) {
  const InputFile& archive = file.archive->file();
  const bool is_open = archive.descriptor() >= 0;
  return {.path = is_open ? nullptr : archive.path().c_str(),
          .descriptor = archive.descriptor(),
          .offset = file.offset};
}

std::size_t read_beginning(const ArchivedFile& file, std::span<std::byte> into) {
  constexpr std::uint64_t kPieceBytes = 4096;
  const InputFile& archive = file.archive->file();
  if (file.packed_bytes == 0) return archive.read_some(file.offset, into);
  Inflater inflater;
  std::vector<std::byte> piece(kPieceBytes);
  std::size_t given = 0;
  for (std::uint64_t taken = 0; given < into.size() && taken < file.packed_bytes;) {
    const std::uint64_t left = file.packed_bytes - taken;
    const std::span<std::byte> next =
        std::span(piece).first(std::min<std::uint64_t>(piece.size(), left));
    const std::uint64_t read = archive.read_some(file.offset + taken, next);
    if (read == 0) break;
    try {
      const Inflater::Progress progress = inflater.inflate(next.first(read), into.subspan(given));
      given += progress.given;
      if (progress.has_ended) break;
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      break;
    }
    taken += read;
  }
  return given;
}

}  // namespace shale
