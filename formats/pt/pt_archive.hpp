#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/wire/zip_directory.hpp"
#include "shale/wire/zip_writer.hpp"

// What torch.save writes since PyTorch 1.6: a zip archive (zip_directory.hpp) of stored members.
//   NAME/data.pkl   a pickle, protocol 2: a tensor, or dicts and lists of tensors and plain values;
//                   a tensor is the call of torch._utils._rebuild_tensor_v2 with
//                     (persistent id ('storage', torch.FloatStorage, key, device, elements),
//                      offset in elements, shape, strides in elements, requires_grad, hooks)
//                   or of _rebuild_tensor_v3 with torch.storage.UntypedStorage, bytes instead of
//                   elements, and the dtype (torch.uint16) behind the hooks
//   NAME/byteorder  "little" or "big"; absent before 2.1: little
//   NAME/data/KEY   the elements of one storage; torch.save aligns them to 64 bytes
//   NAME/version    "3\n"
// Source: torch/serialization.py, torch/_utils.py, caffe2/serialize/inline_container.cc (2.13).

namespace shale {

/// True if these are members of what torch.save writes, or TorchScript.
[[nodiscard]] bool is_pt_archive(std::span<const ZipMember> members);
/// True for the beginning of what PyTorch before 1.6 saved.
[[nodiscard]] bool is_legacy_pt(std::string_view head);
/// The error for such a file.
[[nodiscard]] Error legacy_pt(std::string_view where);

/// The tensors of an archive: names of nested dicts and lists are joined by dots ("model.0.bias").
/// The pickle is read by read_pickle, never run. Memory: some 50 MiB at most, whatever the archive
/// holds. Errors: Code::unsupported, by name, for objects other than tensors and plain values, and
/// compressed members; Code::damaged for tensors that do not lie in their storage; same as
/// read_pickle; all with `where`.
[[nodiscard]] StoredTensors read_pt_archive(std::span<const ZipMember> members,
                                            const ViewBytes& view, std::string_view where);

/// An archive to be written: one tensor, or a dict of them by name. Where everything lies follows
/// from the columns, and the length of what precedes the first tensor not even from
/// the number of rows. Data is aligned to 64 bytes. The same columns give the same bytes.
class PtArchive {
 public:
  /// `is_dict`: otherwise there is one column, and its name is not written. Errors: Code::bug for a
  /// dtype that PyTorch does not have.
  PtArchive(std::vector<TensorColumn> columns, bool is_dict);

  /// What precedes the first tensor's header.
  [[nodiscard]] Bytes front() const { return front_; }
  /// Where the header of a tensor begins; it goes up to data_offset.
  [[nodiscard]] std::uint64_t header_offset(std::size_t column) const {
    return header_offsets_[column];
  }
  [[nodiscard]] std::uint64_t data_offset(std::size_t column) const;
  /// `crc32`: of the tensor's bytes; torch.load checks it unless it maps the file.
  [[nodiscard]] std::vector<std::byte> header(std::size_t column, std::uint32_t crc32) const;
  /// What follows the last tensor.
  [[nodiscard]] std::vector<std::byte> trailer(std::span<const std::uint32_t> crc32s) const;

 private:
  [[nodiscard]] std::vector<std::byte> pickle() const;
  [[nodiscard]] ZipEntry entry_of(std::size_t column, std::uint32_t crc32) const;

  std::vector<TensorColumn> columns_;
  bool is_dict_;
  std::vector<std::byte> front_, front_directory_;
  std::vector<std::uint64_t> header_offsets_;
};

}  // namespace shale
