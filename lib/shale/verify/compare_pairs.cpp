#include "shale/verify/compare_pairs.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/verify/compare_frames.hpp"
#include "shale/verify/compare_sample.hpp"

namespace shale {
namespace {

void name_place(Finding& finding, const ComparedPair& pair, const InputFile& file) {
  finding.sample = SampleId{pair.key, std::nullopt};
  finding.file = std::filesystem::path(file.path()).filename().string();
  finding.shard = pair.shard->shard().name;
  finding.row = pair.row;
}

// A file of the source, wherever it lies.
class PairSource {
 public:
  PairSource(const ComparedPair& pair, const ArchiveFile* archive) {
    if (archive == nullptr) own_.emplace(pair.path);
    file_ = own_ ? &*own_ : &archive->file();
    offset_ = own_ ? 0 : pair.offset;
    bytes_ = own_ ? own_->size() : pair.bytes;
  }
  PairSource(const PairSource&) = delete;
  PairSource& operator=(const PairSource&) = delete;
  [[nodiscard]] SourceExtent extent() const { return {*file_, offset_, bytes_}; }

 private:
  std::optional<InputFile> own_;
  const InputFile* file_ = nullptr;
  std::uint64_t offset_ = 0, bytes_ = 0;
};

std::optional<Finding> compare_file(const ComparedPair& pair, const PairComparison& how) {
  if (pair.known) {
    return compare_sample(pair.shard->file_of_field(pair.field), pair.place,
                          expected_of(as_bytes(std::string_view(*pair.known)), "the source file"));
  }
  const PairSource source(pair, how.archive.get());
  const SourceExtent extent = source.extent();
  return compare_sample(pair.shard->file_of_field(pair.field), pair.place,
                        {.bytes = extent.bytes,
                         .read =
                             [&](std::uint64_t offset, std::span<std::byte> into) {
                               extent.file.read_exact(extent.offset + offset, into);
                             },
                         .what = "the source file"});
}

std::optional<Finding> compare_worked_on(const ComparedPair& pair, const PairComparison& how,
                                         unsigned thread) {
  if (pair.known) {
    return how.work->compare(as_bytes(std::string_view(*pair.known)),
                             pair.shard->file_of_field(pair.field), pair.place, how.source_field,
                             thread);
  }
  const PairSource source(pair, how.archive.get());
  return how.work->compare(source.extent(), pair.shard->file_of_field(pair.field), pair.place,
                           how.source_field, thread);
}

std::optional<Finding> compare_list(const ComparedPair& pair, const PairComparison& how,
                                    unsigned thread) {
  std::function<bool(Bytes, Bytes)> is_made_of;
  if (how.work != nullptr) {
    is_made_of = [&](Bytes source, Bytes frame) {
      return how.work->makes(source, frame, how.source_field, thread);
    };
  }
  return compare_frames({.file = pair.shard->file_of_field(how.field),
                         .place = pair.place,
                         .format = *how.frames,
                         .elements = pair.shard->elements_of(pair.place),
                         .folder = pair.path,
                         .archive = how.archive.get(),
                         .archived = pair.frames,
                         .keeps_hidden = how.keeps_hidden,
                         .order = how.order,
                         .memory_bytes = how.memory_bytes,
                         .is_made_of = is_made_of});
}

std::optional<Finding> compare_pair(const ComparedPair& pair, const PairComparison& how,
                                    unsigned thread) {
  if (!how.compares_payload) return std::nullopt;
  const bool is_worked_on = how.work != nullptr && pair.field == how.worked_field;
  std::optional<Finding> finding = how.frames != nullptr ? compare_list(pair, how, thread)
                                   : is_worked_on        ? compare_worked_on(pair, how, thread)
                                                         : compare_file(pair, how);
  if (finding) name_place(*finding, pair, pair.shard->file_of_field(pair.field));
  return finding;
}

// Files and values that are read together, many reads in flight.
class PairsAtOnce {
 public:
  PairsAtOnce(const std::vector<ComparedPair>& pairs, const PairComparison& how, unsigned thread)
      : pairs_(pairs), how_(how), thread_(thread), are_equal_(pairs.size()) {
    if (how.readers.empty() || how.frames != nullptr || !how.compares_payload) return;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::uint64_t bytes = bytes_of_both(pairs[i]);
      if (!is_plain(pairs[i]) || bytes > how.bytes_at_once) continue;
      if (bytes_ + bytes > how.bytes_at_once) read();
      together_.push_back(i);
      bytes_ += bytes;
    }
    read();
  }

  // Of a pair: nothing is to be said about it. False: it is to be compared by itself.
  [[nodiscard]] bool are_equal(std::size_t pair) const { return are_equal_[pair]; }

 private:
  [[nodiscard]] bool is_plain(const ComparedPair& pair) const {
    const bool is_worked_on = how_.work != nullptr && pair.field == how_.worked_field;
    if (pair.known || is_worked_on || !lies_in(pair.shard->file_of_field(pair.field), pair.place))
      return false;
    return !how_.archive ||
           lies_in(how_.archive->file(), {.offset = pair.offset, .length = pair.place.length});
  }

  // Only then it is asked for: what an index says may be beyond any file.
  [[nodiscard]] static bool lies_in(const InputFile& file, const FieldPlace& place) {
    return place.offset <= file.size() && place.length <= file.size() - place.offset;
  }

  // A byte more of the file: one that has grown shows.
  [[nodiscard]] static std::uint64_t bytes_of_both(const ComparedPair& pair) {
    constexpr std::uint64_t kLongest = std::uint64_t{1} << 32;  // so that no sum overflows
    return 2 * std::min(pair.place.length, kLongest) + 1;
  }

  void read() {
    if (together_.empty()) return;
    PairReader& reader = how_.readers[thread_];
    reader.buffer.require(bytes_);
    std::vector<ReadRequest> requests;
    requests.reserve(2 * together_.size());
    std::uint64_t position = 0;
    const auto next = [&](std::uint64_t bytes) {
      position += bytes;
      return reader.buffer.bytes().subspan(position - bytes, bytes);
    };
    for (const std::size_t i : together_) {
      const ComparedPair& pair = pairs_[i];
      const std::uint64_t length = pair.place.length;
      requests.push_back({.descriptor = pair.shard->file_of_field(pair.field).descriptor(),
                          .offset = pair.place.offset,
                          .into = next(length)});
      if (how_.archive) {
        requests.push_back({.descriptor = how_.archive->file().descriptor(),
                            .offset = pair.offset,
                            .into = next(length)});
      } else {
        requests.push_back({.path = pair.path.c_str(), .into = next(length + 1)});
      }
    }
    const std::vector<ReadResult> results = reader.reader.read(requests);
    for (std::size_t k = 0; k < together_.size(); ++k) {
      const std::size_t ours = 2 * k, theirs = ours + 1;
      const std::uint64_t length = pairs_[together_[k]].place.length;
      const auto is_whole = [&](std::size_t i) {
        return results[i].error == 0 && results[i].bytes == length;
      };
      const bool is_as_long = !how_.archive || pairs_[together_[k]].bytes == length;
      are_equal_[together_[k]] = is_as_long && is_whole(ours) && is_whole(theirs) &&
                                 std::ranges::equal(requests[ours].into.first(length),
                                                    requests[theirs].into.first(length));
    }
    together_.clear();
    bytes_ = 0;
  }

  const std::vector<ComparedPair>& pairs_;
  const PairComparison& how_;
  unsigned thread_;
  std::vector<bool> are_equal_;
  std::vector<std::size_t> together_;  // to be read next
  std::uint64_t bytes_ = 0;            // of them
};

}  // namespace

Finding finding_of(const std::string& key, std::string message) {
  Finding finding;
  finding.message = std::move(message);
  finding.sample = SampleId{key, std::nullopt};
  return finding;
}

std::vector<Finding> compare_pairs(const std::vector<ComparedPair>& pairs,
                                   const PairComparison& how, unsigned thread) {
  std::vector<Finding> findings;
  const PairsAtOnce together(pairs, how, thread);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const ComparedPair& pair = pairs[i];
    if (together.are_equal(i)) continue;
    try {
      if (std::optional<Finding> finding = compare_pair(pair, how, thread))
        findings.push_back(std::move(*finding));
    } catch (const Error& error) {
      if (error.code() != Code::damaged && error.code() != Code::not_found) throw;
      findings.push_back(finding_of(pair.key, error.what()));
    }
  }
  return findings;
}

}  // namespace shale
