#include "shale/targets/space_check.hpp"

#include <algorithm>
#include <string>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/targets/file_output.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kJournalAndManifest = 2;

std::uint64_t divided_up(std::uint64_t number, std::uint64_t by) {
  return number / by + (number % by == 0 ? 0 : 1);
}

// Samples that will be there, and their bytes, if as many as allowed are left out.
ManifestSource without_bad_samples(const ConvertRequest& request, const SourceInfo& source) {
  ManifestSource least = source.manifest;
  // Of a part they are its share of the whole: its samples may be the small ones.
  if ((source.part || source.leaves_bytes) && !source.row_bytes) least.bytes = 0;
  // What image work makes of them may be as small as nothing, but for raw pixels.
  if (source.transform) least.bytes = source.transform->fixed_bytes().value_or(0) * least.samples;
  if (source.image_fields.empty() || request.on_error != OnError::skip || least.samples == 0)
    return least;
  const std::uint64_t left_out = request.max_errors.limit(least.samples);
  // Where no list tells the largest one, those that are left out are like the others.
  const std::uint64_t each = source.largest && !source.transform
                                 ? source.largest->bytes
                                 : divided_up(least.bytes, least.samples);
  const std::uint64_t most =
      each > 0 && left_out > least.bytes / each ? least.bytes : left_out * each;
  least.bytes -= most;
  least.samples -= std::min(left_out, least.samples);
  return least;
}

std::uint64_t least_shards(const ConvertRequest& request, const Format& format,
                           const SourceInfo& source, const ManifestSource& least,
                           std::size_t data_files) {
  if (least.samples == 0) return 0;
  const ShardLimits limits{request.shard_bytes, request.shard_samples};
  const auto rows = rows_within(limits, format, source.schema, OptionSet(format.options));
  if (rows) return divided_up(least.samples, std::max<std::uint64_t>(*rows, 1));
  const std::uint64_t by_samples =
      divided_up(least.samples, std::max<std::uint64_t>(limits.samples, 1));
  const std::uint64_t by_bytes =
      divided_up(divided_up(least.bytes, data_files), std::max<std::uint64_t>(limits.bytes, 1));
  return std::max(by_samples, by_bytes);
}

// What an earlier run has written stays, or is written over: it is not needed once more.
SpaceNeed written_before(const std::string& folder) {
  SpaceNeed written;
  if (!stands(folder)) return written;
  visit_names(folder, [&](const std::string& name) {
    if (const auto facts = facts_at(join_path(folder, name))) {
      written.bytes += static_cast<std::uint64_t>(facts->st_size);
      ++written.files;
    }
    return true;
  });
  return written;
}

// Where the folder is, or will be made.
std::string standing_part_of(std::string folder) {
  while (!facts_behind(folder) && folder != "." && folder != "/") folder = folder_of_file(folder);
  return folder;
}

SpaceNeed operator-(SpaceNeed need, const SpaceNeed& less) {
  need.bytes -= std::min(need.bytes, less.bytes);
  need.files -= std::min(need.files, less.files);
  return need;
}

bool are_on_one_disk(const std::string& folder, const std::string& other) {
  const auto facts = facts_behind(folder), others = facts_behind(other);
  return facts && others && facts->st_dev == others->st_dev;
}

// What a conversion writes at least, as far as the sizes of its input tell: samples, indexes, and
// the number of files. Never more than what it will write: bad images that may be left out and
// what a container adds are not counted.
SpaceNeed least_space(const ConvertRequest& request, const Format& format, const SourceInfo& source,
                      const ShardSetWriter::Options& division) {
  const ShardLayout layout = format.layout(source.schema, OptionSet(format.options));
  const ManifestSource least = without_bad_samples(request, source);
  SpaceNeed need{.bytes = least.bytes};
  const bool has_index = layout.rows.has_index() && division.writes_index;
  if (has_index) need.bytes += least.samples * IndexColumns(source.schema, layout).row_bytes();
  const std::size_t data_files = std::max<std::size_t>(layout.file_suffixes.size(), 1);
  const std::uint64_t files = data_files + (has_index ? 1 : 0) + (division.writes_index ? 1 : 0) +
                              (division.writes_index && layout.has_elements ? 1 : 0);
  if (division.file_name.empty()) {
    need.files = least_shards(request, format, source, least, data_files) * files;
  } else {
    // What is packed is made from its members, which go one after the other.
    need.files = files + (division.keeps_suffixes ? 1 : 0);
  }
  need.files += kJournalAndManifest;
  return need;
}

}  // namespace

SpaceNeed require_space(const ConvertRequest& request, const Format& format,
                        const SourceInfo& source, const ShardSetWriter::Options& division,
                        std::string_view hint, const Events& events) {
  const bool is_set = division.file_name.empty();
  const std::string folder = is_set ? request.output : folder_of_file(request.output);
  SpaceNeed need = least_space(request, format, source, division);
  // Without a folder of its own, scratch is beside what is written.
  if (request.scratch_folder.empty() ||
      are_on_one_disk(standing_part_of(folder), source.scratch_folder))
    need.bytes += source.scratch_bytes;
  const std::string left =
      is_set ? join_path(request.output, kWorkFolder) : WorkFolder::path_beside(request.output);
  need = need - written_before(join_path(left, WorkFolder::kNewName));
  require_space(folder, need, hint, events);
  return need;
}

void require_space(const std::string& folder, const SpaceNeed& need, std::string_view hint,
                   const Events& events) try {
  require_room(standing_part_of(folder), need, hint);
} catch (const Error& error) {
  Error told(error.code(), "{}", error.message());
  told.at(folder).hint(error.hint());
  if (!may_store_less(error.file())) throw Error(told);
  events.say(std::string(told.what()) + "; the run may end early");
}

}  // namespace shale
