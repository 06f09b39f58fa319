#include "shale/arrays/tensor_writer.hpp"

#include <vector>

#include "shale/arrays/file_pieces.hpp"
#include "shale/base/checksum.hpp"
#include "shale/io/atomic_file.hpp"

namespace shale {

void write_tensors(OutputFile& file, const TensorFrame& frame, std::span<const ColumnFile> columns,
                   const std::function<void()>& stop_if_asked) {
  std::vector<std::uint32_t> crc32s(columns.size());
  for (const std::size_t column : frame.places) {
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
