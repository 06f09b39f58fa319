#include "shale/labels/table_source.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/metadata_values.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::array<std::string_view, 6> kColumnsOfKeys = {"file_name", "filename", "file",
                                                            "path",      "key",      "image"};

bool is_table_name(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".tsv");
}

// The whole cell as a number; nullopt: it is none, or one that is written as a name ("007").
template <class Number>
std::optional<Number> number_in(std::string_view cell) {
  const std::string_view digits = cell.starts_with('-') ? cell.substr(1) : cell;
  const bool is_padded = digits.size() > 1 && digits[0] == '0' && digits[1] != '.';
  if (digits.empty() || is_padded || ((digits[0] < '0' || digits[0] > '9') && digits[0] != '.'))
    return std::nullopt;
  Number number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return error == std::errc() && end == cell.data() + cell.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// A scratch file as bytes at offsets: a window of what comes next where it is read in order, and
// otherwise no more than is wanted. A view ends with the next.
class ScratchView {
 public:
  explicit ScratchView(ScratchFile& file) : file_(file) {}

  [[nodiscard]] Bytes at(std::uint64_t offset, std::uint64_t bytes) {
    const bool is_held = offset >= begin_ && offset + bytes <= begin_ + held_.size();
    if (!is_held) {
      const bool is_next = offset >= begin_ && offset <= begin_ + held_.size();
      held_.resize(is_next ? std::min(std::max(bytes, kWindowBytes), file_.size() - offset)
                           : bytes);
      begin_ = offset;
      file_.read_exact(offset, held_);
    }
    return Bytes(held_).subspan(offset - begin_, bytes);
  }

 private:
  static constexpr std::uint64_t kWindowBytes = 64 << 10;

  ScratchFile& file_;
  std::vector<std::byte> held_;
  std::uint64_t begin_ = 0;
};

// The cells of all rows, on disk.
class StoredRows {
 public:
  void add(CsvRow cells) {
    begins_.append(bytes_of(bytes()));
    for (const std::string_view cell : cells) {
      cells_.append(bytes_of(std::uint64_t{cell.size()}));
      cells_.append(as_bytes(cell));
    }
    ++rows_;
  }
  void finish() { begins_.append(bytes_of(bytes())); }

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t bytes() const { return cells_.size(); }
  // Until the next call.
  [[nodiscard]] const std::vector<std::string_view>& row(std::uint64_t row) {
    ByteReader place(begins_view_.at(row * sizeof(std::uint64_t), 2 * sizeof(std::uint64_t)));
    const std::uint64_t begin = place.read_u64(), end = place.read_u64();
    row_.clear();
    for (ByteReader cells(cells_view_.at(begin, end - begin)); !cells.at_end();)
      row_.push_back(as_text(cells.read_bytes(cells.read_u64())));
    return row_;
  }

 private:
  ScratchFile cells_{temporary_folder()};   // of each its length, u64, and the text
  ScratchFile begins_{temporary_folder()};  // of each row in there, u64, and the end of the last
  ScratchView cells_view_{cells_}, begins_view_{begins_};
  std::uint64_t rows_ = 0;
  std::vector<std::string_view> row_;
};

// What the cells of a column have been so far.
struct ColumnFacts {
  std::string name;
  Kind kind = Kind::integer;
  std::uint64_t empty = 0;
  std::optional<Field> type = {};  // if it is known beforehand

  void take(std::string_view cell) {
    if (type) return;
    const std::string_view text = trimmed(cell);
    if (text.empty()) {
      ++empty;
      return;
    }
    if (kind == Kind::integer && !number_in<std::int64_t>(text)) kind = Kind::real;
    if (kind == Kind::real && !number_in<double>(text)) kind = Kind::text;
  }

  [[nodiscard]] Field field(std::uint64_t rows) const {
    if (type) return *type;
    Field field{.name = name, .kind = empty == rows ? Kind::text : kind};
    field.is_optional = field.kind != Kind::text && empty > 0;
    return field;
  }
};

class TableSource final : public OrderableSource {
 public:
  TableSource(const std::string& path, const Events& events) : path_(path) {
    if (is_table_name(path)) {
      read_csv(path, [&](std::uint64_t row, CsvRow cells) {
        events.stop_if_asked();
        row == 1 ? take_header(cells) : take_row(row, cells);
      });
    } else {
      take_annotations(events);
    }
    if (rows_.rows() == 0) throw Error(Code::bad_content, "has no rows below its header").at(path);
    rows_.finish();
    describe();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    if (position_ == info_.manifest.samples) return std::nullopt;
    std::uint64_t row = order_ ? order_->at(position_) : position_;
    ++position_;
    if (chosen_) row = chosen_->at(row);
    return sample_of(row);
  }

  void put_in_order(const SampleOrder& order) override {
    position_ = 0;
    chosen_ = order.chosen;
    if (chosen_) {
      info_.chosen = chosen_->hash();
      info_.manifest.samples = chosen_->count();
      info_.manifest.fingerprint = chosen_->fingerprint_of(info_.manifest.fingerprint);
    }
    if (order.seed && info_.manifest.samples > 0)
      order_.emplace(info_.manifest.samples, *order.seed);
  }

 private:
  [[nodiscard]] Error at_row(std::uint64_t row, std::string_view fact) const {
    return Error(Code::bad_content, "row {} {}", row, fact).at(path_);
  }

  void take_header(CsvRow cells) {
    for (const std::string_view cell : cells) {
      const std::string name(trimmed(cell));
      if (name.empty() || std::ranges::find(columns_, name, &ColumnFacts::name) != columns_.end()) {
        throw at_row(1, name.empty() ? std::string("has a column without name")
                                     : fmt::format("has two columns '{}'", printable(name)))
            .hint("the first row names the columns, each by a name of its own");
      }
      columns_.push_back({.name = name});
    }
    for (const std::string_view cell : cells) add_to_hash(trimmed(cell));
  }

  void take_row(std::uint64_t row, CsvRow cells) {
    if (cells.size() != columns_.size()) {
      throw at_row(row,
                   fmt::format("has {}, expected {} as in row 1",
                               format_counted(cells.size(), "field", "fields"), columns_.size()))
          .hint("quote values that contain a comma or a line end");
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
      columns_[c].take(cells[c]);
      add_to_hash(cells[c]);
    }
    rows_.add(cells);
  }

  void take_annotations(const Events& events) {
    std::vector<std::string_view> cells;
    AnnotationsRead read = read_coco({.path = path_,
                                      .scratch_folder = temporary_folder(),
                                      .stop_if_asked = [&events] { events.stop_if_asked(); }},
                                     [&](const AnnotationRow& row) {
                                       cells = {row.key};
                                       for (const JsonMember& cell : row.cells)
                                         cells.emplace_back(cell.text);
                                       if (columns_.empty()) take_types(row);
                                       take_row(row.number, cells);
                                     });
    info_.classes = std::move(read.classes);
    info_.left_out = std::move(read.left_out);
    info_.notes = std::move(read.notes);
    for (const std::string& name : info_.classes) add_to_hash(name);
  }

  void take_types(const AnnotationRow& row) {
    columns_.push_back({.name = std::string(kColumnsOfKeys[0])});
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      columns_.push_back({.name = row.cells[i].name});
      if (i < row.types.size()) columns_.back().type = row.types[i];
      add_to_hash(row.cells[i].name);
    }
  }

  void add_to_hash(std::string_view cell) {
    hasher_.update(bytes_of(std::uint64_t{cell.size()}));
    hasher_.update(as_bytes(cell));
  }

  void describe() {
    for (const std::string_view name : kColumnsOfKeys) {
      const auto found = std::ranges::find(columns_, name, &ColumnFacts::name);
      if (found == columns_.end()) continue;
      key_ = static_cast<std::size_t>(found - columns_.begin());
      break;
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (key_ == c) continue;
      info_.schema.fields.push_back(columns_[c].field(rows_.rows()));
      column_of_field_.push_back(c);
    }
    info_.schema.has_keys = key_.has_value();
    info_.manifest.kind = "table";
    info_.manifest.samples = rows_.rows();
    info_.manifest.bytes = rows_.bytes();
    info_.manifest.fingerprint = hasher_.digest();
    info_.modified_ns = stamp_of(path_).value_or(FileStamp{}).modified_ns;
  }

  [[nodiscard]] PendingSample sample_of(std::uint64_t row) {
    const std::vector<std::string_view>& cells = rows_.row(row);
    PendingSample sample;
    sample.first_number = row;
    sample.key = key_ ? std::string(cells[*key_]) : std::to_string(row);
    for (std::size_t f = 0; f < column_of_field_.size(); ++f) {
      const std::string_view cell = cells[column_of_field_[f]];
      const std::string_view number = trimmed(cell);
      IndexCell& made = sample.cells.emplace_back();
      const Field& field = info_.schema.fields[f];
      if (columns_[column_of_field_[f]].type) {
        std::string row_of_one;
        append_metadata_value(row_of_one, field, std::string(cell));
        take_metadata_row(row_of_one, {field}, sample);
      } else if (field.kind == Kind::text) {
        made.place = {.offset = 0, .length = cell.size()};
        sample.known.push_back({f, std::string(cell)});
        sample.bytes += cell.size();
      } else if (number.empty()) {
        made.lacks_number = true;
      } else if (field.kind == Kind::integer) {
        made.integer = number_in<std::int64_t>(number).value();
      } else {
        made.real = number_in<double>(number).value();
      }
    }
    sample.descriptors.assign(sample.cells.size(), -1);
    return sample;
  }

  std::string path_;
  std::vector<ColumnFacts> columns_;
  StoredRows rows_;
  Hasher128 hasher_;  // of the names, and of the cells row by row
  std::optional<std::size_t> key_;
  std::vector<std::size_t> column_of_field_;
  SourceInfo info_;
  std::uint64_t position_ = 0;
  std::shared_ptr<ChosenRows> chosen_;
  std::optional<Permutation> order_;
};

}  // namespace

bool is_table(const std::string& path) {
  return is_table_name(path) || annotation_form(path) == AnnotationForm::coco;
}

std::unique_ptr<OrderableSource> make_table_source(const std::string& path, const Events& events) {
  return std::make_unique<TableSource>(path, events);
}

}  // namespace shale
