#pragma once

#include <cstdint>
#include <string>

#include "shale/base/error.hpp"

namespace shale {

/// A scratch file without a name: gone when it is closed or the process dies, whatever kills it.
class NamelessFile {
 public:
  /// Made in `folder`, open for reading and writing. Errors: Code::io.
  explicit NamelessFile(const std::string& folder);
  /// Made in memory; `label` is for messages. Errors: Code::io.
  struct InMemory {
    std::string label;
  };
  explicit NamelessFile(const InMemory& memory);
  ~NamelessFile();
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// A further descriptor of it, for an owner of its own. Errors: Code::io.
  [[nodiscard]] int duplicate() const;
  /// What this process, and none else, opens it by once more.
  [[nodiscard]] std::string link() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  /// For messages: the folder, and what it is; in memory the label.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// From now on reads and writes go past the page cache, or, with false, through it: as
  /// InputFile::go_direct. False, and nothing has changed, where the file system refuses.
  bool set_direct(bool direct) const;
  /// The error for `wanted` bytes at `offset` that could not be read: Code::io.
  [[nodiscard]] Error read_error(std::uint64_t offset, std::uint64_t wanted,
                                 int error_number) const;

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace shale
