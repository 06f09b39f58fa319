#include "shale/verify/compare_arrays.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/sources/sampled_elements.hpp"
#include "shale/verify/compare_remade.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostElements = 1024;  // of each array

std::string fields_text(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields) {
    text += (text.empty() ? "" : ", ") + field_text(field);
  }
  return text;
}

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
  ElementCheck(const ArrayColumn& column, const Events& events) : name_(column.name) {
    std::uint64_t first_row = 0;
    for (const ArrayFile& array : column.arrays) {
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

void compare_arrays(const Manifest& ours, const VerifyRequest& request, const ArrayColumns& arrays,
                    const FindingSink& sink, const Events& events, std::vector<std::string>& notes,
                    const OpenArrays& open) {
  const std::unique_ptr<Source> source = open({.arrays = arrays,
                                               .scratch_folder = temporary_folder(),
                                               .memory_bytes = request.memory_bytes / 2},
                                              events);
  const SourceInfo& info = source->info();
  if (info.schema.fields != ours.schema.fields) {
    throw Error(Code::usage, "the arrays are {}, but the dataset has {}", fields_text(info.schema),
                fields_text(ours.schema))
        .at(request.dataset)
        .hint("give each array the name of its field: " + against_example(ours.schema));
  }
  std::vector<ElementCheck> checks;
  for (const ArrayColumn& column : arrays.columns) checks.emplace_back(column, events);
  const Format& format = format_of(ours);
  const OptionSet options(format.options);
  Encoding encoding{format, options, {}, OnError::fail};
  encoding.layout.rows = RowStorage::columns();  // the columns are all that is wanted
  DatasetDigest theirs;
  encode_all(*source, encoding,
             {.jobs = request.jobs,
              .memory_bytes = request.memory_bytes - info.memory_bytes,
              .rows_a_shard = std::nullopt},
             events, [&](const EncodedSample& rows) {
               const DatasetDigest& digest = rows.record->digest;
               for (std::size_t i = 0; i < checks.size(); ++i) {
                 rows.record->parts[i].for_each_piece(
                     [&](Bytes values) { checks[i].take(theirs.samples, digest.samples, values); });
               }
               theirs.append(digest);
             });
  compare_samples(ours.digest, theirs, "the arrays", sink);
  if (theirs.content == ours.digest.content && theirs.ordered != ours.digest.ordered)
    notes.push_back("the arrays hold the same rows in a different order");
  for (ElementCheck& check : checks) check.report(sink);
}

}  // namespace shale
