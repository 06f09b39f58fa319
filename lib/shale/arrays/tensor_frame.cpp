#include "shale/arrays/tensor_frame.hpp"

#include <numeric>

#include "shale/arrays/file_pieces.hpp"
#include "shale/base/checksum.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/wire/npy_header.hpp"
#include "shale/wire/safetensors_header.hpp"

namespace shale {

TensorFrame::TensorFrame(std::string_view format, std::span<const Field> fields,
                         std::uint64_t rows) {
  for (const Field& field : fields) columns_.push_back(tensor_column_of(field, rows));
  places_.resize(columns_.size());
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  if (format == "pt") {
    archive_.emplace(columns_, columns_.size() > 1);
  } else if (format == "npy") {
    header_ = npy_header_bytes({.dtype = columns_.at(0).dtype, .shape = columns_.at(0).shape});
  } else {
    places_ = safetensors_places(columns_);
    header_ = safetensors_header(columns_, places_);
  }
}

std::vector<std::byte> TensorFrame::head(std::size_t column, std::uint32_t crc32) const {
  const bool is_first = column == places_.front();
  if (!archive_) return is_first ? header_ : std::vector<std::byte>();
  std::vector<std::byte> head = archive_->header(column, crc32);
  if (is_first) head.insert(head.begin(), archive_->front().begin(), archive_->front().end());
  return head;
}

std::vector<std::byte> TensorFrame::trailer(std::span<const std::uint32_t> crc32s) const {
  return archive_ ? archive_->trailer(crc32s) : std::vector<std::byte>();
}

std::uint64_t TensorFrame::file_bytes() const {
  constexpr std::uint32_t kAnyChecksum = 0;
  std::uint64_t bytes = trailer(std::vector<std::uint32_t>(columns_.size(), kAnyChecksum)).size();
  for (const std::size_t column : places_)
    bytes += head(column, kAnyChecksum).size() + rows_bytes(column);
  return bytes;
}

void write_tensors(OutputFile& file, const TensorFrame& frame, std::span<const ColumnFile> columns,
                   const std::function<void()>& stop_if_asked) {
  std::vector<std::uint32_t> crc32s(columns.size());
  for (const std::size_t column : frame.places()) {
    const std::uint64_t begin = file.size();
    file.append(frame.head(column, 0));
    {
      const InputFile rows(columns[column].path);
      visit_file_pieces(rows, columns[column].offset, frame.rows_bytes(column), [&](Bytes piece) {
        if (frame.has_checksums()) crc32s[column] = crc32(piece, crc32s[column]);
        file.append(piece);
        stop_if_asked();
      });
    }
    if (frame.has_checksums()) file.patch(begin, frame.head(column, crc32s[column]));
    remove_file(columns[column].path);
  }
  file.append(frame.trailer(crc32s));
}

}  // namespace shale
