#include <algorithm>
#include <optional>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/webdataset/webdataset_foreign.hpp"

namespace shale {
namespace {

// A run of members with one key.
struct SampleRun {
  std::uint64_t begin = 0, end = 0, extensions = 0;  // the last: a hash of them all, in their order
  std::string key;
};

// Reads runs until the damage, with the last one, which it ends.
class RunWalk {
 public:
  RunWalk(const InputFile& file, WalkPace& pace, std::uint64_t begin)
      : walk_(file, pace, nullptr, begin), next_(walk_.next()) {}

  std::optional<SampleRun> next() {
    if (!next_) return std::nullopt;
    SampleRun run{.begin = next_->begin, .key = std::string(next_->key)};
    do {
      run.end = next_->end;
      run.extensions = run.extensions * 0x9e3779b97f4a7c15U + xxh3_64(as_bytes(next_->extension));
      next_ = walk_.next();
    } while (next_ && !next_->is_first);
    return run;
  }
  // The run that was read last is the last one before the damage.
  [[nodiscard]] bool is_at_damage() const { return !next_ && walk_.damage(); }
  [[nodiscard]] const SampleWalk& walk() const { return walk_; }

 private:
  SampleWalk walk_;
  std::optional<SampleMember> next_;
};

class LostMembers {
 public:
  LostMembers(const InputFile& file, const WalkProgress& progress)
      : file_(file), pace_(progress, file.size()), window_(file) {}

  LostRanges find() {
    for (std::uint64_t begin = 0; begin < file_.size();) {
      RunWalk runs(file_, pace_, begin);
      std::optional<SampleRun> last;
      while (std::optional<SampleRun> run = runs.next()) {
        if (!runs.is_at_damage()) take(*run);
        last = std::move(run);
      }
      if (!runs.walk().damage()) return std::move(lost_);
      const std::uint64_t damage = runs.walk().position();
      const bool is_whole = last && last->extensions == usual_;
      if (is_whole) take(*last);
      const std::uint64_t from = last && !is_whole ? last->begin : damage;
      begin = next_whole(damage, last && !is_whole ? last->key : "");
      lost_.push_back({.offset = from,
                       .length = begin - from,
                       .before = whole_,
                       .why = runs.walk().damage()->message(),
                       .key = last && !is_whole ? last->key : ""});
    }
    return std::move(lost_);
  }

 private:
  void take(const SampleRun& run) {
    ++whole_;
    usual_ = run.extensions;
  }

  // Where the first sample begins that is whole; the end of the file if there is none. `cut`: the
  // key of one that is not.
  std::uint64_t next_whole(std::uint64_t damage, std::string cut) {
    while (true) {
      const std::uint64_t found = next_header(damage + kTarBlockBytes);
      if (found == file_.size()) return found;
      RunWalk runs(file_, pace_, found);
      const std::optional<SampleRun> first = runs.next(), second = runs.next();
      const std::uint64_t usual = usual_ != 0 ? usual_ : second ? second->extensions : 0;
      if (first && first->extensions == usual && first->key != cut) return first->begin;
      if (second) return second->begin;
      if (!runs.walk().damage()) return file_.size();
      damage = runs.walk().position();
      cut = first ? first->key : "";
    }
  }

  std::uint64_t next_header(std::uint64_t from) {
    const std::uint64_t size = file_.size();
    for (std::uint64_t at = from; at + kTarBlockBytes <= size; at += kTarBlockBytes) {
      pace_.step_to(at);
      if (is_tar_header(window_.view(at, kTarBlockBytes)) && is_followed(at)) return at;
    }
    return size;
  }

  // By another header, or by the end: almost no bytes in the data of a member are.
  bool is_followed(std::uint64_t header) {
    TarReader reader(header, file_.size(), file_.path());
    try {
      const bool is_member = reader.take(window_.view(header, kTarBlockBytes)).has_value();
      if (!is_member || reader.wanted() < kTarBlockBytes) return true;
      const Bytes block = window_.view(reader.offset(), kTarBlockBytes);
      return is_tar_header(block) ||
             std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte{0}; });
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      return false;
    }
  }

  const InputFile& file_;
  WalkPace pace_;
  WindowReader window_;
  std::uint64_t whole_ = 0, usual_ = 0;
  LostRanges lost_;
};

}  // namespace

LostRanges find_lost_members(const InputFile& file, const WalkProgress& progress) {
  LostRanges lost = LostMembers(file, progress).find();
  if (!lost.empty() && lost[0].offset == 0 && lost[0].length == file.size()) {
    throw Error(Code::damaged, "none of its samples is whole: {}", lost[0].why)
        .at(file.path())
        .hint("restore the archive from an intact copy");
  }
  return lost;
}

}  // namespace shale
