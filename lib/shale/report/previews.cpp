#include "shale/report/previews.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shale/base/size_text.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostPoints = 256, kMostFields = 32;
constexpr std::uint64_t kLeastPoints = 8;
constexpr std::uint32_t kPreviewSide = 160;

// At most kMostPoints of a vector's elements, evenly spaced, both ends among them. Those that are
// not finite are null.
Json line_of(NumberKind kind, std::uint64_t elements, Bytes bytes) {
  const std::size_t step = bytes_of_number(kind);
  const std::uint64_t points = std::min<std::uint64_t>(kMostPoints, elements);
  Json line = Json::array();
  for (std::uint64_t i = 0; i < points; ++i) {
    const std::uint64_t element = points < 2 ? 0 : i * (elements - 1) / (points - 1);
    for_each_number(kind, bytes.subspan(element * step, step), [&](double value) {
      line.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
    });
  }
  return line;
}

void put_preview(Json& preview, ReportImage& image, const Field& field, const FieldUse& use,
                 Bytes value) {
  const bool is_vector = field.kind == Kind::tensor && field.shape.size() == 1 &&
                         field.shape[0] >= kLeastPoints && use.kind != NumberKind::none &&
                         value.size() == field.tensor_bytes();  // an index may say otherwise
  if (use.is_picture) {
    image = draw_array(use.kind, field.shape, value, kPreviewSide);
    if (!image.bytes.empty()) preview["image"] = json_of(image);
  } else if (is_vector) {
    preview["line"] = line_of(use.kind, field.shape[0], value);
  } else if (std::string text = value_text(field, use.kind, value); !text.empty()) {
    preview["text"] = std::move(text);
  }
}

}  // namespace

std::vector<Json> make_previews(ReportedSet& set, const std::vector<FieldUse>& uses,
                                std::span<const std::uint64_t> rows, ReportPictures& pictures) {
  std::vector<std::uint64_t> ascending(rows.begin(), rows.end());
  std::ranges::sort(ascending);
  FoundRows found = find_rows(set.loader(), ascending);
  for (Finding& finding : found.damage) set.meet(std::move(finding));
  std::vector<Json> previews(uses.size());
  std::size_t previewed = 0;
  for (std::size_t i = 0; i < uses.size() && previewed < kMostFields; ++i) {
    const bool is_previewed = uses[i].role == FieldRole::array || uses[i].role == FieldRole::text;
    if (!is_previewed) continue;
    ++previewed;
    for (const LocatedSample& sample : found.samples) {
      set.events().stop_if_asked();
      const FieldPlace& place = sample.place.cells[i].place;
      if (place.offset == kMissing) continue;
      Json preview = {{"row", sample.row}};
      if (place.length > set.most_value_bytes()) {
        preview["text"] = format_size(place.length) + ": too large to be shown";
      } else {
        const SharedBudget::Hold hold = set.values_budget().acquire(place.length);
        const WantedValue wanted{&sample, i};
        ReadValues read = read_values(set.loader(), {&wanted, 1});
        if (read.values[0].damage) {
          preview["text"] = "damaged";
          set.meet(std::move(*read.values[0].damage));
        } else {
          put_preview(preview, pictures.previews[{i, sample.row}], set.schema().fields[i], uses[i],
                      read.values[0].bytes);
        }
      }
      previews[i].push_back(std::move(preview));
    }
  }
  return previews;
}

}  // namespace shale
