#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/archive_file.hpp"

namespace shale {

enum class ArchiveKind { tar, zip };

/// What a file is, as its first bytes and, of a zip archive, the names in it say; nullopt: no
/// archive of files. Errors: same as InputFile.
[[nodiscard]] std::optional<ArchiveKind> archive_kind_of(const std::string& path);
/// ".tar", ".zip", in any case.
[[nodiscard]] bool has_archive_suffix(std::string_view name);

/// Archives that are one input: their bytes have addresses, those of one archive behind those of
/// the other.
class ArchiveSet {
 public:
  /// Errors: same as ArchiveFile; Code::unsupported for what is not an archive.
  explicit ArchiveSet(const std::vector<std::string>& paths);

  struct One {
    std::shared_ptr<const ArchiveFile> file;
    ArchiveKind kind = ArchiveKind::tar;
    std::uint64_t base = 0;   ///< the address of its first byte
    std::string folder = {};  ///< that stands for its root: "" or a name
    [[nodiscard]] const std::string& path() const { return file->file().path(); }
  };
  [[nodiscard]] const std::vector<One>& all() const { return all_; }
  [[nodiscard]] const One& at(std::uint64_t address) const;
  /// Makes a folder of each, with its name without the suffix.
  void make_folders();
  /// In words.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  [[nodiscard]] bool holds_zip() const;

 private:
  std::vector<One> all_;
  std::string fingerprint_;
};

}  // namespace shale
