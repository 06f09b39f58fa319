#include <filesystem>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "shale/requests/choose_part.hpp"
#include "shale/shards/work_folder.hpp"

#include "tests/support/grid_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

using Variables = std::map<std::string, std::string>;

Environment with(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Variables task(const char* id, const char* first, const char* last, const char* count) {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", first},
          {"SLURM_ARRAY_TASK_MAX", last},
          {"SLURM_ARRAY_TASK_COUNT", count}};
}

Code refusal(std::string_view text, const Variables& variables,
             std::optional<std::uint64_t> offset = {}) {
  return error_of([&] { (void)parse_part(text, offset, with(variables)); }).code();
}

TEST_CASE("part: I/N is part I of N, counted from 0") {
  CHECK(parse_part("0/1", {}, with({})) == PartNumber{0, 1});
  CHECK(parse_part("127/128", {}, with({})) == PartNumber{127, 128});
}

TEST_CASE("part: anything else is a usage error") {
  for (const std::string_view text :
       {"", "3", "/", "3/", "/3", "3/3", "0/0", "-1/3", "1/2/3", "a/b", "0x1/2", "0/1000001",
        "Slurm", "99999999999999999999/3", "slurm/", "mpi/3", "1 /2"}) {
    CAPTURE(text);
    CHECK(refusal(text, {}) == Code::usage);
  }
}

TEST_CASE("part: a task of a job array is one of as many parts as there are tasks") {
  CHECK(parse_part("slurm", {}, with(task("0", "0", "3", "4"))) == PartNumber{0, 4});
  CHECK(parse_part("slurm", {}, with(task("4", "1", "4", "4"))) == PartNumber{3, 4});
}

TEST_CASE("part: of an array with gaps the tasks do not say how many parts there are") {
  const Variables stepped = task("6", "0", "6", "4");
  CHECK(refusal("slurm", stepped) == Code::usage);
  CHECK(parse_part("slurm/7", {}, with(stepped)) == PartNumber{6, 7});
  CHECK(parse_part("slurm/2000", 1000, with(stepped)) == PartNumber{1006, 2000});
  CHECK(refusal("slurm/6", stepped) == Code::usage);
}

TEST_CASE("part: an offset needs the number of all parts") {
  for (const std::string_view text : {"slurm", "0/3", "mpi"}) {
    CAPTURE(text);
    CHECK(refusal(text, task("0", "0", "3", "4"), 3) == Code::usage);
  }
}

TEST_CASE("part: outside of a job array slurm is a usage error that names the variable") {
  const Error error = error_of([] { (void)parse_part("slurm", {}, with({})); });
  CHECK(error.code() == Code::usage);
  CHECK(error.message().find("SLURM_ARRAY_TASK_ID is not set") != std::string::npos);
}

TEST_CASE("part: the rank is that of the launcher that is nearest") {
  Variables all = {{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}};
  CHECK(parse_part("mpi", {}, with(all)) == PartNumber{5, 6});
  all.insert({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}});
  CHECK(parse_part("mpi", {}, with(all)) == PartNumber{2, 3});
  all.insert({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(parse_part("mpi", {}, with(all)) == PartNumber{1, 2});
  CHECK(parse_part("mpi", {}, with({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}})) ==
        PartNumber{0, 2});
  // The script of a batch job has a rank, too, but no step.
  CHECK(refusal("mpi", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) == Code::usage);
}

TEST_CASE("part: its output is a directory in that of all parts") {
  ConvertRequest request;
  request.output = "out";
  choose_part(request, {3, 128});
  CHECK(request.output == "out/part-00003-of-00128");
  CHECK(request.order.part == PartNumber{3, 128});
}

TEST_CASE("part: one file has no parts") {
  ConvertRequest request;
  request.output = "out.grid";
  CHECK(error_of([&] { choose_part(request, {0, 2}); }).code() == Code::usage);
}

TEST_CASE("part: parts of another number are refused, folders of somebody else do not count") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "part-00001-of-00003");
  ConvertRequest request;
  request.output = dir.path();
  ConvertRequest again = request;
  choose_part(request, {0, 4});
  const WorkFolder unfinished(dir / "part-00002-of-00003");
  CHECK(error_of([&] { choose_part(again, {0, 4}); }).code() == Code::exists);
  choose_part(again, {0, 3});
  CHECK(again.order.part == PartNumber{0, 3});
}

}  // namespace
}  // namespace shale
