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

using Json = nlohmann::ordered_json;

/// Results, to stdout. Errors: Code::io; Code::interrupted, if a signal came while it waited.
void print(std::string_view text);
/// Messages, to stderr, with the line end.
void tell(std::string_view line);
/// "shale: what" and, if there is one, "hint: what to do".
void tell_error(const Error& error);
/// "hint: what to do".
void tell_hint(std::string_view what);
/// One line of --progress json: {"version", "event", "command"} and the members of `facts`.
void tell_event(std::string_view command, std::string_view event, const Json& facts);
void tell_event(std::string_view command, std::string_view event);
/// True once SIGINT, SIGTERM, SIGHUP or SIGUSR1 has come. The first call installs the handlers, but
/// for signals that the parent has set to be ignored.
[[nodiscard]] bool was_interrupted();

/// What a command says on stderr while it runs: notes, findings, and how far it has got.
class Progress {
 public:
  /// automatic: a bar on a terminal, elsewhere a line per minute. json: everything is an event.
  enum class Mode { automatic, plain, json, none };
  Progress(Mode mode, std::string_view command);
  /// Says what was repeated because the storage had faults, if notes are shown.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::uint64_t total, std::uint64_t bytes);
  void note(std::string_view sentence);
  void show_notes() { shows_notes_ = true; }
  void finding(const Finding& finding);
  /// What follows the findings: how many more there are.
  void more_findings(std::uint64_t count);
  void hint(std::string_view what);
  /// Takes the bar away, so that a line can be written.
  void clear();

 private:
  void draw_bar(const ProgressView& view);

  Mode mode_;
  std::string command_;
  bool is_terminal_, is_drawn_ = false, shows_notes_ = false;
  ProgressMeter meter_;
};

/// The callbacks of a command that says nothing while it runs: a signal stops it.
[[nodiscard]] Events until_interrupted();
/// The callbacks of a command: notes and progress to stderr, unless it is quiet.
[[nodiscard]] Events events_for(Progress& progress, bool is_quiet);

}  // namespace shale::tools
