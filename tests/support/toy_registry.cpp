#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"

// The registry of these tests: the toys alone. Nothing here depends on a real format.

namespace shale {
namespace {

const Format* const kFormats[] = {&test::toy_format, &test::toy_rows_format};

}  // namespace

std::span<const Format* const> all_formats() { return kFormats; }

}  // namespace shale
