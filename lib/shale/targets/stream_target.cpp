#include "shale/targets/stream_target.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/targets/dataset_output.hpp"

namespace shale {
namespace {

// The output itself: nothing is printed there.
constexpr int kStdoutNumber = 1, kFirstFreeNumber = 3;

// stdout, open for writing alone. A regular file is opened again, to be appended to: the shell's
// ">>" and "1<>" are as well served as ">".
int open_stdout() {
  struct stat facts {};
  const bool is_file = ::fstat(kStdoutNumber, &facts) == 0 && S_ISREG(facts.st_mode);
  const int again = is_file ? ::open("/proc/self/fd/1", O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  return again >= 0 ? again : ::fcntl(kStdoutNumber, F_DUPFD_CLOEXEC, kFirstFreeNumber);
}

}  // namespace

StreamTarget::~StreamTarget() {
  if (work_) work_->remove();
  if (stream_ >= 0) ::close(stream_);
  if (was_pipe_signal_ != SIG_ERR) (void)std::signal(SIGPIPE, was_pipe_signal_);
}

void StreamTarget::take() {
  if (::isatty(kStdoutNumber) != 0) {
    throw Error(Code::usage, "'-' as output, but stdout is a terminal")
        .hint("send it to another program with '|', or name a file");
  }
  stream_ = open_stdout();
  if (stream_ < 0) throw Error(Code::io, "stdout cannot be opened").because_errno(errno);
  // A reader that ends early is an error like any other: the work folder does not stay.
  was_pipe_signal_ = std::signal(SIGPIPE, SIG_IGN);
  work_.emplace(WorkFolder::BesideFile{
      join_path(temporary_folder(), fmt::format("stdout-of-{}", ::getpid()))});
}

void StreamTarget::accept(const SourceInfo& info, const Events& /*events*/) {
  check_schema_fits(format(), info.schema);
  refuse_unfit_samples(request_, format(), info, kAnySize);
}

PlannedRun StreamTarget::describe(const SourceInfo& info) const {
  return {.wanted = wanted_manifest(request_, info), .head = {}};
}

void StreamTarget::plan(ConvertPlan& plan) const {
  drop_shard_options(plan.manifest);
  plan.file_bytes = plan.data_bytes;
}

std::optional<RunState> StreamTarget::begin(const RunInput& input, const Events& events) {
  say_notes(input.info(), events);
  say_how_reals_are_kept(format(), input.info(), events);
  work_->begin("");
  return std::nullopt;
}

ShardSetWriter::Options StreamTarget::division(const Schema& /*schema*/) const {
  return {.file_name = "stdout", .stream = stream_, .writes_index = false};
}

void StreamTarget::complete(Conversion* /*conversion*/, ConvertReport& report,
                            const Events& /*events*/) {
  drop_shard_options(report.manifest);
}

}  // namespace shale
