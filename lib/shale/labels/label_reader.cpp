#include "shale/labels/label_reader.hpp"

#include "shale/base/error.hpp"
#include "shale/data/byte_swap.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"

namespace shale {

LabelReader::LabelReader(const SourceInfo& source)
    : source_(source),
      field_(label_of(source.schema, source.fields)),
      reader_({.depth = 1, .threads = 1, .backend = BatchReader::Backend::threads}) {}

const std::vector<std::int64_t>& LabelReader::of(const PendingSample& sample) {
  labels_.assign(sample.rows, 0);
  if (!field_) return labels_;
  if (!source_.row_bytes) {
    labels_.front() = sample.cells[*field_].integer;
    return labels_;
  }
  take_column(sample);
  const std::size_t stride = column_.size() / sample.rows;
  for (std::size_t row = 0; row < labels_.size(); ++row) {
    const Bytes stored = Bytes(column_).subspan(row * stride, stride);
    labels_[row] = read_number(stored, source_.schema.fields[*field_]).integer;
  }
  return labels_;
}

void LabelReader::take_column(const PendingSample& run) {
  if (*field_ < run.columns.size() && run.columns[*field_] != nullptr) {
    column_ = *run.columns[*field_];
  } else {
    const FieldPlace& place = run.cells[*field_].place;
    const int descriptor = run.descriptors[*field_];
    column_.resize(place.length);
    const ReadRequest wanted{.descriptor = descriptor, .offset = place.offset, .into = column_};
    const ReadResult read = reader_.read({&wanted, 1}).front();
    if (read.bytes < place.length)
      require_all(read, path_of(descriptor), place.offset, place.length);
  }
  if (*field_ < run.swaps.size()) {
    const DType dtype = dtype_of_column(source_.schema.fields[*field_]);
    swap_bytes(column_, dtype.item_bytes(), run.swaps[*field_]);
  }
}

}  // namespace shale
