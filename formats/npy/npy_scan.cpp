#include "formats/npy/npy_scan.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/npy/npy_survey.hpp"
#include "formats/npy/npy_writer.hpp"

namespace shale {
namespace {

class ColumnCheck {
 public:
  ColumnCheck(const InputFile& file, const Field& field, const FindingSink& findings)
      : file_(file), field_(field), findings_(findings) {}

  void check(std::uint64_t samples, std::uint64_t base) const {
    const std::vector<std::byte> header = npy_column_header(field_, samples);
    if (!has_header(header)) return;
    if (base != header.size()) {
      report(0, "rows are not where the manifest says", fmt::format("byte {}", header.size()),
             fmt::format("byte {}", base));
    }
    const std::uint64_t expected = samples * fixed_bytes_of(field_).value(),
                        found = file_.size() - header.size();
    if (found == expected) return;
    report(header.size() + std::min(found, expected),
           found < expected ? "file ends before its last row" : "bytes follow the last row",
           fmt::format("{} bytes of rows", found), std::to_string(expected));
  }

 private:
  // The header of a field and number of rows has one form: any other byte is damage.
  [[nodiscard]] bool has_header(Bytes expected) const {
    std::vector<std::byte> found(std::min<std::uint64_t>(expected.size(), file_.size()));
    file_.read_exact(0, found);
    const auto [at, wanted] = std::mismatch(found.begin(), found.end(), expected.begin());
    const auto offset = static_cast<std::uint64_t>(at - found.begin());
    if (at != found.end()) {
      report(offset, "byte of the npy header is wrong",
             fmt::format("0x{:02x}", std::to_integer<unsigned>(*at)),
             fmt::format("0x{:02x}", std::to_integer<unsigned>(*wanted)));
      return false;
    }
    if (found.size() == expected.size()) return true;
    report(offset, "file ends inside its npy header", fmt::format("{} bytes", found.size()),
           fmt::format("at least {}", expected.size()));
    return false;
  }

  void report(std::uint64_t offset, std::string_view message, std::string found,
              std::string expected) const {
    FindingDraft draft(file_, findings_);
    draft.begin(std::string(message), offset).field = field_.name;
    draft.send(std::move(found), std::move(expected));
  }

  const InputFile& file_;
  const Field& field_;
  const FindingSink& findings_;
};

}  // namespace

void scan_npy_shard(const ShardInput& input, const OptionSet&, const RowSink&,
                    const FindingSink& findings) {
  if (input.layout.dialect != Dialect::own) return scan_foreign_npy(input, findings);
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    ColumnCheck(input.files[i], input.schema.fields[i], findings)
        .check(input.samples, input.bases[i]);
  }
}

}  // namespace shale
