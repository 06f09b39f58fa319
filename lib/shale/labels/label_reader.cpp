#include "shale/labels/label_reader.hpp"

#include <bit>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/byte_swap.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"

namespace shale {

LabelReader::LabelReader(const SourceInfo& source)
    : source_(source),
      field_(label_of(source.schema, source.fields)),
      reader_({.depth = 1, .threads = 1, .backend = BatchReader::Backend::threads}) {}

LabelReader::LabelReader(const SourceInfo& source, std::string_view field) : LabelReader(source) {
  field_ = source.schema.find(field);
  const auto can_be_read = [&](const Field& one) {
    return one.kind == Kind::integer ||
           (!source.row_bytes && (one.kind == Kind::real || one.kind == Kind::text));
  };
  if (field_ && can_be_read(source.schema.fields[*field_])) return;
  std::string names, readable;
  for (const Field& one : source.schema.fields) {
    names.append(names.empty() ? "" : ", ").append(printable(one.name));
    if (can_be_read(one))
      readable.append(readable.empty() ? "" : ", ").append(shell_word(one.name));
  }
  throw Error(Code::usage,
              "--split-group '{}' is not a field of integers or text; the fields are {}",
              printable(field), names)
      .hint(readable.empty() ? "none of them is: name the samples of each part in a file, --split "
                               "train=FILE,val=FILE"
                             : "pass --split-group with one of: " + readable);
}

const std::vector<std::int64_t>& LabelReader::of(const PendingSample& sample) {
  labels_.assign(sample.rows, 0);
  if (!field_) return labels_;
  if (!source_.row_bytes) {
    labels_.front() = value_of(sample);
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

std::int64_t LabelReader::value_of(const PendingSample& sample) {
  const IndexCell& cell = sample.cells[*field_];
  const Kind kind = source_.schema.fields[*field_].kind;
  if (kind == Kind::integer) return cell.integer;
  if (kind == Kind::real) return std::bit_cast<std::int64_t>(cell.real);
  const auto hash = [](Bytes text) { return static_cast<std::int64_t>(xxh3_128(text).low); };
  for (const KnownValue& value : sample.known) {
    if (value.field == *field_) return hash(as_bytes(value.bytes));
  }
  // Those that have none are together.
  const bool is_in_file = *field_ < sample.descriptors.size() && cell.place.length > 0 &&
                          !is_absent(cell, source_.schema.fields[*field_]);
  if (!is_in_file) return 0;
  column_.resize(cell.place.length);
  const int descriptor = sample.descriptors[*field_];
  const ReadRequest wanted{.descriptor = descriptor, .offset = cell.place.offset, .into = column_};
  const ReadResult read = reader_.read({&wanted, 1}).front();
  if (read.bytes < cell.place.length)
    require_all(read, path_of(descriptor), cell.place.offset, cell.place.length);
  return hash(column_);
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
