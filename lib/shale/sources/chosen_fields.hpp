#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "shale/data/field_choice.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The same samples with the fields that are chosen, in their order, under their new names and of
/// their new types (cast_fields); what is not taken is not read. The source itself where that is
/// all of it, as it is. Errors: Code::usage, at `input`, as taken_fields(), new_names() and
/// casts_of() say it.
[[nodiscard]] std::unique_ptr<Source> make_chosen_fields(std::unique_ptr<Source> source,
                                                         const FieldChoice& choice,
                                                         const std::string& input);

/// The same for the option that the manifest of a dataset records of its fields.
[[nodiscard]] std::unique_ptr<Source> make_recorded_fields(std::unique_ptr<Source> source,
                                                           const std::string& recorded,
                                                           const std::string& input);

/// Whether what a sample lacks (PendingSample::lacks) is of one of these fields of its schema.
[[nodiscard]] bool lacks_any_of(std::span<const std::size_t> fields, const PendingSample& sample,
                                const Schema& schema);

}  // namespace shale
