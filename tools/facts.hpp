#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/rebuild_index.hpp"
#include "shale/ops/check_input.hpp"
#include "shale/ops/convert.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/merge.hpp"
#include "shale/ops/parts.hpp"
#include "shale/ops/repair.hpp"
#include "shale/ops/resample.hpp"
#include "shale/verify/verify.hpp"

#include "tools/console.hpp"

// What commands report under --json, and the functions of the Python package return. Keys, paths
// and names are escaped as in the text output (\n, \t, \\, \xNN), so that any bytes make valid
// JSON.

namespace shale::tools {

/// docs/json.md: what may change without another version.
inline constexpr std::uint64_t kInfoVersion = 1;
inline constexpr std::string_view kGenerator = "shale " SHALE_VERSION;

[[nodiscard]] Json error_facts(const Error& error);
[[nodiscard]] Json finding_facts(const Finding& finding);
[[nodiscard]] Json manifest_facts(const Manifest& manifest);
[[nodiscard]] Json convert_facts(const ConvertReport& report, std::string_view output);
[[nodiscard]] Json convert_facts(const ConvertPlan& plan, std::string_view output);
inline constexpr std::string_view kAfterPlan = "the same command without --dry-run";
/// The line for an output that was finished before.
[[nodiscard]] std::string complete_text(const ConvertReport& report, std::string_view output);
[[nodiscard]] Json verify_facts(const VerifyReport& report);
[[nodiscard]] Json info_facts(const DatasetInfo& info);
[[nodiscard]] Json input_facts(const InputCheck& check);
/// The formats, and what each can hold.
[[nodiscard]] Json formats_facts();
[[nodiscard]] Json sample_facts(const FoundSample& found);
/// What `shale index` says of a file of another tool.
[[nodiscard]] Json indexed_file_facts(const IndexedFile& indexed, const DatasetPaths& paths,
                                      bool is_plan);
[[nodiscard]] Json parts_facts(const PartsReport& report);
[[nodiscard]] Json merge_facts(const MergeReport& report, const MergeRequest& request,
                               bool is_plan);
[[nodiscard]] Json rebuild_facts(const RebuildReport& report, bool is_plan);
[[nodiscard]] Json repair_facts(const RepairReport& report);
[[nodiscard]] Json repair_facts(const RepairPlan& plan);
[[nodiscard]] Json resample_facts(const ResampleReport& report, const ResampleRequest& request);
[[nodiscard]] Json resample_facts(const ResamplePlan& plan, const ResampleRequest& request);

/// "skipped.csv", where the set has that list; "skipped*.csv" where runs that were appended have
/// lists of their own; else nothing.
[[nodiscard]] std::string lists_text(const Manifest& manifest, std::string_view name);
/// " (listed in skipped.csv)"; nothing where there is none.
[[nodiscard]] std::string listed_in(const Manifest& manifest, std::string_view name);
/// "1,200 jpeg, 3 png".
[[nodiscard]] std::string counts_text(const NamedCounts& counts);
/// "shorter side 192 to 767 pixels, longer side 256 to 1023": by the bounds of the histogram.
[[nodiscard]] std::string sizes_text(const ImageSizes& sizes);
/// "700 of 4:3, 200 of 1:1": the most frequent first.
[[nodiscard]] std::string shapes_text(const ImageSizes& sizes);
/// "3 images that earlier samples have, 1 with another label".
[[nodiscard]] std::string duplicates_text(const DuplicateCounts& counts);
/// "21 MiB of payload"; of samples that are all numbers, "numbers only".
[[nodiscard]] std::string payload_text(const Manifest& manifest);
/// "image: resize shorter=256, quality 90; mask: ...", of a dataset whose images were worked on;
/// else nothing.
[[nodiscard]] std::string image_work_text(const Manifest& manifest);
/// "float32 (10, 3)", of an array whose rows are values of a field.
[[nodiscard]] std::string array_text(const Field& field, std::uint64_t rows);
/// A command that looks at a finished file of this format, whose name is as it is printed.
[[nodiscard]] std::string look_command(const Format& format, const std::string& file);
/// What to do next with the result of a conversion; `output` as it is printed.
[[nodiscard]] std::string next_command(const ConvertReport& report, const std::string& output);

}  // namespace shale::tools
