#include "tools/console.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "shale/base/size_text.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/storage_retry.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

volatile std::sig_atomic_t g_signal = 0;  // the one global: a signal handler can reach nothing else

extern "C" void note_signal(int signal) { g_signal = signal; }

// What a stream was kept in, and what it is called. Messages are made everywhere.
struct NamedLink {
  std::string link, name;
};
NamedLink& named_link() {
  static NamedLink named;
  return named;
}

constexpr std::uint64_t kEventsVersion = 1;

constexpr ProgressMeter::Clock::duration interval_of(Console::Mode mode, bool is_terminal) {
  if (mode == Console::Mode::plain) return std::chrono::seconds(2);
  if (mode == Console::Mode::json) return std::chrono::seconds(1);
  // Logs of batch systems and of CI stay short.
  return is_terminal ? std::chrono::milliseconds(100) : std::chrono::minutes(1);
}

// https://no-color.org: set and not empty, whatever its value.
bool has_colors() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_refused = no_color != nullptr && *no_color != '\0';
  const bool is_able = terminal != nullptr && std::string_view(terminal) != "dumb";
  return !is_refused && is_able && ::isatty(STDERR_FILENO) != 0;
}

// SGR parameters: bold red, bold, ...
std::string colored(std::string_view word, std::string_view sgr) {
  return has_colors() ? fmt::format("\x1b[{}m{}\x1b[0m", sgr, word) : std::string(word);
}

// Of a stream.
std::string without_total(const ProgressView& view) {
  return fmt::format("{} so far ({}), {}/s", format_count(view.done), format_size(view.bytes),
                     format_size(view.bytes_per_second));
}

}  // namespace

void call_it(std::string link, std::string name) {
  named_link() = {std::move(link), std::move(name)};
}

std::string as_called(std::string_view text) {
  const auto& [link, name] = named_link();
  std::string shown(text);
  if (link.empty()) return shown;
  const std::string_view told = name == kStdin ? "stdin" : std::string_view(name);
  for (std::size_t at = 0; (at = shown.find(link, at)) != std::string::npos;) {
    const char next = at + link.size() < shown.size() ? shown[at + link.size()] : '\0';
    const bool is_longer = next >= '0' && next <= '9';
    const std::string_view its = is_longer ? link : next == ':' ? told : std::string_view(name);
    shown.replace(at, link.size(), its);
    at += its.size();
  }
  // Findings have the last part of a path.
  const std::string_view number = std::string_view(link).substr(link.rfind('/') + 1);
  const std::string place = fmt::format("{}: byte ", number);
  for (std::size_t at = 0; (at = shown.find(place, at)) != std::string::npos; ++at) {
    if (at == 0 || std::string_view(shown).substr(0, at).ends_with(": "))
      shown.replace(at, number.size(), told);
  }
  return shown;
}

// By write alone: stdio would go on waiting for a reader that takes nothing after a signal has
// come.
void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      throw Error(Code::io, "cannot write to stdout").because_errno(errno);
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    if (!text.empty() && g_signal != 0) throw interruption();
  }
}

void tell(std::string_view line) {
  const std::string text = as_called(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void tell_error(const Error& error) {
  tell(fmt::format("{} {}", colored("shale:", "1;31"), error.what()));
  if (!error.hint().empty()) tell_hint(error.hint());
}

std::string json_text(const Json& facts) {
  return as_called(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void tell_hint(std::string_view what) { tell(fmt::format("{} {}", colored("hint:", "1"), what)); }

void tell_event(std::string_view command, std::string_view event) {
  tell_event(command, event, Json::object());
}

void tell_event(std::string_view command, std::string_view event, const Json& facts) {
  Json json = {{"version", kEventsVersion}, {"event", event}, {"command", command}};
  json.update(facts);
  tell(json_text(json));
}

bool was_interrupted() {
  static const bool is_installed = [] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
      struct sigaction action = {};
      // What the parent has ignored (nohup, a script's `command &`) stays ignored.
      if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
      action = {};
      action.sa_handler = note_signal;
      action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second signal ends the process at once
      (void)sigaction(signal, &action, nullptr);
    }
    return true;
  }();
  return is_installed && g_signal != 0;
}

Console::Console(Mode mode, std::string_view command, bool is_quiet, bool is_json)
    : mode_(mode),
      command_(command),
      is_quiet_(is_quiet),
      is_json_(is_json),
      is_terminal_(::isatty(STDERR_FILENO) != 0),
      meter_(interval_of(mode, is_terminal_), mode == Mode::json, ProgressMeter::Clock::now()) {
  (void)was_interrupted();  // the handlers stand from here on
  events_.should_stop = was_interrupted;
  if (mode == Mode::silent) return;
  events_.note = [this](std::string_view sentence) { note(sentence); };
  events_.progress = [this](std::uint64_t done, std::uint64_t all, std::uint64_t bytes) {
    show(done, all, bytes);
  };
}

Console::Console(Events events)
    : mode_(Mode::silent),
      is_of_program_(true),
      meter_(interval_of(Mode::silent, false), false, ProgressMeter::Clock::now()),
      events_(std::move(events)) {}

Console::~Console() {
  clear();
  if (mode_ == Mode::silent) return;
  try {
    for (const std::string& sentence : take_retry_notes()) note(sentence);
  } catch (const std::exception&) {
    return;  // no memory for a note: the result matters more
  }
}

void Console::report(const Json& facts, std::string_view text) {
  if (is_json_) return print(json_text(facts) + "\n");
  if (!is_quiet_) print(text);
}

void Console::print(std::string_view said) {
  clear();
  const std::string text = as_called(said);
  if (is_of_program_)
    printed_ += text;
  else if (reports_to_stderr_)
    std::fwrite(text.data(), 1, text.size(), stderr);
  else
    tools::print(text);
}

void Console::show(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) {
  if (mode_ == Mode::none || mode_ == Mode::silent) return;
  const auto view = meter_.report(done, total, bytes, ProgressMeter::Clock::now());
  if (!view) return;
  if (mode_ == Mode::json) {
    Json facts = {{"done", view->done},       {"total", view->total},
                  {"bytes", view->bytes},     {"share", view->share},
                  {"seconds", view->seconds}, {"bytes_per_second", view->bytes_per_second}};
    if (view->seconds_left) facts["seconds_left"] = *view->seconds_left;
    tell_event(command_, "progress", facts);
  } else if (mode_ == Mode::automatic && is_terminal_) {
    draw_bar(*view);
  } else if (done > total) {
    tell(fmt::format("{}: {}", command_, without_total(*view)));
  } else {
    tell(fmt::format("{}: {:.0f}% ({} of {}), {}/s, {:.0f} s left", command_, view->share * 100,
                     done, total, format_size(view->bytes_per_second),
                     view->seconds_left.value_or(0)));
  }
}

void Console::draw_bar(const ProgressView& view) {
  is_drawn_ = true;
  if (view.done > view.total) {
    const std::string line = fmt::format("\r{}  {}\x1b[K", command_, without_total(view));
    std::fwrite(line.data(), 1, line.size(), stderr);
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(view.share * kWidth);
  const std::string bar =
      fmt::format("\r{} [{:=<{}}{:{}}] {:3.0f}%  {}/s  {:.0f} s left\x1b[K", command_, "", filled,
                  "", kWidth - filled, view.share * 100, format_size(view.bytes_per_second),
                  view.seconds_left.value_or(0));
  std::fwrite(bar.data(), 1, bar.size(), stderr);
}

void Console::note(std::string_view sentence) {
  clear();
  if (mode_ == Mode::json) return tell_event(command_, "note", {{"message", sentence}});
  tell(fmt::format("note: {}", sentence));
}

void Console::finding(const Finding& finding) {
  clear();
  if (is_of_program_) return;
  if (mode_ == Mode::json) return tell_event(command_, "finding", finding_facts(finding));
  tell(describe(finding));
}

void Console::more_findings(std::uint64_t count) {
  if (mode_ == Mode::json) return tell_event(command_, "more_findings", {{"count", count}});
  tell(fmt::format("... and {} more findings", format_count(count)));
}

void Console::hint(std::string_view what) {
  if (mode_ == Mode::json) return tell_event(command_, "hint", {{"message", what}});
  tell_hint(what);
}

void Console::failed(const Error& error) {
  if (is_of_program_) throw error;
  tell_error(error);
}

void Console::warn(const Error& error) {
  if (!is_of_program_) tell_error(error);
}

void Console::clear() {
  if (!is_drawn_) return;
  std::fwrite("\r\x1b[K", 1, 4, stderr);
  is_drawn_ = false;
}

}  // namespace shale::tools
