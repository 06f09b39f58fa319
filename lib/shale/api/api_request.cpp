#include "shale/api/api_request.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "shale/base/nearest_word.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/requests/combinations.hpp"

namespace shale {

Resources granted(const Resources& resources) {
  std::optional<std::uint64_t> jobs;
  if (resources.jobs > 0) jobs = resources.jobs;
  std::optional<std::string> memory;
  if (resources.memory_bytes > 0) memory = std::to_string(resources.memory_bytes);
  return {.jobs = static_cast<unsigned>(granted_jobs(jobs).value),
          .memory_bytes = granted_memory(memory).value};
}

ConvertRequest request_to_write(const Destination& to, OutputOptions asked,
                                const Resources& resources) {
  ConvertRequest request;
  request.output = to.path;
  request.verify = to.verify;
  asked.shard_bytes = to.shard_bytes;
  asked.shard_samples = to.shard_samples;
  asked.row_group_bytes = to.row_group_bytes;
  asked.with_index = to.with_index;
  if (!to.format.empty()) asked.format = to.format;
  choose_output(request, asked);
  if (!to.io.empty()) {
    const std::array<std::string, 3> modes{"auto", "direct", "buffered"};  // as IoMode has them
    const auto found = std::ranges::find(modes, checked_word(to.io, modes, "--io"));
    request.io = static_cast<IoMode>(found - modes.begin());
  }
  request.overwrite = to.overwrite;
  request.generator = kLibraryGenerator;
  const Resources given = granted(resources);
  request.jobs = given.jobs;
  request.memory_bytes = given.memory_bytes;
  return request;
}

JoinRequest join_of(const std::string& on, const std::string& partners) {
  JoinRequest join;
  if (!on.empty()) {
    const std::string word = checked_word(on, std::vector<std::string>{"row", "key"}, "--on");
    join.on = word == "key" ? JoinOn::key : JoinOn::row;
  }
  if (!partners.empty()) {
    const std::string word =
        checked_word(partners, std::vector<std::string>{"all", "any"}, "--partners");
    join.partners = word == "any" ? Partners::any : Partners::all;
  }
  return join;
}

RawNumbers raw_of(const std::string& word, std::uint64_t offset) {
  refuse_idle_offset(!word.empty(), offset > 0);
  return word.empty() ? RawNumbers() : parse_raw(word, offset);
}

WrittenSet written_set(const ConvertReport& report) {
  const Manifest& manifest = report.manifest;
  return {.format = manifest.format,
          .samples = manifest.digest.samples,
          .shards = manifest.shard_count,
          .payload_bytes = manifest.payload_bytes,
          .file_bytes = report.file_bytes,
          .content_digest = manifest.digest.content.hex(),
          .ordered_digest = manifest.digest.ordered.hex()};
}

}  // namespace shale
