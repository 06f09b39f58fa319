#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shale {

/// Something of an input that a conversion did not take.
struct LeftOut {
  std::string kind;    ///< "feature", "dataset", "group", "member" ...
  std::string name;    ///< raw bytes, as in the input
  std::string reason;  ///< a fixed code, such as "varying_length" (docs/manifest.md lists them)
  std::optional<std::uint64_t> samples = {};  ///< that lost something; nullopt: nobody knows
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// What was left out, in the order of the input: the first of it, and how much more.
struct LeftOutList {
  static constexpr std::size_t kMost = 1000;
  std::vector<LeftOut> entries;
  std::uint64_t more = 0;

  /// What is in the list already (of that kind, name and reason) is added to it: counts of samples
  /// add up, and an unknown count stays unknown.
  void add(LeftOut one);
  /// The union of both.
  void add(const LeftOutList& others);
  [[nodiscard]] std::uint64_t count() const { return entries.size() + more; }
  friend bool operator==(const LeftOutList&, const LeftOutList&) = default;
};

/// The first entries: "feature 'boxes' (varying_length) and 2 more".
[[nodiscard]] std::string left_out_text(const LeftOutList& left_out);

}  // namespace shale
