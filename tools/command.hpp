#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/io/machine_limits.hpp"

#include "tools/console.hpp"

namespace shale::tools {

class CommandLine;

/// Which of the common options a command has; --json and --help are for all.
enum CommonSet : unsigned {
  kNoCommon = 0,
  kJobsOption = 1,
  kMemoryOption = 2,
  kProgressOptions = 4,
  kAllCommon = 7,
  kVerboseOption = 8,
  kNoJson = 16
};

/// One line of the command table: help, parsing and completion follow from it.
struct Command {
  std::string_view name, usage, summary;
  std::string_view examples;  ///< one per line
  /// What its words are, spelled as the name of an option's value: "DATASET|FILE", "bash|zsh".
  std::string_view operands;
  unsigned common_set;
  void (*declare)(CommandLine& line);   ///< adds the command's own options; may be null
  int (*run)(const CommandLine& line);  ///< returns the exit code
};

/// All commands, in the order of the help.
[[nodiscard]] std::span<const Command> commands();
/// The command of this name, or alias (`inspect` is `info`). Errors: Code::usage with the nearest.
[[nodiscard]] const Command& command_named(const std::string& name);
/// Parses the words after the command's name, and runs it. Returns the exit code. With --progress
/// json errors are events; otherwise they are thrown.
[[nodiscard]] int run_command(const Command& command, const std::vector<std::string>& words);

// The exit codes of the contract (man shale, EXIT STATUS).
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kDamaged = 3, kSomeSkipped = 4, kBug = 70,
                     kInterrupted = 130;
[[nodiscard]] int exit_code_of(Code code);

/// The exception that is being handled, as an Error.
[[nodiscard]] Error current_error();
/// An error that brings no hint of its own gets the one for its kind.
[[nodiscard]] Error with_usual_hint(Error error, std::string_view command);
/// The error as the JSON object that stands for a result.
void print_error(const Error& error);

/// The options that every command has, as they were given.
struct CommonOptions {
  bool is_json = false, is_quiet = false, is_verbose = false;
  Progress::Mode progress = Progress::Mode::automatic;
  Limit jobs{}, memory{};  ///< of commands that have the option
};

/// Notes "2 threads (affinity), 256 MiB of memory (default)", with --verbose and where a limit that
/// the user did not choose makes either less than usual.
void say_limits(const CommonOptions& common, const Events& events);

/// An option as its help shows it.
struct OptionText {
  std::string name;   ///< without the dashes
  std::string value;  ///< "SIZE", "auto|direct|buffered"; empty: it takes none
  std::string description;
};

/// The lower-case words of the name of a value, or of operands: of "skip|keep" both, of "N|P%"
/// none.
[[nodiscard]] std::vector<std::string_view> choices_in(std::string_view value_name);

/// The value of an option: what its help calls it, and what it is where the option is not given.
struct OptionValue {
  const char* name;
  const char* default_text;  ///< null: none
  bool is_repeated;          ///< the option may be given several times
};
[[nodiscard]] constexpr OptionValue value(const char* name, const char* default_text = nullptr) {
  return {name, default_text, false};
}
[[nodiscard]] constexpr OptionValue values(const char* name) { return {name, nullptr, true}; }

/// Options and their values, as Boost.Program_options has them: only command_line.cpp includes it.
struct ParsedOptions;

/// Adds options, one per call: add()("quiet", "no notes")("io", value("auto|direct"), "how").
class OptionAdder {
 public:
  OptionAdder(ParsedOptions& options, bool is_common) : options_(options), is_common_(is_common) {}
  /// An option without a value.
  OptionAdder& operator()(const char* name, const char* description);
  OptionAdder& operator()(const char* name, OptionValue value, const char* description);

 private:
  ParsedOptions& options_;
  bool is_common_;
};

/// The options of one command: its own, the common ones, and the words that are none.
class CommandLine {
 public:
  explicit CommandLine(const Command& command);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// All options, in the order of the help.
  [[nodiscard]] std::vector<OptionText> options() const;
  /// Where the command adds its own options.
  [[nodiscard]] OptionAdder add() { return {*options_, false}; }
  /// Parses. False if help was asked for, and given. Errors: Code::usage naming the word that is
  /// off.
  [[nodiscard]] bool parse(const std::vector<std::string>& words);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  /// Errors: Code::usage if there are not as many words, with the command's usage.
  void require_words(std::size_t count) const;
  void require_words_at_least(std::size_t count) const;
  [[nodiscard]] bool has(const char* option) const;
  [[nodiscard]] bool flag(const char* option) const;
  [[nodiscard]] const std::string& text(const char* option) const;
  /// The values of an option that may be given several times.
  [[nodiscard]] const std::vector<std::string>& texts(const char* option) const;
  /// Which of the words in the name of an option's value it has. If it was not given, `variable` of
  /// the environment says so (not if empty). Errors: Code::usage listing the words.
  [[nodiscard]] std::size_t choice(const char* option, const char* variable = nullptr) const;
  /// The same for the only word of a command. Errors: Code::usage, also for more words, or none.
  [[nodiscard]] std::size_t operand_choice() const;
  [[nodiscard]] CommonOptions common() const;
  [[nodiscard]] Progress::Mode progress_mode() const;

 private:
  [[nodiscard]] std::vector<std::string> with_long_output(std::vector<std::string> words) const;
  [[nodiscard]] bool take_short_words(const std::vector<std::string>& words) const;
  [[nodiscard]] Error unknown_option(const std::string& word) const;
  [[nodiscard]] std::string help() const;
  [[nodiscard]] bool has_common(CommonSet set) const { return (command_.common_set & set) != 0; }

  const Command& command_;
  std::unique_ptr<ParsedOptions> options_;
  std::vector<std::string> words_;
};

/// --label-column and --key-column of --labels. Errors: Code::usage for one without --labels.
void read_label_columns(const CommandLine& line, const std::string& labels, std::string& label,
                        std::string& key);

/// --index-dir, for commands that read a file of another tool.
void add_index_dir(CommandLine& line);
/// --index-dir and --parse.
void add_file_options(CommandLine& line);
/// The dataset, or the file, that is the first word.
[[nodiscard]] DatasetRequest dataset_request(const CommandLine& line);
/// --parse. Nullopt: it was not given. Errors: Code::usage for a word that it does not take.
[[nodiscard]] std::optional<Dialect> dialect_option(const CommandLine& line);

void declare_convert(CommandLine& line);
void declare_verify(CommandLine& line);
void declare_cat(CommandLine& line);
void declare_ls(CommandLine& line);
void declare_index(CommandLine& line);
void declare_repair(CommandLine& line);
void declare_merge(CommandLine& line);
void declare_parts(CommandLine& line);
void declare_report(CommandLine& line);
void declare_resample(CommandLine& line);
int run_convert(const CommandLine& line);
int run_verify(const CommandLine& line);
int run_info(const CommandLine& line);
int run_cat(const CommandLine& line);
int run_ls(const CommandLine& line);
int run_formats(const CommandLine& line);
int run_report(const CommandLine& line);
int run_resample(const CommandLine& line);
int run_index(const CommandLine& line);
int run_repair(const CommandLine& line);
int run_merge(const CommandLine& line);
int run_parts(const CommandLine& line);
int run_completion(const CommandLine& line);

}  // namespace shale::tools
