#include "formats/record/record_features.hpp"

#include <algorithm>

#include "shale/base/checksum.hpp"

namespace shale {
namespace {

// Below this, reading bytes twice is cheaper than crc32c_combine (0.2 us).
constexpr std::uint64_t kCombinedFrom = 8192;

}  // namespace

bool is_of_floats(const Field& field) {
  return (field.kind == Kind::real || field.is_ragged()) && field.dtype.descr() == "<f4";
}

std::vector<PlannedFeature> plan_features(const Schema& schema) {
  using Role = PlannedFeature::Role;
  std::vector<PlannedFeature> plan;
  plan.reserve(1 + 3 * schema.fields.size());
  plan.push_back({"key", Role::key, 0});
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    plan.push_back({field.name, Role::value, i});
    if (field.kind != Kind::tensor) continue;
    plan.push_back({field.name + std::string(kDTypeSuffix), Role::dtype, i});
    // The length of one axis follows from that of the value.
    if (!field.is_ragged() || field.shape.size() > 1)
      plan.push_back({field.name + std::string(kShapeSuffix), Role::shape, i});
  }
  std::sort(plan.begin(), plan.end(),
            [](const PlannedFeature& a, const PlannedFeature& b) { return a.name < b.name; });
  return plan;
}

std::string_view list_name_of(ParsedFeature::Type type) {
  switch (type) {
    case ParsedFeature::Type::bytes:
      return "BytesList";
    case ParsedFeature::Type::floats:
      return "FloatList";
    case ParsedFeature::Type::integers:
      return "Int64List";
    case ParsedFeature::Type::none:
      break;
  }
  return "no value";
}

void PayloadChecksum::update(std::uint64_t bytes, std::uint32_t crc32c) {
  while (next_ < places_.size() && end_of(places_[next_]) <= position_) ++next_;
  const bool is_outside = next_ == places_.size() || position_ < places_[next_].offset;
  position_ += bytes;
  if (!is_outside) {
    FieldPlace& place = places_[next_];
    place.crc32c = crc32c_combine(place.crc32c, crc32c, bytes);
    if (place.length >= kCombinedFrom) {
      if (position_ == end_of(place)) total_ = crc32c_combine(total_, place.crc32c, place.length);
      return;
    }
  }
  total_ = crc32c_combine(total_, crc32c, bytes);
}

void PayloadChecksum::update(Bytes bytes) {
  while (!bytes.empty()) {
    while (next_ < places_.size() && end_of(places_[next_]) <= position_) ++next_;
    const bool is_last = next_ == places_.size();
    if (is_last || position_ < places_[next_].offset) {
      const std::uint64_t left = is_last ? bytes.size() : places_[next_].offset - position_;
      const Bytes run = bytes.first(std::min<std::uint64_t>(bytes.size(), left));
      total_ = crc32c(run, total_);
      position_ += run.size();
      bytes = bytes.subspan(run.size());
      continue;
    }
    FieldPlace& place = places_[next_];
    const Bytes run = bytes.first(std::min<std::uint64_t>(bytes.size(), end_of(place) - position_));
    place.crc32c = crc32c(run, place.crc32c);
    position_ += run.size();
    bytes = bytes.subspan(run.size());
    if (place.length < kCombinedFrom) {
      total_ = crc32c(run, total_);
    } else if (position_ == end_of(place)) {
      total_ = crc32c_combine(total_, place.crc32c, place.length);
    }
  }
}

}  // namespace shale
