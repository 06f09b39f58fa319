#pragma once

#include <cstdint>
#include <string>

#include "shale/base/finding.hpp"
#include "shale/io/output_file.hpp"

namespace shale::tools {

/// A file with a line for each finding, written as they come: of a verification that is stopped it
/// has those that were found until then. Its suffix says how a line looks: `.tsv` and `.txt` have
/// columns and their names on the first line, `.jsonl`, `.ndjson` and `.json` an object each.
class FindingList {
 public:
  /// Errors: Code::usage for another suffix; Code::exists if anything has that name; Code::io.
  explicit FindingList(const std::string& path);
  /// Errors: Code::io.
  void add(const Finding& finding);
  /// Makes it durable. Errors: Code::io.
  void finish();
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  bool is_json_;
  std::uint64_t lines_ = 0;
  OutputFile file_;
};

}  // namespace shale::tools
