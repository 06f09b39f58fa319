#pragma once

namespace shale::test {

/// libFuzzer reports a finding unless it is so.
inline void need(bool is_so) {
  if (!is_so) __builtin_trap();
}

}  // namespace shale::test
