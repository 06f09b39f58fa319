#pragma once

#include <functional>
#include <string>

#include "shale/format/format.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {

/// Keeps the encoded records of one shard on disk until their number and sizes are known, for
/// formats that put a table in front of the samples. Memory: one record.
class RecordSpool {
 public:
  RecordSpool(const std::string& work_folder, IndexColumns columns);

  void add(const Record& record);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Hands the records back in order, then forgets them. A record is valid during its call.
  void drain(const std::function<void(const Record&)>& use);

 private:
  ScratchFile scratch_;
  IndexColumns columns_;
  std::uint64_t count_ = 0;
};

}  // namespace shale
