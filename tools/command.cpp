#include "tools/command.hpp"

#include <exception>
#include <new>
#include <utility>

#include <nlohmann/json.hpp>

#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

constexpr std::string_view kInputs = "INPUT|FILE|DIR", kDataset = "DATASET|FILE";

constexpr Command kCommands[] = {
    {.name = "convert",
     .usage = "shale convert INPUT... OUTPUT [--to FORMAT] [options]",
     .summary =
         "turn an image folder, arrays, a dataset, an LMDB, HDF5 or TFRecord file into shards",
     .examples = "shale convert photos out --to record\n"
                 "shale convert x=images.npy y=labels.npy out --to hdf5 --shard-size 4GiB",
     .operands = kInputs,
     .run = run_convert},
    {.name = "verify",
     .usage = "shale verify DATASET|NAME=INPUT... [--quick|--full|--deep] [--against SOURCE]",
     .summary = "verify that a dataset is intact, or say exactly what is damaged",
     .examples = "shale verify out\n"
                 "shale verify out --deep --against photos",
     .operands = kDataset,
     .run = run_verify,
     .reads_streams = true},
    {.name = "info",
     .usage = "shale info DATASET|NAME=INPUT...",
     .summary = "show what a dataset holds",
     .examples = "shale info out\n"
                 "shale info out --json",
     .operands = kDataset,
     .run = run_info,
     .reads_streams = true},
    {.name = "ls",
     .usage = "shale ls DATASET [--tsv|--json|--keys FORM] [--rows FIRST:END]",
     .summary = "list the samples: row, key, label, bytes",
     .examples = "shale ls out | head\n"
                 "shale ls out --tsv | awk -F'\\t' '$4 == \"cats\"'",
     .operands = kDataset,
     .run = run_ls,
     .reads_streams = true},
    {.name = "cat",
     .usage = "shale cat DATASET ROW | --key KEY [--field F] [--element K]",
     .summary = "write one field of one sample to stdout",
     .examples = "shale cat out 42 > photo.jpg\n"
                 "shale cat out --key cats/a.jpg --json",
     .operands = kDataset,
     .run = run_cat,
     .reads_streams = true},
    {.name = "report",
     .usage = "shale report DATASET|NAME=INPUT... -o FILE.html [--sample N|all] [--verify]",
     .summary = "write a page that shows what is in a dataset",
     .examples = "shale report out -o report.html\n"
                 "shale report train.lmdb -o report.html --sample all --verify",
     .operands = kDataset,
     .run = run_report,
     .reads_streams = true},
    {.name = "formats",
     .usage = "shale formats",
     .summary = "list the formats and what each can hold",
     .examples = "shale formats --json",
     .operands = "",
     .run = run_formats},
    {.name = "index",
     .usage = "shale index DATASET|FILE... [--index-dir DIR] [--crc] [--parse HOW] [--dry-run]",
     .summary = "index files written by other tools; rebuild lost indexes and block lists",
     .examples = "shale index train.lmdb --index-dir indexes --crc\n"
                 "shale index out\n"
                 "shale index shards --native wids,dali",
     .operands = kDataset,
     .run = run_index},
    {.name = "repair",
     .usage = "shale repair DATASET --from COPY|SOURCE [--dry-run]",
     .summary = "replace damaged and missing files, from a copy or made again from the source",
     .examples = "shale repair out --from /backup/out\n"
                 "shale repair out --from photos",
     .operands = "DATASET",
     .run = run_repair},
    {.name = "resample",
     .usage = "shale resample SRC... (OUT.npy | OUTPUT --to FORMAT) [--rows N] "
              "[--permute|--replace|--indices F|--weights F]",
     .summary = "draw rows of an array, or shuffle them, into an array of any size",
     .examples = "shale resample x.npy shuffled.npy --also y.npy=shuffled_y.npy\n"
                 "shale resample x.npy boot.npy --replace --seed 7",
     .operands = kInputs,
     .run = run_resample},
    {.name = "parts",
     .usage = "shale parts DIR|PART... [--missing] [--verify]",
     .summary = "tell which parts of a run are missing, unfinished or damaged",
     .examples = "shale parts out\n"
                 "sbatch --array=$(shale parts out --missing) convert.sbatch",
     .operands = "DIR",
     .run = run_parts},
    {.name = "merge",
     .usage = "shale merge DIR|PART... OUTPUT [--move] [--verify] [--dry-run]",
     .summary = "join the parts of a run into one dataset without copying them",
     .examples = "shale merge out/parts out/train\n"
                 "shale merge node1/part-* node2/part-* train",
     .operands = "DIR",
     .run = run_merge},
    {.name = "completion",
     .usage = "shale completion bash|zsh|fish",
     .summary = "print a script that completes commands, options and values in a shell",
     .examples = "source <(shale completion bash)",
     .operands = "bash|zsh|fish",
     .run = run_completion},
};

// Alias, name.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"inspect", "info"}};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command& command_named(const std::string& name) {
  std::string_view wanted = name;
  std::vector<std::string> names = {"help"};
  for (const auto& [alias, of] : kAliases) {
    if (name == alias) wanted = of;
    names.emplace_back(alias);
  }
  for (const Command& command : kCommands) {
    if (command.name == wanted) return command;
    names.emplace_back(command.name);
  }
  throw Error(Code::usage, "'{}' is not a command", printable(name))
      .hint(did_you_mean(name, names))
      .hint("'shale --help' lists the commands");
}

namespace {

int run_with(CommandLine& line, Console& console) {
  if (line.command().reads_streams) line.keep_stream(console.events());
  return line.command().run(line, console);
}

int run_on_terminal(CommandLine& line) {
  Console console(line.progress_mode(), line.command().name, line.flag("quiet"), line.flag("json"));
  return run_with(line, console);
}

}  // namespace

int run_command(const Command& command, const std::vector<std::string>& words) {
  CommandLine line(command);
  if (!line.parse(words)) return kDone;
  (void)was_interrupted();  // from here on a signal is heard, before anything is read
  if (line.progress_mode() != Console::Mode::json) return run_on_terminal(line);
  tell_event(command.name, "start");
  int exit_code = kBug;
  try {
    exit_code = run_on_terminal(line);
  } catch (...) {
    const Error error = with_usual_hint(current_error(), command.name);
    tell_event(command.name, "error", error_facts(error)["error"]);
    if (line.flag("json")) print_error(error);
    exit_code = exit_code_of(error.code());
  }
  tell_event(command.name, "end", {{"exit_code", exit_code}});
  return exit_code;
}

void run_in_process(const std::vector<std::string>& words, Console& console) {
  CommandLine line(command_named(words.at(0)));
  if (line.parse({words.begin() + 1, words.end()})) (void)run_with(line, console);
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::limit, "out of memory")
        .hint("pass a smaller --memory or fewer --jobs, or raise the limit (ulimit -v, cgroup)");
  } catch (const std::exception& error) {
    return Error(Code::bug, "unexpected error: {}", error.what())
        .hint("this is a bug in shale; report it with the command and its output");
  }
}

Error with_usual_hint(Error error, std::string_view command) {
  if (error.code() == Code::usage && !command.empty())
    error.hint(fmt::format("'shale {} --help' lists the options", printable(command)));
  if (error.code() == Code::io)
    error.hint("fix the problem reported by the system, then rerun the command");
  if (error.code() == Code::not_found)
    error.hint("check the path; relative paths start at the current directory");
  return error;
}

void print_error(const Error& error) {
  try {
    print(json_text(error_facts(error)) + "\n");
  } catch (const Error&) {  // stdout itself may be what failed; the exit code tells
  }
}

int exit_code_of(Code code) {
  switch (code) {
    case Code::usage:
      return kUsage;
    case Code::damaged:
      return kDamaged;
    case Code::interrupted:
      return kInterrupted;
    case Code::bug:
      return kBug;
    default:
      return kFailed;
  }
}

}  // namespace shale::tools
