#include "tests/support/grid_format.hpp"

// The registry of these tests: files of fixed rows alone. Nothing here depends on a real format.

namespace shale {
namespace {

const Format* const kFormats[] = {&test::grid_format};

}  // namespace

std::span<const Format* const> all_formats() { return kFormats; }

}  // namespace shale
