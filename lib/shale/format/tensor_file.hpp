#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shale/data/stored_tensor.hpp"
#include "shale/format/format.hpp"

// The formats of files that are rows and what stands around them: one tensor per field, its first
// axis the samples. A shard is one file per field, without keys; a single file may hold several
// tensors, if the format can.

namespace shale {

/// What stands around the rows of columns in one file. The same columns give the same bytes, and
/// what precedes the first column has one length for any number of rows.
struct TensorFrame {
  std::vector<TensorColumn> columns;
  std::vector<std::size_t> places;  ///< the columns in the order in which they lie
  std::vector<std::byte> front;     ///< the first bytes of the file
  /// What precedes the rows of a column. Null: nothing, and checksums need not be computed.
  std::function<std::vector<std::byte>(std::size_t column, std::uint32_t crc32)> header = {};
  std::uint64_t crc32_at = 0;  ///< where a header has the checksum
  /// What follows the last column; checksums are in the order of the columns. Null: nothing.
  std::function<std::vector<std::byte>(std::span<const std::uint32_t> crc32s)> footer = {};

  /// With the columns of fields with so many rows, in their order; all else is to be added.
  [[nodiscard]] static TensorFrame of(std::span<const Field> fields, std::uint64_t rows);

  [[nodiscard]] bool has_checksums() const { return header != nullptr; }
  [[nodiscard]] std::uint64_t rows_bytes(std::size_t column) const {
    return columns[column].bytes();
  }
  /// What precedes the rows of a column, from the end of the column before on.
  [[nodiscard]] std::vector<std::byte> head(std::size_t column, std::uint32_t crc32) const;
  [[nodiscard]] std::vector<std::byte> trailer(std::span<const std::uint32_t> crc32s) const;
  [[nodiscard]] std::uint64_t file_bytes() const;
};

/// What one format of tensor files has of its own.
struct TensorFormat {
  std::string_view article, suffix;          ///< for errors: "a", ".pt"
  std::string_view head_name, trailer_name;  ///< for findings: ".pt header"
  std::string_view changed;                  ///< the finding for a file that is not as indexed
  bool is_lone = false;                      ///< a file is one array, which has no name
  bool (*has)(const TensorType&) = nullptr;  ///< the dtypes that it has; null: all of NumPy's
  /// A file whose rows end at `far` or behind it is longer by `far_bytes`.
  std::uint64_t far = ~std::uint64_t{0}, far_bytes = 0;
  /// Errors: Code::bug for a dtype that the format does not have.
  TensorFrame (*frame)(std::span<const Field> fields, std::uint64_t rows) = nullptr;
  /// The tensors of a file of any tool; nullopt if it has another format. Null: of a lone array.
  /// Errors: Code::unsupported, Code::damaged, Code::limit, by name; Code::io.
  std::optional<StoredTensors> (*read)(const InputFile& file) = nullptr;
  /// A file of another tool as a shard of fixed rows. Reads what stands around the rows only.
  Survey (*survey)(const InputFile& file) = nullptr;
  /// The first place of a file that the checksums in it prove damaged, with nullopt for none; null:
  /// no file has any. False of has_checksums: this file has none.
  bool (*has_checksums)(const InputFile& file) = nullptr;
  std::optional<Error> (*prove)(std::uint64_t size, const ViewBytes& view, std::string_view where,
                                const WalkProgress& progress) = nullptr;
};

/// Whether a file of this format can prove its own payload: all can, or this one holds checksums.
[[nodiscard]] bool proves_itself(const Format& format, const InputFile& file);

/// One file per field, "shard-000000.<field><suffix>", fixed rows, no keys. Errors:
/// Code::unsupported, by field, for a name that is too long for a file's, a tensor of more than 63
/// axes, and a dtype that the format does not have; for samples without fields.
[[nodiscard]] ShardLayout tensor_layout(const TensorFormat& format, const Schema& schema);

/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> make_tensor_sizer(const TensorFormat& format,
                                                            const Schema& schema);

/// Writes what precedes the rows, the rows as they come, and what follows them; the head is written
/// again when the number of rows is known. `files` and `schema` outlive it. Memory: none of its
/// own.
[[nodiscard]] std::unique_ptr<ShardWriter> create_tensor_shard(const TensorFormat& format,
                                                               std::span<OutputFile> files,
                                                               const Schema& schema);

/// Proves that each file of a shard has the very bytes around its rows that the writer gives so
/// many, but the checksum of the rows, which need only be the same wherever it stands; of a file of
/// another tool, that survey() still says what it said, and where payload is to be read that its
/// own checksums are right. Gives no rows.
void scan_tensor_shard(const TensorFormat& format, const ShardInput& input,
                       const FindingSink& findings);

inline constexpr Kind kTensorFileKinds[] = {Kind::integer, Kind::real, Kind::tensor};

/// Completes the row of a format of tensor files.
template <const TensorFormat& kFormat>
[[nodiscard]] constexpr Format tensor_row(Format row) {
  row.suffixes = std::span(&kFormat.suffix, 1);
  row.can.kinds = kTensorFileKinds;
  row.tensors = &kFormat;
  row.layout = [](const Schema& schema, const OptionSet&) {
    return tensor_layout(kFormat, schema);
  };
  row.encode = [](const Sample& sample, const Schema& schema, const OptionSet&) {
    return encode_fixed_row(sample, schema);
  };
  row.create_sizer = [](const Schema& schema, const OptionSet&) {
    return make_tensor_sizer(kFormat, schema);
  };
  row.create_shard = [](std::span<OutputFile> files, const Schema& schema, const OptionSet&) {
    return create_tensor_shard(kFormat, files, schema);
  };
  row.survey = [](const InputFile& file, const Parsing&, const WalkProgress&) {
    return kFormat.survey(file);
  };
  row.scan = [](const ShardInput& input, const OptionSet&, const RowSink&,
                const FindingSink& findings) { scan_tensor_shard(kFormat, input, findings); };
  row.takes_unread = [](const OptionSet&) { return true; };
  return row;
}

/// The tensors of a file of another tool as columns of rows: all have the same number of rows and
/// lie in C order. Errors: Code::unsupported, by name, for any other, for those that cannot be
/// read, and for a file without tensors.
[[nodiscard]] Survey survey_of_tensors(const StoredTensors& found, const InputFile& file);

}  // namespace shale
