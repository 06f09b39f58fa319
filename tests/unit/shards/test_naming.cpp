#include <doctest/doctest.h>
namespace shale {}
