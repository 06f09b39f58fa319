#include "shale/archives/archive_set.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/format/format.hpp"
#include "shale/wire/tar_reader.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".tar", ".zip"};
constexpr std::size_t kMostOpen = 256;

std::optional<ArchiveKind> kind_of(const InputFile& file) {
  std::array<std::byte, kTarBlockBytes> block{};
  const std::uint64_t bytes = file.read_some(0, block);
  if (bytes == block.size() && is_tar_header(block)) return ArchiveKind::tar;
  return is_zip_of_files(file) ? std::optional(ArchiveKind::zip) : std::nullopt;
}

}  // namespace

bool has_archive_suffix(std::string_view name) {
  const auto lower = [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); };
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) {
    return name.size() > suffix.size() &&
           std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, {}, lower);
  });
}

std::optional<ArchiveKind> archive_kind_of(const std::string& path) {
  return kind_of(InputFile(path));
}

ArchiveSet::ArchiveSet(const std::vector<std::string>& paths) {
  Hasher128 hasher;
  std::uint64_t base = 0;
  for (const std::string& path : paths) {
    One one{.file = std::make_shared<ArchiveFile>(path, all_.size() < kMostOpen), .base = base};
    const std::optional<ArchiveKind> kind = kind_of(one.file->file());
    if (!kind) throw no_archive(path);
    one.kind = *kind;
    base += one.file->file().size() + 1;
    hasher.update(as_bytes(one.file->fingerprint()));
    all_.push_back(std::move(one));
  }
  fingerprint_ = all_.size() == 1
                     ? all_.front().file->fingerprint()
                     : fmt::format("{} archives, {}", all_.size(), hasher.digest().hex());
}

const ArchiveSet::One& ArchiveSet::at(std::uint64_t address) const {
  return *std::prev(std::ranges::upper_bound(all_, address, {}, &One::base));
}

void ArchiveSet::make_folders() {
  for (One& one : all_) {
    const std::string name = one.file->file().name();
    one.folder = name.substr(0, name.size() - (has_archive_suffix(name) ? kSuffixes[0].size() : 0));
  }
}

bool ArchiveSet::holds_zip() const {
  return std::ranges::find(all_, ArchiveKind::zip, &One::kind) != all_.end();
}

}  // namespace shale
