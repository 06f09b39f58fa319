#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"

namespace shale {

/// Hands out `bytes` of a file from `offset` on, 1 MiB at a time. Errors: Code::damaged if the file
/// ends before; Code::io; those of `sink`.
void visit_file_pieces(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                       const std::function<void(Bytes)>& sink);

/// A file that becomes a member of an archive.
struct NpzMember {
  std::string name;  ///< "x.npy"
  std::string path;
};

/// Writes files into a zip archive, one after the other, as np.savez does (stored) or
/// np.savez_compressed (deflated): zip64 where a member or the archive has 4 GiB or more; times are
/// 1980-01-01, so the same members give the same bytes. Each file is removed when it is in. Memory:
/// 1.5 MiB. `stop_if_asked` is called for each MiB. Errors: Code::io; those of `stop_if_asked`.
void write_npz(OutputFile& archive, const std::vector<NpzMember>& members, bool is_deflated,
               const std::function<void()>& stop_if_asked);

/// Bytes of such an archive, of members of this name and size; where they are deflated, the most.
struct NpzMemberSize {
  std::string name;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::uint64_t npz_bytes(const std::vector<NpzMemberSize>& members);

/// A file that holds the rows of a column, from `offset` on.
struct ColumnFile {
  std::string path;
  std::uint64_t offset = 0;
};

/// Writes a file of tensors from one file per column. Each of those is removed when it is in.
/// Memory: 1 MiB. `stop_if_asked` is called for each MiB. Errors: Code::io; those of
/// `stop_if_asked`.
void write_tensors(OutputFile& file, const TensorFrame& frame, std::span<const ColumnFile> columns,
                   const std::function<void()>& stop_if_asked);

}  // namespace shale
