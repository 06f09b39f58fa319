#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/finding.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// The fields of a file of this layout: every sample has been looked at. Errors: Code::unsupported
/// with the sample and what it has instead; Code::damaged; Code::limit; Code::io.
[[nodiscard]] Survey survey_lmdb_layout(const InputFile& file, Dialect layout,
                                        const WalkProgress& progress);

/// What a field is, in words: "a tensor float32 (2,)".
[[nodiscard]] std::string type_text(const Field& field);

/// For damage that a schema hangs on.
[[nodiscard]] Error fields_unknown(const Finding& damage, const InputFile& file);

/// What came of comparing a file with all layouts.
struct LayoutSearch {
  std::optional<Survey> survey;    ///< of the layout that it has; nullopt: none
  std::vector<std::string> notes;  ///< why it is none that it seems to be, a sentence each
};
/// Errors: Code::unsupported, naming both, for a file that two layouts fit; Code::io.
[[nodiscard]] LayoutSearch find_lmdb_layout(const InputFile& file, const WalkProgress& progress);

}  // namespace shale
