#include "shale/columns/own_writer.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/format/column_spill.hpp"

namespace shale {
namespace {

class ColumnSizer final : public ShardSizer {
 public:
  explicit ColumnSizer(Hdf5Plan plan) : plan_(std::move(plan)), part_bytes_(plan_.parts) {}

  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t samples) const override {
    return {place_columns(plan_, samples_ + samples, sums_with(part_bytes)).back().offset};
  }

  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t samples) override {
    part_bytes_ = sums_with(part_bytes);
    samples_ += samples;
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sums_with(
      std::span<const std::uint64_t> part_bytes) const {
    if (part_bytes.size() != part_bytes_.size()) {
      throw Error(Code::bug, "a record of {} parts cannot be counted; its HDF5 shard has {}",
                  part_bytes.size(), part_bytes_.size());
    }
    std::vector<std::uint64_t> sums = part_bytes_;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part_bytes[i];
    return sums;
  }

  Hdf5Plan plan_;
  std::vector<std::uint64_t> part_bytes_;
  std::uint64_t samples_ = 0;
};

class ColumnWriter final : public ShardWriter {
 public:
  ColumnWriter(OutputFile& file, Hdf5Plan plan, MakeMetadata make_metadata)
      : file_(file),
        plan_(std::move(plan)),
        make_metadata_(std::move(make_metadata)),
        spill_(folder_of_file(file.path()), plan_.columns.size()),
        part_bytes_(plan_.parts),
        offsets_(part_bytes_.size()) {
    for (std::uint32_t part = 0; part < part_bytes_.size(); ++part) {
      const std::optional<std::size_t> ends = plan_.offsets_of(part);
      const std::size_t values = plan_.values_of(part);
      parts_.push_back({.values = values, .ends = ends});
      if (ends) spill_.append(*ends, bytes_of(std::uint64_t{0}));
      if (plan_.columns[values].role == Hdf5Column::Role::elements)
        spill_.append(values, bytes_of(std::uint64_t{0}));
    }
    for (std::uint32_t part = 0; part < part_bytes_.size(); ++part) {
      if (const auto elements = plan_.beside(part, Hdf5Column::Role::elements))
        parts_[*elements].list = part;
    }
    file_.append_zeros(plan_.head_bytes);
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_)
      throw Error(Code::bug, "record appended to a closed HDF5 shard").at(file_.path());
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      offsets_[part] = part_bytes_[part];
      part_bytes_[part] += record.parts[part].size();
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const Part& columns = parts_[part];
      const std::uint64_t unit = plan_.columns[columns.values].dtype.item_bytes();
      if (columns.list) {
        append_element_ends(record.parts[part], columns.values, offsets_[*columns.list]);
      } else {
        append_values(record.parts[part], columns.values);
      }
      if (columns.ends) spill_.append(*columns.ends, bytes_of(part_bytes_[part] / unit));
    }
    if (plan_.rows.takes_runs()) {
      samples_ += record.digest.samples;
      return {};
    }
    ++samples_;
    return offsets_;
  }

  void name_labels(const LabelNames& names) override { names_ = names; }

  ClosedShard close() override {
    is_closed_ = true;
    const std::vector<ColumnExtent> extents = place_columns(plan_, samples_, part_bytes_);
    for (std::size_t i = 0; i < plan_.columns.size(); ++i) {
      if (i == plan_.streamed || extents[i].length == 0) continue;
      file_.append_zeros(extents[i].offset - file_.size());
      spill_.read(i, [&](Bytes piece) { file_.append(piece); });
    }
    if (file_.size() != extents.back().offset) {
      throw Error(Code::bug, "the columns end at byte {}, but {} was planned", file_.size(),
                  extents.back().offset)
          .at(file_.path());
    }
    const ShardMetadata metadata = make_metadata_(plan_, samples_, part_bytes_, names_);
    file_.append(metadata.tail);
    file_.patch(0, metadata.head);
    ClosedShard closed;
    for (const Part& columns : parts_) closed.part_bases.push_back(extents[columns.values].offset);
    return closed;
  }

 private:
  struct Part {
    std::size_t values;                                // its column
    std::optional<std::size_t> ends;                   // and that of its offsets
    std::optional<std::uint32_t> list = std::nullopt;  // the part whose elements end here
  };

  void append_values(const Blob& part, std::size_t column) {
    part.for_each_piece([&](Bytes piece) {
      if (column == plan_.streamed) {
        file_.append(piece);
      } else {
        spill_.append(column, piece);
      }
    });
  }

  // `begin`: of the list among all elements.
  void append_element_ends(const Blob& part, std::size_t column, std::uint64_t begin) {
    part.for_each_piece([&](Bytes piece) {
      ByteReader ends(piece);
      while (!ends.at_end()) spill_.append(column, bytes_of(begin + ends.read_u64()));
    });
  }

  OutputFile& file_;
  Hdf5Plan plan_;
  MakeMetadata make_metadata_;
  ColumnSpill spill_;
  std::vector<Part> parts_;
  std::vector<std::uint64_t> part_bytes_, offsets_;
  std::uint64_t samples_ = 0;
  LabelNames names_;
  bool is_closed_ = false;
};

}  // namespace

std::unique_ptr<ShardSizer> create_column_sizer(Hdf5Plan plan) {
  return std::make_unique<ColumnSizer>(std::move(plan));
}

std::unique_ptr<ShardWriter> create_column_writer(OutputFile& file, Hdf5Plan plan,
                                                  MakeMetadata make_metadata) {
  return std::make_unique<ColumnWriter>(file, std::move(plan), std::move(make_metadata));
}

}  // namespace shale
