#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/arrays/row_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/data/dtype.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

// NumPy's files: an .npy file is one array, an .npz archive a zip file with one .npy file per array
// (numpy.savez stores them, numpy.savez_compressed deflates them). Beside them stand the tensors of
// .pt and .safetensors files, which are arrays all the same.

namespace shale {

/// One array in a file: an .npy file, a member of an .npz archive, or a tensor.
struct ArrayFile {
  std::shared_ptr<const InputFile> file;
  std::string member;  ///< of an archive, without ".npy", or of a tensor; empty for a lone array
  DType dtype;
  std::vector<ByteSwap> swaps = {};  ///< what of an element lies big-endian
  bool fortran_order = false;
  std::vector<std::uint64_t> shape = {};  ///< at least one axis
  /// Of the first element: in `file`, or of a deflated member in its own inflated bytes.
  std::uint64_t data_offset = 0;
  std::optional<ZipMember> archived = {};  ///< of an .npz archive: where its bytes lie, and how
  /// Of one that is neither in C nor in Fortran order: in elements; else empty.
  std::vector<std::uint64_t> strides = {};
  /// Of a truncated file: the rows that it still holds; else nothing.
  std::optional<std::uint64_t> whole_rows = {};

  /// How far apart, in elements, those lie whose index differs by one in an axis.
  [[nodiscard]] std::vector<std::uint64_t> steps() const;
  /// The same elements with this axis first. Errors: Code::bug for one that there is not.
  void put_first(std::size_t axis);
  /// Its elements lie in `file` from data_offset on, in their own order of axes and bytes. The
  /// others come from open_member.
  [[nodiscard]] bool is_located() const { return !archived && strides.empty(); }
  /// Of all elements: those of one times the axes.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// An array that cannot be read, though others of its file can.
struct UnreadArray {
  std::string member;
  Error error;
  std::string reason = {};  ///< it is left out for; empty: only if others are asked for by name
};

/// The arrays of one file, in its order.
struct ArrayFiles {
  std::vector<ArrayFile> arrays;  ///< at least one
  std::vector<UnreadArray> unread = {};
  std::vector<std::string> left_out = {};  ///< members or values of the file that are not arrays
};

/// True for what begins like an .npy file, a zip archive, or a file of tensors.
/// Errors: Code::io.
[[nodiscard]] bool is_array_file(const InputFile& file);

/// The array of an .npy file, those of an .npz archive, or the tensors of a .pt or .safetensors
/// file. An .npy file is exactly as long as header and shape say, and so is each member. Errors:
/// same as InputFile; Code::damaged, with file and offset, and the member of an archive;
/// Code::unsupported for 0-d arrays, for dtypes that are not of fixed size, for encrypted members,
/// for files without an array and of another kind; Code::limit as parse_npy_header; same as
/// read_pt_archive and read_safetensors. What is wrong with one array of several is in `unread`.
/// `takes_truncated`: a truncated .npy file in C order is not damaged if it has a whole row.
[[nodiscard]] ArrayFiles open_arrays(const std::string& path, bool takes_truncated = false);

/// The elements of an archive's member from the first on, in its own order of axes and bytes; those
/// of a tensor with strides in C order. What it hands out of a member is proved by the archive's
/// checksum and sizes before the last byte is; nothing beyond the array's own bytes is inflated.
/// Takes 256 KiB, of a tensor 4 MiB; shares `file`.
/// Errors: Code::bug for an array that is_located(); Code::damaged; Code::io.
[[nodiscard]] std::unique_ptr<RowStream> open_member(const ArrayFile& array);

}  // namespace shale
