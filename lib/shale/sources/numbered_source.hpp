#pragma once

#include <cstdint>
#include <memory>

#include "shale/format/source.hpp"

namespace shale {

/// A source whose samples have no keys but their numbers, with `first` added to each number: they
/// come behind that many others. Errors: same as of the source.
[[nodiscard]] std::unique_ptr<Source> make_numbered_source(std::unique_ptr<Source> source,
                                                           std::uint64_t first);

}  // namespace shale
