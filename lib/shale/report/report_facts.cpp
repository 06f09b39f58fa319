#include "shale/report/report_facts.hpp"

#include <array>

namespace shale {

std::string_view name_of(SheetKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"random", "class", "odd", "problem"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(VerifyState state) {
  constexpr std::array<std::string_view, 4> kNames = {"not asked", "sound", "damaged", "unproven"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name_of(FieldRole role) {
  constexpr std::array<std::string_view, 8> kNames = {"image",  "mask",  "clip", "label",
                                                      "number", "array", "text", "bytes"};
  return kNames[static_cast<std::size_t>(role)];
}

bool operator<(const WholeNumber& a, const WholeNumber& b) {
  if (a.is_negative != b.is_negative) return a.is_negative;
  return a.is_negative ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
}

}  // namespace shale
