#include "shale/report/contact_sheets.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostOdd = 24, kMostOfOneKind = 4, kMostKinds = 1000;
// Above this a key is searched in all indexes, each time.
constexpr std::uint64_t kMostSearched = std::uint64_t{4} << 20;
constexpr std::string_view kKeptBad = "kept-bad";

bool is_kept_bad(const NotedImages::Entry& entry) {
  return entry.words.find(kKeptBad) != std::string::npos;
}

std::uint64_t picture_bytes_of(const ReportSample& sample) {
  std::uint64_t bytes = sample.thumbnail.bytes.size();
  for (const ReportOverlay& mask : sample.masks) bytes += mask.image.bytes.size();
  for (const ReportImage& frame : sample.frames) bytes += frame.bytes.size();
  return bytes;
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
  if (!sample.thumbnail.bytes.empty()) json["thumbnail"] = json_of(sample.thumbnail);
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
  if (!sample.values.empty()) json["values"] = json_of(sample.values);
  return json;
}

void drop_pictures(ReportSample& sample) {
  sample.thumbnail = {};
  sample.masks.clear();
  sample.frames.clear();
  if (sample.problem.empty()) sample.problem = "not shown: the page has all the pictures it may";
}

}  // namespace

Json json_of(const ReportImage& image) {
  return {{"media_type", image.media_type},
          {"width", image.width},
          {"height", image.height},
          {"bytes", image.bytes.size()}};
}

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
  for (const NotedRow& row : survey.odd) odd.rows.push_back(row.row);
  for (const NotedRow& row : survey.damaged) bad.rows.push_back(row.row);
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
    json["samples"] =
        list_of(sheet.rows, [&](std::uint64_t row) { return sample_json(pictures.samples.at(row)); });
    return json;
  });
}

}  // namespace shale
