#include "shale/verify/verify_bytes.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/mismatch.hpp"

namespace shale {
namespace {

// Read, hashed twice and dropped while it is in the second-level cache: 1 MiB pieces are a third
// slower.
constexpr std::uint64_t kPieceBytes = 256 * 1024;
constexpr std::size_t kNamedFields = 4;

struct RowRange {
  std::uint64_t first, last;
};

// The rows of a column that have bytes in [begin, end) of its file.
std::optional<RowRange> rows_in(const FixedColumn& column, std::uint64_t rows, std::uint64_t begin,
                                std::uint64_t end) {
  if (rows == 0 || column.stride == 0 || end <= column.base) return std::nullopt;
  const std::uint64_t first = begin > column.base ? (begin - column.base) / column.stride : 0;
  if (first >= rows) return std::nullopt;
  return RowRange{first, std::min(rows - 1, (end - 1 - column.base) / column.stride)};
}

// Says of a finding about bytes [begin, end) of a file which rows of which fields lie there, where
// that is known without an index.
void name_rows(Finding& finding, const ShardCheck& shard, std::size_t file, std::uint64_t begin,
               std::uint64_t end) {
  if (!shard.manifest.layout.rows.has_strides()) return;
  const std::uint64_t rows = shard.reader.shard().digest.samples;
  std::string text;
  std::size_t fields = 0;
  for (std::size_t i = 0; i < shard.manifest.schema.fields.size(); ++i) {
    const FixedColumn column = shard.reader.fixed_column(i);
    if (column.file != &shard.reader.files()[file]) continue;
    const std::optional<RowRange> touched = rows_in(column, rows, begin, end);
    if (!touched) continue;
    if (fields++ == 0) {
      finding.row = touched->first;
      finding.sample = SampleId{"", shard.first_sample + touched->first};
      finding.field = column.field->name;
    }
    if (fields > kNamedFields) continue;
    text += fmt::format("{}rows {} to {} of '{}'", text.empty() ? "" : ", ",
                        shard.first_sample + touched->first, shard.first_sample + touched->last,
                        printable(column.field->name));
  }
  if (fields > kNamedFields)
    text += fmt::format(" and rows of {} more fields", fields - kNamedFields);
  if (fields > 0) finding.message += fmt::format(" ({})", text);
}

// Follows one column of the index through the bytes of a file.
class ColumnCursor {
 public:
  ColumnCursor(const ShardCheck& shard, const ByteRange& range, std::optional<std::size_t> field)
      : shard_(shard),
        range_(range),
        field_(field),
        index_(shard.reader.open_index()),
        position_(shard.reader.columns().place_position(field)),
        file_name_(shard.reader.shard().files[range.file].name) {
    seek();
  }

  // The next piece of the file: bytes that begin at `offset`.
  void feed(std::uint64_t offset, Bytes bytes, RangeResult& result) {
    const std::uint64_t end = offset + bytes.size();
    while (has_row_ && place_.offset < end) {
      const std::uint64_t value_end = place_.offset + place_.length;
      const std::uint64_t begin = std::max(place_.offset, offset);
      const std::uint64_t stop = std::min(value_end, end);
      if (stop > begin) {
        crc_ = crc32c(bytes.subspan(begin - offset, stop - begin), crc_);
        seen_ += stop - begin;
      }
      if (value_end > end) return;
      finish_value(result);
      advance(result);
    }
  }

  // The range is over: what is left of a value is for the next one.
  void end(RangeResult& result) {
    if (has_row_ && seen_ > 0) {
      result.pieces.push_back({field_, row_, place_, seen_, crc_});
      return;
    }
    // A value of no bytes may lie at the very end of the file.
    const bool is_last = range_.end == shard_.reader.shard().files[range_.file].bytes;
    while (is_last && has_row_ && place_.length == 0 && place_.offset == range_.end) {
      finish_value(result);
      advance(result);
    }
    if (is_last && has_row_ && place_.offset != kMissing) {
      result.findings.add([&] {
        return shard_.finding(
            fmt::format("index places {} bytes past the end of the file", place_.length),
            file_name_, place_.offset, row_);
      });
    }
  }

 private:
  // The first row whose value ends behind the range's begin.
  void seek() {
    std::uint64_t low = 0, high = index_.rows();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const FieldPlace place = index_.place(middle, position_);
      const bool is_before = place.length == 0 ? place.offset < range_.begin
                                               : place.offset < range_.begin &&
                                                     place.length <= range_.begin - place.offset;
      if (is_before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    row_ = low;
    load();
  }

  void load() {
    has_row_ = row_ < index_.rows();
    if (has_row_) place_ = index_.place(row_, position_);
    // Checked here once, so that no sum of the two can overflow below.
    if (has_row_ && place_.length > kMissing - place_.offset) has_row_ = false;
    crc_ = 0;
    seen_ = 0;
  }

  void advance(RangeResult& result) {
    const std::uint64_t previous_end = place_.offset + place_.length;
    ++row_;
    load();
    if (!has_row_ || place_.offset >= previous_end) return;
    result.findings.add([&] {
      return shard_.finding(fmt::format("index places this value before byte {}, where that of "
                                        "the row before ends",
                                        previous_end),
                            file_name_, place_.offset, row_);
    });
    has_row_ = false;
  }

  void finish_value(RangeResult& result) {
    if (seen_ < place_.length) {  // it began in an earlier range
      result.pieces.push_back({field_, row_, place_, seen_, crc_});
    } else if (crc_ != place_.crc32c) {
      result.findings.add([&] { return shard_.wrong_checksum(row_, field_, place_, crc_); });
    }
  }

 private:
  const ShardCheck& shard_;
  const ByteRange& range_;
  std::optional<std::size_t> field_;
  IndexReader index_;
  std::uint64_t position_;
  std::string file_name_;
  std::uint64_t row_ = 0, seen_ = 0;
  bool has_row_ = false;
  FieldPlace place_;
  std::uint32_t crc_ = 0;
};

std::vector<ColumnCursor> cursors_of(const ShardCheck& shard, const ByteRange& range) {
  const ShardLayout& layout = shard.manifest.layout;
  std::vector<ColumnCursor> cursors;
  if (!shard.has_ordered_places) return cursors;
  if (layout.has_keys && layout.part_file[layout.key_part] == range.file)
    cursors.emplace_back(shard, range, std::nullopt);
  for (std::size_t i = 0; i < shard.manifest.schema.fields.size(); ++i) {
    const bool lies_here = layout.part_file[layout.field_part[i]] == range.file;
    if (lies_here && is_located(shard.manifest.schema.fields[i].kind))
      cursors.emplace_back(shard, range, i);
  }
  return cursors;
}

}  // namespace

RangeResult verify_range(const ShardCheck& shard, const ByteRange& range) {
  RangeResult result;
  const InputFile& file = shard.reader.files()[range.file];
  const std::string& name = shard.reader.shard().files[range.file].name;
  std::vector<ColumnCursor> cursors = cursors_of(shard, range);
  std::vector<std::byte> buffer(std::min(kPieceBytes, range.end - range.begin));
  Hasher128 hasher;
  for (std::uint64_t block = range.begin / kBlockBytes; block * kBlockBytes < range.end; ++block) {
    const std::uint64_t block_end = std::min((block + 1) * kBlockBytes, range.end);
    shard.stop_if_over();
    hasher.reset();
    for (std::uint64_t offset = block * kBlockBytes; offset < block_end;) {
      const std::uint64_t want = std::min(kPieceBytes, block_end - offset);
      file.read_exact(offset, std::span(buffer).first(want));
      const Bytes piece = Bytes(buffer).first(want);
      hasher.update(piece);
      for (ColumnCursor& cursor : cursors) cursor.feed(offset, piece, result);
      offset += want;
    }
    if (shard.blocks.empty()) continue;
    const Hash128& expected = shard.blocks[shard.first_block[range.file] + block];
    if (const Hash128 found = hasher.digest(); found != expected) {
      result.findings.add([&] {
        Finding finding = shard.finding({}, name, block * kBlockBytes);
        finding.length = block_end - block * kBlockBytes;
        block_hash_mismatch(found, expected).describe_in(finding);
        name_rows(finding, shard, range.file, block * kBlockBytes, block_end);
        return finding;
      });
    }
  }
  for (ColumnCursor& cursor : cursors) cursor.end(result);
  std::ranges::stable_sort(result.findings.kept(), {}, &Finding::offset);
  result.bytes = range.end - range.begin;
  return result;
}

std::vector<Finding> StraddlingJoin::add(const ShardCheck& shard,
                                         const std::vector<StraddlingPiece>& pieces) {
  std::vector<Finding> findings;
  for (const StraddlingPiece& piece : pieces) {
    auto open = std::find_if(open_.begin(), open_.end(),
                             [&](const auto& other) { return other.field == piece.field; });
    if (open == open_.end()) {
      open_.push_back(piece);
      continue;
    }
    if (open->row == piece.row) {
      open->crc32c = crc32c_combine(open->crc32c, piece.crc32c, piece.length);
      open->length += piece.length;
    } else {
      *open = piece;
    }
    if (open->length < open->place.length) continue;
    if (open->crc32c != open->place.crc32c)
      findings.push_back(shard.wrong_checksum(open->row, open->field, open->place, open->crc32c));
    open_.erase(open);
  }
  return findings;
}

}  // namespace shale
