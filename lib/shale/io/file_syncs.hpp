#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shale {

/// Files that are written and not durable yet: open until sync(), which makes them durable
/// together. The file system then commits once for all of them instead of once for each. They stay
/// open, so that the kernel reports to us what it could not write. Not thread-safe.
class FileSyncs {
 public:
  FileSyncs() = default;
  ~FileSyncs();
  FileSyncs(const FileSyncs&) = delete;
  FileSyncs& operator=(const FileSyncs&) = delete;

  /// Takes the descriptor.
  void add(int descriptor, std::string path, std::uint64_t bytes);
  [[nodiscard]] std::size_t files() const { return files_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// How many files may wait here, of the descriptors that the process may have.
  [[nodiscard]] static std::size_t most_files();

  /// Makes all of them durable (fdatasync), and closes them. Errors: Code::io with the path; those
  /// behind it are then closed as they are.
  void sync();

 private:
  struct OpenFile {
    int descriptor;
    std::string path;
    std::uint64_t bytes;
  };

  std::vector<OpenFile> files_;
  std::uint64_t bytes_ = 0;
};

/// Makes a file that is closed durable. Errors: Code::io.
void sync_file(const std::string& path);

}  // namespace shale
