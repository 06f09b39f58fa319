#include "formats/webdataset/webdataset_format.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/layout.hpp"
#include "shale/wire/tar_writer.hpp"

#include "formats/webdataset/webdataset_foreign.hpp"
#include "formats/webdataset/webdataset_names.hpp"
#include "formats/webdataset/webdataset_scan.hpp"
#include "formats/webdataset/webdataset_writer.hpp"

// clang-format off
// A tar archive that readers of WebDataset take, as shale writes it:
//   per sample, sorted by their extensions, a member for each value:
//     +0    512  header: KEY.EXTENSION, mode 0644, nobody's, of no time; in the first one of a sample
//                the key itself as the target of a link. In front of it a PAX header where the name
//                has more than 100 bytes, the data 8 GiB, the key does not fit, or a NaN is not JSON's
//     +512  ...  data, padded with zeros to a multiple of 512
//   1,024 zeros, and more up to a multiple of 10,240
// webdataset_names.hpp has the names, wire/tar_reader.hpp the headers.
// clang-format on

namespace shale {
namespace {

constexpr std::string_view kTarSuffixes[] = {".tar"}, kWebdatasetAliases[] = {"wds"};
constexpr std::string_view kDefaultLayout = "webdataset";
constexpr OptionSpec kWebdatasetOptions[] = {{kLayoutOption, kDefaultLayout}};
constexpr Kind kEveryKind[] = {Kind::bytes, Kind::text,   Kind::integer,
                               Kind::real,  Kind::tensor, Kind::list};

constexpr Dialect kWebdatasetDialects[] = {Dialect::webdataset};

constexpr ReaderCode kWebdatasetReader = {.library = "webdataset", .code = R"(import webdataset

for sample in webdataset.WebDataset({{file}}, shardshuffle=False):
    break
)"};

constexpr Layout kWholeKeysLayout = {
    .name = kWholeKeys,
    .summary = "tar shards in whose names keys keep the suffixes of images, as %2Ejpg",
    .option = kWholeKeys,
    .writes = Layout::Writes::anything,
    .container = "tar",
    .suffix_hint = "pass --to webdataset, or choose an output that ends in .tar"};
constexpr const Layout* kWebdatasetLayouts[] = {&kWholeKeysLayout};

int bid_for_own_webdataset(const Probe& probe) {
  constexpr int kCertain = 64;
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > probe.head.size() || length > probe.head.size() - offset)
      throw Error(Code::damaged, "behind the head");
    return probe.head.subspan(offset, length);
  };
  return is_own_webdataset(view, probe.file_bytes) ? kCertain : 0;
}

int bid_for_webdataset(const Probe& probe) {
  if (!is_tar_header(probe.head)) return bid_for_compressed_samples(probe);
  const int own = bid_for_own_webdataset(probe);
  return own > 0 ? own : bid_for_samples_in_tar(probe);
}

ShardLayout webdataset_layout(const Schema& schema, const OptionSet&) {
  const MemberNames names(schema);  // or refuses
  ShardLayout layout;
  layout.file_suffixes = {std::string(kTarSuffixes[0])};
  layout.part_file = {0};
  layout.field_part.assign(schema.fields.size(), 0);
  layout.has_keys = true;
  layout.has_whole_records = true;
  layout.has_elements = schema.has_lists();
  return layout;
}

std::string webdataset_sample_name(std::string_view key, const OptionSet& options) {
  return keeps_suffixes(options) ? "" : member_key(key, false);
}

}  // namespace

const Format webdataset_format = {
    .name = "webdataset",
    .summary = "tar archives of a file per value, as WebDataset has them",
    .suffixes = kTarSuffixes,
    .options = kWebdatasetOptions,
    .reserved_fields = {},
    .can = {.kinds = kEveryKind,
            .holds_ragged = true,
            .holds_optional = true,
            .keeps_dtypes = false,
            .streams = true},
    .aliases = kWebdatasetAliases,
    .a_file = "a tar archive",
    .dialects = kWebdatasetDialects,
    .bid = bid_for_webdataset,
    .layout = webdataset_layout,
    .encode = encode_webdataset,
    .create_sizer = create_webdataset_sizer,
    .create_shard = create_webdataset_shard,
    .survey = survey_webdataset,
    .salvage = salvage_webdataset,
    .unpack = unpack_webdataset,
    .scan = scan_webdataset_shard,
    .split_scan = split_webdataset_scan,
    .walk_list = walk_webdataset_list,
    .split_list = split_webdataset_list,
    .takes_unread = [](const OptionSet&) { return true; },
    .layouts = kWebdatasetLayouts,
    .reader = kWebdatasetReader,
    .sample_name = webdataset_sample_name,
    .tell_names = names_in_webdataset,
};

}  // namespace shale
