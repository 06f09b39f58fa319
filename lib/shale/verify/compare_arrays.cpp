#include "shale/verify/compare_arrays.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "shale/arrays/open_member.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostSampledBytes = 4 << 20;
constexpr std::uint64_t kSampledBySeed = 0;
constexpr std::uint64_t kInflatedAtOnce = 256 * 1024;

using Axes = std::vector<std::uint64_t>;

// Of the element with this number in C order: its index in every axis.
Axes index_of(std::uint64_t number, const Axes& shape) {
  Axes index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; number /= shape[axis])
    index[axis] = number % shape[axis];
  return index;
}

// The bytes of a deflated member, in its own order, from one offset to a later one.
class InflatedBytes {
 public:
  explicit InflatedBytes(const ArrayFile& array)
      : stream_(open_member(array)), left_(array.bytes()) {}

  void read(std::uint64_t offset, std::span<std::byte> into, const Events& events) {
    while (at_ + window_.size() < offset + into.size()) {
      events.stop_if_asked();
      // What of the last window belongs to an element that continues after it is kept.
      const std::uint64_t passed = std::min<std::uint64_t>(window_.size(), offset - at_);
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(passed));
      at_ += passed;
      const std::uint64_t kept = window_.size(), more = std::min(kInflatedAtOnce, left_);
      window_.resize(kept + more);
      stream_->read_rows(std::span(window_).subspan(kept));
      left_ -= more;
    }
    std::ranges::copy(std::span(window_).subspan(offset - at_, into.size()), into.begin());
  }

 private:
  std::unique_ptr<RowStream> stream_;
  std::vector<std::byte> window_;
  std::uint64_t at_ = 0, left_;  // where the window begins; what lies behind it
};

bool is_deflated(const ArrayFile& array) { return array.archived && array.archived->is_deflated; }

void read_elements(std::vector<SampledElement>& elements, const std::vector<std::uint64_t>& places,
                   const ArrayFile& array, const Events& events) {
  std::vector<std::size_t> in_file(elements.size());
  std::iota(in_file.begin(), in_file.end(), 0);
  std::ranges::sort(in_file, {}, [&](std::size_t i) { return places[i]; });
  const std::uint64_t item_bytes = array.dtype.item_bytes();
  std::unique_ptr<InflatedBytes> inflated;
  if (is_deflated(array)) inflated = std::make_unique<InflatedBytes>(array);
  for (const std::size_t i : in_file) {
    events.stop_if_asked();
    std::vector<std::byte>& bytes = elements[i].bytes;
    bytes.resize(item_bytes);
    if (inflated) {
      inflated->read(places[i] * item_bytes, bytes, events);
    } else {
      array.file->read_exact(array.data_offset + places[i] * item_bytes, bytes);
    }
    swap_bytes(bytes, item_bytes, array.swaps);
  }
}

constexpr std::uint64_t kMostElements = 1024;  // of each array

std::string against_example(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields)
    text += fmt::format("{}--against {}=FILE.npy", text.empty() ? "" : " ", printable(field.name));
  return text;
}

std::string hex_of_element(Bytes bytes) {
  constexpr std::size_t kMostShown = 16;
  std::string text = "0x";
  for (const std::byte byte : bytes.first(std::min(kMostShown, bytes.size())))
    text += fmt::format("{:02x}", byte);
  return bytes.size() > kMostShown ? text + "..." : text;
}

// Elements of one column, in the order of its rows.
class ElementCheck {
 public:
  // Of numbers that were cast none are compared: they are others in the file.
  ElementCheck(const ArrayColumn& column, const Field& field, const Events& events)
      : name_(column.name) {
    std::uint64_t first_row = 0;
    for (const ArrayFile& array : column.arrays) {
      if (array.dtype != dtype_of_column(field)) continue;
      for (SampledElement& element : sample_elements(array, first_row, kMostElements, events))
        elements_.push_back(std::move(element));
      first_row += array.shape.front();
    }
  }

  // Takes the rows from `first_row` on, which follow those that it was given before.
  void take(std::uint64_t first_row, std::uint64_t rows, Bytes values) {
    const std::uint64_t row_bytes = values.size() / rows;
    for (; next_ < elements_.size() && elements_[next_].row < first_row + rows; ++next_) {
      const SampledElement& element = elements_[next_];
      const Bytes row = values.subspan((element.row - first_row) * row_bytes, row_bytes);
      const Bytes read = row.subspan(element.item * element.bytes.size(), element.bytes.size());
      if (std::ranges::equal(read, element.bytes)) continue;
      ++wrong_;
      if (!finding_) finding_ = finding_of(element, read);
    }
  }

  void report(const FindingSink& sink) {
    if (!finding_) return;
    if (wrong_ > 1) {
      finding_->message += fmt::format(", nor are {} more of the {} elements that were compared",
                                       wrong_ - 1, elements_.size());
    }
    sink(std::move(*finding_));
  }

 private:
  [[nodiscard]] Finding finding_of(const SampledElement& element, Bytes read) const {
    Finding finding;
    finding.message = fmt::format("element {} of row {} is not the one in the source's file",
                                  shape_text(element.index), element.row);
    finding.field = name_;
    finding.found = hex_of_element(read);
    finding.expected = hex_of_element(element.bytes);
    return finding;
  }

  std::string name_;
  std::vector<SampledElement> elements_;
  std::size_t next_ = 0;
  std::uint64_t wrong_ = 0;
  std::optional<Finding> finding_;  // the first
};

}  // namespace

std::vector<SampledElement> sample_elements(const ArrayFile& array, std::uint64_t first_row,
                                            std::uint64_t most, const Events& events) {
  const std::uint64_t all_bytes = array.bytes();
  if (all_bytes == 0 || (is_deflated(array) && !array.fortran_order && array.strides.empty()))
    return {};
  const std::uint64_t count = all_bytes / array.dtype.item_bytes();
  const std::uint64_t in_row = count / array.shape.front();
  const std::uint64_t taken = std::min(
      {count, most, std::max<std::uint64_t>(1, kMostSampledBytes / array.dtype.item_bytes())});
  std::vector<std::uint64_t> numbers(taken);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (taken < count) Permutation(count, kSampledBySeed).at_each(numbers);
  std::ranges::sort(numbers);

  const Axes strides = array.steps();
  std::vector<SampledElement> elements;
  std::vector<std::uint64_t> places;
  for (const std::uint64_t number : numbers) {
    const Axes index = index_of(number, array.shape);
    places.push_back(
        std::inner_product(index.begin(), index.end(), strides.begin(), std::uint64_t{0}));
    elements.push_back({.row = first_row + index.front(),
                        .index = {index.begin() + 1, index.end()},
                        .item = number % in_row,
                        .bytes = {}});
  }
  read_elements(elements, places, array, events);
  return elements;
}

DatasetDigest digest_of_arrays(const Manifest& ours, const VerifyRequest& request,
                               const ArrayColumns& arrays, VerifyLog& log, const OpenArrays& open) {
  const std::unique_ptr<Source> source = open({.arrays = arrays,
                                               .scratch_folder = temporary_folder(),
                                               .memory_bytes = request.memory_bytes / 2},
                                              log.events());
  const SourceInfo& info = source->info();
  if (info.schema.fields != ours.schema.fields) {
    Error error(Code::usage, "the arrays are {}, but the dataset has {}", fields_text(info.schema),
                fields_text(ours.schema));
    error.at(request.dataset);
    if (!std::ranges::equal(info.schema.fields, ours.schema.fields, {}, &Field::name, &Field::name))
      error.hint("give each array the name of its field: " + against_example(ours.schema));
    throw error;
  }
  std::vector<ElementCheck> checks;
  for (std::size_t i = 0; i < arrays.columns.size(); ++i)
    checks.emplace_back(arrays.columns[i], info.schema.fields[i], log.events());
  const Format& format = format_of(ours);
  const OptionSet options(format.options);
  Encoding encoding{format, options, {}, OnError::fail};
  encoding.layout.rows = RowStorage::columns();  // the columns are all that is wanted
  DatasetDigest theirs;
  encode_all(*source, encoding,
             {.jobs = request.jobs,
              .memory_bytes = request.memory_bytes - info.memory_bytes,
              .rows_a_shard = std::nullopt},
             log.events(), [&](const EncodedSample& rows) {
               const DatasetDigest& digest = rows.record->digest;
               for (std::size_t i = 0; i < checks.size(); ++i) {
                 rows.record->parts[i].for_each_piece(
                     [&](Bytes values) { checks[i].take(theirs.samples, digest.samples, values); });
               }
               theirs.append(digest);
             });
  for (ElementCheck& check : checks)
    check.report([&](Finding found) { log.add(std::move(found)); });
  return theirs;
}

}  // namespace shale
