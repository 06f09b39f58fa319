#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// The fields of a row: valid while it is used.
using CsvRow = std::span<const std::string_view>;
using UseCsvRow = std::function<void(std::uint64_t row, CsvRow fields)>;

/// What RowParser throws for a row that it cannot parse; rows before it were used.
struct BadRow {
  bool is_too_large = false;  ///< else its quotes are wrong
};

/// Bytes in, rows out: quotes as RFC 4180 has them, nothing else. CR, LF and both end a row; lines
/// without a byte are skipped. A row waits in the buffer until it is whole; its fields lie there.
class RowParser {
 public:
  using Use = std::function<void(CsvRow fields)>;
  static constexpr std::uint64_t kLargestRowBytes = 1 << 20;

  /// `text`: what it begins with.
  explicit RowParser(char delimiter, std::string text = {});

  /// Errors: BadRow; those of `use`.
  void take(std::string_view bytes, const Use& use);
  /// The rows that are left; their fields are valid as long as the parser, which must not move.
  void finish(const Use& use) { (void)use_rows(true, use); }

 private:
  typedef signed char Lanes __attribute__((vector_size(16)));  // NOLINT(modernize-use-using)

  std::size_t use_rows(bool at_end, const Use& use);
  [[nodiscard]] char at(std::size_t place) const { return buffer_[place]; }
  [[nodiscard]] bool ends_row(std::size_t place) const {
    return at(place) == '\n' || at(place) == '\r';
  }
  [[nodiscard]] std::size_t behind_blanks(std::size_t place) const;
  [[nodiscard]] std::size_t begin_of_row(std::size_t place) const;
  std::size_t end_of_row(std::size_t place, bool at_end);
  std::size_t end_of_plain(std::size_t begin, bool at_end);
  std::size_t end_of_quoted(std::size_t begin, bool at_end);
  [[nodiscard]] std::size_t next_special(std::size_t place) const;
  std::string_view without_escapes(std::string_view field);
  void add_field(std::string_view field);
  void limit(std::size_t more) const;

  const char delimiter_;
  std::array<Lanes, 4> special_;
  std::string buffer_;
  std::vector<std::string_view> fields_;  // of this row
  std::vector<std::size_t> escaped_;      // those that have doubled quotes
  std::uint64_t row_bytes_ = 0;
};

}  // namespace shale
