#include "formats/npy/npy_survey.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/column_files.hpp"
#include "shale/format/dialect_error.hpp"
#include "shale/wire/npy_header.hpp"

namespace shale {
namespace {

constexpr std::string_view kFieldName = "x";

// An array whose rows can be read where they are.
struct PlainArray {
  Field field;
  std::uint64_t rows, base;
};

NpyHeader header_of(const InputFile& file) {
  std::vector<std::byte> head(std::min(kMaxNpyHeaderBytes, file.size()));
  file.read_exact(0, head);
  return parse_npy_header(head, file.path());
}

void refuse_what_is_not_plain(const NpyHeader& header, const InputFile& file) {
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
}

void check_length(const NpyHeader& header, std::uint64_t row_bytes, const InputFile& file) {
  const std::uint64_t rows = header.shape.front();
  const std::uint64_t expected = rows * row_bytes, found = file.size() - header.data_offset;
  if (found == expected) return;
  throw Error(Code::damaged, "npy array of {} rows has {} bytes, expected {}", rows, found,
              expected)
      .at(file.path(), header.data_offset + std::min(found, expected))
      .hint(found < expected ? "the file was truncated; copy it again"
                             : "something else was written after the array; np.load ignores it");
}

PlainArray describe_array(const InputFile& file) {
  const NpyHeader header = header_of(file);
  refuse_what_is_not_plain(header, file);
  PlainArray array;
  array.rows = header.shape.front();
  array.base = header.data_offset;
  array.field = field_of_column(std::string(kFieldName), header.dtype,
                                {header.shape.begin() + 1, header.shape.end()});
  try {
    refuse_empty_rows({.fields = {array.field}, .has_keys = false}, array.rows);
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
  check_length(header, fixed_bytes_of(array.field).value(), file);
  return array;
}

// In words, for a finding.
std::string text_of(const Field& field, std::uint64_t rows, std::uint64_t base) {
  return fmt::format("{} rows from byte {}, each {}", rows, base,
                     array_text(dtype_of_column(field), field.shape));
}

}  // namespace

Survey survey_npy(const InputFile& file, std::optional<Dialect> dialect, const WalkProgress&) {
  refuse_dialect(dialect, file, "an .npy file");
  PlainArray array = describe_array(file);
  return Survey::of_columns({.fields = {std::move(array.field)}}, array.rows, {array.base});
}

void scan_foreign_npy(const ShardInput& input, const FindingSink& findings) {
  const InputFile& file = input.files[0];
  Finding finding;
  finding.file = file.name();
  try {
    const PlainArray array = describe_array(file);
    const Field& expected = input.schema.fields.at(0);
    if (!input.layout.rows.has_strides()) throw index_has_no_fixed_rows("an npy file");
    if (array.field == expected && array.rows == input.samples && array.base == input.bases[0])
      return;
    finding.message = "npy array is not the one that was indexed";
    finding.offset = 0;
    finding.found = text_of(array.field, array.rows, array.base);
    finding.expected = text_of(expected, input.samples, input.bases[0]);
  } catch (const Error& error) {
    if (error.code() != Code::damaged && error.code() != Code::unsupported &&
        error.code() != Code::limit)
      throw;
    finding.message = error.message();
    finding.offset = error.offset();
  }
  findings(std::move(finding));
}

}  // namespace shale
