#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/output_file.hpp"
#include "shale/parquet/parquet_slots.hpp"
#include "shale/parquet/parquet_writing.hpp"

#include "formats/parquet/parquet_foreign.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kUnpackedPageBytes = 1 << 20, kUnpackedPageSlots = 1 << 20;
constexpr std::uint64_t kMostOfPage = (std::uint64_t{1} << 31) - 1;  // its numbers have 32 bits

// The columns that are taken, as a file that has no other ones.
class ParquetUnpacking {
 public:
  ParquetUnpacking(const UnpackRequest& request, ParquetForeignFile parquet)
      : request_(request),
        parquet_(std::move(parquet)),
        window_(request.file),
        view_(window_.views()),
        out_(request.into.duplicate(), request.into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kUnpackedPageBytes, .buffers = 1}) {}

  /// What is lost of a damaged file.
  LostRanges run() {
    LostRanges lost;
    if (request_.takes_damaged) lost = drop_damaged();
    choose_columns();
    refuse_what_has_no_room();
    out_.append(as_bytes(kParquetMagic));
    for (const ParquetRowGroup& group : parquet_.footer.row_groups) {
      WrittenGroup& written = made_.groups.emplace_back();
      written.rows = static_cast<std::uint64_t>(group.rows);
      for (const ParquetForeignField* field : taken_) {
        written.chunks.emplace_back();
        try {
          copy_chunk(*field, group.chunks[field->column]);
        } catch (Error& error) {
          if (error.code() == Code::limit)
            error.because(fmt::format("in column '{}'", printable(field->path)));
          // A value may be as large as its page.
          if (expansion_.wanted() > 0) error.hint(enough_memory_hint(2 * expansion_.wanted()));
          throw;
        }
      }
    }
    out_.append(parquet_tail(made_, out_.size()));
    (void)out_.finish();
    return lost;
  }

 private:
  LostRanges drop_damaged() {
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < parquet_.fields.size(); ++i) {
      if (parquet_.fields[i].is_usable() && is_wanted(parquet_.fields[i])) wanted.push_back(i);
    }
    ParquetExpansion expansion = expansion_within(request_.file, request_.memory_bytes);
    const WalkProgress progress = [&](std::uint64_t, std::uint64_t) {
      if (request_.progress) request_.progress(0, 0);
    };
    try {
      return drop_damaged_groups(request_.file, parquet_, wanted, progress, expansion);
    } catch (Error& error) {
      add_memory_hint(error, parquet_, expansion);
      throw;
    }
  }

  [[nodiscard]] bool is_wanted(const ParquetForeignField& field) const {
    return request_.fields.empty() ||
           std::ranges::find(request_.fields, field.field.name) != request_.fields.end();
  }

  void choose_columns() {
    std::vector<bool> is_taken(parquet_.footer.schema.size(), false);
    is_taken[0] = true;
    for (const ParquetForeignField& field : parquet_.fields) {
      if (!field.is_usable() || !is_wanted(field)) continue;
      taken_.push_back(&field);
      const ParquetColumn& column = parquet_.columns[field.column];
      WrittenColumn& made = made_.columns.emplace_back();
      made.type = *column.leaf.type;
      for (const std::size_t node : column.nodes) {
        is_taken[node] = true;
        made.path.push_back(parquet_.footer.schema[node].name);
      }
    }
    if (taken_.empty())
      throw Error(Code::unsupported, "has no column of these fields").at(request_.file.path());
    take_schema(is_taken);
    made_.key_values = parquet_.footer.key_values;
    made_.created_by = parquet_.footer.created_by;
  }

  // Depth first; a group has as many children as are left of them.
  void take_schema(const std::vector<bool>& is_taken) {
    const std::vector<ParquetElement>& schema = parquet_.footer.schema;
    struct Open {
      std::int32_t children;
      std::size_t made;  // its number among those that are taken
    };
    std::vector<Open> open;
    for (std::size_t i = 0; i < schema.size(); ++i) {
      while (!open.empty() && open.back().children == 0) open.pop_back();
      if (!open.empty()) {
        --open.back().children;
        if (is_taken[i]) ++made_.schema[open.back().made].children;
      }
      const std::size_t made = made_.schema.size();
      if (is_taken[i]) {
        made_.schema.push_back(schema[i]);
        made_.schema.back().children = 0;
      }
      if (!schema[i].type) open.push_back({schema[i].children, made});
    }
  }

  void refuse_what_has_no_room() {
    for (const ParquetRowGroup& group : parquet_.footer.row_groups) {
      for (const ParquetForeignField* field : taken_)
        all_bytes_ += static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, group.chunks[field->column].uncompressed_bytes));
    }
    const std::optional<std::uint64_t> free = free_space(request_.into.descriptor());
    if (free && all_bytes_ > *free)
      throw no_room_to_unpack(request_.file.path(), all_bytes_, *free);
  }

  void copy_chunk(const ParquetForeignField& field, const ParquetChunk& chunk) {
    const ParquetColumn& column = parquet_.columns[field.column];
    const bool has_lengths = column.leaf.type == ParquetType::byte_array;
    is_flags_ = column.leaf.type == ParquetType::boolean;
    ParquetSlots slots(view_, request_.file.path(), column, ParquetSlots::Use::values,
                       parquet_.footer_begin);
    slots.check_pages();
    slots.count_in(expansion_);
    slots.open(chunk);
    first_row_ = rows_ = 0;
    while (slots.next()) {
      if (slots.repetition() == 0) {
        if (values_.size() >= kUnpackedPageBytes || page_slots_ >= kUnpackedPageSlots)
          write_page(column);
        ++rows_;
      }
      ++page_slots_;
      if (page_slots_ > kMostOfPage || values_.size() > kMostOfPage)
        throw row_too_large(values_.size());
      if (column.most_repetition > 0) repetition_.add(slots.repetition(), 1);
      if (column.most_definition > 0) definition_.add(slots.definition(), 1);
      if (!slots.has_value()) {
        ++nulls_;
        continue;
      }
      const Bytes value = slots.value();
      if (value.size() > kUnpackedPageBytes) expansion_.exchange(value_held_, value.size());
      if (has_lengths) values_.write(static_cast<std::uint32_t>(value.size()));
      is_flags_ ? add_flag(value[0]) : values_.write_bytes(value);
    }
    if (page_slots_ > 0) write_page(column);
  }

  // A page has whole rows, so that of the page at hand is what is too large.
  [[nodiscard]] Error row_too_large(std::uint64_t bytes) const {
    return Error(Code::limit, "a row of {} values and {} bytes, which no page can have",
                 page_slots_, bytes)
        .at(request_.file.path());
  }

  void add_flag(std::byte flag) {
    if (flags_ % 8 == 0) packed_flags_.push_back(std::byte{0});
    packed_flags_.back() |= flag << (flags_++ % 8);
  }

  void write_page(const ParquetColumn& column) {
    ByteWriter page;
    if (column.most_repetition > 0) page.write_bytes(repetition_.bytes());
    if (column.most_definition > 0) page.write_bytes(definition_.bytes());
    const Bytes values = is_flags_ ? Bytes(packed_flags_) : values_.bytes();
    const std::uint64_t bytes = page.size() + values.size();
    if (bytes > kMostOfPage) throw row_too_large(bytes);
    const std::uint32_t crc = crc32(values, crc32(page.bytes()));
    const std::uint64_t offset = out_.size();
    out_.append(data_page_header(bytes, crc, page_slots_));
    out_.append(page.bytes());
    out_.append(values);
    made_.groups.back().chunks.back().pages.push_back({.offset = offset,
                                                       .bytes = out_.size() - offset,
                                                       .first_row = first_row_,
                                                       .slots = page_slots_,
                                                       .nulls = nulls_});
    if (request_.progress)
      request_.progress(std::min(out_.size(), all_bytes_), std::max(all_bytes_, out_.size()));
    first_row_ = rows_;
    page_slots_ = nulls_ = flags_ = 0;
    values_.clear();
    packed_flags_.clear();
    repetition_.clear();
    definition_.clear();
  }

  const UnpackRequest& request_;
  ParquetForeignFile parquet_;
  WindowReader window_;
  ViewBytes view_;
  OutputFile out_;
  std::vector<const ParquetForeignField*> taken_;
  WrittenFile made_;
  std::uint64_t all_bytes_ = 0;
  ParquetExpansion expansion_{request_.file.size(), request_.memory_bytes};
  std::uint64_t value_held_ = 0;  // of a large one
  // Of the page at hand.
  LevelRuns repetition_, definition_;
  ByteWriter values_;
  std::vector<std::byte> packed_flags_;
  bool is_flags_ = false;
  std::uint64_t flags_ = 0, page_slots_ = 0, nulls_ = 0, first_row_ = 0, rows_ = 0;
};

}  // namespace

std::optional<UnpackReport> unpack_parquet(const UnpackRequest& request) {
  ParquetForeignFile parquet = describe_foreign_parquet(request.file);
  const bool is_packed = std::ranges::any_of(parquet.fields, [&](const ParquetForeignField& field) {
    return has_to_be_unpacked(parquet, field) &&
           (request.fields.empty() ||
            std::ranges::find(request.fields, field.field.name) != request.fields.end());
  });
  if (!is_packed && request.fields.empty()) return std::nullopt;
  UnpackReport report;
  for (const ParquetForeignField& field : parquet.fields) {
    if (field.is_usable() || !request.fields.empty()) continue;
    report.left_out.add({.kind = "column", .name = field.path, .reason = field.obstacle});
    report.notes.push_back(note_on_column(field));
  }
  report.lost = ParquetUnpacking(request, std::move(parquet)).run();
  Survey found = survey_parquet(InputFile(request.into.link()), {}, {});
  report.notes.insert(report.notes.end(), found.notes.begin(), found.notes.end());
  report.left_out.add(found.left_out);
  report.classes = std::move(found.classes);
  return report;
}

}  // namespace shale
