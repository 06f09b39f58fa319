#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/report/reported_set.hpp"

namespace shale {

/// The lists beside the shards (skipped.csv, ignored.csv, images.csv, duplicates.csv), of which
/// only those are read that are what the manifest says. The others are damage that is met, and
/// known by name.
class ProvedLists {
 public:
  /// Reads all of them, for their hashes. Errors: same as finding_of_damage.
  explicit ProvedLists(ReportedSet& set);

  /// Rows of the whole lists of this name, one list after the other, without their headers.
  /// Errors: same as finding_of_damage.
  using UseRow = std::function<void(const std::vector<std::string>& fields)>;
  void read(std::string_view list, const UseRow& use) const;
  /// The first whole list of this name; empty: there is none.
  [[nodiscard]] std::string first_of(std::string_view list) const;
  /// Lists that are not what the manifest says.
  [[nodiscard]] const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  ReportedSet& set_;
  std::vector<std::string> whole_, damaged_;
};

}  // namespace shale
