#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/parquet/parquet_columns.hpp"
#include "shale/parquet/parquet_expansion.hpp"
#include "shale/parquet/parquet_metadata.hpp"

// Files of other tools: which fields their columns are, where their values lie, and what of them
// has to be decoded. FORMAT.md, "files of other tools".

namespace shale {

/// What a value of a column becomes.
enum class ParquetForm : std::uint8_t {
  number,  ///< an integer or real of the index, or an element of a tensor
  bytes,   ///< as it is
  text,    ///< as it is, UTF-8
  words,   ///< what it means, as text: a date, a decimal (parquet_words.hpp)
};

/// A column that is a field, or would be if it could.
struct ParquetForeignField {
  Field field;  ///< without what only its values tell: is_optional, the sides of a tensor
  std::size_t column = 0;
  ParquetForm form = ParquetForm::bytes;
  std::string path = {};      ///< the column, with dots
  std::string obstacle = {};  ///< why it cannot be one: a code for the manifest
  std::string why = {};       ///< the same for people
  bool is_path_of_media = false;
  [[nodiscard]] bool is_usable() const { return obstacle.empty(); }
};

/// What the footer says of a file.
struct ParquetForeignFile {
  ParquetFooter footer;
  std::uint64_t footer_begin = 0;
  std::vector<ParquetColumn> columns;
  std::vector<ParquetForeignField> fields;
  std::optional<std::size_t> key = {};    ///< of the fields: the one with the keys, if they are any
  std::vector<std::string> classes = {};  ///< of the field `label`
  std::vector<std::string> notes = {};
  LeftOutList left_out = {};  ///< class names of other fields
};

/// Errors: those of read_parquet_footer.
[[nodiscard]] ParquetForeignFile describe_foreign_parquet(const InputFile& file);

/// The values of a column lie in the file as they are read, in all row groups.
[[nodiscard]] bool lies_in_file(const ParquetForeignFile& file, const ParquetForeignField& field);
/// The column has values that are neither in place nor small: it has to be unpacked.
[[nodiscard]] bool has_to_be_unpacked(const ParquetForeignFile& file,
                                      const ParquetForeignField& field);

/// Takes the row groups of a damaged file out of its footer in which one of these fields cannot be
/// read as a whole, and says which rows are lost. Reads all values that do not lie in the file as
/// they are, and all pages that have a CRC. Errors: Code::damaged if no row group is whole; those
/// of reading but for Code::damaged.
[[nodiscard]] LostRanges drop_damaged_groups(const InputFile& file, ParquetForeignFile& parquet,
                                             std::span<const std::size_t> fields,
                                             const WalkProgress& progress,
                                             ParquetExpansion& expansion);

/// Of a column whose row has values, but not the first of a list.
[[nodiscard]] Error begins_in_row_before();
/// Errors: Code::damaged for text that is not UTF-8.
void check_text(ParquetForm form, Bytes value);

/// What pages are held in that are unpacked with so much memory.
[[nodiscard]] ParquetExpansion expansion_within(const InputFile& file, std::uint64_t memory_bytes);
/// Adds to an error that this refused what is enough memory for the pages of all fields.
void add_memory_hint(Error& error, const ParquetForeignFile& parquet,
                     const ParquetExpansion& expansion);

/// "column 'x' is left out: ..."
[[nodiscard]] std::string note_on_column(const ParquetForeignField& field);

/// Format::unpack: the columns that can be fields, as pages that are stored as they are. Memory: a
/// page as it is and as it is written. Errors: those of Format::unpack.
[[nodiscard]] std::optional<UnpackReport> unpack_parquet(const UnpackRequest& request);

/// Format::survey. Reads the levels of columns, and keys; values of other columns are not read.
[[nodiscard]] Survey survey_parquet(const InputFile& file, const Parsing& parsing,
                                    const WalkProgress& progress);
/// Format::survey_packed, and Format::salvage.
[[nodiscard]] Survey survey_packed_parquet(const PackedSurvey& request);
[[nodiscard]] Survey salvage_parquet(const InputFile& file, const Parsing& parsing,
                                     const WalkProgress& progress);

/// Format::list_columns.
[[nodiscard]] FileContents list_parquet_columns(const InputFile& file);

/// Format::scan of such a file. Memory: a window and a page per column.
void scan_foreign_parquet(const ShardInput& input, const RowSink& rows,
                          const FindingSink& findings);

}  // namespace shale
