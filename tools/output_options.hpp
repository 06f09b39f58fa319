#pragma once

#include "shale/ops/convert.hpp"

#include "tools/command.hpp"

// The words and options of commands that write a dataset or a file: INPUT... OUTPUT, --to,
// --shard-size, --shard-samples, --fields, --io, --overwrite, --dry-run, --jobs, --memory.

namespace shale::tools {

/// What only an output that is one file has.
struct FileOptions {
  bool with_index = false;
  std::optional<std::string> compression = {};
  bool is_append = false;  ///< only of convert
  bool verifies = false;
  std::optional<std::string> layout = {};
};

void add_output_options(CommandLine& line);

/// Errors: Code::usage, also for options of shards where the output is one file.
[[nodiscard]] ConvertRequest read_output_options(const CommandLine& line,
                                                 const CommonOptions& common,
                                                 const FileOptions& file = {});

/// Refuses options that would do nothing for an output that is one file. Errors: Code::usage.
void refuse_for_file(const CommandLine& line, std::span<const char* const> options,
                     const std::string& output);

}  // namespace shale::tools
