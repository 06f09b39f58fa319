#include "shale/verify/verify_files.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/strays.hpp"

namespace shale {
namespace {

constexpr std::size_t kToldStrays = 10;

// For the progress: a shard's bytes count once for its blocks, once for the walk through its
// structure, once for its digests.
std::uint64_t bytes_to_read(const ManifestShard& shard, VerifyDepth depth) {
  std::uint64_t lists = shard.list_bytes();
  if (depth == VerifyDepth::quick) return lists;
  return lists + 2 * bytes_of_files(shard) + (depth == VerifyDepth::deep ? shard.payload_bytes : 0);
}

}  // namespace

void verify_totals(const OpenedDataset& dataset, VerifyDepth depth, VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  DatasetDigest digest;
  std::uint64_t payload = 0;
  for (const ManifestShard& shard : dataset.shards) {
    digest.append(shard.digest);
    payload += shard.payload_bytes;
    log.expect(bytes_to_read(shard, depth));
  }
  const auto compare = [&](std::string_view what, const std::string& found,
                           const std::string& expected) {
    if (found == expected) return;
    Finding finding;
    finding.message = fmt::format("{} of the shards do not add up to those of the dataset", what);
    finding.file = kManifestName;
    finding.found = found;
    finding.expected = expected;
    log.add(std::move(finding));
  };
  compare("samples", std::to_string(digest.samples), std::to_string(manifest.digest.samples));
  compare("payload bytes", std::to_string(payload), std::to_string(manifest.payload_bytes));
  compare("content digests", digest.content.hex(), manifest.digest.content.hex());
  compare("ordered digests", digest.ordered.hex(), manifest.digest.ordered.hex());
  compare("key digests", digest.keys.hex(), manifest.digest.keys.hex());
}

void FileChecks::check_beside_shards() {
  for (const ManifestFile& file : dataset_.manifest.files)
    check_whole(dataset_.paths.lists, file, "");
  count_lists();
  const Strays strays = strays_beside(request_.dataset, dataset_.manifest);
  log_.report().stray_count = strays.count;
  std::size_t told = 0;
  for (const FolderEntry& entry : strays.first) {
    log_.report().strays.push_back(entry.name);
    report_stray(entry, told++ < kToldStrays);
  }
  const std::uint64_t more = strays.count - strays.first.size();
  if (request_.is_strict) return log_.count(more);
  if (log_.report().stray_count > kToldStrays) {
    log_.note(
        fmt::format("{} more are not part of the dataset",
                    format_counted(log_.report().stray_count - kToldStrays, "file", "files")));
  }
}

// What has a name that only shale gives, but does not belong to the dataset: somebody's copy, or of
// another run. Nothing of the dataset is wrong.
void FileChecks::report_stray(const FolderEntry& entry, bool is_told) {
  const std::vector<std::string>& suffixes = dataset_.manifest.layout.file_suffixes;
  const auto suffix = std::find_if(suffixes.begin(), suffixes.end(), [&](const std::string& one) {
    return !one.empty() && entry.name.ends_with(one);
  });
  std::string message = "is not part of the dataset";
  if (!entry.is_directory && suffix != suffixes.end() && shard_of_file(entry.name)) {
    message +=
        fmt::format(", but whatever reads all of shard-*{} reads it as well", printable(*suffix));
  }
  if (request_.is_strict) {
    Finding finding;
    finding.message = std::move(message);
    finding.file = entry.name;
    log_.add(std::move(finding));
  } else if (is_told) {
    log_.note(fmt::format("{} {}", printable(entry.name), message));
  }
}

// Every entry that was ignored is listed, and every duplicate, by each run in its own list.
void FileChecks::count_lists() {
  count_rows(kIgnoredName, "ignored entries", dataset_.manifest.ignored);
  const std::optional<ImageReport>& images = dataset_.manifest.images;
  if (images && images->duplicates)
    count_rows(kDuplicatesName, "duplicates", images->duplicates->samples);
}

void FileChecks::count_rows(std::string_view list, std::string_view what, std::uint64_t found) {
  std::uint64_t rows = 0;
  for (const ManifestFile& file : dataset_.manifest.files) {
    if (!is_list_name(file.name, list)) continue;
    if (damaged_.contains(file.name)) return;  // what is wrong with it was said
    try {
      read_csv(join_path(dataset_.paths.lists, file.name),
               [&](std::uint64_t row, CsvRow) { rows += row > 1; });
    } catch (const Error&) {
      return;  // as above
    }
  }
  if (rows == found) return;
  Finding finding;
  finding.message = fmt::format("its count of {} is not that of {}", what, list);
  finding.file = kManifestName;
  finding.found = std::to_string(found);
  finding.expected = std::to_string(rows);
  log_.add(std::move(finding));
}

void FileChecks::check_whole(const std::string& folder, const ManifestFile& expected,
                             const std::string& shard) {
  std::optional<InputFile> file;
  if (!check(folder, expected, shard, file)) damaged_.insert(expected.name);
}

bool FileChecks::check(const std::string& folder, const ManifestFile& expected,
                       const std::string& shard, std::optional<InputFile>& file) {
  const std::uint64_t findings_before = log_.findings();
  try {
    if (!file) file.emplace(join_path(folder, expected.name));
    Finding finding;
    finding.file = expected.name;
    finding.shard = shard;
    if (file->size() != expected.bytes) {
      file_size_mismatch(file->size(), expected.bytes).describe_in(finding);
      log_.add(std::move(finding));
    } else if (request_.depth != VerifyDepth::quick) {
      check_hash(*file, expected, std::move(finding));
    }
  } catch (const Error& error) {
    // Unsupported is what is not a regular file: the manifest lists none of those.
    const bool is_other = error.code() == Code::unsupported;
    log_.add_damage(is_other ? Error(Code::damaged, "{}", error.message()).at(error.file()) : error,
                    shard);
  }
  return log_.findings() == findings_before;
}

void FileChecks::check_hash(const InputFile& file, const ManifestFile& expected, Finding finding) {
  const Hash128 found =
      summarize_file(file, [this](std::uint64_t bytes) { log_.step(bytes); }).hash;
  log_.report().bytes += file.size();
  log_.finish(file.size());
  if (found == expected.hash) return;
  file_hash_mismatch(found, expected.hash).describe_in(finding);
  log_.add(std::move(finding));
}

void FileChecks::check_all_of(const ManifestShard& shard) {
  for (const ManifestFile& file : shard.files) check_whole(dataset_.paths.shards, file, shard.name);
}

void load_blocks(ShardCheck& check, const InputFile& list, VerifyLog& log) {
  const ManifestShard& shard = check.reader.shard();
  std::uint64_t count = 0;
  for (const ManifestFile& file : shard.files) {
    check.first_block.push_back(count);
    count += block_count(file.bytes);
  }
  try {
    check.blocks = read_block_list(list, count);
  } catch (const Error& error) {
    log.add_damage(error, shard.name);
  }
  // A list that is damaged cannot say which block is: the hash of the file tells whether the list
  // is right.
  for (std::size_t i = 0; i < shard.files.size() && !check.blocks.empty(); ++i) {
    const ManifestFile& file = shard.files[i];
    const Hash128 found = hash_of_blocks(
        std::span(check.blocks).subspan(check.first_block[i], block_count(file.bytes)));
    if (found == file.hash) continue;
    Finding finding;
    block_list_mismatch(file.name, found, file.hash).describe_in(finding);
    finding.file = shard.blocks.name;
    finding.shard = shard.name;
    log.add(std::move(finding));
    check.blocks.clear();
  }
}

}  // namespace shale
