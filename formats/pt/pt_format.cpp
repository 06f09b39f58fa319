#include "formats/pt/pt_format.hpp"

#include <memory>
#include <string>

#include "shale/base/error.hpp"
#include "shale/format/tensor_file.hpp"

#include "formats/pt/pt_archive.hpp"

namespace shale {
namespace {

// A file of another tool holds a tensor, or a dict of them.
constexpr ReaderCode kPtReader = {.library = "PyTorch", .code = R"(import torch

values = torch.load({{file}}, mmap=True, weights_only=True)
{{#is_foreign}}if isinstance(values, dict):
    values = values[{{field|python}}]
{{/is_foreign}}{{#has_samples}}value = values[0]
{{/has_samples}})"};

// torch.save writes the pickle first: its name is in the first local header.
int bid_for_pt(const Probe& probe) {
  constexpr std::size_t kNameLength = 26, kName = 30;
  constexpr std::string_view kPickle = "/data.pkl";
  const std::string_view head = as_text(probe.head);
  if (is_legacy_pt(head)) return 8 * 14;
  if (!is_zip(head) || head.size() < kName) return 0;
  const std::size_t length =
      static_cast<std::uint8_t>(head[kNameLength]) |
      static_cast<std::size_t>(static_cast<std::uint8_t>(head[kNameLength + 1])) << 8;
  return head.substr(kName).substr(0, length).ends_with(kPickle) ? 8 * (4 + 9) : 0;
}

bool is_of_torch(const TensorType& type) { return !type.torch.empty(); }

// One column is a lone tensor, several are a dict of them.
TensorFrame pt_frame(std::span<const Field> fields, std::uint64_t rows) {
  constexpr std::uint64_t kChecksumInHeader = 14;
  TensorFrame frame = TensorFrame::of(fields, rows);
  const auto archive = std::make_shared<const PtArchive>(frame.columns, fields.size() > 1);
  frame.front.assign(archive->front().begin(), archive->front().end());
  frame.header = [archive](std::size_t column, std::uint32_t crc32) {
    return archive->header(column, crc32);
  };
  frame.crc32_at = kChecksumInHeader;
  frame.footer = [archive](std::span<const std::uint32_t> crc32s) {
    return archive->trailer(crc32s);
  };
  return frame;
}

// Nullopt for a zip archive of something else.
std::optional<StoredTensors> tensors_of(const InputFile& file) {
  WindowReader window(file);
  const ViewBytes view = window.views();
  const std::vector<ZipMember> members = read_zip_directory(file.size(), view, file.path());
  if (!is_pt_archive(members)) return std::nullopt;
  return read_pt_archive(members, view, file.path());
}

std::string beginning_of(const InputFile& file) {
  constexpr std::size_t kLongestMagic = 16;
  std::string begin(kLongestMagic, '\0');
  begin.resize(file.read_some(0, std::as_writable_bytes(std::span(begin))));
  if (is_legacy_pt(begin)) throw legacy_pt(file.path());
  return begin;
}

std::optional<StoredTensors> read_pt(const InputFile& file) {
  return is_zip(beginning_of(file)) ? tensors_of(file) : std::nullopt;
}

Survey survey_pt(const InputFile& file) {
  (void)beginning_of(file);
  if (const std::optional<StoredTensors> found = tensors_of(file))
    return survey_of_tensors(*found, file);
  throw Error(Code::unsupported, "zip archive is not what torch.save writes").at(file.path());
}

constexpr TensorFormat kPt = {.article = "a",
                              .suffix = ".pt",
                              .head_name = ".pt header",
                              .trailer_name = ".pt directory",
                              .changed = "tensors are not those that were indexed",
                              .has = is_of_torch,
                              .far = kFarZipOffset,
                              .far_bytes = kZip64EndBytes,
                              .frame = pt_frame,
                              .read = read_pt,
                              .survey = survey_pt,
                              .has_checksums = [](const InputFile&) { return true; },
                              .prove = first_damaged_member};

}  // namespace

const Format pt_format =
    tensor_row<kPt>({.name = "pt",
                     .summary = "PyTorch tensors (torch.load), one file per field",
                     .suffixes = {},
                     .options = {},
                     .reserved_fields = {},
                     .can = {},
                     .a_file = "a .pt file",
                     .bid = bid_for_pt,
                     .reader = kPtReader});

}  // namespace shale
