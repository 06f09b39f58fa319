#include "shale/report/shown_sample.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostKeyBytes = 4096;
constexpr std::size_t kMostValues = 8, kTextBytes = 200, kToldNumbers = 8;
constexpr std::uint64_t kFramesOfClip = 4;

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
  void with_value(const WantedValue& wanted, std::uint64_t bytes, Use&& use) {
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

  void take_key() {
    const FieldPlace& key = located_.place.key;
    sample_.key = std::to_string(located_.row);
    if (!set_.manifest().layout.has_keys || key.offset == kMissing || key.length > kMostKeyBytes)
      return;
    sample_.key.clear();
    with_value({&located_, std::nullopt}, key.length,
               [&](Bytes bytes) { sample_.key = as_text(bytes); });
  }

  void take_numbers() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (is_located(field(i).kind) && place(i).offset != kMissing)
        sample_.bytes += place(i).length;
    }
    if (!set_.label_field()) return;
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
    with_value({&located_, number}, place(number).length, [&](Bytes bytes) {
      if (uses_[number].holds_images()) return take_image(bytes);
      const Field& tensor = field(number);
      sample_.thumbnail = draw_array(uses_[number].kind, tensor.shape, bytes, kThumbnailSide);
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
    with_value({&located_, number}, place(number).length, [&](Bytes bytes) {
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
      with_value({&located_, number, places[i]}, places[i].length, [&](Bytes bytes) {
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
    if (described.kind == Kind::integer) {
      text = std::to_string(located_.place.cells[number].integer);
    } else if (described.kind == Kind::real) {
      text = fmt::format("{}", located_.place.cells[number].real);
    } else if (place(number).offset == kMissing) {
      text = "missing";
    } else if (described.kind == Kind::list) {
      text = format_counted(place(number).count, "element", "elements");
    } else if (described.kind == Kind::bytes || place(number).length > kMostTold) {
      text = format_size(place(number).length);
    } else {
      with_value({&located_, number}, place(number).length,
                 [&](Bytes bytes) { text = value_text(described, uses_[number].kind, bytes); });
    }
    sample_.values.emplace_back(printable(described.name), std::move(text));
  }

  const ReportedSet& set_;
  const std::vector<FieldUse>& uses_;
  const LocatedSample& located_;
  ReportSample sample_;
  std::vector<Finding> damage_;
};

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
  std::string shown = printable(text.substr(0, 4 * most));
  const bool is_whole = shown.size() <= most && text.size() <= 4 * most;
  if (is_whole) return shown;
  std::size_t end = std::min(most, shown.size());
  while (end > 0 && end < shown.size() && (static_cast<unsigned char>(shown[end]) & 0xC0U) == 0x80)
    --end;
  return shown.substr(0, end) + " ...";
}

std::string value_text(const Field& field, NumberKind kind, Bytes value) {
  if (field.kind != Kind::tensor) return shortened(as_text(value), kTextBytes);
  std::string text = array_text(field.dtype, field.shape);
  const std::size_t step = bytes_of_number(kind);
  if (step == 0) return text;
  const std::size_t elements = value.size() / step;
  for (std::size_t i = 0; i < std::min(elements, kToldNumbers); ++i)
    text += (i == 0 ? ": " : ", ") + number_words(kind, field.dtype.descr(), &value[i * step]);
  return elements > kToldNumbers ? text + ", ..." : text;
}

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

}  // namespace shale
