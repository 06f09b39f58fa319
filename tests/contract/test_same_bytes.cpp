#include <chrono>
#include <filesystem>

#include <malloc.h>

#include "shale/base/path_text.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

/// Fills fresh and freed memory with a pattern, as MALLOC_PERTURB_ does, and works from another
/// folder.
class OtherSurroundings {
 public:
  OtherSurroundings(int perturbation, const std::string& folder)
      : folder_(std::filesystem::current_path()) {
    ::mallopt(M_PERTURB, perturbation);
    std::filesystem::current_path(folder);
  }
  ~OtherSurroundings() {
    ::mallopt(M_PERTURB, 0);
    std::filesystem::current_path(folder_);
  }
  OtherSurroundings(const OtherSurroundings&) = delete;
  OtherSurroundings& operator=(const OtherSurroundings&) = delete;

 private:
  std::filesystem::path folder_;
};

struct Run {
  unsigned jobs;
  std::uint64_t memory_bytes;
  IoMode io;
  int perturbation;
};
constexpr Run kRuns[] = {{1, 16 << 20, IoMode::buffered, 0x55},
                         {2, 64 << 20, IoMode::automatic, 0xaa},
                         {8, 20 << 20, IoMode::buffered, 0xff},
                         {8, 256 << 20, IoMode::automatic, 0}};

TEST_CASE("same bytes: for any jobs, memory, io, working directory, heap and second of the clock") {
  using Clock = std::chrono::steady_clock;
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir, elsewhere("/var/tmp");  // on a disk, for O_DIRECT
    const std::size_t samples = has_blocks(format) ? 30 : 900;
    (void)write_set(format, plain_samples(schema, samples, 6000), dir / "from",
                    {.limit_samples = samples / 3});
    const auto convert_to = [&](const std::string& output, const Run& run) {
      ConvertRequest request = conversion(dir / "from", output, format);
      request.shard_bytes = has_columns(format, schema) ? 2000 : 400'000;
      if (has_blocks(format)) {
        request.shard_bytes *= 10;
        request.shard_samples = 7;
      }
      request.order.is_shuffled = true;
      request.jobs = run.jobs;
      request.memory_bytes = run.memory_bytes;
      request.io = run.io;
      return convert(request, {});
    };
    CHECK(convert_to(dir / "first", {1, 32 << 20, IoMode::buffered, 0}).manifest.shard_count > 3);
    // Time stamps mostly count seconds: the runs go on until the clock has.
    const auto begin = Clock::now();
    for (unsigned i = 0;
         i < std::size(kRuns) || Clock::now() - begin < std::chrono::milliseconds(1500); ++i) {
      const Run& run = kRuns[i % std::size(kRuns)];
      CAPTURE(run.jobs);
      CAPTURE(run.memory_bytes);
      const OtherSurroundings other(run.perturbation, elsewhere.path());
      (void)convert_to("out", run);
      CHECK(differing_files(dir / "first", elsewhere / "out") == std::vector<std::string>());
      std::filesystem::remove_all(elsewhere / "out");
    }
  });
}

TEST_CASE("same bytes: verify gives the same findings for any number of jobs") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 40, 100'000), dir / "out", {.limit_samples = 15});
    const ReadSet read = read_set(dir / "out");
    for (const ManifestShard& shard : read.shards) {
      for (const ManifestFile& file : shard.files) {
        std::fstream out(join_path(dir / "out", file.name),
                         std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(static_cast<std::streamoff>(file.bytes / 2)).write("damage", 6);
      }
    }
    std::vector<std::string> first;
    for (const unsigned jobs : {1U, 2U, 8U}) {
      VerifyRequest request;
      request.dataset = dir / "out";
      request.jobs = jobs;
      std::vector<std::string> found;
      (void)verify(request, [&](const Finding& finding) { found.push_back(describe(finding)); },
                   {});
      if (jobs == 1) first = found;
      CHECK(!found.empty());
      CHECK(found == first);
    }
  });
}

}  // namespace
}  // namespace shale
