#include "formats/safetensors/safetensors_scan.hpp"

#include <algorithm>

#include "shale/data/fixed_value.hpp"
#include "shale/format/dialect_error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/safetensors_header.hpp"

#include "formats/safetensors/safetensors_writer.hpp"

namespace shale {
namespace {

void scan_own_safetensors(const InputFile& file, const Field& field, std::uint64_t samples,
                          std::uint64_t base, const FindingSink& findings) {
  const std::vector<std::byte> header = safetensors_column_header(field, samples);
  if (!compare_bytes(file, 0, header, "safetensors header", field, findings)) return;
  const auto report = [&](std::uint64_t offset, std::string message, std::string found,
                          std::string expected) {
    FindingDraft draft(file, findings);
    draft.begin(std::move(message), offset).field = field.name;
    draft.send(std::move(found), std::move(expected));
  };
  if (base != header.size()) {
    report(0, "rows are not where the manifest says", fmt::format("byte {}", header.size()),
           fmt::format("byte {}", base));
  }
  const std::uint64_t expected = samples * fixed_bytes_of(field).value(),
                      found = file.size() - header.size();
  if (found == expected) return;
  report(header.size() + std::min(found, expected),
         found < expected ? "file ends before its last row" : "bytes follow the last row",
         fmt::format("{} bytes of rows", found), std::to_string(expected));
}

}  // namespace

Survey survey_safetensors(const InputFile& file, std::optional<Dialect> dialect,
                          const WalkProgress&) {
  refuse_dialect(dialect, file, "a .safetensors file");
  WindowReader window(file);
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return window.view(offset, length);
  };
  return survey_of_tensors(read_safetensors(file.size(), view, file.path()), file);
}

void scan_safetensors_shard(const ShardInput& input, const OptionSet&, const RowSink&,
                            const FindingSink& findings) {
  if (input.layout.dialect != Dialect::own) {
    return compare_survey(
        input, [&] { return survey_safetensors(input.files[0], input.layout.dialect); }, findings);
  }
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    scan_own_safetensors(input.files[i], input.schema.fields[i], input.samples, input.bases[i],
                         findings);
  }
}

}  // namespace shale
