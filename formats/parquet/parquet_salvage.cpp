#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/parquet/parquet_slots.hpp"

#include "formats/parquet/parquet_foreign.hpp"
#include "formats/parquet/parquet_words.hpp"

namespace shale {
namespace {

// Which row groups of a damaged file are whole: those whose columns can all be read.
class WholeGroups {
 public:
  WholeGroups(const InputFile& file, const ParquetForeignFile& parquet,
              const WalkProgress& progress, ParquetExpansion& expansion)
      : file_(file),
        parquet_(parquet),
        pace_(progress, file.size()),
        window_(file),
        view_(window_.views()),
        expansion_(expansion) {}

  // Nullopt: all of it can be read.
  std::optional<LostRange> loss_of(const ParquetRowGroup& group,
                                   std::span<const std::size_t> fields) {
    for (const std::size_t number : fields) {
      const ParquetForeignField& field = parquet_.fields[number];
      try {
        read(field, group);
      } catch (const Error& error) {
        if (error.code() != Code::damaged) throw;
        return LostRange{
            .offset = error.offset().value_or(0),
            .samples = static_cast<std::uint64_t>(group.rows),
            .why = fmt::format("column '{}': {}", printable(field.path), error.message())};
      }
    }
    return std::nullopt;
  }

 private:
  void read(const ParquetForeignField& field, const ParquetRowGroup& group) {
    const bool is_placed = lies_in_file(parquet_, field);
    const ParquetColumn& column = parquet_.columns[field.column];
    ParquetSlots slots(view_, file_.path(), column,
                       is_placed ? ParquetSlots::Use::places : ParquetSlots::Use::values,
                       parquet_.footer_begin);
    slots.check_pages();
    slots.count_in(expansion_);
    slots.open(group.chunks[field.column]);
    std::int64_t rows = 0;
    while (slots.next()) {
      pace_.step();
      if (slots.repetition() == 0) ++rows;
      if (rows == 0) throw begins_in_row_before();
      if (!slots.has_value()) continue;
      if (is_placed) {
        (void)slots.place();
      } else {
        read_value(field, column.leaf, slots.value());
      }
    }
    if (rows != group.rows)
      throw Error(Code::damaged, "has {} rows, its row group {}", rows, group.rows);
  }

  static void read_value(const ParquetForeignField& field, const ParquetElement& leaf,
                         Bytes value) {
    if (field.form == ParquetForm::words) (void)words_of(leaf, value);
    check_text(field.form, value);
  }

  const InputFile& file_;
  const ParquetForeignFile& parquet_;
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_;
  ParquetExpansion& expansion_;
};

}  // namespace

Error begins_in_row_before() { return {Code::damaged, "has a list that begins in the row before"}; }

void check_text(ParquetForm form, Bytes value) {
  if (form == ParquetForm::text && !is_utf8(as_text(value)))
    throw Error(Code::damaged, "has a string that is not UTF-8");
}

ParquetExpansion expansion_within(const InputFile& file, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kBesideMemory = 16 << 20;  // of the 64 MiB that a command may take
  return ParquetExpansion(file.size(),
                          std::min(memory_bytes, ParquetExpansion::kMostHeld) + kBesideMemory);
}

void add_memory_hint(Error& error, const ParquetForeignFile& parquet,
                     const ParquetExpansion& expansion) {
  if (expansion.wanted() == 0) return;
  std::uint64_t enough = expansion.wanted();
  for (const ParquetRowGroup& group : parquet.footer.row_groups) {
    std::uint64_t bytes = 0;
    for (const ParquetForeignField& field : parquet.fields) {
      if (!field.is_usable() || lies_in_file(parquet, field)) continue;
      const ParquetChunk& chunk = group.chunks[field.column];
      bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk.uncompressed_bytes)) +
               static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk.stored_bytes));
    }
    enough = std::max(enough, bytes);
  }
  error.hint(enough_memory_hint(enough));
}

LostRanges drop_damaged_groups(const InputFile& file, ParquetForeignFile& parquet,
                               std::span<const std::size_t> fields, const WalkProgress& progress,
                               ParquetExpansion& expansion) {
  WholeGroups whole(file, parquet, progress, expansion);
  std::vector<ParquetRowGroup> kept;
  LostRanges lost;
  std::int64_t rows = 0, kept_rows = 0;
  for (std::size_t i = 0; i < parquet.footer.row_groups.size(); ++i) {
    const ParquetRowGroup& group = parquet.footer.row_groups[i];
    if (group.rows == 0) continue;
    std::optional<LostRange> loss = whole.loss_of(group, fields);
    if (loss) {
      loss->before = static_cast<std::uint64_t>(kept_rows);
      loss->why =
          fmt::format("row group {}, rows {} to {}: {}", i, rows, rows + group.rows - 1, loss->why);
      lost.push_back(*std::move(loss));
    } else {
      kept.push_back(group);
      kept_rows += group.rows;
    }
    rows += group.rows;
  }
  if (kept.empty() && !lost.empty())
    throw Error(Code::damaged, "no row group is whole: {}", lost.front().why)
        .at(file.path(), lost.front().offset);
  parquet.footer.row_groups = std::move(kept);
  parquet.footer.rows = kept_rows;
  return lost;
}

}  // namespace shale
