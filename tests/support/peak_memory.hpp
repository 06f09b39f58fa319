#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace shale::test {

/// The most memory this process has held, in KiB; 0 where sanitizers would be measured instead.
inline std::uint64_t peak_kib() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    std::uint64_t value = 0;
    if (word == "VmHWM:" && in >> value) return value;
  }
  return 0;
#endif
}

}  // namespace shale::test
