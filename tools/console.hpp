#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/base/progress_meter.hpp"

namespace shale::tools {

/// The most findings that a verification prints, or lists as JSON.
inline constexpr std::uint64_t kToldFindings = 1000;

using Json = nlohmann::ordered_json;

/// As it is printed: on one line, and UTF-8 whatever is in it.
[[nodiscard]] std::string json_text(const Json& facts);

/// Results, to stdout. Errors: Code::io; Code::interrupted, if a signal came while it waited.
void print(std::string_view text);
/// Messages, to stderr, with the line end.
void tell(std::string_view line);
/// "shale: what" and, if there is one, "hint: what to do".
void tell_error(const Error& error);
/// From here on all that is said calls a file by this name, which is opened by the link: a kept
/// stream.
void call_it(std::string link, std::string name);
[[nodiscard]] std::string as_called(std::string_view text);
/// "hint: what to do".
void tell_hint(std::string_view what);
/// One line of --progress json: {"version", "event", "command"} and the members of `facts`.
void tell_event(std::string_view command, std::string_view event, const Json& facts);
void tell_event(std::string_view command, std::string_view event);
/// True once SIGINT, SIGTERM, SIGHUP or SIGUSR1 has come. The first call installs the handlers, but
/// for signals that the parent has set to be ignored.
[[nodiscard]] bool was_interrupted();

/// Whom a command talks to: somebody at a terminal, or a program that runs it in its own process.
class Console {
 public:
  /// automatic: a bar on a terminal, elsewhere a line per minute. json: everything is an event.
  /// silent: neither progress nor notes.
  enum class Mode { automatic, plain, json, none, silent };
  /// Results go to stdout, everything else to stderr. A signal stops the command. is_quiet: no
  /// result as text.
  Console(Mode mode, std::string_view command, bool is_quiet, bool is_json);
  /// Of a program: what happens goes to its events, and the result, as JSON, is kept for it.
  explicit Console(Events events);
  /// Says what was repeated because the storage had faults, if notes are shown.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  [[nodiscard]] const Events& events() const { return events_; }
  [[nodiscard]] bool is_json() const { return is_json_; }
  [[nodiscard]] bool is_quiet() const { return is_quiet_; }
  /// The result of the command, or the next piece of it: the facts with --json, else the text.
  void report(const Json& facts, std::string_view text);
  void print(std::string_view text);
  /// From here on results go to stderr: stdout is the output.
  void report_to_stderr() { reports_to_stderr_ = true; }
  /// What was printed, for a program.
  [[nodiscard]] const std::string& printed() const { return printed_; }

  void finding(const Finding& finding);
  /// What follows the findings: how many more there are.
  void more_findings(std::uint64_t count);
  void hint(std::string_view what);
  /// An error in one of several datasets that does not end the command. A program gets it thrown.
  void failed(const Error& error);
  /// What the facts of the result say as well, and a person has to be told.
  void warn(const Error& error);

 private:
  void show(std::uint64_t done, std::uint64_t total, std::uint64_t bytes);
  void note(std::string_view sentence);
  void clear();  // takes the bar away, so that a line can be written
  void draw_bar(const ProgressView& view);

  Mode mode_;
  std::string command_, printed_;
  bool is_quiet_ = false, is_json_ = true, is_of_program_ = false, reports_to_stderr_ = false,
       is_terminal_ = false, is_drawn_ = false;
  ProgressMeter meter_;
  Events events_;
};

}  // namespace shale::tools
