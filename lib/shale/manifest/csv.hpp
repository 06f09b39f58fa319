#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/io/output_file.hpp"
#include "shale/manifest/csv_parser.hpp"

namespace shale {

/// How a CSV file is read.
struct CsvReading {
  /// Blanks divide fields if nothing else does and the first line has two words, or several lines
  /// have as many words; several blanks count as one.
  bool may_use_blanks = false;
  std::optional<unsigned> threads = {};  ///< else as the size and the machine have it
};

/// Reads a CSV file row by row; quotes as RFC 4180 has them; UTF-8, or UTF-16 with a byte order
/// mark in front, which is skipped. What divides fields is found in the first lines: a comma,
/// unless it is a decimal one, a semicolon, a tab, or '|' if all lines have as many.
/// Memory: some MiB. Threads parse pieces of a large file; one uses the rows, in order. Errors:
/// Code::bad_content with the row's number for a quote that is never closed or a row that takes
/// more than 1 MiB, and for what is not UTF-16.
void read_csv(const std::string& path, const UseCsvRow& use, const CsvReading& reading = {});

/// Without the byte order mark of UTF-8 in front of a string.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// The rows of a list that a crash leaves: their bytes, the header's among them, and xxh3-128 of
/// them.
struct DurableRows {
  std::uint64_t bytes = 0;
  Hash128 hash;
  friend bool operator==(const DurableRows&, const DurableRows&) = default;
};

/// Errors: Code::damaged if the file does not begin with these rows.
void require_rows(const std::string& path, const DurableRows& rows);

/// A list beside the dataset that exists only if it has a row. Raw bytes; fields are quoted where
/// RFC 4180 asks for it.
class CsvList {
 public:
  /// `folder` is where it is written, under `name`; `header` is its first row.
  CsvList(std::string folder, std::string name, std::vector<std::string> header);
  /// Goes on with the first `bytes` of the list that an earlier run wrote there; 0: there was none.
  /// Before the first add(). Errors: Code::damaged if there are fewer; Code::io.
  void resume(std::uint64_t bytes);
  void add(const std::vector<std::string>& fields);
  /// Makes the rows that were added durable, but for the name of the file, and says what they are.
  /// Cheap if there are no new ones. Errors: Code::io.
  [[nodiscard]] DurableRows sync();
  /// The same, but a power failure may lose them.
  [[nodiscard]] DurableRows flush();
  /// Makes it durable. Nullopt, and no file, if it has no row.
  [[nodiscard]] std::optional<ManifestFile> finish();

 private:
  void create(const std::string& name);
  void write_row(const std::vector<std::string>& fields);

  std::string folder_, name_;
  std::vector<std::string> header_;
  std::optional<OutputFile> file_;
  Hasher128 hasher_;
  DurableRows written_;
  std::uint64_t durable_bytes_ = 0;
};

}  // namespace shale
