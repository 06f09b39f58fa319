#include "shale/verify/compare_pairs.hpp"

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
  for (const ComparedPair& pair : pairs) {
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
