#include "tests/support/cut_format.hpp"
#include "tests/support/grid_format.hpp"

// The registry of these tests: files of fixed rows, and those that cut their keys. Nothing here
// depends on a real format.

namespace shale {
namespace {

const Format* const kFormats[] = {&test::grid_format, &test::cut_format};

}  // namespace

std::span<const Format* const> all_formats() { return kFormats; }

}  // namespace shale
