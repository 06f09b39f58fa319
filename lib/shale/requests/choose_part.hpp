#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shale/data/part_number.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// A variable of the environment; nullopt: it is not set.
using Environment = std::function<std::optional<std::string>(const char* variable)>;
[[nodiscard]] std::optional<std::string> process_environment(const char* variable);

/// Which part of a run is meant: "3/128", from 0 on; "slurm", the task of a job array, of as many
/// tasks as there are parts; "slurm/128", the part that SLURM_ARRAY_TASK_ID + `offset` names;
/// "mpi", the rank of Open MPI, PMI, MVAPICH or srun. Errors: Code::usage for anything else; for
/// variables that are missing, or contradict one another; for "slurm" in an array that is not a
/// range without gaps; for an `offset` without "slurm/N".
[[nodiscard]] PartNumber parse_part(std::string_view text, std::optional<std::uint64_t> offset,
                                    const Environment& environment = process_environment);

/// Makes the request one for this part, and its output the directory of the part in
/// `request.output`, which may hold others: OUTPUT/part-00003-of-00128. Errors: Code::usage for an
/// output that is one file; Code::exists for a directory that holds parts of another number.
void choose_part(ConvertRequest& request, const PartNumber& part);
/// The same by the words of parse_part; "": none. Errors: Code::usage for an `offset` of no part.
void choose_part(ConvertRequest& request, const std::string& part,
                 std::optional<std::uint64_t> offset);

}  // namespace shale
