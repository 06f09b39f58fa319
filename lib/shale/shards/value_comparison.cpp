#include "shale/shards/value_comparison.hpp"

#include <algorithm>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kValueWindowBytes = 64 * 1024;

}  // namespace

ValueComparison::ValueComparison(const ShardReader& shard) {
  if (shard.shard().values.name.empty()) return;
  file_ = &shard.files().back();
  window_.emplace(*file_, kValueWindowBytes);
}

std::uint64_t ValueComparison::put(Bytes value) {
  const std::uint64_t offset = std::exchange(end_, end_ + value.size());
  if (!wrong_ && !is_there(offset, value)) wrong_ = {.offset = offset, .length = value.size()};
  return offset;
}

std::optional<FieldPlace> ValueComparison::first_wrong(bool is_all) const {
  const bool has_more = is_all && file_ != nullptr && file_->size() > end_;
  if (wrong_ || !has_more) return wrong_;
  return FieldPlace{.offset = end_, .length = file_->size() - end_};
}

bool ValueComparison::is_there(std::uint64_t offset, Bytes value) {
  if (file_ == nullptr || offset > file_->size() || value.size() > file_->size() - offset)
    return false;
  for (std::uint64_t done = 0; done < value.size();) {
    const std::uint64_t count = std::min<std::uint64_t>(kValueWindowBytes, value.size() - done);
    if (!std::ranges::equal(window_->view(offset + done, count), value.subspan(done, count)))
      return false;
    done += count;
  }
  return true;
}

}  // namespace shale
