#pragma once

#include "shale/ops/convert.hpp"
#include "shale/ops/resample.hpp"
#include "shale/report/gather_report.hpp"
#include "shale/report/write_report.hpp"

#include "tools/command.hpp"

// What the words of a command line ask for. Errors: Code::usage for words that contradict each
// other.

namespace shale::tools {

[[nodiscard]] SampleChoice choice_of(const CommandLine& line);
/// --split and --split-group. Errors: Code::usage.
[[nodiscard]] SplitRequest split_of(const CommandLine& line);
[[nodiscard]] ConvertRequest convert_request_of(const CommandLine& line);
[[nodiscard]] ResampleRequest resample_request_of(const CommandLine& line);

/// What says which files of a folder are samples, and what their labels are: the options of that
/// among those that the command has.
void take_file_options(const CommandLine& line, InputRequest& input);
/// Errors: Code::usage for one of these options, where `path` is another input.
void refuse_idle_file_options(const CommandLine& line, const std::string& path);

[[nodiscard]] ReportRequest report_request_of(const CommandLine& line);
[[nodiscard]] ReportPlace report_place_of(const CommandLine& line);

}  // namespace shale::tools
