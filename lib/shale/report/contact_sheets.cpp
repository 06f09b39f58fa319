#include "shale/report/contact_sheets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostOdd = 24, kMostOfOneKind = 4, kMostKinds = 1000;
// Above this a key is searched in all indexes, each time.
constexpr std::uint64_t kMostSearched = std::uint64_t{4} << 20;
constexpr std::string_view kKeptBad = "kept-bad";

constexpr std::size_t kMostPoints = 256, kMostFields = 32;
constexpr std::uint64_t kLeastPoints = 8;
constexpr std::uint32_t kPreviewSide = 160;

bool is_kept_bad(const NotedImages::Entry& entry) {
  return entry.words.find(kKeptBad) != std::string::npos;
}

std::uint64_t picture_bytes_of(const ReportSample& sample) {
  std::uint64_t bytes = sample.thumbnail.bytes.size();
  for (const ReportOverlay& mask : sample.masks) bytes += mask.image.bytes.size();
  for (const ReportImage& frame : sample.frames) bytes += frame.bytes.size();
  return bytes;
}

Json image_json(const ReportImage& image) {
  return {{"media_type", image.media_type},
          {"width", image.width},
          {"height", image.height},
          {"bytes", image.bytes.size()}};
}

Json sample_json(const ReportSample& sample) {
  Json json = {{"row", sample.row}, {"key", printable(sample.key)}, {"bytes", sample.bytes}};
  put_number(json, "label", sample.label);
  put_name(json, "class", sample.class_name);
  put_name(json, "type", sample.type);
  if (sample.width > 0) {
    json["width"] = sample.width;
    json["height"] = sample.height;
  }
  if (!sample.odd.empty()) json["odd"] = sample.odd;
  if (!sample.thumbnail.bytes.empty()) json["thumbnail"] = image_json(sample.thumbnail);
  if (!sample.problem.empty()) {
    json["problem"] = sample.problem;
    json["damaged"] = sample.is_damaged;
  }
  for (const ReportOverlay& mask : sample.masks) {
    Json one = {{"name", printable(mask.name)}};
    if (!mask.problem.empty()) one["problem"] = mask.problem;
    json["masks"].push_back(std::move(one));
  }
  if (sample.frame_count > 0) json["frames"] = sample.frame_count;
  for (const auto& [name, value] : sample.values) json["values"][name] = value;
  return json;
}

void drop_pictures(ReportSample& sample) {
  sample.thumbnail = {};
  sample.masks.clear();
  sample.frames.clear();
  if (sample.problem.empty()) sample.problem = "not shown: the page has all the pictures it may";
}

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
    if (!image.bytes.empty()) preview["image"] = image_json(image);
  } else if (is_vector) {
    preview["line"] = line_of(use.kind, field.shape[0], value);
  } else if (std::string text = value_text(field, use.kind, value); !text.empty()) {
    preview["text"] = std::move(text);
  }
}

}  // namespace

NotedImages read_noted_images(const ReportedSet& set, const ProvedLists& lists) {
  std::map<std::string, std::size_t> taken;
  NotedImages noted;
  const auto take = [&](const std::vector<std::string>& fields) {
    if (fields.size() < 2) return;
    NotedImages::Entry entry{fields[0], fields[1]};
    ++noted.rows;
    noted.bad_rows += is_kept_bad(entry) ? 1 : 0;
    if (!taken.contains(entry.words) && taken.size() >= kMostKinds) return;
    std::size_t& count = taken[entry.words];
    if (count >= kMostOfOneKind || noted.entries.size() >= 2 * kMostOdd) return;
    ++count;
    noted.entries.push_back(std::move(entry));
  };
  lists.read(kImagesName, take);
  const std::optional<ImageReport>& images = set.manifest().images;
  const bool is_damaged = std::ranges::any_of(
      lists.damaged(), [](const std::string& name) { return is_list_name(name, kImagesName); });
  // A dataset of one file has no lists.
  const bool is_listed = noted.rows > 0 || (images && images->odd.empty());
  if (images && is_listed && !is_damaged) noted.odd_images = noted.rows;
  return noted;
}

std::vector<PlannedSheet> plan_noted_sheets(ReportedSet& set, const SampleSurvey& survey,
                                            const NotedImages& noted) {
  PlannedSheet odd{.kind = "odd", .caption = "odd images"};
  PlannedSheet bad{.kind = "problem", .caption = "damaged samples"};
  odd.rows = survey.odd;
  bad.rows = survey.damaged;
  if (noted.odd_images) {
    odd.of_samples = noted.rows - noted.bad_rows;
    bad.of_samples = noted.bad_rows;
  } else if (!set.manifest().images && survey.looked_at == set.samples()) {
    odd.of_samples = survey.odd_images;
  }
  if (set.samples() <= kMostSearched) {
    for (const NotedImages::Entry& entry : noted.entries) {
      PlannedSheet& sheet = is_kept_bad(entry) ? bad : odd;
      if (sheet.rows.size() >= kMostOdd) continue;
      try {
        if (const auto row = set.loader().find(entry.key, set.events())) sheet.rows.push_back(*row);
      } catch (const Error& error) {
        set.meet(finding_of_damage(error));
      }
    }
  }
  std::vector<PlannedSheet> sheets;
  for (PlannedSheet* sheet : {&odd, &bad}) {
    std::ranges::sort(sheet->rows);
    sheet->rows.erase(std::unique(sheet->rows.begin(), sheet->rows.end()), sheet->rows.end());
    if (!sheet->rows.empty()) sheets.push_back(std::move(*sheet));
  }
  return sheets;
}

Json fill_sheets(ReportedSet& set, const std::vector<FieldUse>& uses,
                 const std::vector<PlannedSheet>& planned, ReportPictures& pictures) {
  std::vector<std::uint64_t> rows;  // in the order of the sheets
  for (const PlannedSheet& sheet : planned) {
    for (const std::uint64_t row : sheet.rows)
      if (pictures.samples.try_emplace(row).second) rows.push_back(row);
  }
  std::uint64_t picture_bytes = 0;
  OrderedPipeline<ShownSample> pipeline(set.request().jobs);
  std::size_t submitted = 0;
  for (const std::uint64_t row : rows) {
    set.events().stop_if_asked();
    for (; submitted < rows.size() && pipeline.pending() <= 2 * set.request().jobs; ++submitted)
      pipeline.submit([&set, &uses, wanted = rows[submitted]](unsigned) {
        return show_sample(set, uses, wanted);
      });
    ShownSample sample = pipeline.take();
    for (Finding& finding : sample.damage) set.meet(std::move(finding));
    picture_bytes += picture_bytes_of(sample.sample);
    if (picture_bytes > kMostPictureBytes) {
      picture_bytes -= picture_bytes_of(sample.sample);
      drop_pictures(sample.sample);
    }
    pictures.samples[row] = std::move(sample.sample);
  }
  return list_of(planned, [&](const PlannedSheet& sheet) {
    Json json = {{"kind", sheet.kind}, {"caption", sheet.caption}};
    if (sheet.label) {
      json["label"] = *sheet.label;
      put_name(json, "class", set.class_name(*sheet.label));
    }
    if (sheet.of_samples > 0) json["of_samples"] = sheet.of_samples;
    json["samples"] = list_of(
        sheet.rows, [&](std::uint64_t row) { return sample_json(pictures.samples.at(row)); });
    return json;
  });
}

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
