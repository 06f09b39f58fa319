#include "python/bindings/arguments.hpp"

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/machine_limits.hpp"

namespace nb = nanobind;

namespace shale::python {

std::optional<std::string> Arguments::path(const char* name) const {
  const std::optional<nb::bytes> path = maybe<nb::bytes>(name);
  return path ? std::optional(raw(*path)) : std::nullopt;
}

std::vector<std::string> Arguments::paths(const char* name) const {
  std::vector<std::string> paths;
  for (const nb::handle word : get<nb::list>(name)) paths.push_back(raw(nb::cast<nb::bytes>(word)));
  return paths;
}

unsigned Arguments::jobs() const {
  return static_cast<unsigned>(granted_jobs(maybe<std::uint64_t>("jobs")).value);
}

std::uint64_t Arguments::memory_bytes() const {
  return granted_memory(maybe<std::string>("memory")).value;
}

IoMode Arguments::io() const {
  const auto name = get<std::string>("io");
  if (name == "auto") return IoMode::automatic;
  if (name == "direct") return IoMode::direct;
  if (name == "buffered") return IoMode::buffered;
  throw Error(Code::usage, "io is '{}', expected 'auto', 'direct' or 'buffered'", printable(name));
}

OutputOptions Arguments::output_options() const {
  OutputOptions options;
  options.format = maybe<std::string>("to");
  if (const auto size = maybe<std::string>("shard_size")) options.shard_bytes = parse_size(*size);
  options.shard_samples = maybe<std::uint64_t>("shard_samples");
  return options;
}

void Arguments::choose_part(ConvertRequest& request) const {
  const auto part = maybe<std::string>("parts");
  const auto offset = maybe<std::uint64_t>("part_offset");
  if (part) return shale::choose_part(request, parse_part(*part, offset));
  if (offset) throw Error(Code::usage, "--part-offset has no effect without --part");
}

}  // namespace shale::python
