#include "tools/console.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "shale/base/size_text.hpp"

namespace shale::tools {
namespace {

volatile std::sig_atomic_t g_signal = 0;  // the one global: a signal handler can reach nothing else

extern "C" void note_signal(int signal) { g_signal = signal; }

constexpr std::chrono::milliseconds kBarInterval{100}, kLineInterval{2000};

}  // namespace

// By write alone: stdio would go on waiting for a reader that takes nothing after a signal has
// come.
void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      throw Error(Code::io, "cannot write to stdout").because_errno(errno);
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    if (!text.empty() && g_signal != 0) until_interrupted().stop_if_asked();
  }
}

void tell(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void tell_error(const Error& error) {
  tell(fmt::format("shale: {}", error.what()));
  if (!error.hint().empty()) tell(fmt::format("hint: {}", error.hint()));
}

bool was_interrupted() {
  static const bool is_installed = [] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
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

Progress::Progress(Mode mode, std::string_view what)
    : mode_(mode), what_(what), begin_(std::chrono::steady_clock::now()), last_(begin_) {
  if (mode_ == Mode::automatic && ::isatty(STDERR_FILENO) == 0) mode_ = Mode::none;
}

Progress::~Progress() { clear(); }

void Progress::show(std::uint64_t done, std::uint64_t all, std::uint64_t bytes) {
  if (mode_ == Mode::none) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (mode_ == Mode::plain ? kLineInterval : kBarInterval)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double share = all == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(all);
  const double left = share > 0 ? seconds / share - seconds : 0;
  const std::string rate =
      format_size(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds));
  if (mode_ == Mode::plain) {
    tell(fmt::format("{}: {:.0f}% ({} of {}), {}/s, {:.0f} s left", what_, share * 100, done, all,
                     rate, left));
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(share * kWidth);
  const std::string bar =
      fmt::format("\r{} [{:=<{}}{:{}}] {:3.0f}%  {}/s  {:.0f} s left\x1b[K", what_, "", filled, "",
                  kWidth - filled, share * 100, rate, left);
  std::fwrite(bar.data(), 1, bar.size(), stderr);
  is_drawn_ = true;
}

void Progress::clear() {
  if (!is_drawn_) return;
  std::fwrite("\r\x1b[K", 1, 4, stderr);
  is_drawn_ = false;
}

Events until_interrupted() {
  Events events;
  (void)was_interrupted();  // the handlers stand from here on
  events.should_stop = was_interrupted;
  return events;
}

Events events_for(Progress& progress, bool is_quiet) {
  Events events = until_interrupted();
  if (!is_quiet) {
    events.note = [&progress](std::string_view sentence) {
      progress.clear();
      tell(fmt::format("note: {}", sentence));
    };
    events.progress = [&progress](std::uint64_t done, std::uint64_t all, std::uint64_t bytes) {
      progress.show(done, all, bytes);
    };
  }
  return events;
}

}  // namespace shale::tools
