#pragma once

#include <string_view>
#include <vector>

#include "shale/numbers/number_facts.hpp"
#include "shale/report/reported_set.hpp"
#include "shale/sampling/sample_rows.hpp"

namespace shale {

enum class FieldRole { image, mask, clip, label, number, array, text, bytes };
/// "image", "mask", "clip", "label", "number", "array", "text", "bytes".
[[nodiscard]] std::string_view name_of(FieldRole role);

/// What a field is to a reader of the report.
struct FieldUse {
  FieldRole role = FieldRole::bytes;
  NumberKind kind =
      NumberKind::none;     ///< of its elements, of a tensor; of a number as it is stored
  bool is_picture = false;  ///< a tensor that can be drawn
  /// Encoded images: photos, masks, frames.
  [[nodiscard]] bool holds_images() const {
    return role == FieldRole::image || role == FieldRole::mask || role == FieldRole::clip;
  }
};

/// By the manifest, and where it does not tell, by what the first drawn samples hold. A mask is
/// what `shale convert` takes for one (`mask`, or a name that ends in `_mask`), or what it was told
/// to. Errors: same as finding_of_damage.
[[nodiscard]] std::vector<FieldUse> find_roles(ReportedSet& set, const SampleRows& sample);

/// The first field that shows what a sample is: an image, a clip, or an array that can be drawn.
[[nodiscard]] std::optional<std::size_t> shown_field(const std::vector<FieldUse>& uses);

}  // namespace shale
