#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/arrays/raw_numbers.hpp"
#include "shale/base/error.hpp"
#include "shale/data/dtype.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

// NumPy's files: an .npy file is one array, an .npz archive a zip file with one .npy file per array
// (numpy.savez stores them, numpy.savez_compressed deflates them). Beside them stand the tensors of
// .pt and .safetensors files, the idx files of MNIST, idx and .npy files in gzip, what Python
// pickled, and files that hold nothing but numbers, of which somebody else says what they are.

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
  /// `file` is in memory and has no name: nobody else can open it.
  bool is_in_memory = false;
  std::string made_from = {};  ///< the file whose list it was; empty: it is in `file`

  /// How messages name its file.
  [[nodiscard]] const std::string& path() const {
    return made_from.empty() ? file->path() : made_from;
  }
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
  std::vector<std::string> single = {};    ///< numbers and strings that are of the file as a whole
};

/// True for what begins like an .npy file, a zip archive, a file of tensors, or a pickle; for an
/// idx file; and for idx and .npy files that are compressed with gzip. Errors: Code::io.
[[nodiscard]] bool is_array_file(const InputFile& file);
/// True for one that no format reads in place: only a conversion, and what reads as it does, takes
/// it. Errors: Code::io.
[[nodiscard]] bool is_array_file_alone(const InputFile& file);

struct ArrayReading {
  /// A truncated array in C order that is its whole file is not damaged if it has a whole row.
  bool takes_truncated = false;
  RawNumbers raw = {};  ///< if given, the file is numbers without a header
};

/// The array of an .npy or idx file, those of an .npz archive, the tensors of a .pt or .safetensors
/// file, or the arrays and lists in a pickled dict. An .npy file is exactly as long as header and
/// shape say, and so is each member. Errors: same as InputFile; Code::damaged, with file and
/// offset, and the member of an archive; Code::unsupported for 0-d arrays, for dtypes that are not
/// of fixed size, for encrypted members, for files without an array and of another kind;
/// Code::limit as parse_npy_header; same as read_pt_archive, read_safetensors and
/// read_pickled_columns. What is wrong with one array of several is in `unread`. With `raw`:
/// Code::damaged for one that is not a whole number of rows; Code::usage for one that says itself
/// what it is.
[[nodiscard]] ArrayFiles open_arrays(const std::string& path, const ArrayReading& reading = {});

}  // namespace shale
