#include "shale/requests/choose_part.hpp"

#include <cstdlib>
#include <filesystem>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSlurm = "slurm", kMpi = "mpi";

PartNumber checked(std::uint64_t index, std::uint64_t count) {
  if (count == 0 || count > kMostParts)
    throw Error(Code::usage, "--part: {} parts, but there may be 1 to {}", count, kMostParts);
  if (index >= count) {
    throw Error(Code::usage, "--part {}/{}: the parts are numbered from 0 to {}", index, count,
                count - 1);
  }
  return {index, count};
}

// What a launcher tells each of its processes. PMIx has a rank, but no variable for the number of
// ranks: srun, which starts most of them, has one.
struct RankVariables {
  const char *rank, *ranks;
};
constexpr RankVariables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI
    {"PMI_RANK", "PMI_SIZE"},                          // MPICH, Intel MPI, Cray, srun --mpi=pmi2
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},    // MVAPICH2
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},             // srun --mpi=pmix
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},          // srun
};

PartNumber part_of_rank(const Environment& environment) {
  for (const auto& [rank, ranks] : kLaunchers) {
    const std::optional<std::string> index = environment(rank), count = environment(ranks);
    if (index && count) return checked(parse_count(*index, rank), parse_count(*count, ranks));
  }
  throw Error(Code::usage, "--part mpi: this process was not started by mpirun, mpiexec or srun")
      .hint("start it with one of them, or pass --part I/N");
}

std::uint64_t slurm_number(const Environment& environment, const char* variable) {
  const std::optional<std::string> text = environment(variable);
  if (text) return parse_count(*text, variable);
  throw Error(Code::usage, "--part slurm: {} is not set: this is not a task of a job array",
              variable)
      .hint("submit the job with 'sbatch --array=0-127', or pass --part I/N");
}

PartNumber part_of_task(const Environment& environment) {
  const std::uint64_t task = slurm_number(environment, "SLURM_ARRAY_TASK_ID"),
                      first = slurm_number(environment, "SLURM_ARRAY_TASK_MIN"),
                      last = slurm_number(environment, "SLURM_ARRAY_TASK_MAX"),
                      count = slurm_number(environment, "SLURM_ARRAY_TASK_COUNT");
  if (task < first || task > last || last - first + 1 != count) {
    throw Error(Code::usage,
                "--part slurm: the job array has {} tasks from {} to {}, so their number is not "
                "that of the parts",
                count, first, last)
        .hint("pass --part slurm/N with the number of all parts: task I then makes part I");
  }
  return checked(task - first, count);
}

Error not_a_part(std::string_view text) {
  return Error(Code::usage, "--part '{}' is not a part", printable(text))
      .hint("pass I/N, for part I of N, from 0 to N-1; or slurm, slurm/N or mpi");
}

// Which part a task was to make, in a job array that has fewer tasks than the first one, only the
// user knows; what is left to make, the folder says.
std::string hint_on_parts(const std::string& folder, std::uint64_t count) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> left;
  for (std::uint64_t index = 0; index < count && left.size() <= kNamed; ++index) {
    if (!holds_dataset(join_path(folder, part_name({index, count}))))
      left.push_back(left.size() < kNamed ? std::to_string(index) : "...");
  }
  if (left.empty()) return fmt::format("all {} parts are complete: choose another output", count);
  return fmt::format("of {} parts {} {} not complete: pass --part {}/{}, or choose another output",
                     count, fmt::join(left, ", "), left.size() == 1 ? "is" : "are",
                     left.size() == 1 ? left.front() : "I", count);
}

void refuse_other_parts(const std::string& folder, const PartNumber& part) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<PartNumber> other = part_of_name(entry->path().filename().string());
    if (!other || other->count == part.count || !holds_dataset(entry->path().string())) continue;
    throw Error(Code::exists, "is one of {} parts, but this is part {} of {}", other->count,
                part.index, part.count)
        .at(entry->path().string())
        .hint(hint_on_parts(folder, other->count));
  }
}

}  // namespace

std::optional<std::string> process_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

PartNumber parse_part(std::string_view text, std::optional<std::uint64_t> offset,
                      const Environment& environment) {
  const std::size_t slash = text.find('/');
  const std::string_view first = text.substr(0, slash);
  const bool has_count = slash != std::string_view::npos;
  const std::string count(has_count ? text.substr(slash + 1) : "");
  if (offset && (first != kSlurm || !has_count)) {
    throw Error(Code::usage,
                "--part-offset needs --part slurm/N: how many parts there are, when the "
                "tasks of several job arrays make them");
  }
  if (text == kMpi) return part_of_rank(environment);
  if (text == kSlurm) return part_of_task(environment);
  if (!has_count || first.empty() || count.empty()) throw not_a_part(text);
  if (first == kSlurm) {
    const std::uint64_t task = slurm_number(environment, "SLURM_ARRAY_TASK_ID");
    if (task > kMostParts || offset.value_or(0) > kMostParts)
      return checked(kMostParts, kMostParts);
    return checked(task + offset.value_or(0), parse_count(count, "--part"));
  }
  if (first.find_first_not_of("0123456789") != std::string_view::npos ||
      count.find_first_not_of("0123456789") != std::string::npos)
    throw not_a_part(text);
  return checked(parse_count(std::string(first), "--part"), parse_count(count, "--part"));
}

void choose_part(ConvertRequest& request, const PartNumber& part) {
  request.order.part = part;
  refuse_combinations(request);
  refuse_other_parts(request.output, part);
  request.output = join_path(request.output, part_name(part));
}

void choose_part(ConvertRequest& request, const std::string& part,
                 std::optional<std::uint64_t> offset) {
  if (!part.empty()) return choose_part(request, parse_part(part, offset));
  if (!offset) return;
  throw Error(Code::usage, "--part-offset has no effect without --part")
      .hint("leave it out, or pass --part slurm/N");
}

}  // namespace shale
