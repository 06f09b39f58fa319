#include "shale/verify/compare_frames.hpp"

#include <algorithm>
#include <vector>

#include "shale/base/printable.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/naming.hpp"
#include "shale/sources/frames_source.hpp"

namespace shale {
namespace {

std::vector<std::byte> bytes_of_frame(const ComparedFrames& compared, const std::string& name,
                                      std::size_t number, std::uint64_t expected) {
  if (compared.archive != nullptr) {
    const ArchivedFrame& frame = compared.archived[number];
    std::vector<std::byte> bytes(std::min(frame.bytes, expected + 1));
    compared.archive->file().read_exact(frame.offset, bytes);
    return bytes;
  }
  const InputFile file(join_path(compared.folder, name));
  // A larger one differs anyway.
  std::vector<std::byte> bytes(std::min(file.size(), expected + 1));
  file.read_exact(0, bytes);
  return bytes;
}

}  // namespace

std::optional<Finding> compare_frames(const ComparedFrames& compared) {
  const FieldPlace& place = compared.place;
  Finding finding;
  std::vector<std::string> names;
  if (compared.archive == nullptr)
    names = frame_names(compared.folder, compared.keeps_hidden, compared.order);
  for (const ArchivedFrame& frame : compared.archived) names.push_back(frame.name);
  if (names.size() != place.count) {
    finding.message = "sample has another number of frames than the source";
    finding.found = std::to_string(place.count);
    finding.expected = std::to_string(names.size());
    return finding;
  }
  if (place.length > compared.memory_bytes)
    throw sample_over_limit(place.length, compared.memory_bytes).hint("pass a larger --memory");
  std::vector<std::byte> extent(place.length);
  compared.file.read_exact(place.offset, extent);
  const std::vector<Bytes> frames = split_list(compared.format, extent, place, compared.elements);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::vector<std::byte> source = bytes_of_frame(
        compared, names[i], i, compared.is_made_of ? compared.memory_bytes : frames[i].size());
    if (compared.is_made_of ? compared.is_made_of(source, frames[i])
                            : std::ranges::equal(source, frames[i]))
      continue;
    const bool has_same_size = source.size() == frames[i].size() || compared.is_made_of;
    finding.message = fmt::format(
        "frame {} differs {}from {}the source file {}", i, has_same_size ? "" : "in size ",
        compared.is_made_of ? "what image work makes of " : "", printable(names[i]));
    finding.offset = place.offset + static_cast<std::uint64_t>(frames[i].data() - extent.data());
    return finding;
  }
  return std::nullopt;
}

}  // namespace shale
