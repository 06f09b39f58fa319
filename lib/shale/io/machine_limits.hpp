#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// A number and where it comes from: "2 (cgroup cpu.max)".
struct Limit {
  std::uint64_t value;
  std::string source;
  /// Nobody asked for it, and it is less than the machine, or the default, would give.
  bool bites = false;
};

/// Threads this process may use: the smallest of SLURM_CPUS_PER_TASK, the affinity mask and the
/// cgroup's cpu.max (v2, or v1 cpu.cfs_quota_us; of all ancestors; a part of a CPU counts as one).
/// At least 1.
[[nodiscard]] Limit usable_cpus();

/// Bytes of memory this process may use: the smallest of the cgroup's limit (v1 or v2, of all
/// ancestors), SLURM_MEM_PER_NODE / SLURM_MEM_PER_CPU (times the CPUs of the task, or else of the
/// node) and the machine's RAM.
[[nodiscard]] Limit usable_memory();

/// The default of --memory: 256 MiB, or a quarter of usable_memory() if that is less; never under
/// 16 MiB.
[[nodiscard]] Limit default_memory_budget();

/// The threads that were requested, else those that SHALE_JOBS says, else usable_cpus(). Errors:
/// Code::usage for 0 and for more than 1024, naming the variable if it is at fault.
[[nodiscard]] Limit granted_jobs(std::optional<std::uint64_t> asked);

/// The memory that was requested, as a size string, else what SHALE_MEMORY says, else
/// default_memory_budget(). Errors: Code::usage for less than 16 MiB, naming the variable if it is
/// at fault; same as parse_size.
[[nodiscard]] Limit granted_memory(std::optional<std::string_view> asked);

/// Has the process open so many files, or as many as the system lets it: shells grant few of those.
/// True: so many.
bool allow_open_files(std::uint64_t count);

/// A hint that names a --memory with which it goes, in whole MiB: for what is known to be enough,
/// not for the least that would do.
[[nodiscard]] std::string enough_memory_hint(std::uint64_t bytes);

/// What the functions above look at. A test names another one.
struct MachineView {
  std::string root;  ///< before /proc/self/cgroup and /sys/fs/cgroup; "" is the machine's own
  std::function<std::optional<std::string>(const char* name)> environment;
  std::uint64_t all_cpus;  ///< that are online
  std::uint64_t cpus;      ///< in the affinity mask
  std::uint64_t ram_bytes;
};
[[nodiscard]] Limit usable_cpus_of(const MachineView& machine);
[[nodiscard]] Limit usable_memory_of(const MachineView& machine);
[[nodiscard]] Limit default_memory_budget_of(const Limit& usable_memory);

}  // namespace shale
