#include "shale/sums/check_sums.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

struct NamedFile {
  std::string name;                    // relative to the folder
  std::optional<ManifestFile> wanted;  // as the manifest of a dataset has it
};

struct ReadFile {
  std::string digest;
  std::uint64_t bytes = 0;
  Hash128 hash;  // as of a file of a dataset
  bool is_there = true;
};

struct Files {
  std::string folder;
  std::vector<NamedFile> files;
};

void add_listed(const ManifestFile& file, std::vector<NamedFile>& files) {
  if (!file.name.empty()) files.push_back({file.name, file});
}

Files files_of_dataset(const std::string& path, std::uint64_t memory_bytes) {
  const DatasetPaths paths(path);
  const ShardList shards = open_shard_list(paths, memory_bytes);
  Files found{.folder = path, .files = {{std::string(kManifestName), std::nullopt}}};
  for (const ManifestShard& shard : shards) {
    for (const ManifestFile& file : shard.files) add_listed(file, found.files);
    for (const ManifestFile* list : {&shard.index, &shard.elements, &shard.values, &shard.blocks})
      add_listed(*list, found.files);
  }
  for (const ManifestFile& file : shards.manifest().files) add_listed(file, found.files);
  return found;
}

Files files_at(const std::string& path) {
  Files found;
  if (!std::filesystem::is_directory(path)) {
    if (look_at(path) == Place::absent) throw absent(path);
    found.folder = folder_of_file(path);
    found.files.push_back({path.substr(path.rfind('/') + 1), std::nullopt});
    return found;
  }
  found.folder = path;
  WalkOptions options;
  options.keep_hidden = true;
  options.wants_size = [](std::string_view) { return false; };
  walk_folder(path, options, [&](const WalkedFile& file) {
    found.files.push_back(
        {join_path(std::string(file.directory), std::string(file.name)), std::nullopt});
  });
  std::ranges::sort(found.files, {}, &NamedFile::name);
  return found;
}

// Reads files in several threads, and hands them on in their order.
class SumReader {
 public:
  SumReader(const SumsRequest& request, DigestKind kind, const Events& events)
      : kind_(kind), events_(events), workers_(std::max(1U, request.jobs)), pipeline_(workers_) {}

  ~SumReader() { is_over_ = true; }
  SumReader(const SumReader&) = delete;
  SumReader& operator=(const SumReader&) = delete;

  template <class Use>
  void read(const Files& all, const Use& use) {
    std::size_t taken = 0;
    const auto take = [&](std::size_t left) {
      while (pipeline_.pending() > left) {
        while (!pipeline_.has_result(std::chrono::milliseconds(50))) events_.stop_if_asked();
        const ReadFile read = pipeline_.take();
        bytes_ += read.bytes;
        events_.report(bytes_, 0, bytes_);
        use(all.files[taken++], read);
      }
    };
    for (const NamedFile& file : all.files) {
      events_.stop_if_asked();
      const std::string path = join_path(all.folder, file.name);
      pipeline_.submit([this, path](unsigned) { return digest_of(path); });
      take(2 * workers_);
    }
    take(0);
  }

 private:
  [[nodiscard]] ReadFile digest_of(const std::string& path) const try {
    const InputFile file(path);
    MessageDigest digest(kind_);
    ReadFile read{.digest = {}, .bytes = file.size(), .hash = {}};
    std::vector<Hash128> blocks;
    std::vector<std::byte> block;
    for (std::uint64_t at = 0; at < file.size(); at += block.size()) {
      if (is_over_) throw interruption();
      block.resize(std::min(kBlockBytes, file.size() - at));
      file.read_exact(at, block);
      digest.update(block);
      blocks.push_back(xxh3_128(block));
    }
    read.hash = hash_of_blocks(blocks);
    read.digest = digest.hex();
    return read;
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    return {.digest = {}, .bytes = 0, .hash = {}, .is_there = false};
  }

  DigestKind kind_;
  const Events& events_;
  unsigned workers_;
  std::uint64_t bytes_ = 0;
  std::atomic<bool> is_over_ = false;   // nobody waits for the tasks any more
  OrderedPipeline<ReadFile> pipeline_;  // last: its tasks use the others
};

Finding finding_of(const std::string& file, std::string message) {
  Finding finding;
  finding.message = std::move(message);
  finding.file = file;
  return finding;
}

}  // namespace

SumsReport compare_sums(const SumsRequest& request, const SumList& list,
                        const std::string& list_path, const FindingSink& sink,
                        const Events& events) {
  SumsReport report;
  Files there = files_at(request.path);
  std::string own_name;  // a list may name itself, and cannot have its own digest
  std::erase_if(there.files, [&](const NamedFile& file) {
    std::error_code error;
    const bool is_list =
        std::filesystem::equivalent(join_path(there.folder, file.name), list_path, error);
    if (is_list) own_name = file.name;
    return is_list;
  });
  const bool is_one_file = !std::filesystem::is_directory(request.path);
  auto listed = list.digest_of.begin();
  const auto tell_missing = [&](const std::string* until) {
    for (; listed != list.digest_of.end() && (until == nullptr || listed->first < *until);
         ++listed) {
      if (is_one_file || listed->first == own_name) continue;  // of a list of several files
      ++report.missing;
      sink(finding_of(listed->first, "is missing, but the list names it"));
    }
  };
  SumReader(request, list.kind, events)
      .read(there, [&](const NamedFile& file, const ReadFile& read) {
        tell_missing(&file.name);
        const bool is_listed = listed != list.digest_of.end() && listed->first == file.name;
        const std::string expected = is_listed ? (listed++)->second : "";
        report.files += read.is_there ? 1 : 0;
        report.bytes += read.bytes;
        if (!is_listed) {
          ++report.additional;
          return sink(finding_of(file.name, "is not in the list"));
        }
        if (!read.is_there) {
          ++report.missing;
          return sink(finding_of(file.name, "is missing, but the list names it"));
        }
        if (read.digest == expected) return;
        ++report.different;
        Finding finding = finding_of(file.name, fmt::format("{} mismatch", name_of(list.kind)));
        finding.found = read.digest;
        finding.expected = expected;
        sink(finding);
      });
  tell_missing(nullptr);
  return report;
}

SumsReport export_sums(const SumsRequest& request, DigestKind kind,
                       const std::function<void(const std::string& line)>& use,
                       const FindingSink& sink, const Events& events) {
  SumsReport report;
  const Place place = look_at(request.path);
  if (place == Place::unfinished) throw unfinished(request.path);
  const Files all = place == Place::dataset ? files_of_dataset(request.path, request.memory_bytes)
                                            : files_at(request.path);
  SumReader(request, kind, events).read(all, [&](const NamedFile& file, const ReadFile& read) {
    report.files += read.is_there ? 1 : 0;
    report.bytes += read.bytes;
    if (!read.is_there) {
      ++report.missing;
      return sink(finding_of(file.name, "is missing"));
    }
    const bool is_as_written =
        !file.wanted || (read.bytes == file.wanted->bytes && read.hash == file.wanted->hash);
    if (is_as_written) return use(sum_line(read.digest, file.name));
    ++report.different;
    Finding finding = finding_of(file.name, "is not as it was written: it gets no line");
    finding.found = fmt::format("{} bytes, xxh3-128 {}", read.bytes, read.hash.hex());
    finding.expected = fmt::format("{} bytes, {}", file.wanted->bytes, file.wanted->hash.hex());
    sink(finding);
  });
  return report;
}

}  // namespace shale
