#pragma once

#include <memory>
#include <string>

#include "shale/data/field_choice.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The same samples with the fields that are chosen, in their order and under their new names; what
/// is not taken is not read. The source itself where that is all of it, as it is. Errors:
/// Code::usage, at `input`, as taken_fields() and new_names() say it.
[[nodiscard]] std::unique_ptr<Source> make_chosen_fields(std::unique_ptr<Source> source,
                                                         const FieldChoice& choice,
                                                         const std::string& input);

/// The same for the option that the manifest of a dataset records of its fields.
[[nodiscard]] std::unique_ptr<Source> make_recorded_fields(std::unique_ptr<Source> source,
                                                           const std::string& recorded,
                                                           const std::string& input);

}  // namespace shale
