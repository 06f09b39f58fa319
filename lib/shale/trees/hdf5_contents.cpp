#include "shale/trees/hdf5_contents.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/trees/hdf5_elements.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_steps.hpp"

namespace shale {
namespace {

// What keeps its values from being a column; empty if nothing does.
std::string obstacle_of(const Hdf5Description& all, const Hdf5Dataset& dataset) {
  if (dataset.storage == Hdf5Storage::external || dataset.storage == Hdf5Storage::composed)
    return hdf5_storage_fault(dataset);
  if (!dataset.has_shape) return "is empty (null)";
  const std::optional<Error> fault = hdf5_elements_fault(all, dataset);
  return fault ? fault->message() : "";
}

ListedArray listed(const Hdf5Description& all, const Hdf5Dataset& dataset) {
  const bool is_fixed = !dataset.has_variable_length();
  return {.path = dataset.name,
          .type = hdf5_type_text(dataset),
          .shape = dataset.all_sides(),
          .stored_bytes = dataset.stored_bytes,
          .compression = fmt::format("{}", fmt::join(dataset.filters, ", ")),
          .attributes = dataset.attributes,
          .obstacle = obstacle_of(all, dataset),
          .is_fixed = is_fixed};
}

// Whether its demonstrations are alike.
bool are_steps(const Hdf5Description& all, const InputFile& file) {
  try {
    (void)find_hdf5_steps(all, file);
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::unsupported && error.code() != Code::limit) throw;
    return false;
  }
}

}  // namespace

FileContents hdf5_contents_of(const Hdf5Description& all, const InputFile& file) {
  FileContents contents{.format = {},
                        .noun = "dataset",
                        .arrays = {},
                        .more = all.other_count - all.others.size() + (all.is_large ? 1 : 0),
                        .others = all.others,
                        .attributes = all.attributes};
  for (const Hdf5Dataset& dataset : all.datasets) contents.arrays.push_back(listed(all, dataset));
  for (const Hdf5Demo& demo : all.demos) {
    for (const Hdf5Dataset& dataset : demo.datasets) {
      constexpr std::size_t kMostListed = 4096;
      if (contents.arrays.size() < kMostListed)
        contents.arrays.push_back(listed(all, dataset));
      else
        ++contents.more;
    }
  }
  const bool has_steps = has_hdf5_steps(all);
  contents.is_known = has_steps && are_steps(all, file);
  if (all.samples && !all.samples->is_file && !contents.is_known) {
    contents.samples = ListedGroups{.parent = all.samples->parent,
                                    .count = all.samples->count,
                                    .is_clear = all.samples->is_clear,
                                    .option = has_steps ? " --parse samples" : ""};
  }
  return contents;
}

}  // namespace shale
