#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/manifest/csv_parser.hpp"

namespace shale {

/// The rows of a CSV file, in order, where several threads parse pieces of it that end with a row.
/// Memory: some pieces. One thread adds text and uses rows.
class CsvChunks {
 public:
  /// `path`: for messages. Less than two threads: none is made.
  CsvChunks(const std::string& path, char delimiter, unsigned threads, const UseCsvRow& use);

  /// Errors: as of read_csv; those of `use`.
  void take(std::string_view text);
  /// All rows that are whole.
  void use_all();
  void finish();

 private:
  // What a thread makes of a piece.
  struct Rows {
    Rows(char delimiter, std::string text);
    RowParser parser;  // which has the bytes of the fields
    std::vector<std::string_view> fields;
    std::vector<std::size_t> ends;  // of each row, in `fields`
    std::optional<BadRow> bad;      // behind these rows
  };

  void submit(std::string piece);
  void use_oldest();
  void parse_here(std::string_view text, bool at_end);
  [[nodiscard]] Error error_of(const BadRow& bad) const;

  const std::string& path_;
  const char delimiter_;
  const UseCsvRow& use_;
  unsigned threads_;
  std::uint64_t row_ = 0;
  std::string text_;  // that is in no piece yet
  RowParser here_;    // of what is not cut into pieces
  OrderedPipeline<std::unique_ptr<Rows>> pieces_;
};

}  // namespace shale
