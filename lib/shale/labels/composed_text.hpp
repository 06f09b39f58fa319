#pragma once

#include <string>
#include <string_view>

namespace shale {

[[nodiscard]] bool is_ascii(std::string_view text);

/// A name with each letter and the mark behind it as one character where Unicode has it: what
/// a Mac writes as "e" and an accent (Unicode's form NFD) is then what others write as "é" (NFC).
/// Text that is not UTF-8 stays as it is.
[[nodiscard]] std::string composed_text(std::string_view text);

}  // namespace shale
