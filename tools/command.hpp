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
#include "shale/io/output_file.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/sources/tars_of_samples.hpp"

#include "tools/console.hpp"
#include "tools/option_table.hpp"

namespace shale::tools {

class CommandLine;
class FindingList;

/// One line of the command table; its options are those of tools/option_table.
struct Command {
  std::string_view name, usage, summary;
  std::string_view examples;  ///< one per line
  /// What its words are, spelled as the name of an option's value: "DATASET|FILE", "bash|zsh".
  std::string_view operands;
  int (*run)(const CommandLine& line, Console& console);  ///< returns the exit code
  bool reads_streams = false;  ///< its first word may be a stream of samples
};

/// All commands, in the order of the help.
[[nodiscard]] std::span<const Command> commands();
/// The command of this name, or alias (`inspect` is `info`). Errors: Code::usage with the nearest.
[[nodiscard]] const Command& command_named(const std::string& name);
/// Parses the words after the command's name, and runs it on the terminal. Returns the exit code.
/// With --progress json errors are events; otherwise they are thrown.
[[nodiscard]] int run_command(const Command& command, const std::vector<std::string>& words);
/// The same for a program that runs a command in its own process: a whole command line. Errors are
/// thrown.
void run_in_process(const std::vector<std::string>& words, Console& console);

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

/// Options and their values, as Boost.Program_options has them: only command_line.cpp includes it.
struct ParsedOptions;

/// What follows the name of a command: options, and the words that are none.
class CommandLine {
 public:
  explicit CommandLine(const Command& command);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses. False if help was asked for, and given. Errors: Code::usage naming the word that is
  /// off.
  [[nodiscard]] bool parse(const std::vector<std::string>& words);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  /// Errors: Code::usage if there are not as many words, with the command's usage.
  void require_words(std::size_t count) const;
  void require_words_at_least(std::size_t count) const;
  /// It was given. False also for an option that the command does not have.
  [[nodiscard]] bool has(const char* option) const;
  [[nodiscard]] bool flag(const char* option) const;
  [[nodiscard]] const std::string& text(const char* option) const;
  /// The same, or an empty string where it was not given.
  [[nodiscard]] std::string text_or_none(const char* option) const;
  /// The values of an option that may be given several times; none where it was not given.
  [[nodiscard]] std::vector<std::string> texts(const char* option) const;
  /// A number. Nullopt: it was not given. Errors: Code::usage for what is none.
  [[nodiscard]] std::optional<std::uint64_t> count(const char* option) const;
  /// The same, one of the words in the name of the option's value. If it was not given, `variable`
  /// of the environment says so (not if empty). Errors: Code::usage listing the words.
  [[nodiscard]] std::string choice(const char* option, const char* variable = nullptr) const;
  /// The same for the only word of a command. Errors: Code::usage, also for more words, or none.
  [[nodiscard]] std::string operand_choice() const;
  /// --jobs and --memory, of commands that have the option. Errors: Code::usage.
  [[nodiscard]] Limit jobs() const;
  [[nodiscard]] Limit memory() const;
  [[nodiscard]] Console::Mode progress_mode() const;
  [[nodiscard]] const Command& command() const { return command_; }

  /// Where the first word is a stream of samples (keep_samples), it is that of a file from here on.
  /// Errors: same as keep_samples.
  void keep_stream(const Events& events);

 private:
  [[nodiscard]] std::vector<std::string> with_long_output(std::vector<std::string> words) const;
  [[nodiscard]] bool take_short_words(const std::vector<std::string>& words) const;
  [[nodiscard]] Error unknown_option(const std::string& word) const;
  [[nodiscard]] std::string help() const;
  [[nodiscard]] bool knows(const char* option) const;

  const Command& command_;
  std::unique_ptr<ParsedOptions> options_;
  std::vector<std::string> words_;
  std::optional<KeptSamples> kept_;
};

/// Notes "2 threads (affinity), 256 MiB of memory (default)", with --verbose and where a limit that
/// the user did not choose makes either less than usual.
void say_limits(const CommandLine& line, const Events& events);

/// --labels, and what says how it is read. Errors: Code::usage for one of these without --labels.
[[nodiscard]] LabelFile label_file_of(const CommandLine& line);

/// The dataset or the file that the words name, but for `others` behind it; several files of other
/// tools as one word. Errors: Code::usage.
[[nodiscard]] std::string dataset_word(const CommandLine& line, std::size_t others = 0);
/// The same, or inputs with names that are joined, and how they are read. Errors: Code::usage.
[[nodiscard]] DatasetRequest dataset_request(const CommandLine& line, std::size_t others = 0);
/// --io, or SHALE_IO. Errors: Code::usage.
[[nodiscard]] IoMode io_option(const CommandLine& line);
/// --parse. Nullopt: it was not given. Errors: Code::usage for a word that it does not take.
[[nodiscard]] Parsing parsing_option(const CommandLine& line);

/// --raw and --raw-offset. Errors: Code::usage.
[[nodiscard]] RawNumbers raw_option(const CommandLine& line);

/// --on and --partners. Errors: Code::usage for a word that one of them does not take.
[[nodiscard]] JoinRequest join_option(const CommandLine& line);
/// Refuses --on and --partners where `option` does not name several sources. Errors: Code::usage.
void refuse_idle_join(const CommandLine& line, const std::vector<std::string>& sources,
                      std::string_view option);
/// The folder or archive whose files the only word of the command names, as an input that is listed
/// (is_listed_input), and how it is read. Empty: it is something else.
[[nodiscard]] std::optional<InputRequest> listed_input(const CommandLine& line,
                                                       std::size_t others = 0);
/// The inputs with names that the words of the command are, to be joined; or any, where --axis says
/// along which axes they are read. Empty: they are others.
[[nodiscard]] std::optional<InputRequest> joined_inputs(const CommandLine& line,
                                                        std::size_t others = 0);

/// What `shale info` and `shale verify` say of such an input. Return exit codes.
[[nodiscard]] int info_of_input(const InputRequest& request, Console& console);
[[nodiscard]] int verify_input(const InputRequest& request, bool decodes, Console& console,
                               FindingList* list);
/// What a plan says of it, as lines of text; empty for any other input. Errors: as check_input.
struct PlannedInput {
  std::string text;
  std::uint64_t bad = 0;  ///< samples, of those that were looked at
};
[[nodiscard]] PlannedInput planned_input(const ConvertRequest& request, const Events& events);

int run_convert(const CommandLine& line, Console& console);
int run_verify(const CommandLine& line, Console& console);
int run_info(const CommandLine& line, Console& console);
int run_cat(const CommandLine& line, Console& console);
int run_ls(const CommandLine& line, Console& console);
int run_formats(const CommandLine& line, Console& console);
int run_report(const CommandLine& line, Console& console);
int run_resample(const CommandLine& line, Console& console);
int run_index(const CommandLine& line, Console& console);
int run_repair(const CommandLine& line, Console& console);
int run_merge(const CommandLine& line, Console& console);
int run_parts(const CommandLine& line, Console& console);
int run_completion(const CommandLine& line, Console& console);

}  // namespace shale::tools
