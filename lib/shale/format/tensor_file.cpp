#include "shale/format/tensor_file.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/column_files.hpp"
#include "shale/format/finding_draft.hpp"

namespace shale {
namespace {

// In words, for a finding.
std::string text_of(const Schema& schema, std::uint64_t rows,
                    std::span<const std::uint64_t> bases) {
  std::string text = fmt::format("{} rows", rows);
  for (std::size_t i = 0; i < schema.fields.size() && i < bases.size(); ++i)
    text += fmt::format(", {} from byte {}", field_text(schema.fields[i]), bases[i]);
  return text;
}

void refuse_unread(const StoredTensor& tensor, const InputFile& file) {
  const std::string name = tensor.name.empty() ? "" : fmt::format(" '{}'", printable(tensor.name));
  if (!tensor.obstacle.empty())
    throw Error(Code::unsupported, "tensor{} {}", name, tensor.obstacle).at(file.path());
  if (tensor.shape.empty()) {
    throw Error(Code::unsupported, "tensor{} has no axes, so it has no samples", name)
        .at(file.path())
        .hint("'shale convert --fields' reads the others; or save it with tensor.reshape(1)");
  }
  if (!tensor.strides.empty() || !tensor.swaps.empty()) {
    throw Error(Code::unsupported, "tensor{} does not lie in the file row after row{}", name,
                tensor.swaps.empty() ? "" : ", or is big-endian")
        .at(file.path())
        .hint("'shale convert' reads it");
  }
}

}  // namespace

ShardLayout tensor_layout(const Schema& schema, std::string_view kind, std::string_view suffix,
                          bool (*has)(const TensorType&)) {
  ShardLayout layout = column_files_layout(schema, kind, suffix);
  for (const Field& field : schema.fields) {
    const TensorType* const type = tensor_type_of_descr(dtype_of_column(field).descr());
    if (type != nullptr && has(*type)) continue;
    throw Error(Code::unsupported, "field '{}' is of dtype {}, which {} files do not have",
                printable(field.name), dtype_text(dtype_of_column(field)), suffix)
        .hint("choose other fields with --fields, or write .npy or .npz");
  }
  return layout;
}

TensorColumn tensor_column_of(const Field& field, std::uint64_t rows) {
  return {field.name, dtype_of_column(field), shape_of_column(field, rows)};
}

Survey survey_of_tensors(const StoredTensors& found, const InputFile& file) {
  if (found.tensors.empty()) throw holds_no_tensor(found.left_out, file.path());
  Schema schema;
  std::vector<std::uint64_t> bases;
  for (const StoredTensor& tensor : found.tensors) {
    refuse_unread(tensor, file);
    const StoredTensor& first = found.tensors.front();
    if (tensor.shape.front() != first.shape.front()) {
      throw Error(Code::unsupported,
                  "tensor '{}' has {} rows, but '{}' has {}: they are not columns of one dataset",
                  printable(tensor.name), tensor.shape.front(), printable(first.name),
                  first.shape.front())
          .at(file.path())
          .hint("'shale convert --fields' reads those that belong together");
    }
    schema.fields.push_back(field_of_column(column_name_of(tensor), tensor.dtype,
                                            {tensor.shape.begin() + 1, tensor.shape.end()}));
    bases.push_back(tensor.offset);
  }
  Survey survey =
      Survey::of_columns(std::move(schema), found.tensors.front().shape.front(), std::move(bases));
  if (!found.left_out.empty()) {
    survey.notes.push_back(fmt::format("leaving out {} values that are not tensors, '{}' first",
                                       found.left_out.size(), printable(found.left_out.front())));
  }
  return survey;
}

void compare_survey(const ShardInput& input, const std::function<Survey()>& survey,
                    const FindingSink& findings) {
  const InputFile& file = input.files[0];
  Finding finding;
  finding.file = file.name();
  try {
    const Survey found = survey();
    if (!input.layout.rows.has_strides()) throw index_has_no_fixed_rows("a file of tensors");
    if (found.schema.fields == input.schema.fields && found.samples == input.samples &&
        std::ranges::equal(found.bases, input.bases))
      return;
    finding.message = "tensors are not those that were indexed";
    finding.offset = 0;
    finding.found = text_of(found.schema, found.samples, found.bases);
    finding.expected = text_of(input.schema, input.samples, input.bases);
  } catch (const Error& error) {
    if (error.code() != Code::damaged && error.code() != Code::unsupported &&
        error.code() != Code::limit)
      throw;
    finding.message = error.message();
    finding.offset = error.offset();
  }
  findings(std::move(finding));
}

bool compare_bytes(const InputFile& file, std::uint64_t offset, Bytes expected,
                   std::string_view what, const Field& field, const FindingSink& findings) {
  const std::uint64_t left = file.size() - std::min(offset, file.size());
  std::vector<std::byte> found(std::min<std::uint64_t>(expected.size(), left));
  file.read_exact(offset, found);
  const auto [at, wanted] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (at == found.end() && found.size() == expected.size()) return true;
  FindingDraft draft(file, findings);
  const std::uint64_t place = offset + static_cast<std::uint64_t>(at - found.begin());
  if (at == found.end()) {
    draft.begin(fmt::format("file ends inside its {}", what), place).field = field.name;
    draft.send(fmt::format("{} bytes", file.size()),
               fmt::format("at least {}", offset + expected.size()));
  } else {
    draft.begin(fmt::format("byte of the {} is wrong", what), place).field = field.name;
    draft.send(fmt::format("0x{:02x}", std::to_integer<unsigned>(*at)),
               fmt::format("0x{:02x}", std::to_integer<unsigned>(*wanted)));
  }
  return false;
}

}  // namespace shale
