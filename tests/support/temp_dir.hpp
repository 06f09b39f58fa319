#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>

#include "shale/base/error.hpp"

namespace shale::test {

/// A fresh folder under $TMPDIR or `parent`, removed with everything in it.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "shale-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(Code::io, "cannot make a test folder").at(name);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

 private:
  std::string path_;
};

/// Writes a file, making the folders above it. One that is there is not emptied first: ext4 would
/// bring it to the disk when it is closed.
inline void write_file(const std::string& path, std::string_view content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  if (!file.is_open()) file.open(path, std::ios::binary | std::ios::out);
  file << content;
  file.close();
  std::error_code is_pipe;
  if (std::filesystem::file_size(path, is_pipe) != content.size())
    std::filesystem::resize_file(path, content.size(), is_pipe);
}

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

/// The names of all regular files below a folder, relative to it, sorted.
inline std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(std::filesystem::relative(entry.path(), folder));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The Error that `act` throws; fails the test if it throws none.
template <class Act>
Error error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  throw Error(Code::bug, "an error was expected, none was thrown");
}

}  // namespace shale::test
