#include "formats/pt/pt_scan.hpp"

#include <algorithm>
#include <array>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/dialect_error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/tensor_file.hpp"

#include "formats/pt/pt_writer.hpp"

namespace shale {
namespace {

// Of the rows, in their own header.
constexpr std::uint64_t kChecksumInHeader = 14;

void scan_own_file(const InputFile& file, const Field& field, std::uint64_t samples,
                   std::uint64_t base, const FindingSink& findings) {
  const PtArchive archive = pt_archive_of(field, samples);
  const auto report = [&](std::uint64_t offset, std::string message, std::uint64_t found,
                          std::uint64_t expected) {
    FindingDraft draft(file, findings);
    draft.begin(std::move(message), offset).field = field.name;
    draft.send(fmt::format("byte {}", found), fmt::format("byte {}", expected));
  };
  if (!compare_bytes(file, 0, archive.front(), ".pt header", field, findings)) return;
  const std::uint64_t begin = archive.data_offset(0);
  std::uint32_t checksum = 0;
  const std::uint64_t at = archive.header_offset(0) + kChecksumInHeader;
  if (file.size() >= at + sizeof checksum)
    file.read_exact(at, std::as_writable_bytes(std::span(&checksum, 1)));
  if (!compare_bytes(file, archive.header_offset(0), archive.header(0, checksum), ".pt header",
                     field, findings))
    return;
  if (base != begin) report(0, "rows are not where the manifest says", begin, base);
  const std::vector<std::byte> trailer = archive.trailer(std::span(&checksum, 1));
  const std::uint64_t end = begin + samples * fixed_bytes_of(field).value();
  if (file.size() != end + trailer.size()) {
    report(std::min(file.size(), end),
           file.size() < end + trailer.size() ? "file ends before its directory does"
                                              : "bytes follow the directory",
           file.size(), end + trailer.size());
    return;
  }
  (void)compare_bytes(file, end, trailer, ".pt directory", field, findings);
}

}  // namespace

Survey survey_pt(const InputFile& file, std::optional<Dialect> dialect, const WalkProgress&) {
  refuse_dialect(dialect, file, "a .pt file");
  std::array<std::byte, 16> head{};
  if (is_legacy_pt(as_text(Bytes(head).first(file.read_some(0, head)))))
    throw legacy_pt(file.path());
  WindowReader window(file);
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return window.view(offset, length);
  };
  const std::vector<ZipMember> members = read_zip_directory(file.size(), view, file.path());
  if (!is_pt_archive(members)) {
    throw Error(Code::unsupported, "zip archive of {} members is not what torch.save writes",
                members.size())
        .at(file.path());
  }
  return survey_of_tensors(read_pt_archive(members, view, file.path()), file);
}

void scan_pt_shard(const ShardInput& input, const OptionSet&, const RowSink&,
                   const FindingSink& findings) {
  if (input.layout.dialect != Dialect::own) {
    return compare_survey(
        input, [&] { return survey_pt(input.files[0], input.layout.dialect); }, findings);
  }
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    scan_own_file(input.files[i], input.schema.fields[i], input.samples, input.bases[i], findings);
  }
}

}  // namespace shale
