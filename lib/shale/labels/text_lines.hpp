#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/nameless_file.hpp"

namespace shale {

/// What stdin ("-") and pipes held, for as many readings as a run needs. Thread-safe.
class ListCopies {
 public:
  /// What this process opens the list by: its own path, or a copy that is made once, in the
  /// temporary folder. Errors: same as InputStream; Code::io.
  [[nodiscard]] std::string path_of(const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<NamelessFile>> copies_;
};

/// The lines of a text file that are not blank, without what ends them, and without a byte order
/// mark. Memory: one line. One thread.
class TextLines {
 public:
  /// `wanted` says what a line holds, for the hint where one is too long; `ending` is what ends
  /// it: nothing is taken off a line that ends in NUL. Errors: same as InputFile.
  TextLines(const std::string& path, std::string_view wanted, char ending = '\n');
  /// The same of a list that may be a pipe. Errors: same as ListCopies.
  TextLines(const std::string& name, std::string_view wanted, ListCopies& copies,
            char ending = '\n');

  /// For messages.
  [[nodiscard]] const std::string& path() const { return name_; }
  /// From line 1 on, until `use` returns false. Errors: Code::bad_content for a line of more than
  /// 1 MiB; Code::io.
  void for_each(const std::function<bool(std::uint64_t line, std::string_view text)>& use) const;
  /// Empty if there is none. Errors: same as for_each.
  [[nodiscard]] std::string text_of(std::uint64_t line) const;

 private:
  std::string name_;
  InputFile file_;
  std::string wanted_;
  char ending_;
};

/// Lines of a list of samples that cannot be used; of the first, each caller adds its hint.
/// `unknown`: how many keys of the list no sample has.
[[nodiscard]] Error unknown_key(const std::string& list, std::uint64_t line, std::string_view key,
                                std::uint64_t unknown);
[[nodiscard]] Error listed_twice(const std::string& list, std::string_view what,
                                 std::string_view where,
                                 std::string_view hint = "list each sample once");

}  // namespace shale
