#include "shale/columns/own_rows.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/value_checksum.hpp"

namespace shale {
namespace {

using Role = Hdf5Column::Role;

constexpr std::uint64_t kWindowsBytes = 16 << 20, kSmallestWindow = 4096,
                        kLargestWindow = 256 * 1024;
// A part reads 64 KiB of each column of numbers; the windows of one are 2 MiB at most.
constexpr std::uint64_t kPartWindowsBytes = 2 << 20, kPartWindow = 64 * 1024;

std::uint64_t read_u64(const ViewBytes& view, std::uint64_t offset) {
  return ByteReader(view(offset, sizeof(std::uint64_t))).read_u64();
}

// The values of one part, in the order of the rows; or of lists the numbers of their elements.
class ColumnWalk {
 public:
  // `unit`: the bytes of a row, or of what offsets count.
  ColumnWalk(std::string field, ColumnExtent values, std::uint64_t unit, std::uint64_t window_bytes,
             ViewBytes view_values)
      : field_(std::move(field)),
        values_(values),
        unit_(unit),
        window_bytes_(window_bytes),
        view_values_(std::move(view_values)) {}

  // Values of any size: each ends where the next begins.
  void follow_offsets(ColumnExtent offsets, ViewBytes view_offsets, std::uint64_t row) {
    offsets_ = offsets;
    view_offsets_ = std::move(view_offsets);
    go_to(row);
  }

  // To a row, whichever came before.
  void go_to(std::uint64_t row) {
    end_ = has_offsets() ? read_u64(view_offsets_, place_of_end(row)) : row;
  }

  [[nodiscard]] const std::string& field() const { return field_; }
  [[nodiscard]] bool has_offsets() const { return view_offsets_ != nullptr; }
  // In units, as these:
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t end_of_values() const {
    return unit_ == 0 ? ~std::uint64_t{0} : values_.length / unit_;
  }
  [[nodiscard]] std::uint64_t place_of_values() const { return values_.offset; }
  /// Where the number end() stands, after so many rows.
  [[nodiscard]] std::uint64_t place_of_end(std::uint64_t rows) const {
    return offsets_.offset + rows * sizeof(std::uint64_t);
  }

  // Goes on to a row; the rows in order. Nullopt if no value can lie between its offsets.
  std::optional<FieldPlace> next(std::uint64_t row) {
    begin_ = end_;
    end_ = has_offsets() ? read_u64(view_offsets_, place_of_end(row + 1)) : begin_ + 1;
    if (begin_ > end_ || end_ > end_of_values()) return std::nullopt;
    return FieldPlace{.offset = values_.offset + begin_ * unit_, .length = (end_ - begin_) * unit_};
  }

  Bytes view(const FieldPlace& place) { return view_values_(place.offset, place.length); }

  std::uint32_t checksum(const FieldPlace& place, WalkPace& pace) {
    return crc32c_of_place(place, window_bytes_, pace, view_values_);
  }

 private:
  std::string field_;
  ColumnExtent values_, offsets_;
  std::uint64_t unit_, window_bytes_, begin_ = 0, end_ = 0;
  ViewBytes view_values_, view_offsets_;
};

// The lists of a field: the elements of each follow one another, and lists do.
struct ListWalk {
  ColumnWalk lists, elements;
  std::uint64_t count = 0, seen = 0;  // elements in all, and of the lists so far
};

class OwnScanner {
 public:
  OwnScanner(const ShardInput& input, const Hdf5Plan& plan, const ViewColumn& view_column,
             const RowSink& rows, const FindingSink& findings, std::uint64_t window_bytes)
      : file_(input.files[0]),
        schema_(input.schema),
        reads_payload_(input.reads_payload),
        rows_(rows),
        draft_(file_, findings),
        plan_(plan),
        view_column_(view_column),
        window_bytes_(window_bytes),
        pace_(input.progress, file_.size()) {}

  void scan(const ShardDirectory& directory, std::uint64_t begin, std::uint64_t end) {
    start(directory, begin);
    IndexRow row;
    for (std::uint64_t number = begin; number < end; ++number) {
      pace_.step_to_row(number, directory.samples);
      row_number_ = number;
      draft_.at_row(number);
      row.cells.assign(schema_.fields.size(), {});
      row.elements.clear();
      row.sides.assign(ragged_axes_, 0);
      read_key(row);
      std::span<std::uint64_t> sides = row.sides;
      for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
        const std::size_t axes = schema_.fields[i].is_ragged() ? schema_.fields[i].shape.size() : 0;
        read_field(i, row, sides.first(axes));
        sides = sides.subspan(axes);
      }
      rows_(row);
    }
    if (end < directory.samples) return;
    for (const ColumnWalk& walk : walks_) check_last(walk, directory.samples);
    for (const auto& [field, walk] : lists_) {
      check_last(walk.lists, directory.samples);
      check_last(walk.elements, walk.count);
    }
  }

 private:
  void start(const ShardDirectory& directory, std::uint64_t begin) {
    walks_.push_back(walk_of(directory, 0, "key", begin));
    for (std::uint32_t part = 1; part < 1 + schema_.fields.size(); ++part) {
      const std::string& field = schema_.fields[part - 1].name;
      walks_.push_back(walk_of(directory, part, field, begin));
      for (const auto& [role, walks] :
           {std::pair(Role::shapes, &shapes_), std::pair(Role::presence, &presence_)}) {
        if (const auto beside = plan_.beside(part, role))
          walks->emplace(part - 1, walk_of(directory, *beside, field, begin));
      }
      if (const auto elements = plan_.beside(part, Role::elements))
        start_list(directory, part, *elements, begin);
    }
  }

  // Of one row per sample, or of values of any size.
  [[nodiscard]] ColumnWalk walk_of(const ShardDirectory& directory, std::uint32_t part,
                                   const std::string& field, std::uint64_t begin) {
    const std::size_t values = plan_.values_of(part);
    const Hdf5Column& column = plan_.columns[values];
    const ColumnExtent& extent = directory.extents[values];
    std::uint64_t unit = column.dtype.item_bytes();
    if (column.role != Role::flat)
      unit = directory.samples == 0 ? 0 : extent.length / directory.samples;
    ColumnWalk walk(field, extent, unit, window_bytes_, view_column_(values, window_bytes_));
    if (const std::optional<std::size_t> offsets = plan_.offsets_of(part)) {
      walk.follow_offsets(directory.extents[*offsets], view_column_(*offsets, window_bytes_),
                          begin);
      if (begin == 0) check_first(walk);
    } else {
      walk.go_to(begin);
    }
    return walk;
  }

  void start_list(const ShardDirectory& directory, std::uint32_t part, std::uint32_t elements_part,
                  std::uint64_t begin) {
    const std::size_t values = plan_.values_of(part), elements = plan_.values_of(elements_part),
                      firsts = *plan_.offsets_of(elements_part);
    const ColumnExtent& ends = directory.extents[elements];
    const std::uint64_t count = ends.length / sizeof(std::uint64_t) - 1;
    const std::string& name = plan_.columns[values].name;
    ListWalk walk{.lists = ColumnWalk(name, {0, count}, 1, window_bytes_, {}),
                  .elements = ColumnWalk(name, directory.extents[values], 1, window_bytes_,
                                         view_column_(values, window_bytes_)),
                  .count = count};
    walk.lists.follow_offsets(directory.extents[firsts], view_column_(firsts, window_bytes_),
                              begin);
    walk.elements.follow_offsets(ends, view_column_(elements, window_bytes_), 0);
    if (begin == 0) {
      check_first(walk.lists);
      check_first(walk.elements);
    } else {
      walk.seen = walk.lists.end();  // where nothing was found in the lists before
    }
    lists_.emplace(part - 1, std::move(walk));
  }

  void report(std::string message, const ColumnWalk& walk, std::uint64_t rows, std::string found,
              std::string expected) {
    draft_.begin(std::move(message), walk.place_of_end(rows)).field = walk.field();
    draft_.send(std::move(found), std::move(expected));
  }

  void check_first(const ColumnWalk& walk) {
    if (walk.end() == 0) return;
    report("the first offset is not 0", walk, 0, fmt::to_string(walk.end()), "0");
  }

  void check_last(const ColumnWalk& walk, std::uint64_t samples) {
    draft_.at_row(std::nullopt);
    if (!walk.has_offsets() || walk.end() == walk.end_of_values()) return;
    report("the last offset is not the end of the values", walk, samples,
           fmt::to_string(walk.end()), fmt::to_string(walk.end_of_values()));
  }

  std::optional<FieldPlace> next_place(ColumnWalk& walk) { return next_place(walk, row_number_); }

  std::optional<FieldPlace> next_place(ColumnWalk& walk, std::uint64_t number) {
    const std::optional<FieldPlace> place = walk.next(number);
    if (!place) {
      report("no value can lie between these offsets", walk, number,
             fmt::format("{} to {}", walk.begin(), walk.end()),
             fmt::format("ascending, {} at most", walk.end_of_values()));
    }
    return place;
  }

  void read_key(IndexRow& row) {
    row.key = {};
    row.key_hash = 0;
    ColumnWalk& walk = walks_[0];
    std::optional<FieldPlace> place = next_place(walk);
    if (!place) return;
    if (place->length > kMaxKeyBytes) {
      report("a key is longer than shale writes them", walk, row_number_,
             fmt::format("{} bytes", place->length), fmt::format("{} or less", kMaxKeyBytes));
      return;
    }
    const Bytes key = walk.view(*place);
    draft_.at_key(as_text(key));
    row.key_hash = xxh3_64(key);
    if (reads_payload_) place->crc32c = crc32c(key);
    row.key = *place;
  }

  void read_field(std::size_t number, IndexRow& row, std::span<std::uint64_t> sides) {
    const Field& field = schema_.fields[number];
    IndexCell& cell = row.cells[number];
    const bool is_absent = field.is_optional && !is_present(presence_.at(number));
    const std::optional<FieldPlace> shape =
        has_shapes(field) ? next_place(shapes_.at(number)) : std::nullopt;
    if (shape) {
      ByteReader stored(shapes_.at(number).view(*shape));
      for (std::uint64_t& side : sides) side = stored.read_u64();
    }
    if (is_absent) {
      cell.lacks_number = !is_located(field.kind);
      return skip_absent(field, number, sides);
    }
    if (field.kind == Kind::list) return read_list(lists_.at(number), cell, row.elements);
    read_cell(field, walks_[1 + number], cell, sides);
  }

  bool is_present(ColumnWalk& walk) {
    const std::optional<FieldPlace> place = next_place(walk);
    if (!place) return true;
    const auto flag = std::to_integer<unsigned>(walk.view(*place)[0]);
    if (flag > 1) {
      (void)read_stored(
          walk, *place,
          {.name = walk.field(), .kind = Kind::integer, .dtype = DType::parse("|b1")});
    }
    return flag != 0;
  }

  // Nothing is stored for it, or zeros where all rows have one size; those of a tensor nobody
  // reads.
  void skip_absent(const Field& field, std::size_t number, std::span<std::uint64_t> sides) {
    const bool is_list = field.kind == Kind::list;
    ColumnWalk& walk = is_list ? lists_.at(number).lists : walks_[1 + number];
    const std::optional<FieldPlace> place = next_place(walk);
    if (!place) return;
    if (is_list) lists_.at(number).seen += place->length;
    const auto is_zero = [](auto part) { return part == decltype(part){}; };
    const bool is_empty = walk.has_offsets() ? place->length == 0
                                             : field.kind == Kind::tensor ||
                                                   std::ranges::all_of(walk.view(*place), is_zero);
    if (is_empty && std::ranges::all_of(sides, is_zero)) return;
    std::ranges::fill(sides, 0);
    draft_.begin("a value that is absent is stored", place->offset).field = walk.field();
    draft_.send();
  }

  void read_list(ListWalk& walk, IndexCell& cell, std::vector<FieldPlace>& elements) {
    const std::optional<FieldPlace> numbers = next_place(walk.lists);
    if (!numbers) return;
    walk.seen += numbers->length;
    if (walk.seen > walk.count || numbers->length > kMaxElements) {
      return report("a list has more elements than there are", walk.lists, row_number_,
                    fmt::to_string(walk.seen),
                    fmt::format("at most {}", std::min(walk.count, kMaxElements)));
    }
    const std::size_t had = elements.size();
    walk.elements.go_to(numbers->offset);
    const std::uint64_t begin = walk.elements.end();
    for (std::uint64_t i = 0; i < numbers->length; ++i) {
      const std::optional<FieldPlace> element = next_place(walk.elements, numbers->offset + i);
      if (!element) return elements.resize(had);
      elements.push_back(*element);
    }
    if (begin > walk.elements.end_of_values()) return;  // of an empty list: check_last tells
    cell.place = {.offset = walk.elements.place_of_values() + begin,
                  .length = walk.elements.end() - begin,
                  .count = static_cast<std::uint32_t>(numbers->length)};
    if (reads_payload_) cell.place.crc32c = walk.elements.checksum(cell.place, pace_);
  }

  void read_cell(const Field& field, ColumnWalk& walk, IndexCell& cell,
                 std::span<std::uint64_t> sides) {
    std::optional<FieldPlace> place = next_place(walk);
    if (!place) return;
    if (!is_located(field.kind)) {
      cell = read_stored(walk, *place, field);
      return;
    }
    if (sides.size() == 1) sides[0] = place->length / field.dtype.item_bytes();
    if (field.is_ragged() && !check_shape(field, walk, *place, sides)) return;
    if (reads_payload_) place->crc32c = walk.checksum(*place, pace_);
    cell.place = *place;
  }

  bool check_shape(const Field& field, const ColumnWalk& walk, const FieldPlace& place,
                   std::span<std::uint64_t> sides) {
    if (field.takes_tensor(sides, place.length)) return true;
    draft_.begin("the shape is not that of the value", place.offset).field = walk.field();
    draft_.send(shape_text(sides),
                fmt::format("{} of {} bytes", shape_text(field.shape), place.length));
    return false;
  }

  IndexCell read_stored(ColumnWalk& walk, const FieldPlace& place, const Field& field) {
    try {
      return read_number(walk.view(place), field);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      draft_.begin(error.message(), place.offset).field = walk.field();
      draft_.send();
      return {};
    }
  }

  const InputFile& file_;
  const Schema& schema_;
  bool reads_payload_;
  const RowSink& rows_;
  FindingDraft draft_;
  const Hdf5Plan& plan_;
  const ViewColumn& view_column_;
  std::uint64_t window_bytes_;
  WalkPace pace_;
  std::size_t ragged_axes_ = schema_.ragged_axes();
  std::vector<ColumnWalk> walks_;          // of the key, and one per field
  std::map<std::size_t, ListWalk> lists_;  // by field, as these:
  std::map<std::size_t, ColumnWalk> shapes_, presence_;
  std::uint64_t row_number_ = 0;
};

std::uint64_t window_of(const Hdf5Plan& plan, std::uint64_t all, std::uint64_t largest) {
  return std::clamp(all / plan.columns.size(), kSmallestWindow, largest);
}

}  // namespace

void scan_columns(const ShardInput& input, const Hdf5Plan& plan, const ShardDirectory& directory,
                  const ViewColumn& view_column, const RowSink& rows, const FindingSink& findings) {
  OwnScanner(input, plan, view_column, rows, findings,
             window_of(plan, kWindowsBytes, kLargestWindow))
      .scan(directory, 0, directory.samples);
}

void scan_part_of_columns(const ShardInput& input, const Hdf5Plan& plan,
                          const ShardDirectory& directory, const ViewColumn& view_column,
                          const ScanRows& part, const RowSink& rows, const FindingSink& findings) {
  OwnScanner(input, plan, view_column, rows, findings,
             window_of(plan, kPartWindowsBytes, kPartWindow))
      .scan(directory, part.begin.row, part.end.row);
}

}  // namespace shale
