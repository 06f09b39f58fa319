#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "shale/data/field_choice.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// What casts may take, and whom they tell.
struct CastWork {
  std::uint64_t memory_bytes = 64 << 20;        ///< for the values of one sample, or a run
  std::function<void()> stop_if_asked = [] {};  ///< may throw
  std::function<void(const std::string&)> say = [](const std::string&) {};  ///< a note
};

/// The same samples, the numbers of some fields cast to another type (cast_numbers), one after the
/// other in the thread that calls next(). The source itself where the choice casts none. Unless
/// choice.is_lossy, the first number that does not fit ends the reading, once the rest of the
/// samples has been read for how many there are. Errors: Code::usage as casts_of() says it;
/// Code::bad_content for numbers that do not fit; Code::limit for a sample whose casts
/// take more than `memory_bytes`; those of load_batch.
[[nodiscard]] std::unique_ptr<Source> make_cast_fields(std::unique_ptr<Source> source,
                                                       const FieldChoice& choice,
                                                       const CastWork& work);

}  // namespace shale
