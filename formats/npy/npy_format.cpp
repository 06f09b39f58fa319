#include "formats/npy/npy_format.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/npy_header.hpp"
#include "shale/wire/zip_directory.hpp"

namespace shale {
namespace {

constexpr std::string_view kFieldName = "x";
constexpr std::string_view kLookAtFile =
    "python3 -c 'import numpy; print(numpy.load(\"{}\", mmap_mode=\"r\").shape)'";

constexpr ReaderCode kNpyReader = {.library = "NumPy", .code = R"(import numpy as np

values = np.load({{file}}, mmap_mode="r")
{{#is_foreign}}if hasattr(values, "files"):  # an .npz archive
    values = values[{{field|python}}]
{{/is_foreign}}{{#has_samples}}value = values[0]
{{/has_samples}})"};

constexpr std::string_view kNpySuffix = ".npy";

// An .npz archive begins with its first array, whose name is in the first local header.
int bid_for_npy(const Probe& probe) {
  constexpr std::size_t kNameLength = 26, kName = 30;
  if (is_npy(probe.head)) return 48;
  const std::string_view head = as_text(probe.head);
  if (!is_zip(head) || head.size() < kName) return 0;
  const std::size_t length =
      static_cast<std::uint8_t>(head[kNameLength]) |
      static_cast<std::size_t>(static_cast<std::uint8_t>(head[kNameLength + 1])) << 8;
  return head.substr(kName).substr(0, length).ends_with(kNpySuffix) ? 64 : 0;
}

// The header that NumPy itself writes; it has the same length for any number of rows.
TensorFrame npy_frame(std::span<const Field> fields, std::uint64_t rows) {
  TensorFrame frame = TensorFrame::of(fields, rows);
  frame.front =
      npy_header_bytes({.dtype = frame.columns.at(0).dtype, .shape = frame.columns.at(0).shape});
  return frame;
}

void check_length(const NpyHeader& header, std::uint64_t row_bytes, const InputFile& file) {
  const std::uint64_t rows = header.shape.front();
  const std::uint64_t expected = rows * row_bytes, found = file.size() - header.data_offset;
  if (found == expected) return;
  if (found > expected) {
    const std::uint64_t end = header.data_offset + expected;
    std::vector<std::byte> behind(std::min(found - expected, kNpyPrefixBytes));
    file.read_exact(end, behind);
    throw npy_goes_on(header, found - expected, behind, file.path(), end);
  }
  throw Error(Code::damaged, "npy array of {} rows has {} bytes, expected {}", rows, found,
              expected)
      .at(file.path(), header.data_offset + found)
      .hint("the file was truncated; copy it again");
}

// One array of an .npz archive. Its rows lie in the archive if it is stored as it is.
StoredTensor array_in(const InputFile& file, const ZipMember& member) {
  StoredTensor array{.name = member.name.substr(0, member.name.size() - kNpySuffix.size()),
                     .obstacle = {}};
  if (member.is_repeated)
    throw repeated_member(member, file.path()).hint("write the archive again with each name once");
  if (member.is_deflated) {
    throw Error(Code::unsupported, "array '{}' is compressed: its rows cannot be read in place",
                printable(array.name))
        .at(file.path())
        .hint("'shale convert' reads it");
  }
  std::vector<std::byte> head(std::min(kMaxNpyHeaderBytes, member.bytes));
  file.read_exact(member.data_offset, head);
  NpyHeader header;
  try {
    header = parse_npy_header(head, file.path());
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
    array.obstacle = error.message();
    return array;
  }
  array.offset = member.data_offset + header.data_offset;
  std::uint64_t elements = 1;
  for (const std::uint64_t axis : header.shape) {
    if (header.fortran_order) array.strides.push_back(elements);
    elements *= axis;
  }
  const std::uint64_t expected = header.data_offset + elements * header.dtype.item_bytes();
  if (member.bytes != expected) {
    throw Error(Code::damaged, "array '{}' has {} bytes in the archive, expected {}",
                printable(array.name), member.bytes, expected)
        .at(file.path(), member.data_offset);
  }
  array.dtype = std::move(header.dtype);
  array.swaps = std::move(header.swaps);
  array.shape = std::move(header.shape);
  if (!array.strides.empty()) drop_plain_strides(array);
  return array;
}

// An .npz file: a field for each array, if none is compressed.
Survey survey_npz(const InputFile& file) {
  WindowReader window(file);
  StoredTensors found;
  for (const ZipMember& member : read_zip_directory(file.size(), window.views(), file.path())) {
    if (member.name.ends_with(kNpySuffix))
      found.tensors.push_back(array_in(file, member));
    else
      found.left_out.push_back(member.name);
  }
  return survey_of_tensors(found, file);
}

// An .npy file of another tool, version 1, 2 or 3: one field, "x".
Survey survey_npy(const InputFile& file) {
  std::vector<std::byte> head(std::min(kMaxNpyHeaderBytes, file.size()));
  file.read_exact(0, head);
  if (is_zip(as_text(head))) return survey_npz(file);
  const NpyHeader header = parse_npy_header(head, file.path());
  if (header.shape.empty()) {
    throw Error(Code::unsupported, "npy array has no axis: its first axis would be the samples")
        .at(file.path())
        .hint("save it with one: np.save(path, array.reshape(1))");
  }
  if (header.fortran_order && header.shape.size() > 1) {
    throw Error(Code::unsupported,
                "npy array of {} axes is in Fortran order: its rows are not contiguous",
                header.shape.size())
        .at(file.path())
        .hint("'shale convert' reads it");
  }
  if (!header.swaps.empty()) {
    throw Error(Code::unsupported, "npy array of {} is big-endian in the file",
                dtype_text(header.dtype))
        .at(file.path())
        .hint("'shale convert' swaps its bytes");
  }
  Schema schema = {.fields = {field_of_column(std::string(kFieldName), header.dtype,
                                              {header.shape.begin() + 1, header.shape.end()})},
                   .has_keys = false};
  const std::uint64_t rows = header.shape.front();
  try {
    refuse_empty_rows(schema, rows);
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
  check_length(header, fixed_bytes_of(schema.fields[0]).value(), file);
  return Survey::of_columns(std::move(schema), rows, {header.data_offset});
}

// An archive has the checksums of its members.
bool is_archive(const InputFile& file) {
  std::array<std::byte, 4> head{};
  return file.read_some(0, head) == head.size() && is_zip(as_text(head));
}

constexpr TensorFormat kNpy = {.article = "an",
                               .suffix = ".npy",
                               .head_name = "npy header",
                               .trailer_name = {},
                               .changed = "npy array is not the one that was indexed",
                               .is_lone = true,
                               .frame = npy_frame,
                               .survey = survey_npy,
                               .has_checksums = is_archive,
                               .prove = first_damaged_member};

}  // namespace

const Format npy_format = tensor_row<kNpy>({.name = "npy",
                                            .summary = "plain .npy arrays, one file per field",
                                            .suffixes = {},
                                            .options = {},
                                            .reserved_fields = {},
                                            .can = {},
                                            .a_file = "an .npy file",
                                            .look_at_file = kLookAtFile,
                                            .bid = bid_for_npy,
                                            .reader = kNpyReader});

}  // namespace shale
