#include "shale/io/machine_limits.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
constexpr std::uint64_t kLeastBudget = 16 * kMebibyte;
constexpr std::uint64_t kUsualBudget = 256 * kMebibyte;
constexpr std::uint64_t kMostJobs = 1024;

/// A whole number without sign and nothing behind it; "max", "-1" (both mean: no limit) and garbage
/// are none.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> words_of_file(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<std::uint64_t> first_number(const std::string& path) {
  const std::vector<std::string> words = words_of_file(path);
  return words.empty() ? std::nullopt : number_in(words[0]);
}

std::optional<std::uint64_t> environment_number(const MachineView& machine, const char* name) {
  const std::optional<std::string> text = machine.environment(name);
  return text ? number_in(*text) : std::nullopt;
}

bool lists(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

/// The folders of our cgroup and all its ancestors below one mount, ours first. In a container
/// without a cgroup namespace our path does not exist below the mount, which then is our group
/// itself: the list ends with it.
void add_with_ancestors(const std::string& mount, std::string group,
                        std::vector<std::string>& folders) {
  while (!group.empty() && group != "/") {
    folders.push_back(mount + group);
    group.resize(group.rfind('/'));
  }
  folders.push_back(mount);
}

/// Where the limits of one controller ("memory", "cpu") may stand, in version 1 and 2 mounts.
std::vector<std::string> cgroup_folders(const MachineView& machine, std::string_view controller) {
  const std::string mounts = machine.root + "/sys/fs/cgroup";
  std::vector<std::string> folders;
  std::ifstream in(machine.root + "/proc/self/cgroup");
  for (std::string line;
       std::getline(in, line);) {  // "4:memory:/job/step", version 2: "0::/job/step"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/')
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      add_with_ancestors(mounts, group, folders);
      add_with_ancestors(mounts + "/unified", group, folders);
    } else if (lists(controllers, controller)) {
      add_with_ancestors(fmt::format("{}/{}", mounts, controller), group, folders);
      if (controllers != controller)
        add_with_ancestors(fmt::format("{}/{}", mounts, controllers), group, folders);
    }
  }
  return folders;
}

void lower(Limit& limit, std::optional<std::uint64_t> value, std::string_view source) {
  if (value && *value < limit.value) limit = {*value, std::string(source)};
}

/// Quota over period, rounded up: half a CPU still is a thread.
std::optional<std::uint64_t> cpus_of_quota(std::optional<std::uint64_t> quota,
                                           std::optional<std::uint64_t> period) {
  if (!quota || !period || *period == 0) return std::nullopt;
  return std::max<std::uint64_t>(1, *quota / *period + (*quota % *period != 0 ? 1 : 0));
}

std::optional<std::uint64_t> times(std::optional<std::uint64_t> left, std::uint64_t right) {
  if (!left ||
      *left > std::numeric_limits<std::uint64_t>::max() / std::max<std::uint64_t>(right, 1))
    return std::nullopt;
  return *left * right;
}

/// SLURM says 0 for "all of the node's memory".
std::optional<std::uint64_t> unless_zero(std::optional<std::uint64_t> value) {
  return value && *value > 0 ? value : std::nullopt;
}

std::uint64_t cpus_in_affinity_mask() {
  // Machines with more CPUs than a mask holds make the call fail with EINVAL: then a larger one is
  // tried.
  for (std::size_t cpus = CPU_SETSIZE; cpus <= 64 * CPU_SETSIZE; cpus *= 2) {
    std::vector<cpu_set_t> masks(cpus / CPU_SETSIZE);
    const std::size_t bytes = masks.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, masks.data()) == 0) {
      return static_cast<std::uint64_t>(CPU_COUNT_S(bytes, masks.data()));
    }
  }
  return std::thread::hardware_concurrency();
}

std::uint64_t ram_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// An empty variable is one that is not set.
std::optional<std::string> variable_set(const char* name) {
  const std::optional<std::string> value = environment(name);
  return value && !value->empty() ? value : std::nullopt;
}

MachineView this_machine() {
  return {.root = "",
          .environment = environment,
          .all_cpus = static_cast<std::uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)),
          .cpus = cpus_in_affinity_mask(),
          .ram_bytes = ram_bytes()};
}

}  // namespace

Limit usable_cpus_of(const MachineView& machine) {
  Limit limit{std::max<std::uint64_t>(machine.cpus, 1), "CPU affinity"};
  lower(limit, unless_zero(environment_number(machine, "SLURM_CPUS_PER_TASK")),
        "SLURM_CPUS_PER_TASK");
  for (const std::string& folder : cgroup_folders(machine, "cpu")) {
    const std::vector<std::string> quota =
        words_of_file(folder + "/cpu.max");  // "200000 100000" or "max 100000"
    if (quota.size() == 2)
      lower(limit, cpus_of_quota(number_in(quota[0]), number_in(quota[1])), "cgroup cpu.max");
    lower(limit,
          cpus_of_quota(first_number(folder + "/cpu.cfs_quota_us"),
                        first_number(folder + "/cpu.cfs_period_us")),
          "cgroup cpu.cfs_quota_us");
  }
  limit.bites = limit.value < machine.all_cpus;
  return limit;
}

Limit usable_memory_of(const MachineView& machine) {
  Limit limit{machine.ram_bytes, "RAM"};
  const auto per_node = unless_zero(environment_number(machine, "SLURM_MEM_PER_NODE"));
  lower(limit, times(per_node, kMebibyte), "SLURM_MEM_PER_NODE");
  const auto per_cpu = unless_zero(environment_number(machine, "SLURM_MEM_PER_CPU"));
  const auto of_task = unless_zero(environment_number(machine, "SLURM_CPUS_PER_TASK"));
  const auto on_node = unless_zero(environment_number(machine, "SLURM_CPUS_ON_NODE"));
  lower(limit, times(times(per_cpu, kMebibyte), of_task.value_or(on_node.value_or(1))),
        "SLURM_MEM_PER_CPU");
  for (const std::string& folder : cgroup_folders(machine, "memory")) {
    lower(limit, first_number(folder + "/memory.max"), "cgroup memory.max");
    lower(limit, first_number(folder + "/memory.limit_in_bytes"), "cgroup memory.limit_in_bytes");
  }
  return limit;
}

Limit default_memory_budget_of(const Limit& usable_memory) {
  if (usable_memory.value / 4 >= kUsualBudget) return {kUsualBudget, "default"};
  return {std::max(usable_memory.value / 4, kLeastBudget), "a quarter of " + usable_memory.source,
          true};
}

Limit usable_cpus() { return usable_cpus_of(this_machine()); }
Limit usable_memory() { return usable_memory_of(this_machine()); }
Limit default_memory_budget() { return default_memory_budget_of(usable_memory()); }

Limit granted_jobs(std::optional<std::uint64_t> asked) {
  const std::optional<std::string> set = variable_set("SHALE_JOBS");
  Limit jobs = asked ? Limit{*asked, "--jobs"}
               : set ? Limit{parse_count(*set, "SHALE_JOBS"), "SHALE_JOBS"}
                     : usable_cpus();
  if (jobs.value == 0 || jobs.value > kMostJobs)
    throw Error(Code::usage, "{} {} is not between 1 and {}", jobs.source, jobs.value, kMostJobs);
  return jobs;
}

Limit granted_memory(std::optional<std::string_view> asked) {
  const std::optional<std::string> set = variable_set("SHALE_MEMORY");
  if (!asked && !set) return default_memory_budget();
  const std::string text(asked ? *asked : *set);
  const std::string source = asked ? "--memory" : "SHALE_MEMORY";
  Limit memory{parse_size(text, source), source};
  if (memory.value < kLeastBudget) {
    throw Error(Code::usage, "{} {} is less than the minimum, {}", source, printable(text),
                format_size(kLeastBudget));
  }
  return memory;
}

bool allow_open_files(std::uint64_t count) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return true;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == count;
}

std::string enough_memory_hint(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = 1 << 20;
  return fmt::format("pass a larger --memory: {}MiB is enough", bytes / kUnit + 1);
}

}  // namespace shale
