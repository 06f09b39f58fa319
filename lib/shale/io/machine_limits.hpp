#pragma once

#include <cstdint>
#include <string>

namespace shale {

/// A number and who said so: "2 (cgroup cpu.max)".
struct Limit {
  std::uint64_t value;
  std::string source;
};

/// Threads this process may use: the smallest of SLURM_CPUS_PER_TASK, the affinity mask and the cgroup's cpu.max
/// (v2, or v1 cpu.cfs_quota_us; of all ancestors). At least 1.
[[nodiscard]] Limit usable_cpus();

/// Bytes of memory this process may use: the smallest of the cgroup's limit (v1 or v2, of all ancestors),
/// SLURM_MEM_PER_NODE / SLURM_MEM_PER_CPU and the machine's RAM.
[[nodiscard]] Limit usable_memory();

/// The default of --memory: 256 MiB, or a quarter of usable_memory() if that is less; never under 16 MiB.
[[nodiscard]] Limit default_memory_budget();

}  // namespace shale
