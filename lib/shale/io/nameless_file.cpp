#include "shale/io/nameless_file.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/temporary_folder.hpp"

namespace shale {
namespace {

constexpr std::size_t kLongestLabel = 200;  // the kernel takes 249

int open_nameless(const std::string& folder) {
  const int descriptor = retried(folder, [&] {
    return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  });
  // EISDIR: a kernel or a file system (NFS, FUSE) that does not know O_TMPFILE sees a folder opened
  // for writing.
  if (descriptor >= 0 || (errno != EISDIR && errno != EOPNOTSUPP && errno != EINVAL))
    return descriptor;
  std::string name = folder + "/.shale-scratch-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

NamelessFile::NamelessFile(const std::string& folder)
    : path_(folder + "/(scratch)"), descriptor_(above_standard_descriptors(open_nameless(folder))) {
  if (descriptor_ >= 0) return;
  const int error = errno;
  throw Error(Code::io, "cannot create a scratch file in this folder")
      .at(folder)
      .because_errno(error)
      .hint(temporary_folder_hint(folder));
}

NamelessFile::NamelessFile(const InMemory& memory)
    : path_(memory.label),
      descriptor_(above_standard_descriptors(
          ::memfd_create(memory.label.substr(0, kLongestLabel).c_str(), MFD_CLOEXEC))) {
  if (descriptor_ >= 0) return;
  const int error = errno;
  throw Error(Code::io, "cannot create a memory file for the index").at(path_).because_errno(error);
}

NamelessFile::~NamelessFile() { ::close(descriptor_); }

int NamelessFile::duplicate() const {
  const int other = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (other >= 0) return other;
  const int error = errno;
  throw Error(Code::io, "cannot duplicate the descriptor of the scratch file")
      .at(path_)
      .because_errno(error);
}

bool NamelessFile::set_direct(bool direct) const {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  return flags >= 0 &&
         ::fcntl(descriptor_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

Error NamelessFile::read_error(std::uint64_t offset, std::uint64_t wanted, int error_number) const {
  return read_failed(path_, offset, wanted, error_number);
}

}  // namespace shale
