#include "shale/report/contact_sheets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/image/probe.hpp"
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

constexpr std::uint64_t kMostKeyBytes = 4096;
constexpr std::size_t kMostValues = 8, kTextBytes = 200, kToldNumbers = 8;
constexpr std::uint64_t kFramesOfClip = 4;
// What is looked into for words; larger values are told by their size.
constexpr std::uint64_t kMostTold = std::uint64_t{1} << 20;

// The first characters of a string, as printable() shows them, at most `most` bytes.
std::string shortened(std::string_view text, std::size_t most) {
  std::string shown = printable(text.substr(0, 4 * most));
  const bool is_whole = shown.size() <= most && text.size() <= 4 * most;
  if (is_whole) return shown;
  std::size_t end = std::min(most, shown.size());
  while (end > 0 && end < shown.size() && (static_cast<unsigned char>(shown[end]) & 0xC0U) == 0x80)
    --end;
  return shown.substr(0, end) + " ...";
}

// A value in words, shortened: "float32 (10,): 0.5, 1, ...", the beginning of a string.
std::string value_text(const Field& field, std::span<const std::uint64_t> shape, NumberKind kind,
                       Bytes value) {
  if (field.kind != Kind::tensor) return shortened(as_text(value), kTextBytes);
  std::string text = array_text(field.dtype, shape);
  const std::size_t step = bytes_of_number(kind);
  if (step == 0) return text;
  const std::size_t elements = value.size() / step;
  for (std::size_t i = 0; i < std::min(elements, kToldNumbers); ++i)
    text += (i == 0 ? ": " : ", ") + number_words(kind, field.dtype.descr(), &value[i * step]);
  return elements > kToldNumbers ? text + ", ..." : text;
}

// What a contact sheet shows of a row, and the damage that was met.
struct ShownSample {
  ReportSample sample;
  std::vector<Finding> damage;
};

// One row while it is looked at.
class Showing {
 public:
  Showing(const ReportedSet& set, const std::vector<FieldUse>& uses, const LocatedSample& located)
      : set_(set), uses_(uses), located_(located) {
    sample_.row = located.row;
  }

  ShownSample show() {
    take_key();
    take_numbers();
    const std::optional<std::size_t> shown = shown_field(uses_);
    if (shown) take_picture(*shown);
    for (std::size_t i = 0; i < uses_.size() && sample_.values.size() < kMostValues; ++i) {
      if (shown != i && uses_[i].role != FieldRole::label && uses_[i].role != FieldRole::mask)
        take_words(i);
    }
    return {std::move(sample_), std::move(damage_)};
  }

 private:
  // What a value holds, once it is read; nothing is left of it afterwards.
  template <class Use>
  void with_value(const Fetch& wanted, std::uint64_t bytes, Use&& use) {
    const SharedBudget::Hold hold = set_.values_budget().acquire(bytes);
    ReadValues read = read_values(set_.loader(), {&wanted, 1});
    if (!read.values[0].damage) return use(read.values[0].bytes);
    problem(printable(read.values[0].damage->message), true);
    damage_.push_back(std::move(*read.values[0].damage));
  }

  void problem(std::string text, bool is_damaged) {
    if (!sample_.problem.empty() && (sample_.is_damaged || !is_damaged)) return;
    sample_.problem = std::move(text);
    sample_.is_damaged = is_damaged;
  }

  [[nodiscard]] const FieldPlace& place(std::size_t field) const {
    return located_.place.cells[field].place;
  }
  [[nodiscard]] const Field& field(std::size_t number) const {
    return set_.schema().fields[number];
  }
  [[nodiscard]] bool is_absent(std::size_t number) const {
    return shale::is_absent(located_.place.cells[number], field(number));
  }
  [[nodiscard]] std::span<const std::uint64_t> shape(std::size_t number) const {
    return shape_of(set_.schema(), located_.place, number);
  }

  void take_key() {
    const FieldPlace& key = located_.place.key;
    sample_.key = std::to_string(located_.row);
    if (!set_.manifest().layout.has_keys || key.offset == kMissing || key.length > kMostKeyBytes)
      return;
    sample_.key.clear();
    with_value({&located_, std::nullopt, {}}, key.length,
               [&](Bytes bytes) { sample_.key = as_text(bytes); });
  }

  void take_numbers() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (is_located(field(i).kind) && place(i).offset != kMissing)
        sample_.bytes += place(i).length;
    }
    if (!set_.label_field() || is_absent(*set_.label_field())) return;
    sample_.label = located_.place.cells[*set_.label_field()].integer;
    sample_.class_name = set_.class_name(*sample_.label);
  }

  [[nodiscard]] bool may_read(std::uint64_t bytes) {
    if (bytes <= set_.most_value_bytes()) return true;
    problem(fmt::format("{}: too large to be shown", format_size(bytes)), false);
    return false;
  }

  void take_picture(std::size_t number) {
    if (place(number).offset == kMissing) return problem("there is no value", false);
    if (uses_[number].role == FieldRole::clip) return take_clip(number);
    if (!may_read(place(number).length)) return;
    with_value({&located_, number, {}}, place(number).length, [&](Bytes bytes) {
      if (uses_[number].holds_images()) return take_image(bytes);
      sample_.thumbnail = draw_array(uses_[number].kind, shape(number), bytes, kThumbnailSide);
    });
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (i != number && uses_[i].role == FieldRole::mask && field(i).kind == Kind::bytes)
        take_mask(i);
    }
  }

  void take_image(Bytes bytes) {
    const ImageInfo info = probe_image(bytes, {});
    sample_.width = info.width;
    sample_.height = info.height;
    sample_.type = name_of(info.type);
    for (const std::string_view odd : info.odd) sample_.odd.emplace_back(odd);
    const bool has_masks =
        std::ranges::find(uses_, FieldRole::mask, &FieldUse::role) != uses_.end();
    // A mask lies over the pixels as they are stored.
    Thumbnail thumbnail =
        make_thumbnail(bytes, info, kThumbnailSide, !has_masks, set_.work_budget());
    sample_.thumbnail = std::move(thumbnail.image);
    if (!thumbnail.problem.empty()) problem(std::move(thumbnail.problem), thumbnail.is_damaged);
  }

  void take_mask(std::size_t number) {
    if (place(number).offset == kMissing || sample_.thumbnail.bytes.empty()) return;
    if (place(number).length > set_.most_value_bytes()) return;
    with_value({&located_, number, {}}, place(number).length, [&](Bytes bytes) {
      sample_.masks.push_back(make_overlay(field(number).name, bytes, sample_.thumbnail.width,
                                           sample_.thumbnail.height, set_.work_budget()));
    });
  }

  void take_clip(std::size_t number) {
    const std::uint64_t count = sample_.frame_count = place(number).count;
    std::vector<std::uint64_t> frames;
    const std::uint64_t shown = std::min(count, kFramesOfClip);
    frames.reserve(shown);
    for (std::uint64_t i = 0; i < shown; ++i) frames.push_back(i * count / shown);
    if (frames.empty()) return problem("there are no frames", false);
    // Without a list of elements the whole list is read to find one.
    if (!may_read(place(number).length)) return;
    std::vector<FieldPlace> places;
    {
      const SharedBudget::Hold hold = set_.values_budget().acquire(place(number).length);
      places = set_.loader().elements(located_, number, frames);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      with_value({&located_, number, {}, places[i]}, places[i].length, [&](Bytes bytes) {
        if (i == 0) return take_image(bytes);
        Thumbnail frame =
            make_thumbnail(bytes, probe_image(bytes, {}), kFrameSide, true, set_.work_budget());
        if (frame.problem.empty())
          sample_.frames.push_back(std::move(frame.image));
        else
          problem(fmt::format("frame {} {}", frames[i], frame.problem), frame.is_damaged);
      });
    }
  }

  void take_words(std::size_t number) {
    const Field& described = field(number);
    std::string text;
    if (is_absent(number)) {
      text = "missing";
    } else if (described.kind == Kind::integer) {
      text = std::to_string(located_.place.cells[number].integer);
    } else if (described.kind == Kind::real) {
      text = fmt::format("{}", located_.place.cells[number].real);
    } else if (described.kind == Kind::list) {
      text = format_counted(place(number).count, "element", "elements");
    } else if (described.kind == Kind::bytes || place(number).length > kMostTold) {
      text = format_size(place(number).length);
    } else {
      with_value({&located_, number, {}}, place(number).length, [&](Bytes bytes) {
        text = value_text(described, shape(number), uses_[number].kind, bytes);
      });
    }
    sample_.values.emplace_back(printable(described.name), std::move(text));
  }

  const ReportedSet& set_;
  const std::vector<FieldUse>& uses_;
  const LocatedSample& located_;
  ReportSample sample_;
  std::vector<Finding> damage_;
};

// In any thread. Memory: from the budgets of the set.
ShownSample show_sample(const ReportedSet& set, const std::vector<FieldUse>& uses,
                        std::uint64_t row) {
  FoundRows found = find_rows(set.loader(), {&row, 1});
  if (!found.samples.empty()) {
    ShownSample shown = Showing(set, uses, found.samples.front()).show();
    for (Finding& finding : shown.damage) {
      if (!finding.sample || finding.sample->key.empty())
        finding.sample = SampleId{shown.sample.key, row};
    }
    return shown;
  }
  ShownSample shown{.sample = {}, .damage = std::move(found.damage)};
  shown.sample.row = row;
  shown.sample.key = std::to_string(row);
  shown.sample.is_damaged = true;
  shown.sample.problem =
      shown.damage.empty() ? "cannot be found" : printable(shown.damage.front().message);
  return shown;
}

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

void put_preview(Json& preview, ReportImage& image, const Field& field,
                 std::span<const std::uint64_t> shape, const FieldUse& use, Bytes value) {
  const bool is_vector = field.kind == Kind::tensor && shape.size() == 1 &&
                         shape[0] >= kLeastPoints && use.kind != NumberKind::none &&
                         value.size() / shape[0] == field.dtype.item_bytes() &&
                         value.size() % shape[0] == 0;  // an index may say otherwise
  if (use.is_picture) image = draw_array(use.kind, shape, value, kPreviewSide);
  if (!image.bytes.empty()) {
    preview["image"] = image_json(image);
  } else if (is_vector) {
    preview["line"] = line_of(use.kind, shape[0], value);
  } else if (std::string text = value_text(field, shape, use.kind, value); !text.empty()) {
    preview["text"] = std::move(text);
  }
}

}  // namespace

NotedImages read_noted_images(const ReportedSet& set, const ProvedLists& lists) {
  std::map<std::string, std::size_t> taken;
  NotedImages noted;
  const auto take = [&](const std::vector<std::string>& fields) {
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
        const Fetch wanted{&sample, i, {}};
        ReadValues read = read_values(set.loader(), {&wanted, 1});
        if (read.values[0].damage) {
          preview["text"] = "damaged";
          set.meet(std::move(*read.values[0].damage));
        } else {
          put_preview(preview, pictures.previews[{i, sample.row}], set.schema().fields[i],
                      shape_of(set.schema(), sample.place, i), uses[i], read.values[0].bytes);
        }
      }
      previews[i].push_back(std::move(preview));
    }
  }
  return previews;
}

}  // namespace shale
