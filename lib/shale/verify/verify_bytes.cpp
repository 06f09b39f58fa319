#include "shale/verify/verify_bytes.hpp"

#include <algorithm>
#include <cstring>
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
// For what of a walk lies outside of the range: the rest of the last sample.
constexpr std::uint64_t kOutsideWindow = 32 * 1024;
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
  // `near`: where its first row of the range may be.
  ColumnCursor(const ShardCheck& shard, const ByteRange& range, std::optional<std::size_t> field,
               IndexWindow& index, std::uint64_t near)
      : shard_(shard),
        range_(range),
        field_(field),
        index_(index),
        position_(shard.reader.columns().position_of(field)),
        row_(seek(near)) {
    load();
  }

  [[nodiscard]] std::uint64_t row() const { return row_; }

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
            file_name(), place_.offset, row_);
      });
    }
  }

 private:
  [[nodiscard]] const std::string& file_name() const {
    return shard_.reader.shard().files[range_.file].name;
  }

  [[nodiscard]] bool is_before(std::uint64_t row) const {
    const FieldPlace place = index_.distant_place(row, position_);
    return place.length == 0
               ? place.offset < range_.begin
               : place.offset < range_.begin && place.length <= range_.begin - place.offset;
  }

  // The first row whose value ends behind the range's begin: most often one of two.
  [[nodiscard]] std::uint64_t seek(std::uint64_t near) const {
    std::uint64_t low = 0, high = index_.rows();
    const auto narrow = [&](std::uint64_t row) {
      if (row < low || row >= high) return;
      if (is_before(row)) {
        low = row + 1;
      } else {
        high = row;
      }
    };
    if (near > 0) narrow(near - 1);
    narrow(low == near ? near : std::max<std::uint64_t>(near, 2) - 2);
    while (low < high) narrow(low + (high - low) / 2);
    return low;
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
                            file_name(), place_.offset, row_);
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
  IndexWindow& index_;
  std::uint64_t position_;
  std::uint64_t row_, seen_ = 0;
  bool has_row_ = false;
  FieldPlace place_;
  std::uint32_t crc_ = 0;
};

std::vector<ColumnCursor> cursors_of(const ShardCheck& shard, const ByteRange& range,
                                     IndexWindow& index) {
  const ShardLayout& layout = shard.manifest.layout;
  std::uint64_t near = range.near_row;
  // The first rows of some columns are those of a record that ends in this range.
  if (near > 1 && near <= index.rows()) (void)index.place(near - 2, 0);
  std::vector<ColumnCursor> cursors;
  const auto add = [&](std::optional<std::size_t> field) {
    cursors.emplace_back(shard, range, field, index, near);
    near = cursors.back().row();
  };
  if (layout.has_keys && layout.part_file[layout.key_part] == range.file) add(std::nullopt);
  for (std::size_t i = 0; i < shard.manifest.schema.fields.size(); ++i) {
    const bool lies_here = layout.part_file[layout.field_part[i]] == range.file;
    if (lies_here && is_located(shard.manifest.schema.fields[i].kind)) add(i);
  }
  return cursors;
}

// Reads a range once, piece by piece; each goes to the hash of its block and to the columns, and is
// then there for a walk.
class RangeReader {
 public:
  RangeReader(const ShardCheck& shard, const ByteRange& range, std::vector<ColumnCursor> cursors,
              RangeResult& result)
      : shard_(shard),
        file_(shard.reader.files()[range.file]),
        range_(range),
        cursors_(std::move(cursors)),
        result_(result),
        outside_(file_, kOutsideWindow),
        begin_(range.begin),
        end_(range.begin) {}

  // RangeWalk's view.
  Bytes view(std::uint64_t offset, std::uint64_t length) {
    if (offset >= begin_ && offset <= end_ && length <= end_ - offset)
      return Bytes(held_).subspan(offset - begin_, length);
    const bool is_ahead = offset >= begin_ && offset < range_.end && length <= kPieceBytes &&
                          length <= range_.end - offset;
    if (!is_ahead) return outside_.view(offset, length);
    while (end_ < offset + length) read_piece(offset);
    return Bytes(held_).subspan(offset - begin_, length);
  }

  void finish() {
    while (end_ < range_.end) read_piece(range_.end);
    for (ColumnCursor& cursor : cursors_) cursor.end(result_);
    std::ranges::stable_sort(result_.findings.kept(), {}, &Finding::offset);
    result_.bytes = range_.end - range_.begin;
  }

 private:
  // The next one; of what is held, bytes from `needed` stay.
  void read_piece(std::uint64_t needed) {
    if (end_ % kBlockBytes == 0) shard_.stop_if_over();
    const std::uint64_t block_end = std::min((end_ / kBlockBytes + 1) * kBlockBytes, range_.end);
    const std::uint64_t want = std::min(kPieceBytes, block_end - end_);
    const std::uint64_t kept = needed < end_ ? end_ - needed : 0;
    if (kept > 0) std::memmove(held_.data(), held_.data() + (needed - begin_), kept);
    begin_ = end_ - kept;
    if (held_.size() < kept + want) held_.resize(kept + want);
    const std::span<std::byte> piece = std::span(held_).subspan(kept, want);
    file_.read_exact(end_, piece);
    if (end_ % kBlockBytes == 0) hasher_.reset();
    hasher_.update(piece);
    for (ColumnCursor& cursor : cursors_) cursor.feed(end_, piece, result_);
    end_ += want;
    if (end_ == block_end) check_block((end_ - 1) / kBlockBytes);
  }

  void check_block(std::uint64_t block) {
    if (shard_.blocks.empty()) return;
    const Hash128& expected = shard_.blocks[shard_.first_block[range_.file] + block];
    const Hash128 found = hasher_.digest();
    if (found == expected) return;
    result_.findings.add([&] {
      const std::uint64_t begin = block * kBlockBytes;
      Finding finding = shard_.finding({}, shard_.reader.shard().files[range_.file].name, begin);
      finding.length = end_ - begin;
      block_hash_mismatch(found, expected).describe_in(finding);
      name_rows(finding, shard_, range_.file, begin, end_);
      return finding;
    });
  }

  const ShardCheck& shard_;
  const InputFile& file_;
  const ByteRange& range_;
  std::vector<ColumnCursor> cursors_;
  RangeResult& result_;
  WindowReader outside_;
  Hasher128 hasher_;
  std::vector<std::byte> held_;  // bytes of the file from begin_ to end_
  std::uint64_t begin_, end_;
};

}  // namespace

RangeResult verify_range(const ShardCheck& shard, const ByteRange& range, const RangeWalk& walk) {
  RangeResult result{.findings = TaskFindings(shard.kept_findings), .pieces = {}};
  std::optional<IndexWindow> index;
  if (shard.has_ordered_places) index.emplace(shard.reader);
  RangeReader reader(
      shard, range, index ? cursors_of(shard, range, *index) : std::vector<ColumnCursor>(), result);
  if (walk) {
    if (!index) index.emplace(shard.reader);
    walk([&](std::uint64_t offset, std::uint64_t length) { return reader.view(offset, length); },
         *index);
  }
  reader.finish();
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
