#include "shale/sources/table_source.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::array<std::string_view, 6> kKeyColumns = {"file_name", "filename", "file",
                                                         "path",      "key",      "image"};

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

class TableSource final : public OrderableSource {
 public:
  TableSource(const std::string& path, std::uint64_t memory_bytes, const Events& events)
      : path_(path) {
    read_csv(path, [&](std::uint64_t row, const std::vector<std::string>& cells) {
      events.stop_if_asked();
      row == 1 ? take_header(cells) : take_row(row, cells, memory_bytes);
    });
    if (rows() == 0) throw Error(Code::bad_content, "has no rows below its header").at(path);
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
  [[nodiscard]] std::uint64_t rows() const { return columns_.empty() ? 0 : columns_[0].size(); }

  [[nodiscard]] Error at_row(std::uint64_t row, std::string_view fact) const {
    return Error(Code::bad_content, "row {} {}", row, fact).at(path_);
  }

  void take_header(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) {
      const std::string name(trimmed(cell));
      if (name.empty() || std::ranges::find(names_, name) != names_.end()) {
        throw at_row(1, name.empty() ? std::string("has a column without name")
                                     : fmt::format("has two columns '{}'", printable(name)))
            .hint("the first row names the columns, each by a name of its own");
      }
      names_.push_back(name);
    }
    columns_.resize(names_.size());
  }

  void take_row(std::uint64_t row, const std::vector<std::string>& cells,
                std::uint64_t memory_bytes) {
    if (cells.size() != names_.size()) {
      throw at_row(row, fmt::format("has {}, expected {} as in row 1",
                                    format_counted(cells.size(), "field", "fields"), names_.size()))
          .hint("quote values that contain a comma or a line end");
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
      bytes_ += cells[c].size() + sizeof(std::string);
      columns_[c].push_back(cells[c]);
    }
    if (bytes_ <= memory_bytes) return;
    throw Error(Code::limit, "takes more than the {} of memory for a table that is joined",
                format_size(memory_bytes))
        .at(path_)
        .hint(enough_memory_hint(memory_bytes * 8));
  }

  void describe() {
    for (const std::string_view name : kKeyColumns) {
      const auto found = std::ranges::find(names_, name);
      if (found == names_.end()) continue;
      key_ = static_cast<std::size_t>(found - names_.begin());
      break;
    }
    std::string facts;
    for (std::size_t c = 0; c < names_.size(); ++c) {
      if (key_ != c) {
        info_.schema.fields.push_back(field_of(c));
        column_of_field_.push_back(c);
      }
      facts += names_[c] + '\n';
      for (const std::string& cell : columns_[c])
        facts += fmt::format("{} {}\n", cell.size(), cell);
    }
    info_.schema.has_keys = key_.has_value();
    info_.manifest.kind = "table";
    info_.manifest.samples = rows();
    info_.manifest.bytes = bytes_;
    info_.manifest.fingerprint = xxh3_128(as_bytes(facts));
    info_.memory_bytes = bytes_;
    info_.modified_ns = stamp_of(path_).value_or(FileStamp{}).modified_ns;
  }

  [[nodiscard]] Field field_of(std::size_t column) const {
    Field field{.name = names_[column], .kind = Kind::integer};
    std::size_t empty = 0;
    for (const std::string& cell : columns_[column]) {
      if (trimmed(cell).empty()) {
        ++empty;
        continue;
      }
      if (field.kind == Kind::integer && !number_in<std::int64_t>(trimmed(cell)))
        field.kind = Kind::real;
      if (field.kind == Kind::real && !number_in<double>(trimmed(cell))) field.kind = Kind::text;
    }
    if (empty == rows()) field.kind = Kind::text;
    field.is_optional = field.kind != Kind::text && empty > 0;
    return field;
  }

  [[nodiscard]] PendingSample sample_of(std::uint64_t row) const {
    PendingSample sample;
    sample.first_number = row;
    sample.key = key_ ? columns_[*key_][row] : std::to_string(row);
    for (std::size_t f = 0; f < column_of_field_.size(); ++f) {
      const std::string& cell = columns_[column_of_field_[f]][row];
      const std::string_view number = trimmed(cell);
      IndexCell& made = sample.cells.emplace_back();
      if (info_.schema.fields[f].kind == Kind::text) {
        made.place = {.offset = 0, .length = cell.size()};
        sample.known.push_back({f, cell});
        sample.bytes += cell.size();
      } else if (number.empty()) {
        made.lacks_number = true;
      } else if (info_.schema.fields[f].kind == Kind::integer) {
        made.integer = number_in<std::int64_t>(number).value();
      } else {
        made.real = number_in<double>(number).value();
      }
    }
    sample.descriptors.assign(sample.cells.size(), -1);
    return sample;
  }

  std::string path_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> columns_;  // of texts as they stand there
  std::uint64_t bytes_ = 0;
  std::optional<std::size_t> key_;
  std::vector<std::size_t> column_of_field_;
  SourceInfo info_;
  std::uint64_t position_ = 0;
  std::shared_ptr<ChosenRows> chosen_;
  std::optional<Permutation> order_;
};

}  // namespace

bool is_table_name(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".tsv");
}

std::unique_ptr<OrderableSource> make_table_source(const std::string& path,
                                                   std::uint64_t memory_bytes,
                                                   const Events& events) {
  return std::make_unique<TableSource>(path, memory_bytes, events);
}

}  // namespace shale
