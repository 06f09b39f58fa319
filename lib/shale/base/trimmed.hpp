#pragma once

#include <string_view>

namespace shale {

/// Without the blanks around it: those of ASCII, and the no-break space that spreadsheets write.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace shale
