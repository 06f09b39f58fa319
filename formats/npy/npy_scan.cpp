#include "formats/npy/npy_scan.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"

#include "formats/npy/npy_writer.hpp"

namespace shale {
namespace {

Finding finding_at(const InputFile& file, std::uint64_t offset, std::string message) {
  Finding finding;
  finding.message = std::move(message);
  finding.file = file.path().substr(file.path().rfind('/') + 1);
  finding.offset = offset;
  return finding;
}

// Our own header has one form for a dtype and shape: anything else is damage.
void check_file(const InputFile& file, const Field& field, std::uint64_t samples,
                std::uint64_t base, const FindingSink& findings) {
  const std::vector<std::byte> expected = npy_column_header(field, samples);
  std::vector<std::byte> found(std::min<std::uint64_t>(expected.size(), file.size()));
  file.read_exact(0, found);
  const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
  if (found.size() < expected.size() || differs != found.end()) {
    findings(finding_at(
        file, static_cast<std::uint64_t>(differs - found.begin()),
        fmt::format("npy header is not that of {} rows of field '{}'", samples, field.name)));
    return;
  }
  if (base != expected.size()) {
    Finding finding = finding_at(file, 0, "the rows do not begin where the manifest says");
    finding.found = std::to_string(expected.size());
    finding.expected = std::to_string(base);
    findings(std::move(finding));
  }
  const std::uint64_t rows_bytes = samples * fixed_bytes_of(field).value();
  if (file.size() - expected.size() == rows_bytes) return;
  Finding finding = finding_at(file, expected.size(), "the rows have not the size of their array");
  finding.found = fmt::format("{} bytes", file.size() - expected.size());
  finding.expected = std::to_string(rows_bytes);
  findings(std::move(finding));
}

}  // namespace

void scan_npy_shard(const ShardInput& input, const OptionSet&, const RowSink&,
                    const FindingSink& findings) {
  for (std::size_t i = 0; i < input.files.size(); ++i)
    check_file(input.files[i], input.schema.fields[i], input.samples, input.bases[i], findings);
}

}  // namespace shale
