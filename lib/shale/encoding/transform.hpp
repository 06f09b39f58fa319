#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/data/sample.hpp"
#include "shale/data/schema.hpp"
#include "shale/encoding/image_options.hpp"
#include "shale/format/source.hpp"
#include "shale/image/image_info.hpp"
#include "shale/pixels/image_rule.hpp"

namespace shale {

/// What is done to the images of one field: a file each, or a list of them.
struct FieldTransform {
  std::size_t field = 0;
  ImageRule rule;
  /// Of raw pixels: the sample whose image says what all are like; empty: none does.
  std::string like = {};
};

/// The image of a field in the largest sample of a source.
struct LargestImage {
  std::size_t field = 0;
  ImageInfo info;
  bool are_gray = false;  ///< it is, and so are all that were looked at
};

/// Image work on the samples of a source, resolved: which fields, by which rules. Immutable.
class Transform {
 public:
  /// `input`: as it is read. `untouched`: the fields of bytes that hold no images, because the work
  /// is for every field that does; `option` asks for it.
  Transform(Schema input, std::vector<FieldTransform> fields,
            std::vector<std::size_t> untouched = {}, std::string option = {});

  [[nodiscard]] const Schema& input() const { return input_; }
  /// As it is written: fields of raw pixels are tensors.
  [[nodiscard]] const Schema& output() const { return output_; }
  [[nodiscard]] const std::vector<FieldTransform>& fields() const { return fields_; }

  /// Errors: Code::bad_content, naming the field, for a sample that has an image in a field which
  /// is not to have one: it would be left as it is beside images that change.
  void refuse_other_images(const Sample& sample) const;

  /// As a manifest records it, with the versions of the codecs.
  [[nodiscard]] std::vector<ManifestTransform> recorded() const;
  /// About how many bytes the results of a sample take: exact for raw pixels. Only how batches are
  /// cut depends on it.
  [[nodiscard]] std::uint64_t likely_bytes(const PendingSample& sample) const;
  /// Bytes of the results of one sample, where all samples have so many: fields of raw pixels
  /// alone.
  [[nodiscard]] std::optional<std::uint64_t> fixed_bytes() const;

 private:
  Schema input_, output_;
  std::vector<FieldTransform> fields_;
  std::vector<std::size_t> untouched_;
  std::string option_;
};

/// True for the fields that --masks names; without it for `mask` and names that end in `_mask`.
[[nodiscard]] bool is_mask(const ImageRequest& request, const std::string& field);

/// Resolves a request for the image fields of a source. `image_fields`: those that are known to
/// hold images; others may be named. `largest`: what raw pixels are like as far as no option says
/// it: of more than 8 bits a channel they are uint16, gray ones have no channels, and all have the
/// size that it becomes. `notes`: what the user should know, a sentence each. Errors:
/// Code::usage, naming option and field, at `input`: a source without images, a field that there is
/// not or that cannot hold images, what rule_for refuses, raw pixels of a list, or of no known
/// size.
[[nodiscard]] std::shared_ptr<const Transform> resolve_transform(
    const ImageRequest& request, const SourceInfo& source, const std::string& input,
    std::vector<std::string>& notes, const std::vector<LargestImage>& largest = {});

/// The request that made what a manifest records, so that it can be made again. Errors:
/// Code::damaged for values that no request has.
[[nodiscard]] ImageRequest image_request_of(const std::vector<ManifestTransform>& recorded);

/// The first codec that is another one here than the one that a manifest records: "libpng 1.6.37,
/// here libpng 1.6.39"; nullopt: the same bytes can be made again.
[[nodiscard]] std::optional<std::string> other_codec(
    const std::vector<ManifestTransform>& recorded);

/// "image: resize shorter=256, crop center=224x224, encode jpeg, quality 90".
[[nodiscard]] std::string text_of(const ManifestTransform& transform);

}  // namespace shale
