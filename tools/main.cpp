#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "shale/base/printable.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

std::string help_text() {
  std::string text =
      "shale: the ffmpeg of training datasets\n"
      "\n"
      "usage: shale COMMAND ... [--help]\n"
      "\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<10}{}\n", command.name, command.summary);
  return text +
         "\n'shale COMMAND --help' lists the options of a command; 'man shale' tells the rest.\n";
}

int run_command(const std::vector<std::string>& words) {
  if (words.empty()) {
    throw Error(Code::usage, "no command was given").hint("'shale --help' lists the commands");
  }
  if (words[0] == "--help" || words[0] == "help") {
    print(help_text());
    return kDone;
  }
  if (words[0] == "--version") {
    print(std::string(kGenerator) + "\n");
    return kDone;
  }
  for (const Command& command : commands()) {
    if (command.name == words[0]) return command.run({words.begin() + 1, words.end()});
  }
  throw Error(Code::usage, "'{}' is not a command", printable(words[0]))
      .hint("'shale --help' lists the commands");
}

// Shards in flight are open files; shells grant few of those the system allows.
void raise_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

int report_error(Error error, const std::vector<std::string>& words) {
  // For errors that bring no hint of their own.
  if (error.code() == Code::usage && !words.empty()) {
    error.hint(fmt::format("'shale {} --help' lists the options", printable(words[0])));
  }
  if (error.code() == Code::io)
    error.hint("mend what the system names, then run the same command again");
  if (error.code() == Code::not_found)
    error.hint("look at the path; a relative one counts from the current folder");
  tell_error(error);
  if (std::find(words.begin(), words.end(), "--json") != words.end())
    print(error_facts(error).dump() + "\n");
  return exit_code_of(error.code());
}

}  // namespace
}  // namespace shale::tools

int main(int argc, char** argv) {
  using shale::tools::report_error;
  const std::vector<std::string> words(argv + 1, argv + argc);
  // A file that outgrows the limit of ulimit -f is an error with place and hint, not a silent
  // death.
  std::signal(SIGXFSZ, SIG_IGN);
  shale::tools::raise_file_limit();
  try {
    return shale::tools::run_command(words);
  } catch (const shale::Error& error) {
    return report_error(error, words);
  } catch (const std::bad_alloc&) {
    return report_error(shale::Error(shale::Code::limit, "the system gave no more memory")
                            .hint("pass a smaller --memory"),
                        words);
  } catch (const std::exception& error) {
    return report_error(
        shale::Error(shale::Code::bug, "unexpected: {}", error.what())
            .hint("this is a bug of shale: please report it with the command and its output"),
        words);
  }
}
