#include "shale/ops/resumed_array.hpp"

#include <charconv>

#include "shale/base/error.hpp"
#include "shale/io/atomic_file.hpp"

namespace shale {
namespace {

// So much is written again after a kill, at most.
constexpr std::uint64_t kBetweenNotes = 64 << 20;

// A line of the journal is a number of bytes.
std::uint64_t noted_bytes(const std::string& line) {
  std::uint64_t bytes = 0;
  std::from_chars(line.data(), line.data() + line.size(), bytes);
  return bytes;
}

}  // namespace

ResumedArray::ResumedArray(TemporaryOutput& output, const OutputFile::Options& options,
                           std::uint64_t all_bytes)
    : output_(output), all_bytes_(all_bytes), noted_(noted_bytes(output.work().last_line())) {
  if (noted_ == all_bytes_) return;
  noted_ = noted_ / kBlockBytes * kBlockBytes;
  if (noted_ > 0) {
    file_.emplace(OutputFile::continued(output.path(), noted_, options));
  } else {
    (void)remove_file(output.path());
    file_.emplace(output.path(), options);
  }
}

void ResumedArray::append(Bytes bytes) {
  file_->append(bytes);
  if (file_->size() - noted_ >= kBetweenNotes) note(file_->sync());
}

void ResumedArray::stop() {
  if (file_ && file_->size() >= noted_ + kBlockBytes) note(file_->sync());
}

void ResumedArray::finish() {
  const std::uint64_t bytes = file_->finish().bytes;
  if (bytes != all_bytes_) {
    throw Error(Code::bug, "{} bytes were written, but the array is {}", bytes, all_bytes_)
        .at(output_.output());
  }
  file_.reset();
  note(bytes);
}

void ResumedArray::note(std::uint64_t durable) {
  sync_directory(output_.work().path());
  output_.work().add_line(std::to_string(durable));
  noted_ = durable;
}

}  // namespace shale
