#include "shale/shards/shard_places.hpp"

#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {

// For each field of the schema, the number of the part it lies in. Valid until the next call.
std::span<const std::uint64_t> ShardPlaces::field_bases(std::span<const std::uint64_t> parts) {
  field_bases_.clear();
  for (const std::uint32_t part : layout_.field_part) field_bases_.push_back(parts[part]);
  return field_bases_;
}

void ShardPlaces::place(std::span<const std::uint64_t> offsets) {
  if (!index_) return;
  const std::size_t parts = layout_.part_file.size();
  for (; !offsets.empty(); offsets = offsets.subspan(parts)) {
    if (offsets.size() < parts || unplaced_.empty()) {
      throw Error(Code::bug, "format '{}' placed {} parts that it was not given", format_,
                  offsets.size());
    }
    IndexRow row = std::move(unplaced_.front());
    unplaced_.pop_front();
    move_places(row, offsets[layout_.key_part], field_bases(offsets), offsets[0]);
    index_->append(std::move(row));
  }
}

void ShardPlaces::finish(const ClosedShard& closed, ManifestShard& shard) {
  place(closed.late_offsets);
  if (!unplaced_.empty()) {
    throw Error(Code::bug, "format '{}' closed a shard with {} samples unplaced", format_,
                unplaced_.size());
  }
  const std::span<const std::uint64_t> bases = closed.part_bases;
  if (!index_ && layout_.rows.has_index()) return;
  if (!index_) {
    const std::span<const std::uint64_t> of_fields = field_bases(bases);
    shard.bases.assign(of_fields.begin(), of_fields.end());
    return;
  }
  if (!bases.empty()) index_->rebase(bases[layout_.key_part], field_bases(bases), bases[0]);
  const WrittenIndex written = index_->finish();
  const auto name_list = [&](ManifestFile& list, std::string_view suffix, const FileSummary& file) {
    list = {shard.name + std::string(suffix), file.bytes, file.hash};
  };
  name_list(shard.index, kIndexSuffix, written.index);
  if (written.elements) name_list(shard.elements, kElementsSuffix, *written.elements);
}

}  // namespace shale
