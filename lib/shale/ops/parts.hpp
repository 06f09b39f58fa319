#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/part_number.hpp"

namespace shale {

enum class PartState { complete, unfinished, damaged, other_run };

[[nodiscard]] constexpr std::string_view name_of(PartState state) {
  constexpr std::string_view kNames[] = {"complete", "unfinished", "damaged", "of another run"};
  return kNames[static_cast<std::size_t>(state)];
}

/// What stands where a part may be.
struct FoundPart {
  std::string path;
  PartNumber number;  ///< as its manifest says; without one, as its name does
  PartState state = PartState::complete;
  std::string fault = {};  ///< of one that is damaged, or of another run: what is wrong
};

/// The parts of one run.
struct PartsReport {
  std::uint64_t count = 0;       ///< how many there must be
  std::vector<FoundPart> parts;  ///< by number; one may be there several times
  /// The numbers of those that are not there, and of all that are not complete: ascending.
  std::vector<std::uint64_t> absent, missing;

  [[nodiscard]] bool holds_damage() const;
};

/// Looks for parts: each place is a part, or a directory that holds parts by their names. Of each,
/// its manifest is proved by its hash, and its files must be there and have their sizes; payload is
/// not read. The first complete one says which run they are of. Errors: Code::not_found for a place
/// without parts; Code::usage for a dataset that is not a part; Code::io; Code::interrupted.
/// `proves_bytes`: every file of a complete one has its hash, too, or it is damaged.
[[nodiscard]] PartsReport find_parts(const std::vector<std::string>& places, const Events& events,
                                     bool proves_bytes = false);

/// Of two with one number: "part 3 is there twice; it is also out/part-3".
[[nodiscard]] std::string twice(const FoundPart& part, const FoundPart& other);

/// What two parts of one run disagree in; nullopt: they are of one run.
[[nodiscard]] std::optional<std::string> difference_of_runs(const Manifest& one,
                                                            const Manifest& other);

/// Ascending numbers as sbatch --array takes them: "3,7-9".
[[nodiscard]] std::string array_expression(std::span<const std::uint64_t> numbers);

}  // namespace shale
