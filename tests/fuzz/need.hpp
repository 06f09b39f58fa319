#pragma once

namespace shale::test {

/// A finding, for libFuzzer, if it is not so.
inline void need(bool is_so) {
  if (!is_so) __builtin_trap();
}

}  // namespace shale::test
