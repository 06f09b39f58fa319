#include "shale/format/appended_shard.hpp"

#include "shale/base/error.hpp"

namespace shale {
namespace {

class AppendedShard final : public ShardWriter {
 public:
  AppendedShard(OutputFile& file, std::uint64_t (*whole_bytes)(std::uint64_t))
      : file_(file), whole_bytes_(whole_bytes) {}

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_) throw Error(Code::bug, "bytes for a file that has its end").at(file_.path());
    offset_ = file_.size();
    record.parts.front().for_each_piece([&](Bytes piece) { file_.append(piece); });
    return {&offset_, 1};
  }

  ClosedShard close() override {
    if (whole_bytes_ != nullptr) file_.append_zeros(whole_bytes_(file_.size()) - file_.size());
    is_closed_ = true;
    return {};
  }

 private:
  OutputFile& file_;
  std::uint64_t (*whole_bytes_)(std::uint64_t);
  std::uint64_t offset_ = 0;
  bool is_closed_ = false;
};

}  // namespace

std::unique_ptr<ShardWriter> create_appended_shard(
    OutputFile& file, std::uint64_t (*whole_bytes)(std::uint64_t record_bytes)) {
  return std::make_unique<AppendedShard>(file, whole_bytes);
}

}  // namespace shale
