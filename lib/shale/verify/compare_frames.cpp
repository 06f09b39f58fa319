#include "shale/verify/compare_frames.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/unread_extent.hpp"

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

// The frames of a list in a shard: in memory all at once, or, of a list that is too large, one
// after the other.
class FramesOfShard {
 public:
  explicit FramesOfShard(const ComparedFrames& compared)
      : compared_(compared), is_large_(compared.place.length > compared.memory_bytes) {
    const FieldPlace& list = compared.place;
    if (!is_large_) {
      held_.resize(list.length);
      compared.file.read_exact(list.offset, held_);
      frames_ = split_list(compared.format, held_, list, compared.elements);
      return;
    }
    const Unread whole = unread(list);
    (void)split_unread_list(compared.format, whole, list, compared.elements,
                            [&](const FieldPlace& element) {
                              places_.push_back(element);
                              return nullptr;
                            });
  }
  FramesOfShard(const FramesOfShard&) = delete;
  FramesOfShard& operator=(const FramesOfShard&) = delete;

  [[nodiscard]] std::size_t count() const { return is_large_ ? places_.size() : frames_.size(); }
  [[nodiscard]] std::uint64_t offset_of(std::size_t number) const {
    if (is_large_) return places_[number].offset;
    return compared_.place.offset +
           static_cast<std::uint64_t>(frames_[number].data() - held_.data());
  }
  // Until the next one is asked for.
  Bytes frame(std::size_t number) {
    if (!is_large_) return frames_[number];
    const FieldPlace& place = places_[number];
    if (place.length > compared_.memory_bytes)
      throw sample_over_limit(place.length, compared_.memory_bytes).hint("pass a larger --memory");
    held_.resize(place.length);
    compared_.file.read_exact(place.offset, held_);
    return held_;
  }

 private:
  [[nodiscard]] Unread unread(const FieldPlace& place) const {
    return std::make_shared<UnreadExtent>(
        UnreadExtent::Place{.descriptor = compared_.file.descriptor(),
                            .offset = place.offset,
                            .bytes = place.length},
        nullptr);
  }

  const ComparedFrames& compared_;
  bool is_large_;
  std::vector<std::byte> held_;
  std::vector<Bytes> frames_;
  std::vector<FieldPlace> places_;
};

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
  FramesOfShard frames(compared);
  for (std::size_t i = 0; i < frames.count(); ++i) {
    const Bytes frame = frames.frame(i);
    const std::vector<std::byte> source = bytes_of_frame(
        compared, names[i], i, compared.is_made_of ? compared.memory_bytes : frame.size());
    if (compared.is_made_of ? compared.is_made_of(source, frame)
                            : std::ranges::equal(source, frame))
      continue;
    const bool has_same_size = source.size() == frame.size() || compared.is_made_of;
    finding.message = fmt::format(
        "frame {} differs {}from {}the source file {}", i, has_same_size ? "" : "in size ",
        compared.is_made_of ? "what image work makes of " : "", printable(names[i]));
    finding.offset = frames.offset_of(i);
    return finding;
  }
  return std::nullopt;
}

}  // namespace shale
