#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// ManifestSource::kind of inputs with names, that are joined.
inline constexpr std::string_view kJoined = "joined inputs";

/// One of the inputs of a join.
struct JoinedPart {
  std::string name;  ///< the word before "="
  std::string path;  ///< for messages
  std::unique_ptr<Source> source;
  OrderableSource* orderable = nullptr;  ///< the same, if it can be read again
  /// Fields that have names of their own already: those of arrays, or of folders that are joined.
  std::vector<std::string> named = {};
  bool is_of_files = false;  ///< of a folder: read in its own order only
};

/// How they are joined.
struct JoinRules {
  JoinRequest join;
  FieldChoice fields;
  std::string scratch_folder;
  std::uint64_t memory_bytes = 0;
};

/// The samples of several sources as one sample each, by row or by key, in the order of the first.
/// The key is that of the first that has keys. A field is called by the name of its input if that
/// has only one, or is a folder and the field its images; others keep their names, with that of
/// the input and '_' in front where another input has a field of that name; `label` is that of the
/// first that has one. Reads the keys where
/// they decide, or have to agree. `events` must outlive the source.
/// Errors: Code::mismatch for inputs of different lengths, by row, and for keys that do not agree;
/// Code::usage for inputs without keys, by key, for a folder that is not the first then, and for
/// fields that are not there; Code::schema for two samples of one input with one key, and for
/// names that no field can have; Code::unsupported for lists of two containers.
[[nodiscard]] std::unique_ptr<OrderableSource> make_joined_source(std::vector<JoinedPart> parts,
                                                                  const JoinRules& rules,
                                                                  const Events& events);

}  // namespace shale
