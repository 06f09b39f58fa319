#include "shale/verify/verify_log.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace shale {
namespace {

constexpr std::size_t kKeptFindings = 1000;

}  // namespace

void VerifyLog::add(Finding finding) {
  ++report_.findings;
  if (sink_) sink_(finding);
  if (report_.first_findings.size() < kKeptFindings)
    report_.first_findings.push_back(std::move(finding));
}

void VerifyLog::add_all(TaskFindings& findings) {
  count(findings.count() - findings.kept().size());
  for (Finding& finding : findings.kept()) add(std::move(finding));
}

void VerifyLog::add_damage(const Error& error, const std::string& shard) {
  if (error.code() != Code::damaged && error.code() != Code::not_found &&
      error.code() != Code::schema)
    throw error;
  Finding finding;
  finding.message = error.message() + (error.cause().empty() ? "" : ": " + error.cause());
  finding.file = std::filesystem::path(error.file()).filename().string();
  finding.offset = error.offset();
  finding.shard = shard;
  add(std::move(finding));
}

void VerifyLog::step(std::uint64_t under_way) const {
  events_.stop_if_asked();
  const std::uint64_t done = std::min(done_bytes_ + under_way + walked_bytes_, all_bytes_);
  events_.report(done, all_bytes_, done);
}

}  // namespace shale
