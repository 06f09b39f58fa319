#pragma once

#include <string_view>

// The style sheet and the script of the page, and the hashes by which its Content-Security-Policy
// knows them: nothing else on the page may style or run. Neither has `<` or `&`, so the page is
// HTML and XML at once.

namespace shale {

[[nodiscard]] std::string_view page_style();
/// It makes the page pleasant and is not needed to read it: Escape and the arrow keys where a
/// figure is enlarged, the filter by class, and tables that sort.
[[nodiscard]] std::string_view page_script();

/// "sha256-..." in base64, of exactly those bytes; tests/interop/test_report_page.py says what they
/// must be after a change.
[[nodiscard]] std::string_view page_style_hash();
[[nodiscard]] std::string_view page_script_hash();

}  // namespace shale
