#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/format/source.hpp"
#include "shale/io/input_file.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// Samples of a field of bytes, "image", and an integer, "label", which is the sample's number. The
/// values lie in one file, one after the other, with checksums.
class ListedSource : public Source {
 public:
  struct Listed {
    std::string key, value;
  };
  ListedSource(const TempDir& dir, const std::vector<Listed>& samples) {
    info_.schema.fields = {{.name = "image", .kind = Kind::bytes},
                           {.name = "label", .kind = Kind::integer}};
    info_.manifest.samples = samples.size();
    std::string content;
    for (const Listed& listed : samples) {
      PendingSample sample;
      sample.key = listed.key;
      sample.bytes = listed.value.size();
      sample.has_crc32c = true;
      sample.cells.resize(2);
      sample.cells[0].place = {.offset = content.size(),
                               .length = listed.value.size(),
                               .crc32c = crc32c(as_bytes(listed.value))};
      sample.cells[1].integer = static_cast<std::int64_t>(pending.size());
      content += listed.value;
      pending.push_back(std::move(sample));
    }
    write_file(dir / "values", content);
    file_ = std::make_shared<const InputFile>(dir / "values");
    for (PendingSample& sample : pending) sample.descriptors = {file_->descriptor(), -1};
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }
  [[nodiscard]] SourceInfo& info() { return info_; }
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    if (position_ == pending.size()) return std::nullopt;
    return pending[position_++];
  }

  std::vector<PendingSample> pending;

 private:
  SourceInfo info_;
  std::shared_ptr<const InputFile> file_;
  std::size_t position_ = 0;
};

/// All samples of a source as one batch, whose first has this number.
inline Batch batch_of(Source& source, std::uint64_t first = 0) {
  Batch batch;
  batch.first = first;
  while (std::optional<PendingSample> sample = source.next(~std::uint64_t{0})) {
    batch.bytes += sample->bytes;
    batch.pending.push_back(std::move(*sample));
  }
  return batch;
}

/// Keys "0", "1", ... and these values.
inline std::vector<ListedSource::Listed> numbered(const std::vector<std::string>& values) {
  std::vector<ListedSource::Listed> samples;
  for (const std::string& value : values)
    samples.push_back({std::to_string(samples.size()), value});
  return samples;
}

/// Rows of a tensor of two big-endian uint16, "x", in a file, and an int32, "y", which the source
/// has read itself: one run.
struct RunSource : Source {
  RunSource(const TempDir& dir, std::uint64_t row_count) : rows(row_count) {
    info_.schema = {.fields = {{"x", Kind::tensor, DType::parse("<u2"), {2}},
                               {"y", Kind::integer, DType::parse("<i4"), {}}},
                    .has_keys = false};
    info_.row_bytes = 8;
    info_.manifest.samples = rows;
    std::string big;
    auto numbers = std::make_shared<std::vector<std::byte>>();
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto byte = static_cast<char>(row);
      big += {0, byte, 1, byte};
      x += {byte, 0, byte, 1};
      const auto number = -static_cast<std::int32_t>(row);
      numbers->insert(numbers->end(), bytes_of(number).begin(), bytes_of(number).end());
    }
    y = std::string(as_text(*numbers));
    write_file(dir / "x", "head" + big);
    file = std::make_shared<const InputFile>(dir / "x");
    run.rows = rows;
    run.first_number = 100;
    run.bytes = 8 * rows;
    run.cells = {{.place = {.offset = 4, .length = 4 * rows}},
                 {.place = {.offset = 0, .length = 4 * rows}}};
    run.descriptors = {file->descriptor(), -1};
    run.columns = {nullptr, numbers};
    run.swaps = {swaps, {}};
  }
  [[nodiscard]] const SourceInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    return std::exchange(left, 0) == 0 ? std::nullopt : std::optional(run);
  }

  std::uint64_t rows;
  int left = 1;
  std::string x, y;  ///< the columns, little-endian
  std::shared_ptr<const InputFile> file;
  PendingSample run;
  std::vector<ByteSwap> swaps = {{0, 2, 1}};

 private:
  SourceInfo info_;
};

}  // namespace shale::test
