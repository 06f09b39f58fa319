#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/io/external_sorter.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {

/// What an archive holds under a path.
enum class MemberType : std::uint8_t {
  file,
  folder,
  archive,  ///< an archive in the archive: a folder of what is in it
  hard_link,
  symbolic_link,
  special,
};

/// One member of an archive. A path here is its components with NUL between them: sorted bytewise,
/// what lies in a folder then comes right behind it.
struct Member {
  std::string path;
  /// Which of several with one path it is: the later ones replace those before.
  std::uint64_t number = 0;
  MemberType type = MemberType::file;
  bool is_inner = false;                ///< of an archive in the archive
  std::uint64_t offset = 0, bytes = 0;  ///< of its data in the archive's file
  std::string target;                   ///< of a link, as stored in the archive
};

/// The members of an archive by path, on disk. Memory: what it is given, however many there are.
class MemberTable {
 public:
  MemberTable(const std::string& scratch_folder, std::uint64_t memory_bytes);

  void add(const Member& member);
  /// No more add() after it. `stop_if_asked` is called again and again, and may throw. Errors:
  /// Code::io.
  void finish(const std::function<void()>& stop_if_asked);

  /// The place of the first member whose path is not less.
  [[nodiscard]] std::uint64_t find(std::string_view path);
  /// The member there, all others of its path included, and moves `place` on to the next; nullopt
  /// behind the last.
  [[nodiscard]] std::optional<Member> next(std::uint64_t& place);

 private:
  struct Mark {
    std::string path;
    std::uint64_t place;
  };
  void mark(std::string_view path, std::uint64_t place);
  [[nodiscard]] Bytes view(std::uint64_t place, std::uint64_t bytes);

  std::uint64_t memory_bytes_;
  std::string scratch_folder_;
  std::optional<ExternalSorter> sorter_;
  std::optional<ScratchFile> file_;
  std::vector<Mark> marks_;  // of about every step_ bytes of the file
  std::uint64_t marks_bytes_ = 0, step_;
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
  std::string entry_;
};

}  // namespace shale
