#include "shale/sources/transformed_source.hpp"

#include <algorithm>
#include <utility>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/image/probe.hpp"
#include "shale/io/input_file.hpp"
#include "shale/sources/source_over.hpp"

namespace shale {
namespace {

class TransformedSource final : public SourceOver {
 public:
  TransformedSource(std::unique_ptr<Source> source, std::shared_ptr<const Transform> transform,
                    std::vector<std::string> notes)
      : SourceOver(std::move(source)), transform_(std::move(transform)), notes_(std::move(notes)) {
    take_info();
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    std::optional<PendingSample> sample = source_->next(most_rows);
    if (!sample) take_totals();
    return sample;
  }
  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
    take_info();
  }

 private:
  void take_totals() {
    SourceOver::take_totals();
    if (info_.is_stream) info_.notes.insert(info_.notes.begin(), notes_.begin(), notes_.end());
  }

  void take_info() {
    info_ = source_->info();
    info_.schema = transform_->output();
    // Those that the user named hold images from now on.
    std::vector<std::size_t>& fields = info_.image_fields;
    for (const FieldTransform& field : transform_->fields()) fields.push_back(field.field);
    std::sort(fields.begin(), fields.end());
    fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
    info_.transform = transform_;
    info_.notes.insert(info_.notes.end(), notes_.begin(), notes_.end());
  }

  std::shared_ptr<const Transform> transform_;
  std::vector<std::string> notes_;
};

// The directory of a TIFF is anywhere in it, and libheif takes whole files.
ImageInfo image_in(const PendingSample& sample, std::size_t field) {
  constexpr std::uint64_t kHeadBytes = 4096;
  const auto file = std::ranges::find(sample.files, field, &PendingFile::field);
  if (file == sample.files.end()) return {};
  const auto probed = [&](std::uint64_t bytes) {
    std::vector<std::byte> head(std::min(file->bytes, bytes));
    head.resize(file->archived.archive ? read_beginning(file->archived, head)
                                       : InputFile(file->path).read_some(0, head));
    return probe_image(head, "");
  };
  ImageInfo image = probed(kHeadBytes);
  const bool is_anywhere = image.type == ImageType::tiff || image.type == ImageType::heic ||
                           image.type == ImageType::avif;
  const bool is_behind_metadata = image.type != ImageType::unknown && image.width == 0;
  return is_anywhere || is_behind_metadata ? probed(file->bytes) : image;
}

// Of its largest sample, so that it depends on nothing but the input; of the others it is then
// checked as they come.
ImageInfo image_in_largest(const SourceInfo& info, std::size_t field) {
  return info.largest ? image_in(*info.largest, field) : ImageInfo();
}

// That one of the photos is gray does not say that the others are.
bool are_gray(const SourceInfo& info, std::size_t field, const ImageInfo& largest) {
  return largest.is_odd("gray") && std::ranges::all_of(info.spread, [&](const auto& sample) {
           const ImageInfo image = image_in(sample, field);
           return image.type == ImageType::unknown || image.is_odd("gray");
         });
}

std::vector<LargestImage> largest_images(const SourceInfo& info, const ImageRequest& request) {
  const bool is_raw = std::ranges::any_of(
      request.encode, [](const auto& entry) { return entry.second == EncodeAs::raw; });
  std::vector<LargestImage> images;
  for (std::size_t i = 0; is_raw && i < info.schema.fields.size(); ++i) {
    const ImageInfo image = image_in_largest(info, i);
    if (image.type != ImageType::unknown) images.push_back({i, image, are_gray(info, i, image)});
  }
  return images;
}

// What the source says, and the files beside images that are masks by name and content. Of images
// from several folders only the first and masks: the others may be maps of depth, or of anything
// else that must be named.
SourceInfo info_with_masks(const SourceInfo& info, const ImageRequest& request) {
  SourceInfo with_masks = info;
  std::vector<std::size_t>& known = with_masks.image_fields;
  if (!info.folders.empty()) {
    std::erase_if(known, [&](std::size_t field) {
      return field > 0 && !is_mask(request, info.schema.fields[field].name);
    });
  }
  for (std::size_t i = 0; !known.empty() && i < info.schema.fields.size(); ++i) {
    const Field& field = info.schema.fields[i];
    const bool is_known = std::ranges::find(known, i) != known.end();
    if (is_known || field.kind != Kind::bytes || !is_mask(request, field.name)) continue;
    if (image_in_largest(info, i).type != ImageType::unknown) known.push_back(i);
  }
  return with_masks;
}

}  // namespace

std::shared_ptr<const Transform> transform_for(const SourceInfo& info, const ImageRequest& request,
                                               const std::string& input,
                                               std::vector<std::string>& notes) {
  return resolve_transform(request, info_with_masks(info, request), input, notes,
                           largest_images(info, request));
}

std::unique_ptr<Source> make_transformed_source(std::unique_ptr<Source> source,
                                                const ImageRequest& request,
                                                const std::string& input) {
  std::vector<std::string> notes;
  std::shared_ptr<const Transform> transform = transform_for(source->info(), request, input, notes);
  if (!transform) return source;
  const std::optional<std::size_t> boxes = source->info().schema.find(kBoxes);
  const bool moves = !request.resize.empty() || !request.crop.empty() || request.apply_rotation;
  if (boxes && moves && source->info().schema.fields[*boxes].kind == Kind::tensor)
    notes.emplace_back(
        "the field 'boxes' is not changed with the images: it is that of their pixels before");
  return std::make_unique<TransformedSource>(std::move(source), std::move(transform),
                                             std::move(notes));
}

}  // namespace shale
