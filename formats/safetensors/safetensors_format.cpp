#include "formats/safetensors/safetensors_format.hpp"

#include <array>

#include "shale/format/tensor_file.hpp"

#include "formats/safetensors/safetensors_header.hpp"

namespace shale {
namespace {

// NumPy has no bfloat16 and no float8: shale has them as structures.
constexpr ReaderCode kSafetensorsReader = {.library = "safetensors",
                                           .code = R"(from safetensors import safe_open

with safe_open({{file}}, framework="{{#is_of_numpy}}numpy{{/is_of_numpy}}{{^is_of_numpy}}pt{{/is_of_numpy}}") as file:
    values = file.get_slice({{field|python}})
{{#has_samples}}    value = values[0]
{{/has_samples}})"};

// Its length, which fits the file, and an opening brace with a name.
int bid_for_safetensors(const Probe& probe) {
  return is_safetensors(probe.head, probe.file_bytes) ? 40 : 0;
}

bool is_of_safetensors(const TensorType& type) { return !type.safetensors.empty(); }

TensorFrame safetensors_frame(std::span<const Field> fields, std::uint64_t rows) {
  TensorFrame frame = TensorFrame::of(fields, rows);
  frame.places = safetensors_places(frame.columns);
  frame.front = safetensors_header(frame.columns, frame.places);
  return frame;
}

StoredTensors tensors_of(const InputFile& file) {
  WindowReader window(file);
  return read_safetensors(file.size(), window.views(), file.path());
}

std::optional<StoredTensors> read_safetensors_file(const InputFile& file) {
  std::array<std::byte, 16> begin{};
  if (!is_safetensors(Bytes(begin).first(file.read_some(0, begin)), file.size()))
    return std::nullopt;
  return tensors_of(file);
}

constexpr TensorFormat kSafetensors = {
    .article = "a",
    .suffix = ".safetensors",
    .head_name = "safetensors header",
    .trailer_name = {},
    .changed = "tensors are not those that were indexed",
    .has = is_of_safetensors,
    .frame = safetensors_frame,
    .read = read_safetensors_file,
    .survey = [](const InputFile& file) { return survey_of_tensors(tensors_of(file), file); }};

}  // namespace

const Format safetensors_format =
    tensor_row<kSafetensors>({.name = "safetensors",
                              .summary = "safetensors files, one per field",
                              .suffixes = {},
                              .options = {},
                              .reserved_fields = {},
                              .can = {},
                              .a_file = "a .safetensors file",
                              .bid = bid_for_safetensors,
                              .reader = kSafetensorsReader});

}  // namespace shale
