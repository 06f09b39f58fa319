#pragma once

#include "shale/report/page_parts.hpp"

namespace shale {

/// Sizes, aspect ratios and types of images; what is odd about some.
[[nodiscard]] PageSection images_section(const ReportFacts& facts);
/// Bytes per sample, shards and how full they are.
[[nodiscard]] PageSection storage_section(const ReportFacts& facts);
/// How mixed the labels are from the first row to the last.
[[nodiscard]] PageSection order_section(const ReportFacts& facts);

}  // namespace shale
