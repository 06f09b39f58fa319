#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// The option of manifests that says which arrays of the input had their samples along another axis
/// than the first: "images=-1".
inline constexpr std::string_view kAxisOption = "axis";

/// Along which axis of an array its samples lie, where that is not the first: those of MATLAB lie
/// along the last.
struct SampleAxis {
  std::string name;       ///< of the array, or of its field
  std::int64_t axis = 0;  ///< from 0; negative: from the end

  /// Its position among so many axes. Errors: Code::usage, with the numbers, if there is none.
  [[nodiscard]] std::size_t among(std::size_t axes) const;
  friend bool operator==(const SampleAxis&, const SampleAxis&) = default;
};

/// The words of --axis: "images=-1,labels=1". Errors: Code::usage for another form, and for a name
/// that is there twice.
[[nodiscard]] std::vector<SampleAxis> parse_axes(std::string_view text);

/// The same as words, for what has to say which they are; empty for none.
[[nodiscard]] std::string axes_text(const std::vector<SampleAxis>& axes);

/// That of an array, by either of its names; null: the first.
[[nodiscard]] const SampleAxis* axis_of(const std::vector<SampleAxis>& axes, std::string_view name,
                                        std::string_view field);

/// The sides of an array with this one first.
[[nodiscard]] std::vector<std::uint64_t> with_side_first(std::vector<std::uint64_t> sides,
                                                         std::size_t axis);

}  // namespace shale
