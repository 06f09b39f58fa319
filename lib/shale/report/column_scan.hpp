#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "shale/loading/load_request.hpp"
#include "shale/numbers/number_facts.hpp"
#include "shale/report/report_json.hpp"
#include "shale/report/reported_set.hpp"
#include "shale/sampling/sample_rows.hpp"

namespace shale {

/// What the index says of some rows; where rows are fixed, their numbers.
struct ScannedRows {
  std::vector<std::uint64_t> rows;              ///< ascending; adjacent ones if all are scanned
  std::vector<std::vector<std::byte>> numbers;  ///< by field: of integers and reals, else empty
  std::vector<NumberKind> kinds;                ///< what `numbers` are
  /// By field, of what lies in the container: bytes; kMissing for a value that is not there.
  std::vector<std::vector<std::uint64_t>> lengths;
};

/// Walks the index of a dataset without touching its payload, but for numbers that lie there. All
/// rows are looked at up to kMostScanned, else a sample. Damage is met, and the rest of that shard
/// passed over.
class ColumnScan {
 public:
  static constexpr std::uint64_t kMostScanned = 100'000'000;

  ColumnScan(ReportedSet& set, const SampleRows& sample);

  [[nodiscard]] bool is_all() const { return is_all_; }
  /// Those that the last walk handed out.
  [[nodiscard]] SampledFrom from() const { return {looked_at_, set_.samples()}; }
  /// `wanted`: the fields that are of interest. Errors: same as finding_of_damage.
  void walk(const std::vector<bool>& wanted, const std::function<void(const ScannedRows&)>& use);

 private:
  void walk_shard(const ShardLine& line, const std::vector<bool>& wanted,
                  const std::function<void(const ScannedRows&)>& use);
  void walk_sample(const std::vector<bool>& wanted,
                   const std::function<void(const ScannedRows&)>& use);
  [[nodiscard]] ScannedRows read_index(std::uint64_t begin, std::uint64_t count,
                                       const std::vector<bool>& wanted) const;
  [[nodiscard]] ScannedRows read_fixed(std::uint64_t begin, std::uint64_t count,
                                       const std::vector<bool>& wanted) const;
  [[nodiscard]] ScannedRows blank(std::uint64_t begin, std::uint64_t count) const;

  ReportedSet& set_;
  const SampleRows& sample_;
  bool is_all_;
  std::vector<ColumnPlace> columns_;  // by field, where rows are fixed
  std::uint64_t looked_at_ = 0;
};

}  // namespace shale
