#include "shale/io/archive_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kHashedEndBytes = 64 * 1024;

struct stat facts_of(const InputFile& file) {
  struct stat facts {};
  if (retried(file.path(), [&] { return ::fstat(file.descriptor(), &facts); }) != 0)
    throw size_unknown(file.path(), errno);
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

ArchiveFile::ArchiveFile(std::string path)
    : file_(std::move(path)),
      modified_ns_(modified(facts_of(file_))),
      fingerprint_(
          fmt::format("{} bytes, {}, {}", file_.size(), modified_ns_, hash_of_ends(file_).hex())) {}

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

}  // namespace shale
