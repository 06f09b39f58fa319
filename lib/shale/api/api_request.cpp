#include "shale/api/api_request.hpp"

#include <optional>
#include <string>

#include "shale/io/machine_limits.hpp"
#include "shale/requests/choose_output.hpp"

namespace shale {

Resources granted(const Resources& resources) {
  std::optional<std::uint64_t> jobs;
  if (resources.jobs > 0) jobs = resources.jobs;
  std::optional<std::string> memory;
  if (resources.memory_bytes > 0) memory = std::to_string(resources.memory_bytes);
  return {.jobs = static_cast<unsigned>(granted_jobs(jobs).value),
          .memory_bytes = granted_memory(memory).value};
}

ConvertRequest request_to_write(const Destination& to, bool is_append, const Resources& resources) {
  ConvertRequest request;
  request.output = to.path;
  request.verify = to.verify;
  OutputOptions options{
      .shard_bytes = to.shard_bytes, .shard_samples = to.shard_samples, .is_append = is_append};
  if (!to.format.empty()) options.format = to.format;
  choose_output(request, options);
  request.overwrite = to.overwrite;
  request.generator = kLibraryGenerator;
  const Resources given = granted(resources);
  request.jobs = given.jobs;
  request.memory_bytes = given.memory_bytes;
  return request;
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
