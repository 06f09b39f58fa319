#include "shale/report/write_report.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"

namespace shale {
namespace {

constexpr std::string_view kSealBegin = "<!-- shale report, xxh3-128 of all before this line: ";
constexpr std::string_view kSealEnd = " -->\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kSealBytes = kSealBegin.size() + kHashDigits + kSealEnd.size();

std::optional<Hash128> hash_in_seal(std::string_view seal) {
  if (!seal.starts_with(kSealBegin) || !seal.ends_with(kSealEnd)) return std::nullopt;
  return Hash128::from_hex(seal.substr(kSealBegin.size(), kHashDigits));
}

Hash128 hash_of_front(const InputFile& file, std::uint64_t bytes) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  Hasher128 hasher;
  std::vector<std::byte> read;
  for (std::uint64_t at = 0; at < bytes; at += read.size()) {
    read.resize(std::min(kAtOnce, bytes - at));
    file.read_exact(at, read);
    hasher.update(read);
  }
  return hasher.digest();
}

std::string_view kind_of_file(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Why the file at an output path must not be replaced; nullopt: there is none, or a whole page of
// shale's.
std::optional<Error> never_replaced(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts) return std::nullopt;
  const auto refusal = [&](Error error) {
    return error.at(path).hint("choose another output, or move it away");
  };
  if (!S_ISREG(facts->st_mode))
    return refusal(Error(Code::exists, "is {}: only a report of shale is ever replaced",
                         kind_of_file(facts->st_mode)));
  switch (page_state(path)) {
    case PageState::whole:
      return std::nullopt;
    case PageState::begun:
    case PageState::changed:
      return refusal(Error(Code::exists,
                           "is a report that was changed, or cut off, after shale wrote it: it is "
                           "never replaced"));
    case PageState::foreign:
      break;
  }
  return refusal(
      Error(Code::exists, "already exists, and is not a report of shale: it is never replaced"));
}

// What a run that was killed has left under the hidden name: nothing yet, or a page up to
// somewhere.
bool was_left_behind(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts || !S_ISREG(facts->st_mode)) return false;
  if (facts->st_size == 0) return true;
  const PageState state = page_state(path);
  return state == PageState::begun || state == PageState::whole;
}

// Reports into one folder are put there one after the other: two of one output would clear away and
// rename each other's unfinished page. Waits for the other, which takes as long as a page is
// written; ends with the process that holds it. Network file systems may have no locks: then
// nothing guards against a second writer.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : descriptor_(above_standard_descriptors(
            ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX) == 0 || errno != EINTR) return;
    ::close(descriptor_);
    throw interruption();
  }
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Of a name that is nearly as long as one may be, its hash.
std::string hidden_name(const std::string& name) {
  constexpr std::size_t kMostBytes = 255 - 16;
  return fmt::format(".{}.shale-report",
                     name.size() <= kMostBytes ? name : xxh3_128(as_bytes(name)).hex());
}

// Gone when the work is done, or fails.
class TemporaryName {
 public:
  explicit TemporaryName(const std::string& output)
      : path_(
            join_path(folder_of_file(output), hidden_name(output.substr(output.rfind('/') + 1)))) {
    // What a run that was killed has left.
    if (!stands(path_)) return;
    if (!was_left_behind(path_)) {
      throw Error(Code::exists,
                  "already exists, and is not what an earlier run left: the page is first written "
                  "under this name")
          .at(path_)
          .hint("choose another output, or move it away");
    }
    (void)remove_file(path_);
  }
  ~TemporaryName() {
    if (is_there_) (void)remove_file(path_);
  }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void is_there(bool is_there) { is_there_ = is_there; }

 private:
  std::string path_;
  bool is_there_ = false;
};

// An error about the hidden file, as one about the output: what the user knows.
Error named_after(const std::string& output, const std::string& hidden, const Error& error) {
  if (error.file() != hidden) return error;
  Error named(error.code(), "{}", error.message());
  named.at(output, error.offset());
  if (!error.cause().empty()) named.because(error.cause());
  if (!error.hint().empty()) named.hint(error.hint());
  return named;
}

void write_hidden(TemporaryName& temporary, std::string_view page) {
  OutputFile file(temporary.path(),
                  {.io = IoMode::buffered, .buffer_bytes = 256 * 1024, .buffers = 1});
  temporary.is_there(true);
  file.append(as_bytes(page));
  (void)file.finish();
}

}  // namespace

std::string sealed(std::string page) {
  page += fmt::format("{}{}{}", kSealBegin, xxh3_128(as_bytes(page)).hex(), kSealEnd);
  return page;
}

PageState page_state(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> read(std::min<std::uint64_t>(kPageBegin.size(), file.size()));
  file.read_exact(0, read);
  if (as_text(read) != kPageBegin) return PageState::foreign;
  if (file.size() < kPageBegin.size() + kSealBytes) return PageState::begun;
  read.resize(kSealBytes);
  file.read_exact(file.size() - kSealBytes, read);
  const std::optional<Hash128> expected = hash_in_seal(as_text(read));
  if (!expected) return PageState::begun;
  return hash_of_front(file, file.size() - kSealBytes) == *expected ? PageState::whole
                                                                    : PageState::changed;
}

void refuse_report_output(const ReportPlace& place) {
  const std::string& output = place.output;
  if (output == "-") {
    throw Error(Code::usage, "'-' as output is not supported: a page is written to a file")
        .hint("name the page, such as report.html; for a file named '-' write './-'");
  }
  if (std::optional<Error> error = url_error(output)) throw *error;
  if (output.empty() || output.ends_with('/')) {
    throw Error(Code::usage, "'{}' is not the name of a file", printable(output))
        .hint("name the page that is to be written, such as report.html");
  }
  refuse_nested({output}, place.inputs);
  if (std::optional<Error> error = never_replaced(output)) throw *error;
  if (!stands(output)) return;
  if (!place.overwrites) {
    throw Error(Code::exists, "already exists, and is a report")
        .at(output)
        .hint("choose another output, or pass --overwrite to replace this report");
  }
}

void write_report(const ReportPlace& place, std::string_view page) {
  const FolderLock lock(folder_of_file(place.output));
  refuse_report_output(place);
  TemporaryName temporary(place.output);
  try {
    write_hidden(temporary, page);
    if (place.overwrites) {
      refuse_report_output(place);
      rename_file(temporary.path(), place.output);
    } else if (!rename_to_free_name(temporary.path(), place.output)) {
      throw Error(Code::exists, "was made by somebody else in the meantime")
          .at(place.output)
          .hint("choose another output, or move it away");
    }
  } catch (const Error& error) {
    throw named_after(place.output, temporary.path(), error);
  }
  temporary.is_there(false);
  sync_directory(folder_of_file(place.output));
}

}  // namespace shale
