#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"

namespace shale::tools {

/// Results, to stdout. Errors: Code::io; Code::interrupted, if a signal came while it waited.
void print(std::string_view text);
/// Messages, to stderr, with the line end.
void tell(std::string_view line);
/// "shale: what" and, if there is one, "hint: what to do".
void tell_error(const Error& error);
/// True once SIGINT, SIGTERM or SIGHUP has come. The first call installs the handlers, but for
/// signals that the parent has set to be ignored.
[[nodiscard]] bool was_interrupted();

/// How far a command has got, on stderr: a bar on a terminal, lines elsewhere if asked for.
class Progress {
 public:
  enum class Mode { automatic, plain, none };
  Progress(Mode mode, std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::uint64_t all, std::uint64_t bytes);
  /// Takes the bar away, so that a line can be written.
  void clear();

 private:
  Mode mode_;
  std::string what_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

/// The callbacks of a command that says nothing while it runs: a signal stops it.
[[nodiscard]] Events until_interrupted();
/// The callbacks of a command: notes and progress to stderr, unless it is quiet.
[[nodiscard]] Events events_for(Progress& progress, bool is_quiet);

}  // namespace shale::tools
