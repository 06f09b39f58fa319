#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace shale {

/// What a journal holds, up to its last whole line.
struct JournalSummary {
  std::string head;         ///< the description of the run; empty: it had not begun
  std::uint64_t lines = 0;  ///< behind the head
  std::uint64_t bytes = 0, chain = 0;
};

/// The journal of a run: text, a line for each step, each of them durable when it has been added.
/// docs/layout.md has the bytes. The last line may be torn by a kill; any other change shows.
class Journal {
 public:
  Journal() = default;
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;

  /// Begins one; its name is not durable yet. `head` and all lines are without line ends. Errors:
  /// Code::io, also if there is one.
  [[nodiscard]] static Journal create(const std::string& path, std::string_view head);
  /// Goes on with one that was read: what a kill left of a line behind it goes. Errors: Code::io.
  [[nodiscard]] static Journal reopen(const std::string& path, const JournalSummary& left);

  void add(std::string_view line);
  [[nodiscard]] std::uint64_t lines() const { return summary_.lines; }

 private:
  void write(std::string_view line);

  std::string path_;
  int descriptor_ = -1;
  JournalSummary summary_;
};

/// Reads a journal; one that is missing, or whose first line is torn, is empty. A last line that is
/// torn is left out. Errors: Code::damaged naming file and line for one that was changed;
/// Code::exists for a journal of another version of shale; Code::io.
[[nodiscard]] JournalSummary read_journal(
    const std::string& path, const std::function<void(std::string_view line)>& visit = {});

}  // namespace shale
