#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

// Whether a file of another tool is still the one that was indexed (foreign_file.hpp).

namespace shale {

/// How the file differs from the one that was indexed, in words that follow "has changed since it
/// was indexed"; nullopt: it does not. Judged by its size and fingerprint, wherever it lies and
/// whatever its times are (docs/foreign.md has what that finds); of an index without fingerprint by
/// size and time of modification.
[[nodiscard]] std::optional<std::string> change_since_index(
    const InputFile& file, const Manifest& manifest, const std::optional<ManifestShard>& only_shard,
    const std::function<void()>& stop_if_asked = {});
/// The same of a file beside an index that was found by its name. Errors: Code::mismatch for one
/// that was copied or renamed with the file: it leads to the file with the name that was indexed.
[[nodiscard]] std::optional<std::string> change_of_indexed(
    const InputFile& file, const Manifest& manifest, const std::optional<ManifestShard>& only_shard,
    const std::function<void()>& stop_if_asked = {});
/// The error for a file that is not the one that was indexed. The hint is the caller's.
[[nodiscard]] Error changed_file(const std::string& file, std::string_view change);
/// The error for such an index, which would point to the wrong bytes.
[[nodiscard]] Error stale_index(const std::string& file, const std::string& index_folder,
                                const Manifest& manifest, std::string_view change);

/// What to do about it if it is as it should be.
[[nodiscard]] std::string note_on_change(const std::string& file, const std::string& index_folder,
                                         const Manifest& manifest, std::string_view change);

/// The command that rebuilds this index, with all options that shape it, for hints.
[[nodiscard]] std::string index_command(const std::string& file, const std::string& index_folder,
                                        const Parsing& parsing, bool with_checksums);
/// What to do instead with a file that was read, but has no index.
[[nodiscard]] std::string note_on_unpacked(const std::string& file, const Parsing& parsing = {});
/// The same where media do not lie in the file as they are read, by a survey that takes
/// them nevertheless (SurveyUse); empty: none are such.
[[nodiscard]] std::string note_on_packed(const std::string& file, const Schema& schema,
                                         const ShardLayout& layout);

}  // namespace shale
