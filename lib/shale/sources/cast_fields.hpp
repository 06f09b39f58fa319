#pragma once

#include <memory>

#include "shale/data/field_choice.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The same samples, the numbers of some fields cast to another type (cast_numbers): single numbers
/// by next(), tensors and fixed rows by whoever reads them (SourceInfo::casts). What does not fit
/// becomes the nearest number that does, and is counted (PendingSample::unfit, once it is read).
/// The source itself where the choice casts none. Errors: Code::usage as casts_of() says it.
[[nodiscard]] std::unique_ptr<Source> make_cast_fields(std::unique_ptr<Source> source,
                                                       const FieldChoice& choice);

}  // namespace shale
