#include "shale/folders/stdin_copy.hpp"

#include <span>
#include <vector>

#include "shale/io/write_fully.hpp"

namespace shale {

bool StdinCopy::is_whole() const {
  const std::scoped_lock lock(mutex_);
  return is_whole_;
}

void StdinCopy::keep(InputStream& input, const std::string& folder) {
  const std::scoped_lock lock(mutex_);
  file_.emplace(folder);
  std::vector<std::byte> buffer(1 << 16);
  std::uint64_t offset = 0;
  while (const std::uint64_t count = input.read(buffer)) {
    write_fully(file_->descriptor(), Bytes(buffer).first(count), offset, file_->path());
    offset += count;
  }
  is_whole_ = true;
}

std::string StdinCopy::path() const {
  const std::scoped_lock lock(mutex_);
  return file_->link();
}

}  // namespace shale
