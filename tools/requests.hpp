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

[[nodiscard]] ReportRequest report_request_of(const CommandLine& line);
[[nodiscard]] ReportPlace report_place_of(const CommandLine& line);

}  // namespace shale::tools
