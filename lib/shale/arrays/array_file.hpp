#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/arrays/row_stream.hpp"
#include "shale/data/dtype.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

// NumPy's files: an .npy file is one array, an .npz archive a zip file with one .npy file per array
// (numpy.savez stores them, numpy.savez_compressed deflates them).

namespace shale {

/// One array in a file: an .npy file, or a member of an .npz archive.
struct ArrayFile {
  std::shared_ptr<const InputFile> file;
  std::string member;  ///< of an archive, without ".npy"; empty for an .npy file
  DType dtype;
  std::vector<ByteSwap> swaps = {};  ///< what of an element lies big-endian
  bool fortran_order = false;
  std::vector<std::uint64_t> shape = {};  ///< at least one axis
  /// Of the first element: in `file`, or of a deflated member in its own inflated bytes.
  std::uint64_t data_offset = 0;
  std::optional<ZipMember> archived = {};  ///< of an archive: where its bytes lie, and how

  /// An .npy file: its elements lie in `file` from data_offset on, in their own order of axes and
  /// bytes. The others come from open_member.
  [[nodiscard]] bool is_located() const { return !archived; }
  /// Of all elements: those of one times the axes.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// The arrays of one file, in its order.
struct ArrayFiles {
  std::vector<ArrayFile> arrays;      ///< at least one
  std::vector<std::string> left_out;  ///< members of the archive that are not .npy files
};

/// True for what begins like an .npy file or a zip archive.
/// Errors: Code::io.
[[nodiscard]] bool is_array_file(const InputFile& file);

/// The array of an .npy file, or those of an .npz archive. The file is exactly as long as header
/// and shape say, and so is each member. Errors: same as InputFile; Code::damaged, with file and
/// offset, and the member of an archive; Code::unsupported for 0-d arrays, for dtypes that are not
/// of fixed size, for encrypted members, for archives without an array; Code::limit as
/// parse_npy_header.
[[nodiscard]] ArrayFiles open_arrays(const std::string& path);

/// The elements of an archive's member from the first on, in its own order of axes and bytes. What
/// it hands out is proved by the archive's checksum and sizes before the last byte is; nothing
/// beyond the array's own bytes is inflated. Takes 256 KiB; shares `file`.
/// Errors: Code::bug for an array that is_located(); Code::damaged; Code::io.
[[nodiscard]] std::unique_ptr<RowStream> open_member(const ArrayFile& array);

}  // namespace shale
