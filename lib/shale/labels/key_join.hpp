#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

/// The samples of several sources that have the same keys.
struct KeyJoin {
  /// Of each source, the rows that are taken; ascending in the first. Where only the first must
  /// have a sample, the others' are those of its samples that they have.
  std::vector<std::shared_ptr<ChosenRows>> rows;
  std::vector<std::uint64_t> alone;  ///< of each source, samples that are not taken
  /// Of each source, where they are wanted: the rows of `alone`, ascending.
  std::vector<std::shared_ptr<ChosenRows>> alone_rows;
};

struct KeyedSource {
  Source* source;
  std::string path;  ///< for messages
};

struct KeyRules {
  bool takes_any = false;    ///< samples of the first source are taken whatever the others have
  bool names_alone = false;  ///< KeyJoin::alone_rows is wanted
};

/// Reads the keys of all, once. Two keys are the same if their xxh3-128 are. Memory:
/// `memory_bytes`. Errors: Code::schema, with the key, for two samples of one source; those of the
/// sources; Code::io.
[[nodiscard]] KeyJoin join_by_key(const std::vector<KeyedSource>& sources, const KeyRules& rules,
                                  const std::string& scratch_folder, std::uint64_t memory_bytes,
                                  const Events& events);

}  // namespace shale
