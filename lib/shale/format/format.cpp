#include "shale/format/format.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

class SumSizer final : public ShardSizer {
 public:
  SumSizer(std::vector<std::uint32_t> part_file, std::vector<std::uint64_t> file_bytes,
           std::vector<std::uint64_t> file_bytes_per_sample)
      : part_file_(std::move(part_file)),
        file_bytes_(std::move(file_bytes)),
        file_bytes_per_sample_(std::move(file_bytes_per_sample)) {}

  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t samples) const override {
    std::vector<std::uint64_t> sizes = file_bytes_;
    add_to(sizes, part_bytes, samples);
    return sizes;
  }

  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t samples) override {
    add_to(file_bytes_, part_bytes, samples);
  }

 private:
  void add_to(std::span<std::uint64_t> sizes, std::span<const std::uint64_t> part_bytes,
              std::uint64_t samples) const {
    if (part_bytes.size() != part_file_.size()) {
      throw Error(Code::bug, "a record has {} parts, its layout {}", part_bytes.size(),
                  part_file_.size());
    }
    for (std::size_t file = 0; file < sizes.size(); ++file)
      sizes[file] += samples * file_bytes_per_sample_[file];
    for (std::size_t part = 0; part < part_bytes.size(); ++part)
      sizes[part_file_[part]] += part_bytes[part];
  }

  std::vector<std::uint32_t> part_file_;
  std::vector<std::uint64_t> file_bytes_, file_bytes_per_sample_;
};

}  // namespace

Error key_too_long(std::uint64_t bytes) {
  return {Code::limit, "key of {} bytes, more than the limit of {}", bytes, kMaxKeyBytes};
}

void check_elements(std::uint64_t count) {
  if (count <= kMaxElements) return;
  throw Error(Code::limit, "list of {} elements; a list may have {}", count, kMaxElements)
      .hint("divide it into several samples");
}

void check_schema_fits(const Format& format, const Schema& schema) {
  validate_schema(schema, format.reserved_fields);
  for (const Field& field : schema.fields) {
    if (field.name.find('/') != std::string::npos && !format.can.holds_slashes) {
      throw Error(Code::schema, "field name '{}' contains '/', which format '{}' cannot hold",
                  printable(field.name), format.name)
          .hint("choose --to record or lmdb, or another name: --rename");
    }
    if (field.is_ragged() && !format.can.holds_ragged) {
      throw Error(Code::unsupported,
                  "format '{}' cannot hold field '{}', whose samples differ in shape: {}",
                  format.name, printable(field.name), array_text(field.dtype, field.shape))
          .hint("choose --to record, lmdb or hdf5, or leave the field out: --fields");
    }
    if (field.is_optional && !format.can.holds_optional) {
      throw Error(Code::unsupported, "format '{}' cannot hold field '{}', which some samples lack",
                  format.name, printable(field.name))
          .hint("choose --to record, lmdb or hdf5, or leave the field out: --fields");
    }
    if (std::find(format.can.kinds.begin(), format.can.kinds.end(), field.kind) !=
        format.can.kinds.end())
      continue;
    throw Error(Code::unsupported, "format '{}' cannot hold field '{}' of kind {}", format.name,
                field.name, name_of(field.kind))
        .hint("'shale formats' lists what each format holds");
  }
}

Survey Survey::of_one_file(Schema schema, Dialect dialect) {
  Survey survey;
  survey.schema = std::move(schema);
  survey.layout.file_suffixes = {""};
  survey.layout.part_file = {0};
  survey.layout.field_part.assign(survey.schema.fields.size(), 0);
  survey.layout.dialect = dialect;
  survey.layout.has_elements = survey.schema.has_lists();
  return survey;
}

Survey Survey::of_columns(Schema schema, std::uint64_t samples, std::vector<std::uint64_t> bases) {
  Survey survey = of_one_file(std::move(schema), Dialect::plain);
  survey.schema.has_keys = false;
  survey.layout.part_file.resize(survey.schema.fields.size());
  std::iota(survey.layout.field_part.begin(), survey.layout.field_part.end(), std::uint32_t{0});
  survey.layout.has_keys = false;
  survey.layout.rows = RowStorage::columns();
  survey.samples = samples;
  survey.bases = std::move(bases);
  return survey;
}

Record encode_fixed_row(const Sample& sample, const Schema& schema) {
  Record record;
  record.parts.resize(schema.fields.size());
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    if (field.kind == Kind::tensor) {
      record.parts[i].append(run_of(sample.values[i]));
      continue;
    }
    std::array<std::byte, sizeof(std::int64_t)> number;
    const std::span<std::byte> stored = std::span(number).first(fixed_bytes_of(field).value());
    try {
      write_number(sample.values[i], field, stored);
    } catch (Error& error) {
      error.for_sample(sample.key);
      throw;
    }
    record.parts[i].append_copy(stored);
  }
  return record;
}

std::unique_ptr<ShardSizer> make_sum_sizer(const ShardLayout& layout,
                                           std::vector<std::uint64_t> file_bytes_fixed,
                                           std::vector<std::uint64_t> file_bytes_per_sample) {
  const std::size_t files = layout.file_suffixes.size();
  const bool fits = file_bytes_fixed.size() == files && file_bytes_per_sample.size() == files &&
                    std::all_of(layout.part_file.begin(), layout.part_file.end(),
                                [&](std::uint32_t file) { return file < files; });
  if (!fits) throw Error(Code::bug, "a sizer's numbers do not fit its layout of {} files", files);
  return std::make_unique<SumSizer>(layout.part_file, std::move(file_bytes_fixed),
                                    std::move(file_bytes_per_sample));
}

}  // namespace shale
