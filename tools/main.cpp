#include <algorithm>
#include <csignal>
#include <limits>
#include <string>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "shale/base/printable.hpp"
#include "shale/io/machine_limits.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

std::string help_text() {
  std::string text =
      "shale converts datasets for training between formats, verifies every byte, and draws rows\n"
      "\n"
      "usage: shale COMMAND ... [--help]\n"
      "\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  return text +
         "\n"
         "examples:\n"
         "  shale convert photos out --to record     a folder of images into shards\n"
         "  shale verify out --against photos        every byte, and the photos themselves\n"
         "  shale resample x.npy shuffled.npy        rows in a random order, of any size\n"
         "\n"
         "'shale help COMMAND' lists the options of a command; see also 'man shale'.\n";
}

int run_words(const std::vector<std::string>& words) {
  const bool asks_for_help =
      words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help";
  const bool names_command =
      asks_for_help && words.size() > 1 && !words[1].starts_with('-') && words[1] != "help";
  if (words.size() > 2 && words[0] == "help") {
    throw Error(Code::usage, "help takes the name of one command, but {} words were given",
                words.size() - 1)
        .hint(fmt::format("'shale help {}' lists the options of a command", commands()[0].name));
  }
  if (names_command) return run_command(command_named(words[1]), {"--help"});
  if (asks_for_help) {
    print(help_text());
    return kDone;
  }
  if (words[0] == "--version") {
    print(std::string(kGenerator) + "\n\nbuilt by " SHALE_COMPILER " with\n" SHALE_LIBRARIES "\n");
    return kDone;
  }
  return run_command(command_named(words[0]), {words.begin() + 1, words.end()});
}

// A file opened while one of the standard descriptors is closed would get its number: messages
// would be written into a shard. /dev/null takes their places, opened the wrong way around, so that
// a result that nobody can read still is an error.
void occupy_standard_descriptors() {
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
    if (::fcntl(standard, F_GETFD) >= 0) continue;
    const int null = ::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (null == standard || null < 0) continue;
    ::dup2(null, standard);
    ::close(null);
  }
}

// glibc gives each thread a heap of its own, and by default learns from each large piece that is
// freed to keep pieces of that size: four threads that decode progressive photos kept 38 MB each,
// which --memory knows nothing of. With fixed limits large pieces go back when they are freed.
void return_large_memory() {
#ifdef __GLIBC__
  (void)::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  (void)::mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

int report_error(const Error& error, const std::vector<std::string>& words) {
  tell_error(error);
  if (std::find(words.begin(), words.end(), "--json") != words.end()) print_error(error);
  return exit_code_of(error.code());
}

}  // namespace
}  // namespace shale::tools

namespace tools = shale::tools;

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  // A file that outgrows the limit of ulimit -f is an error with place and hint, not a silent
  // death.
  std::signal(SIGXFSZ, SIG_IGN);
  tools::occupy_standard_descriptors();
  shale::allow_open_files(std::numeric_limits<std::uint64_t>::max());
  tools::return_large_memory();
  try {
    return tools::run_words(words);
  } catch (...) {
    return tools::report_error(
        tools::with_usual_hint(tools::current_error(), words.empty() ? "" : words[0]), words);
  }
}
