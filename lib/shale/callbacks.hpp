#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "shale/error.hpp"

namespace shale {

/// What whoever starts a job hears of it, and how they stop it. Any may be null. Called in the
/// thread that started the job.
struct Callbacks {
  std::function<void(std::string_view)> note = {};  ///< a sentence to show before the work starts
  std::function<void(std::uint64_t done, std::uint64_t all, std::uint64_t bytes)> progress = {};
  std::function<bool()> should_stop = {};  ///< true: stop with Code::interrupted
};

/// Takes findings as they are made. Called from one thread at a time.
using FindingSink = std::function<void(Finding)>;

}  // namespace shale
