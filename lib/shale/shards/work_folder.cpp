#include "shale/shards/work_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/shards/manifest_file.hpp"
#include "shale/shards/naming.hpp"

// OUT/.shale holds: `lock` (empty, flock), `journal` (line 1: the command's description; then one
// shard a line), and the shard files being written under their final names.

namespace shale {
namespace {

namespace fs = std::filesystem;

std::string journal_path(const std::string& folder) { return join_path(folder, "journal"); }

void remove_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error)
    throw Error(Code::io, "cannot remove a file of an earlier run")
        .at(path)
        .because(error.message());
}

}  // namespace

WorkFolder::WorkFolder(const std::string& directory)
    : directory_(directory), path_(join_path(directory, kWorkFolder)) {
  std::error_code error;
  made_directory_ = !fs::exists(directory_, error);
  fs::create_directories(path_, error);
  if (error) throw Error(Code::io, "cannot make the folder").at(path_).because(error.message());
  const std::string lock_path = join_path(path_, "lock");
  lock_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0)
    throw Error(Code::io, "cannot make the lock file").at(lock_path).because_errno(errno);
  // Network file systems may have no locks (ENOLCK, ENOTSUP): then nothing guards against a second
  // writer.
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(lock_);
    throw Error(Code::exists, "another shale process is writing here")
        .at(directory)
        .hint("wait for it to end, or choose another directory");
  }
}

WorkFolder::~WorkFolder() {
  if (journal_ >= 0) ::close(journal_);
  if (lock_ >= 0) ::close(lock_);
}

std::string WorkFolder::previous_request() const {
  std::ifstream in(journal_path(path_), std::ios::binary);
  std::string line;
  // A line without its end was cut by the kill: the run had not begun.
  return std::getline(in, line) && !in.eof() ? line : std::string();
}

bool WorkFolder::holds_shards() const {
  return std::any_of(
      fs::directory_iterator(directory_), fs::directory_iterator(),
      [](const auto& entry) { return is_dataset_file(entry.path().filename().string()); });
}

void WorkFolder::clear_previous_run() {
  for (const std::string& folder : {path_, directory_}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (is_dataset_file(entry.path().filename().string())) remove_file(entry.path());
    }
  }
  remove_file(journal_path(path_));
}

void WorkFolder::begin(std::string_view request) {
  const std::string path = journal_path(path_);
  journal_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (journal_ < 0) throw Error(Code::io, "cannot make the journal").at(path).because_errno(errno);
  const std::string line = std::string(request) + "\n";
  if (::write(journal_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fdatasync(journal_) != 0) {
    throw Error(Code::io, "cannot begin the journal").at(path).because_errno(errno);
  }
  sync_directory(path_);
}

void WorkFolder::add_shard(const ManifestShard& shard) {
  const std::string line = shard_line(shard) + "\n";
  if (::write(journal_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fdatasync(journal_) != 0) {
    throw Error(Code::io, "cannot write the journal").at(journal_path(path_)).because_errno(errno);
  }
}

void WorkFolder::for_each_shard(const std::function<void(const ManifestShard&)>& visit) const {
  std::ifstream in(journal_path(path_), std::ios::binary);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) visit(parse_shard_line(line));
}

void WorkFolder::drop_temporary_files() noexcept {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (is_dataset_file(entry.path().filename().string())) fs::remove(entry.path(), error);
  }
}

void WorkFolder::abandon() noexcept {
  std::error_code error;
  fs::remove_all(path_, error);
  if (made_directory_) fs::remove(directory_, error);  // only if it is empty
}

void WorkFolder::remove() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (error)
    throw Error(Code::io, "cannot remove the work folder").at(path_).because(error.message());
  sync_directory(directory_);
}

void remove_dataset(const std::string& directory) {
  std::vector<ManifestFile>
      native_indexes;  // their names are the format's: only the manifest tells them
  try {
    native_indexes = read_manifest(directory).files;
  } catch (const Error&) {
    // A manifest that cannot be read does not say what stands beside it; the names that are ours go
    // all the same.
  }
  remove_file(join_path(directory, kManifestName));
  sync_directory(directory);
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (is_dataset_file(entry.path().filename().string())) remove_file(entry.path());
  }
  for (const ManifestFile& file : native_indexes) remove_file(join_path(directory, file.name));
}

}  // namespace shale
