#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"

// Files in the layout of robomimic: the demonstrations of a robot, step by step.
//   data/demo_N/actions, states, rewards ...    row t is of step t
//   data/demo_N/obs/NAME, next_obs/NAME         the same, of the fields obs_NAME, next_obs_NAME
//   data/demo_N, attribute num_samples          how many steps
//   mask/FILTER                                 names of demonstrations: left out
// Source: robomimic, docs/datasets/overview.md, robomimic/utils/dataset.py (d309eae).

namespace shale {

/// The fields that say which step a sample is: N, and t.
inline constexpr std::string_view kDemoField = "demo", kStepField = "step";

/// The steps of all demonstrations of a file, in the order of their numbers.
struct Hdf5Steps {
  struct Demo {
    std::int64_t number = 0;
    std::uint64_t first = 0, rows = 0;         ///< of all steps
    std::vector<const Hdf5Dataset*> datasets;  ///< a field each; null: demo and step
  };
  Hdf5Description description;  ///< what the demos point into
  Schema schema;                ///< by name, bytewise; without keys; of a file that is one episode
                                ///< only the names count
  std::vector<Demo> demos;      ///< those that have steps
  std::uint64_t rows = 0;
  UnpackReport left;  ///< what is left out
  std::string_view number_field = kDemoField;
};

/// Whether --parse lets a file be of this layout.
[[nodiscard]] inline bool may_have_hdf5_steps(std::optional<Dialect> dialect) {
  return !dialect || *dialect == Dialect::robomimic;
}

/// Whether a file is of this layout: it has groups data/demo_N of datasets, and no datasets of
/// samples at its root.
[[nodiscard]] bool has_hdf5_steps(const Hdf5Description& description);

/// Errors: Code::unsupported, by dataset, where its demonstrations differ in fields, or its
/// datasets in length; for what no field can hold; Code::limit.
[[nodiscard]] Hdf5Steps find_hdf5_steps(Hdf5Description description, const InputFile& file);

/// The rows of a file that is one episode: of the datasets that have as many as most of them;
/// `fields`: only these. Errors: same as choose_hdf5_table; Code::unsupported for a file without
/// rows, and for datasets with the names of the episode's fields.
[[nodiscard]] Hdf5Steps steps_of_hdf5_file(Hdf5Description description,
                                           const std::vector<std::string>& fields,
                                           std::uint64_t number);

/// Errors: Code::unsupported, by dataset, for one whose rows do not lie in the file as they are.
void check_steps_lie_in_place(const Hdf5Steps& steps, const InputFile& file);

}  // namespace shale
