#pragma once

#include "shale/ops/convert.hpp"

#include "tools/command.hpp"

// The words and options of commands that write a dataset or an array: INPUT... OUTPUT, --to,
// --shard-size, --shard-samples, --fields, --io, --overwrite, --dry-run, --jobs, --memory.

namespace shale::tools {

void add_output_options(CommandLine& line);

/// Errors: Code::usage, also for options of shards where the output is one array.
[[nodiscard]] ConvertRequest read_output_options(const CommandLine& line,
                                                 const CommonOptions& common);

/// Refuses options that would do nothing for an output that is one array. Errors: Code::usage.
void refuse_for_array(const CommandLine& line, std::span<const char* const> options,
                      const std::string& output);

}  // namespace shale::tools
