#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// What a journal holds, up to its last whole line.
struct JournalSummary {
  std::string head;         ///< the description of the run; empty: it had not begun
  std::uint64_t lines = 0;  ///< behind the head
  std::uint64_t bytes = 0, chain = 0;
  /// Lines behind them that nobody had made durable: after a power failure what they tell of may be
  /// missing. Whoever goes on with the run looks at that, and leaves out what does not hold.
  std::vector<std::string> tail;

  [[nodiscard]] bool holds_lines() const { return lines > 0 || !tail.empty(); }
};

/// The journal of a run: text, a line for each step, each of them durable when it has been added,
/// and beside it a tail of lines that are not: a kill loses none of them. docs/layout.md has the
/// bytes. The last line may be torn by a kill; any other change shows.
class Journal {
 public:
  Journal() = default;
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;

  /// Begins one; its name is not durable yet. `head` and all lines are without line ends. Errors:
  /// Code::io, also if there is one.
  [[nodiscard]] static Journal create(const std::string& path, std::string_view head);
  /// Goes on with one that was read, and its tail: what a kill left of a line behind it goes.
  /// Errors: Code::io.
  [[nodiscard]] static Journal reopen(const std::string& path, const JournalSummary& left);
  /// Where the tail of a journal is.
  [[nodiscard]] static std::string tail_path(const std::string& path) { return path + ".tail"; }

  /// Makes a line durable, and the tail before it. Errors: Code::io.
  void add(std::string_view line);
  /// Adds a line to the tail. Errors: Code::io.
  void add_to_tail(std::string_view line);
  /// Makes the tail durable: it is the journal's then. Errors: Code::io.
  void keep_tail();
  /// Forgets the tail: what it tells of could not be made durable.
  void drop_tail() noexcept;
  /// The tail included.
  [[nodiscard]] std::uint64_t lines() const { return summary_.lines + summary_.tail.size(); }

 private:
  void write(std::span<const std::string> lines);
  void create_tail();

  std::string path_;
  int descriptor_ = -1, tail_descriptor_ = -1;
  std::uint64_t tail_bytes_ = 0, tail_chain_ = 0;
  JournalSummary summary_;
};

/// Reads a journal; one that is missing, or whose first line is torn, is empty. A last line that is
/// torn is left out; `visit` gets no lines of the tail. Errors: Code::damaged naming file and line
/// for one that was changed; Code::exists for a journal of another version of shale; Code::io.
[[nodiscard]] JournalSummary read_journal(
    const std::string& path, const std::function<void(std::string_view line)>& visit = {});

}  // namespace shale
