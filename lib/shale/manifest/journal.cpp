#include "shale/manifest/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/atomic_file.hpp"
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
// with kJournalMagic. The tail, a file beside it, has lines of the same kind: its first one follows
// upon the last one of the journal as it was then.

namespace shale {
namespace {

constexpr std::string_view kJournalMagic = "shale journal 2\t";
constexpr std::size_t kChainDigits = 16, kChainBytes = kChainDigits + 1;  // with the TAB
constexpr std::uint64_t kMostLineBytes = 64 << 20, kReadAtOnce = 256 * 1024;

std::string digits_of(std::uint64_t chain) { return fmt::format("{:016x}", chain); }

std::uint64_t chained(std::uint64_t before, std::string_view text) {
  return xxh3_64(as_bytes(digits_of(before).append(text)));
}

std::uint64_t chained_behind(const JournalSummary& before, std::string_view text) {
  return before.bytes > 0 ? chained(before.chain, text) : xxh3_64(as_bytes(text));
}

// One of its own.
int create_file(const std::string& path) {
  const int descriptor = above_standard_descriptors(retried(path, [&] {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  }));
  if (descriptor >= 0) return descriptor;
  throw because_of_room(Error(Code::io, "the journal cannot be created").at(path), path, errno);
}

Error damaged_journal(const std::string& path, std::uint64_t line) {
  return Error(Code::damaged, "the journal of the unfinished run is damaged in its line {}", line)
      .at(path)
      .hint("pass --overwrite to discard that run and start again");
}

// The lines of a file, without their ends; what follows the last end is not one.
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

// A line without its digits, and the digits; none where there is no tab before them.
struct DividedLine {
  std::string_view text, chain;
};
DividedLine divided(std::string_view line) {
  const std::string_view text = line.substr(0, line.size() - std::min(line.size(), kChainBytes));
  const std::string_view chain = line.substr(text.size());
  return {text, chain.starts_with('\t') ? chain.substr(1) : std::string_view()};
}

void take_line(JournalSummary& summary, std::string_view line, std::string_view text) {
  if (summary.bytes == 0) {
    summary.head = text.substr(kJournalMagic.size());
  } else {
    ++summary.lines;
  }
  summary.chain = chained_behind(summary, text);
  summary.bytes += line.size() + 1;
}

// Its first lines may be in the journal already; whatever does not follow is not a tail of it.
std::vector<std::string> tail_behind(const std::string& path, std::uint64_t chain) {
  std::vector<std::string> tail;
  if (!stands(path)) return tail;
  Lines lines(path);
  while (const std::optional<std::string_view> line = lines.next()) {
    const auto [text, digits] = divided(*line);
    const std::uint64_t next = chained(chain, text);
    if (digits != digits_of(next)) {
      if (tail.empty()) continue;
      break;
    }
    chain = next;
    tail.emplace_back(text);
  }
  return tail;
}

}  // namespace

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (tail_descriptor_ >= 0) ::close(tail_descriptor_);
}

Journal::Journal(Journal&& other) noexcept { *this = std::move(other); }

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(tail_descriptor_, other.tail_descriptor_);
  std::swap(tail_bytes_, other.tail_bytes_);
  std::swap(tail_chain_, other.tail_chain_);
  std::swap(summary_, other.summary_);
  return *this;
}

Journal Journal::create(const std::string& path, std::string_view head) {
  Journal journal;
  journal.path_ = path;
  journal.descriptor_ = create_file(path);
  const std::string line = std::string(kJournalMagic).append(head);
  journal.write({&line, 1});
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
  if (left.tail.empty()) (void)remove_file(tail_path(path));  // what does not hold of it
  return journal;
}

void Journal::add(std::string_view line) {
  std::vector<std::string> lines = summary_.tail;
  lines.emplace_back(line);
  write(lines);
}

void Journal::keep_tail() {
  const std::vector<std::string> lines = summary_.tail;
  write(lines);
  if (tail_descriptor_ < 0) (void)remove_file(tail_path(path_));  // that of the run before
}

// Should the file stay: it is compared with what is on the disk before it is believed.
void Journal::drop_tail() noexcept {
  summary_.tail.clear();
  (void)remove_file(tail_path(path_));
  if (tail_descriptor_ >= 0) ::close(std::exchange(tail_descriptor_, -1));
  tail_bytes_ = 0;
}

void Journal::add_to_tail(std::string_view text) {
  if (tail_descriptor_ < 0) create_tail();
  const std::uint64_t chain = chained(summary_.tail.empty() ? summary_.chain : tail_chain_, text);
  const std::string line = fmt::format("{}\t{}\n", text, digits_of(chain));
  write_fully(tail_descriptor_, as_bytes(line), tail_bytes_, tail_path(path_));
  tail_bytes_ += line.size();
  tail_chain_ = chain;
  summary_.tail.emplace_back(text);
}

void Journal::create_tail() {
  const std::string path = tail_path(path_);
  (void)remove_file(path);  // of a run that was killed: the journal has all that was kept of it
  tail_descriptor_ = create_file(path);
}

void Journal::write(std::span<const std::string> lines) {
  std::string text;
  JournalSummary after = summary_;
  after.tail.clear();
  for (const std::string& line : lines) {
    const std::string whole = line + '\t' + digits_of(chained_behind(after, line));
    take_line(after, whole, line);
    text += whole + '\n';
  }
  write_fully(descriptor_, as_bytes(text), summary_.bytes, path_);
  // From here on they may be read again, whether they are durable or not: what they list must stay.
  summary_ = std::move(after);
  if (uninterrupted([&] { return ::fdatasync(descriptor_); }) != 0)
    throw write_error(descriptor_, path_, 0, text.size(), errno);
  if (tail_bytes_ == 0) return;
  // This may fail or be lost: lines of the tail that the journal has are skipped when it is read.
  if (::ftruncate(tail_descriptor_, 0) == 0) tail_bytes_ = 0;
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
    const auto [text, chain] = divided(*line);
    if (chain != digits_of(chained_behind(summary, text))) {
      // A kill may have torn the last one, and nothing but that; a power failure may have lost a
      // page of a write that was not durable yet, and kept those behind it. Lines have no zero
      // bytes.
      if (lines.is_last() || line->find('\0') != std::string_view::npos) break;
      throw damaged_journal(path, is_head ? 1 : summary.lines + 2);
    }
    take_line(summary, *line, text);
    if (!is_head && visit) visit(text);
  }
  if (summary.bytes > 0) summary.tail = tail_behind(Journal::tail_path(path), summary.chain);
  return summary;
}

}  // namespace shale
