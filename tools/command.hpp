#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

#include "shale/base/error.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/machine_limits.hpp"

#include "tools/console.hpp"

namespace shale::tools {

namespace po = boost::program_options;

/// One line of the command table.
struct Command {
  std::string_view name, usage, summary;
  /// Returns the exit code. `words` are those after the command's name.
  int (*run)(const std::vector<std::string>& words);
};

/// All commands, in the order of the help.
[[nodiscard]] std::span<const Command> commands();

// The exit codes of the contract (man shale, EXIT STATUS).
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kDamaged = 3, kSomeSkipped = 4, kBug = 70,
                     kInterrupted = 130;
[[nodiscard]] int exit_code_of(Code code);

/// The options that every command has, as they were given.
struct CommonOptions {
  bool is_json = false, is_quiet = false, is_verbose = false;
  Progress::Mode progress = Progress::Mode::automatic;
  Limit jobs, memory;
};

/// Notes "2 threads (affinity), 256 MiB of memory (default)", with --verbose and where a limit that
/// the user did not choose makes either less than usual.
void say_limits(const CommonOptions& common, const Events& events);

/// Which of the common options a command has; --json and --help are for all.
enum CommonSet : unsigned {
  kNoCommon = 0,
  kJobsOption = 1,
  kMemoryOption = 2,
  kProgressOptions = 4,
  kAllCommon = 7,
  kVerboseOption = 8
};

/// The options of one command: its own, the common ones, and the words that are none.
class CommandLine {
 public:
  CommandLine(const Command& command, unsigned common_set);

  /// Where the command adds its own options.
  [[nodiscard]] po::options_description_easy_init add() { return own_.add_options(); }
  /// Parses. False if help was asked for, and given. Errors: Code::usage naming the word that is
  /// off.
  [[nodiscard]] bool parse(const std::vector<std::string>& words);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  /// Errors: Code::usage if there are not as many words, with the command's usage.
  void require_words(std::size_t count) const;
  void require_words_at_least(std::size_t count) const;
  [[nodiscard]] bool has(const char* option) const {
    return values_.count(option) > 0 && !values_[option].defaulted();
  }
  [[nodiscard]] bool flag(const char* option) const { return values_[option].as<bool>(); }
  [[nodiscard]] const std::string& text(const char* option) const {
    return values_[option].as<std::string>();
  }
  /// The values of an option that may be given several times.
  [[nodiscard]] const std::vector<std::string>& texts(const char* option) const {
    return values_[option].as<std::vector<std::string>>();
  }
  /// The value of an option that takes one of a few words. Errors: Code::usage listing them.
  [[nodiscard]] std::size_t choice(const char* option,
                                   std::span<const std::string_view> words) const;
  [[nodiscard]] CommonOptions common() const;

 private:
  [[nodiscard]] bool take_short_words(const std::vector<std::string>& words) const;
  void refuse_empty_values(const po::parsed_options& parsed) const;

  const Command& command_;
  unsigned common_set_;
  po::options_description own_{"options"}, common_{"common options"};
  po::variables_map values_;
  std::vector<std::string> words_;
};

/// --index-dir, for commands that read a file of another tool.
void add_index_dir(CommandLine& line);
/// --parse. Nullopt: it was not given. Errors: Code::usage for a word that it does not take.
[[nodiscard]] std::optional<Dialect> dialect_option(const CommandLine& line);

int run_convert(const std::vector<std::string>& words);
int run_verify(const std::vector<std::string>& words);
int run_info(const std::vector<std::string>& words);
int run_cat(const std::vector<std::string>& words);
int run_formats(const std::vector<std::string>& words);
int run_resample(const std::vector<std::string>& words);
int run_index(const std::vector<std::string>& words);

}  // namespace shale::tools
