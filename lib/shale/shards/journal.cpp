#include "shale/shards/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/write_fully.hpp"

// A line of a journal:
//
//   text, TAB, 16 hex digits, LF
//
// The digits are xxh3-64 of the digits of the line before (nothing for the first) and the text, so
// that a line which is changed, missing or out of place shows. The text of the first line begins
// with kJournalMagic.

namespace shale {
namespace {

constexpr std::string_view kJournalMagic = "shale journal 2\t";
constexpr std::size_t kChainDigits = 16, kChainBytes = kChainDigits + 1;  // with the TAB
constexpr std::uint64_t kMostLineBytes = 64 << 20, kReadAtOnce = 256 * 1024;

std::string digits_of(std::uint64_t chain) { return fmt::format("{:016x}", chain); }

std::uint64_t chained(const JournalSummary& before, std::string_view text) {
  std::string hashed = before.bytes > 0 ? digits_of(before.chain) : "";
  return xxh3_64(as_bytes(hashed.append(text)));
}

Error damaged_journal(const std::string& path, std::uint64_t line) {
  return Error(Code::damaged, "the journal of the unfinished run is damaged in its line {}", line)
      .at(path)
      .hint("pass --overwrite to discard that run and start again");
}

// The lines of a file, without their ends; what stands behind the last end is not one.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {}

  std::optional<std::string_view> next() {
    text_.erase(0, used_);
    for (std::size_t end = text_.find('\n'), seen = 0;; end = text_.find('\n', seen)) {
      if (end != std::string::npos) {
        used_ = end + 1;
        return std::string_view(text_).substr(0, end);
      }
      seen = text_.size();
      used_ = 0;
      if (offset_ == file_.size() || seen > kMostLineBytes) return std::nullopt;
      text_.resize(seen + std::min<std::uint64_t>(kReadAtOnce, file_.size() - offset_));
      const auto into = std::as_writable_bytes(std::span(text_).subspan(seen));
      file_.read_exact(offset_, into);
      offset_ += into.size();
    }
  }
  [[nodiscard]] bool is_last() const { return offset_ == file_.size() && used_ == text_.size(); }

 private:
  InputFile file_;
  std::string text_;
  std::size_t used_ = 0;
  std::uint64_t offset_ = 0;
};

void take_line(JournalSummary& summary, std::string_view line, std::string_view text) {
  if (summary.bytes == 0) {
    summary.head = text.substr(kJournalMagic.size());
  } else {
    ++summary.lines;
  }
  summary.chain = chained(summary, text);
  summary.bytes += line.size() + 1;
}

}  // namespace

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      summary_(std::move(other.summary_)) {}

Journal& Journal::operator=(Journal&& other) noexcept {
  path_ = std::move(other.path_);
  std::swap(descriptor_, other.descriptor_);
  summary_ = std::move(other.summary_);
  return *this;
}

Journal Journal::create(const std::string& path, std::string_view head) {
  Journal journal;
  journal.path_ = path;
  journal.descriptor_ = above_standard_descriptors(retried(path, [&] {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  }));
  if (journal.descriptor_ < 0)
    throw because_of_room(Error(Code::io, "the journal cannot be created").at(path), path, errno);
  journal.write(std::string(kJournalMagic).append(head));
  return journal;
}

Journal Journal::reopen(const std::string& path, const JournalSummary& left) {
  Journal journal;
  journal.path_ = path;
  journal.summary_ = left;
  journal.descriptor_ = above_standard_descriptors(
      retried(path, [&] { return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC); }));
  if (journal.descriptor_ < 0 ||
      ::ftruncate(journal.descriptor_, static_cast<off_t>(left.bytes)) != 0)
    throw Error(Code::io, "the journal cannot be continued").at(path).because_errno(errno);
  return journal;
}

void Journal::add(std::string_view line) { write(line); }

void Journal::write(std::string_view text) {
  const std::string line = fmt::format("{}\t{}", text, digits_of(chained(summary_, text)));
  write_fully(descriptor_, as_bytes(line + "\n"), summary_.bytes, path_);
  // From here on it may be read again, whether it is durable or not: what it lists must stay.
  take_line(summary_, line, text);
  if (uninterrupted([&] { return ::fdatasync(descriptor_); }) != 0)
    throw write_error(descriptor_, path_, 0, line.size(), errno);
}

JournalSummary read_journal(const std::string& path,
                            const std::function<void(std::string_view)>& visit) {
  JournalSummary summary;
  if (!stands(path)) return summary;
  Lines lines(path);
  while (const std::optional<std::string_view> line = lines.next()) {
    const bool is_head = summary.bytes == 0;
    if (is_head && !line->starts_with(kJournalMagic)) {
      throw Error(Code::exists, "holds an unfinished run of another version of shale")
          .at(path)
          .hint("finish it with that version, or pass --overwrite to discard it");
    }
    const std::string_view text =
        line->substr(0, line->size() - std::min(line->size(), kChainBytes));
    const std::string_view chain = line->substr(text.size());
    if (!chain.starts_with('\t') || chain.substr(1) != digits_of(chained(summary, text))) {
      // A kill, or a power cut, may have torn the last one, and nothing but that.
      if (lines.is_last()) break;
      throw damaged_journal(path, is_head ? 1 : summary.lines + 2);
    }
    take_line(summary, *line, text);
    if (!is_head && visit) visit(text);
  }
  return summary;
}

}  // namespace shale
