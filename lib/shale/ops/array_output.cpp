#include "shale/ops/array_output.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/shards/naming.hpp"

namespace shale {

namespace fs = std::filesystem;

std::string folder_of_file(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void refuse_taken_output(const std::string& output, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::status(output, error);
  if (!fs::exists(status)) return;
  if (fs::is_directory(status)) {
    throw Error(Code::exists, "is a directory, an array is one file")
        .at(output)
        .hint("a set of shards goes into a directory whose name does not end in .npy");
  }
  if (overwrite) return;
  throw Error(Code::exists, "is there already")
      .at(output)
      .hint("choose another output, or pass --overwrite to replace it");
}

const Field& only_array_field(const SourceInfo& info, const std::string& output, bool are_chosen) {
  const Schema& schema = info.schema;
  if (info.holds_images && !are_chosen) {
    throw Error(Code::unsupported, "images differ in size, and make no array")
        .at(output)
        .hint("write shards: choose an output directory and pass --to");
  }
  if (schema.fields.size() != 1) {
    std::string names;
    for (const Field& field : schema.fields)
      names += (names.empty() ? "" : ", ") + printable(field.name);
    throw Error(Code::usage, "one array holds one field, the input has {}", schema.fields.size())
        .at(output)
        .hint("pass --fields with one of them: " + names);
  }
  const Field& field = schema.fields.front();
  if (fixed_bytes_of(field)) return field;
  throw Error(Code::unsupported, "field '{}' is of kind {}, whose values differ in size: no array",
              printable(field.name), name_of(field.kind))
      .at(output);
}

TemporaryArray::TemporaryArray(const std::string& output)
    : output_(output),
      path_(join_path(folder_of_file(output),
                      fmt::format(".{}.shale", fs::path(output).filename().string()))) {
  // Who holds it may give it its final name between our open and our lock: then it is another file
  // by now.
  do {
    release();
    take();
  } while (!still_has_name());
  if (::ftruncate(lock_, 0) == 0) return;
  const int error = errno;
  release();
  throw Error(Code::io, "what an earlier run left of it cannot be cleared")
      .at(path_)
      .because_errno(error);
}

TemporaryArray::~TemporaryArray() {
  if (!is_published_) ::unlink(path_.c_str());
  release();
}

void TemporaryArray::publish() {
  rename_file(path_, output_);
  is_published_ = true;
  sync_directory(folder_of_file(output_));
}

void TemporaryArray::take() {
  lock_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) {
    const int error = errno;
    throw Error(Code::io, "cannot be written").at(output_).because_errno(error);
  }
  // Where the file system has no locks the last one to finish wins.
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  release();
  throw Error(Code::exists, "another process is writing it")
      .at(output_)
      .hint("wait for it, or choose another output");
}

bool TemporaryArray::still_has_name() const {
  struct stat held {
  }, named{};
  return ::fstat(lock_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

void TemporaryArray::release() {
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
}

}  // namespace shale
