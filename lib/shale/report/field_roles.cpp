#include "shale/report/field_roles.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "shale/data/fixed_value.hpp"
#include "shale/image/probe.hpp"
#include "shale/report/thumbnails.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kProbedRows = 16, kMostProbed = std::uint64_t{16} << 20;

bool is_mask_field(const Manifest& manifest, const std::string& name) {
  for (const ManifestTransform& transform : manifest.transform) {
    if (transform.field != name) continue;
    for (const auto& [parameter, value] : transform.parameters)
      if (parameter == "mask") return value == "yes";
  }
  return name == "mask" || name.ends_with("_mask");
}

// The value of a field, or the first element of a list; nothing for what is too large to look at.
std::optional<Fetch> first_image(const Loader& loader, const LocatedSample& sample,
                                 std::size_t field) {
  Fetch wanted{&sample, field, {}};
  const FieldPlace& place = sample.place.cells[field].place;
  if (place.offset == kMissing) return std::nullopt;
  if (loader.manifest().schema.fields[field].kind == Kind::list) {
    if (place.count == 0) return std::nullopt;
    const std::uint64_t first = 0;
    wanted.element = loader.elements(sample, field, {&first, 1}).front();
  }
  const std::uint64_t bytes = wanted.element ? wanted.element->length : place.length;
  return bytes > 0 && bytes <= kMostProbed ? std::optional(wanted) : std::nullopt;
}

// Most of the samples that have a value have an image there.
bool holds_images(ReportedSet& set, std::span<const LocatedSample> samples, std::size_t field) {
  std::uint64_t images = 0, others = 0;
  for (const LocatedSample& sample : samples) {
    try {
      const std::optional<Fetch> wanted = first_image(set.loader(), sample, field);
      if (!wanted) continue;
      const ReadValues read = read_values(set.loader(), {&*wanted, 1});
      if (read.values[0].damage) continue;
      const bool is_image = probe_image(read.values[0].bytes, {}).type != ImageType::unknown;
      ++(is_image ? images : others);
    } catch (const Error& error) {
      set.meet(finding_of_damage(error));
    }
  }
  return images > others;
}

NumberKind stored_kind(const Field& field, RowStorage rows) {
  if (field.kind == Kind::tensor) return number_kind_of(field.dtype.descr());
  if (const std::optional<DType> dtype = stored_dtype_of(field, rows))
    return number_kind_of(dtype->descr());
  return field.kind == Kind::integer ? NumberKind::int64 : NumberKind::float64;
}

}  // namespace

std::string_view name_of(FieldRole role) {
  constexpr std::array<std::string_view, 8> kNames = {"image",  "mask",  "clip", "label",
                                                      "number", "array", "text", "bytes"};
  return kNames[static_cast<std::size_t>(role)];
}

std::vector<FieldUse> find_roles(ReportedSet& set, const SampleRows& sample) {
  const Manifest& manifest = set.manifest();
  const std::vector<std::size_t> known = image_fields_of(manifest);
  std::vector<LocatedSample> samples;
  bool was_read = false;
  std::vector<FieldUse> uses(set.schema().fields.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Field& field = set.schema().fields[i];
    FieldUse& use = uses[i];
    if (field.kind == Kind::text) use.role = FieldRole::text;
    if (field.kind == Kind::integer || field.kind == Kind::real) {
      use.role = set.label_field() == i ? FieldRole::label : FieldRole::number;
      use.kind = stored_kind(field, manifest.layout.rows);
    }
    if (field.kind == Kind::tensor) {
      use.role = FieldRole::array;
      use.kind = stored_kind(field, manifest.layout.rows);
      use.is_picture = is_picture(use.kind, field.shape);
    }
    if (field.kind != Kind::bytes && field.kind != Kind::list) continue;
    if (std::ranges::find(known, i) == known.end()) {
      if (!std::exchange(was_read, true)) {
        std::vector<std::uint64_t> rows = sample.first(kProbedRows);
        std::ranges::sort(rows);
        FoundRows found = find_rows(set.loader(), rows);
        for (Finding& finding : found.damage) set.meet(std::move(finding));
        samples = std::move(found.samples);
      }
      if (!holds_images(set, samples, i)) continue;
    }
    use.role = field.kind == Kind::list              ? FieldRole::clip
               : is_mask_field(manifest, field.name) ? FieldRole::mask
                                                     : FieldRole::image;
  }
  return uses;
}

std::optional<std::size_t> shown_field(const std::vector<FieldUse>& uses) {
  for (const FieldRole role : {FieldRole::image, FieldRole::clip, FieldRole::mask}) {
    const auto found = std::ranges::find(uses, role, &FieldUse::role);
    if (found != uses.end()) return static_cast<std::size_t>(found - uses.begin());
  }
  const auto found = std::ranges::find(uses, true, &FieldUse::is_picture);
  if (found == uses.end()) return std::nullopt;
  return static_cast<std::size_t>(found - uses.begin());
}

}  // namespace shale
