#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shale/data/shard_index.hpp"

namespace shale {

/// What a report is to be made of: plain data, nothing opened.
struct ReportRequest {
  std::string dataset;                  ///< a dataset of shale, or a file of another tool
  std::string index_folder = {};        ///< of a file of another tool
  std::optional<Dialect> dialect = {};  ///< of a file of another tool
  /// Samples that are read for what neither index nor manifest says; 0: all of them.
  std::uint64_t sample = kUsualSample;
  bool verifies = false;  ///< as `shale verify` does, before anything else
  std::string generator = {};
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;

  static constexpr std::uint64_t kUsualSample = 10'000;
};

}  // namespace shale
