#include "shale/targets/resumed_array.hpp"

#include <charconv>
#include <span>

#include "shale/arrays/array_writers.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"

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
                           const TensorFrame& frame, const std::function<void()>& stop_if_asked)
    : output_(output),
      frame_(frame),
      head_bytes_(frame.head(0, 0).size()),
      noted_(noted_bytes(output.work().last_line())) {
  if (noted_ == frame.file_bytes()) return;
  // Rows only are noted before the file is complete, and a head is shorter than a block.
  noted_ = noted_ / kBlockBytes * kBlockBytes;
  if (noted_ == 0) {
    (void)remove_file(output.path());
    file_.emplace(output.path(), options);
    file_->append(frame.head(0, 0));
    return;
  }
  file_.emplace(OutputFile::continued(output.path(), noted_, options));
  if (!frame.has_checksums()) return;
  visit_file_pieces(InputFile(output.path()), head_bytes_, noted_ - head_bytes_, [&](Bytes piece) {
    crc32_ = crc32(piece, crc32_);
    stop_if_asked();
  });
}

std::uint64_t ResumedArray::size() const {
  return file_ ? file_->size() - head_bytes_ : frame_.rows_bytes(0);
}

void ResumedArray::append(Bytes rows) {
  file_->append(rows);
  if (frame_.has_checksums()) crc32_ = crc32(rows, crc32_);
  if (file_->size() - noted_ >= kBetweenNotes) note(file_->sync());
}

void ResumedArray::stop() {
  if (file_ && file_->size() >= noted_ + kBlockBytes) note(file_->sync());
}

void ResumedArray::finish() {
  if (frame_.has_checksums()) {
    file_->patch(0, frame_.head(0, crc32_));
    file_->append(frame_.trailer(std::span(&crc32_, 1)));
  }
  const std::uint64_t bytes = file_->finish().bytes, expected = frame_.file_bytes();
  if (bytes != expected) {
    throw Error(Code::bug, "{} bytes were written, but the array is {}", bytes, expected)
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
