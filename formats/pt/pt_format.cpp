#include "formats/pt/pt_format.hpp"

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/pt_archive.hpp"

#include "formats/pt/pt_scan.hpp"
#include "formats/pt/pt_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".pt"};
constexpr Kind kKinds[] = {Kind::integer, Kind::real, Kind::tensor};

// torch.save writes the pickle first: its name is in the first local header.
int bid_for_pt(const Probe& probe) {
  constexpr std::size_t kNameLength = 26, kName = 30;
  constexpr std::string_view kPickle = "/data.pkl";
  const std::string_view head = as_text(probe.head);
  if (is_legacy_pt(head)) return 8 * 14;
  if (!head.starts_with("PK\x03\x04") || head.size() < kName) return 0;
  const std::size_t length =
      static_cast<std::uint8_t>(head[kNameLength]) |
      static_cast<std::size_t>(static_cast<std::uint8_t>(head[kNameLength + 1])) << 8;
  return head.substr(kName).substr(0, length).ends_with(kPickle) ? 8 * (4 + 9) : 0;
}

bool is_of_torch(const TensorType& type) { return !type.torch.empty(); }

ShardLayout pt_layout(const Schema& schema, const OptionSet&) {
  return tensor_layout(schema, "a pt", kSuffixes[0], is_of_torch);
}

Record encode_pt(const Sample& sample, const Schema& schema, const OptionSet&) {
  return encode_fixed_row(sample, schema);
}

}  // namespace

const Format pt_format = {
    .name = "pt",
    .summary = "PyTorch tensors (torch.load), one file per field",
    .suffixes = kSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kKinds},
    .bid = bid_for_pt,
    .layout = pt_layout,
    .encode = encode_pt,
    .create_sizer = create_pt_sizer,
    .create_shard = create_pt_shard,
    .survey = survey_pt,
    .scan = scan_pt_shard,
    .walk_list = nullptr,
    .split_list = nullptr,  // it holds no lists
    .takes_unread = [](const OptionSet&) { return true; },
    .write_native_index = nullptr,
};

}  // namespace shale
