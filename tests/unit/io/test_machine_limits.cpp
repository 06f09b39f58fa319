#include <cstdlib>
#include <map>

#include <doctest/doctest.h>

#include "shale/io/machine_limits.hpp"

#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

constexpr std::uint64_t kGibibyte = 1 << 30;

/// A machine of files and variables: 8 CPUs and 64 GiB unless something says less.
struct FakeMachine {
  TempDir dir;
  std::map<std::string, std::string> environment;

  FakeMachine& cgroup(std::string_view lines) {
    write_file(dir / "proc/self/cgroup", lines);
    return *this;
  }
  FakeMachine& file(const std::string& path, std::string_view text) {
    write_file(dir / ("sys/fs/cgroup/" + path), std::string(text) + "\n");
    return *this;
  }
  [[nodiscard]] MachineView view() const {
    const auto look_up = [this](const char* name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found != environment.end() ? std::optional(found->second) : std::nullopt;
    };
    return {.root = dir.path(),
            .environment = look_up,
            .all_cpus = 8,
            .cpus = 8,
            .ram_bytes = 64 * kGibibyte};
  }
  [[nodiscard]] std::string cpus() const {
    const Limit limit = usable_cpus_of(view());
    return std::to_string(limit.value) + " " + limit.source;
  }
  [[nodiscard]] std::string mebibytes() const {
    const Limit limit = usable_memory_of(view());
    return std::to_string(limit.value >> 20) + " " + limit.source;
  }
};

/// A variable of the environment, until the end of the scope.
class SetVariable {
 public:
  SetVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  ~SetVariable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace

TEST_CASE("machine limits: without cgroup and SLURM the machine itself is the limit") {
  const FakeMachine machine;
  CHECK(machine.cpus() == "8 CPU affinity");
  CHECK(machine.mebibytes() == "65536 RAM");
}

TEST_CASE("machine limits: cgroup version 2, the least of all ancestors") {
  FakeMachine machine;
  machine.cgroup("0::/job/step\n")
      .file("job/cpu.max", "250000 100000")
      .file("job/step/cpu.max", "max 100000");
  machine.file("memory.max", "max")
      .file("job/memory.max", "1073741824")
      .file("job/step/memory.max", "2147483648");
  CHECK(machine.cpus() == "3 cgroup cpu.max");
  CHECK(machine.mebibytes() == "1024 cgroup memory.max");
}

TEST_CASE("machine limits: cgroup version 1, alone and mounted with others") {
  FakeMachine machine;
  machine.cgroup("4:memory:/job/step\n3:cpu,cpuacct:/job\n0::/\n");
  machine.file("cpu,cpuacct/job/cpu.cfs_quota_us", "50000")
      .file("cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  machine.file("memory/job/memory.limit_in_bytes", "536870912");
  machine.file("memory/job/step/memory.limit_in_bytes", "9223372036854771712");
  CHECK(machine.cpus() == "1 cgroup cpu.cfs_quota_us");
  CHECK(machine.mebibytes() == "512 cgroup memory.limit_in_bytes");
}

TEST_CASE("machine limits: in a container whose own path is not mounted the mount is its group") {
  FakeMachine machine;
  machine.cgroup("0::/kubepods/pod1/abc\n")
      .file("cpu.max", "200000 100000")
      .file("memory.max", "268435456");
  CHECK(machine.cpus() == "2 cgroup cpu.max");
  CHECK(machine.mebibytes() == "256 cgroup memory.max");
}

TEST_CASE("machine limits: a version 1 quota of -1 and garbage are no limits") {
  FakeMachine machine;
  machine.cgroup("junk\n::\n5:cpu:relative\n3:cpu:/\n0::/a\n");
  machine.file("cpu/cpu.cfs_quota_us", "-1").file("cpu/cpu.cfs_period_us", "100000");
  machine.file("a/cpu.max", "100000 0").file("a/memory.max", "12x");
  machine.environment = {{"SLURM_CPUS_PER_TASK", "two"}, {"SLURM_MEM_PER_NODE", "0"}};
  CHECK(machine.cpus() == "8 CPU affinity");
  CHECK(machine.mebibytes() == "65536 RAM");
}

TEST_CASE("machine limits: SLURM's variables, memory in MiB") {
  FakeMachine machine;
  machine.environment = {{"SLURM_CPUS_PER_TASK", "4"}, {"SLURM_MEM_PER_NODE", "3000"}};
  CHECK(machine.cpus() == "4 SLURM_CPUS_PER_TASK");
  CHECK(machine.mebibytes() == "3000 SLURM_MEM_PER_NODE");

  machine.environment = {
      {"SLURM_CPUS_PER_TASK", "4"}, {"SLURM_CPUS_ON_NODE", "16"}, {"SLURM_MEM_PER_CPU", "500"}};
  CHECK(machine.mebibytes() == "2000 SLURM_MEM_PER_CPU");
  machine.environment.erase("SLURM_CPUS_PER_TASK");
  CHECK(machine.mebibytes() == "8000 SLURM_MEM_PER_CPU");
}

TEST_CASE(
    "machine limits: the default budget is a quarter of a small machine, 256 MiB of a large one") {
  CHECK(default_memory_budget_of({64 * kGibibyte, "RAM"}).value == 256 << 20);
  const Limit small = default_memory_budget_of({400 << 20, "cgroup memory.max"});
  CHECK(small.value == 100 << 20);
  CHECK(small.source == "a quarter of cgroup memory.max");
  CHECK(default_memory_budget_of({1 << 20, "RAM"}).value == 16 << 20);
}

TEST_CASE("machine limits: a limit bites if the machine, or the default, would give more") {
  FakeMachine machine;
  CHECK(!usable_cpus_of(machine.view()).bites);
  CHECK(!default_memory_budget_of(usable_memory_of(machine.view())).bites);
  machine.environment = {{"SLURM_CPUS_PER_TASK", "8"}, {"SLURM_MEM_PER_NODE", "1024"}};
  CHECK(!usable_cpus_of(machine.view()).bites);
  CHECK(!default_memory_budget_of(usable_memory_of(machine.view())).bites);
  machine.environment = {{"SLURM_CPUS_PER_TASK", "7"}, {"SLURM_MEM_PER_NODE", "1023"}};
  CHECK(usable_cpus_of(machine.view()).bites);
  CHECK(default_memory_budget_of(usable_memory_of(machine.view())).bites);
  machine.environment.clear();
  MachineView pinned = machine.view();
  pinned.cpus = 2;
  CHECK(usable_cpus_of(pinned).bites);
}

TEST_CASE("machine limits: what the user asks for does not bite") {
  CHECK(!granted_jobs(1).bites);
  CHECK(!granted_memory("16MiB").bites);
}

TEST_CASE("machine limits: this machine has at least one CPU and some memory") {
  CHECK(usable_cpus().value >= 1);
  CHECK(usable_memory().value > 0);
  CHECK(default_memory_budget().value <= 256 << 20);
}

TEST_CASE("machine limits: SHALE_JOBS and SHALE_MEMORY are defaults, and a wrong one is named") {
  const SetVariable jobs("SHALE_JOBS", "3"), memory("SHALE_MEMORY", "32MiB");
  CHECK(granted_jobs(std::nullopt).value == 3);
  CHECK(granted_jobs(std::nullopt).source == "SHALE_JOBS");
  CHECK(granted_jobs(2).value == 2);
  CHECK(granted_memory(std::nullopt).value == 32 << 20);
  CHECK(granted_memory("64MiB").source == "--memory");
  const SetVariable no_jobs("SHALE_JOBS", "0"), little_memory("SHALE_MEMORY", "1MiB");
  CHECK(error_of([] { (void)granted_jobs(std::nullopt); }).message() ==
        "SHALE_JOBS 0 is not between 1 and 1024");
  CHECK(error_of([] { (void)granted_memory(std::nullopt); }).message() ==
        "SHALE_MEMORY 1MiB is less than the minimum, 16 MiB");
  CHECK(granted_jobs(1).value == 1);  // what is not needed is not looked at
  const SetVariable empty_jobs("SHALE_JOBS", ""), empty_memory("SHALE_MEMORY", "");
  CHECK(granted_jobs(std::nullopt).value == usable_cpus().value);
  CHECK(granted_memory(std::nullopt).source == default_memory_budget().source);
}

TEST_CASE("machine limits: what was asked for is granted between its bounds") {
  CHECK(granted_jobs(1).value == 1);
  CHECK(granted_jobs(1024).source == "--jobs");
  CHECK(granted_jobs(std::nullopt).value == usable_cpus().value);
  CHECK(granted_memory("16MiB").value == 16 << 20);
  CHECK(granted_memory(std::nullopt).source == default_memory_budget().source);
  for (const std::uint64_t jobs : {std::uint64_t{0}, std::uint64_t{1025}})
    CHECK(error_of([&] { (void)granted_jobs(jobs); }).code() == Code::usage);
  CHECK(error_of([] { (void)granted_memory("16777215"); }).message() ==
        "--memory 16777215 is less than the minimum, 16 MiB");
}
