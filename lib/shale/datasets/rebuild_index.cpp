#include "shale/datasets/rebuild_index.hpp"

#include <filesystem>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/format.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/free_space.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/side_folder.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {
namespace {

// True if the file is there with the size and hash it must have.
bool is_whole(const std::string& directory, const ManifestFile& expected, const Events& events) {
  try {
    const InputFile file(join_path(directory, expected.name));
    return file.size() == expected.bytes &&
           summarize_file(file, [&](auto) { events.stop_if_asked(); }).hash == expected.hash;
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return false;
    throw;
  }
}

class Rebuilding {
 public:
  Rebuilding(const std::string& directory, const Manifest& manifest, const Events& events,
             bool is_only_planned)
      : directory_(directory),
        manifest_(manifest),
        events_(events),
        format_(format_of(manifest)),
        is_only_planned_(is_only_planned) {}

  void finish() {
    if (is_only_planned_) return;
    if (side_) {
      side_->remove();
    } else {
      WorkFolder::clear_left_without_journal(directory_);  // all was done, then it was killed
    }
  }

  RebuiltShard rebuild(const ManifestShard& shard) {
    RebuiltShard result{.name = shard.name, .fault = {}};
    result.has_index = manifest_.layout.rows.has_index();
    const bool has_index = !result.has_index || has_whole_index(shard),
               has_blocks = is_whole(directory_, shard.blocks, events_);
    try {
      std::vector<InputFile> files = open_files(shard);
      result.was_whole = has_index && has_blocks;
      if (result.was_whole) return result;
      if (!side_ && !is_only_planned_) side_.emplace(directory_);
      const std::vector<Hash128> blocks = hash_files(shard, files);
      SpaceNeed need;  // beside damaged ones, which stay until the new ones are whole
      if (!has_index) need = {shard.index.bytes + shard.elements.bytes, 2};
      if (!has_blocks) need = {need.bytes + shard.blocks.bytes, need.files + 1};
      require_room(directory_, need, "free some space on this file system, then run it again");
      if (!has_index && !is_only_planned_) write_index(shard, files);
      result.index_written = !has_index;
      if (!has_blocks && !is_only_planned_) write_blocks(shard, blocks);
      result.blocks_written = !has_blocks;
    } catch (const Error& error) {
      if (error.code() != Code::damaged && error.code() != Code::not_found) throw;
      result.fault = error.what();
    }
    return result;
  }

 private:
  [[nodiscard]] bool has_whole_index(const ManifestShard& shard) const {
    return is_whole(directory_, shard.index, events_) &&
           (shard.elements.name.empty() || is_whole(directory_, shard.elements, events_));
  }

  [[nodiscard]] std::vector<InputFile> open_files(const ManifestShard& shard) const {
    std::vector<InputFile> files;
    for (const ManifestFile& expected : shard.files) {
      files.emplace_back(join_path(directory_, expected.name));
      if (files.back().size() == expected.bytes) continue;
      throw Error(Code::damaged, "shard is {} bytes long, expected {}", files.back().size(),
                  expected.bytes)
          .at(expected.name);
    }
    return files;
  }

  // The shard's own bytes come first: an index of a changed shard would make damage look right.
  [[nodiscard]] std::vector<Hash128> hash_files(const ManifestShard& shard,
                                                const std::vector<InputFile>& files) const {
    std::vector<Hash128> blocks;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const ManifestFile& expected = shard.files[i];
      const FileSummary found = summarize_file(files[i], [&](auto) { events_.stop_if_asked(); });
      if (found.hash != expected.hash) {
        throw file_hash_mismatch(found.hash, expected.hash)
            .error()
            .at(expected.name)
            .hint("'shale verify' names the blocks that changed");
      }
      blocks.insert(blocks.end(), found.blocks.begin(), found.blocks.end());
    }
    return blocks;
  }

  void write_index(const ManifestShard& shard, const std::vector<InputFile>& files) const {
    const auto create = [this](const ManifestFile& list) {
      return OutputFile(join_path(side_->work().path(), list.name),
                        {.io = IoMode::buffered, .buffer_bytes = 256 * 1024, .buffers = 1});
    };
    std::optional<OutputFile> elements;
    if (manifest_.layout.has_elements) elements.emplace(create(shard.elements));
    IndexWriter writer(create(shard.index), IndexColumns(manifest_.schema, manifest_.layout),
                       std::move(elements));
    const ShardInput input{.files = files,
                           .schema = manifest_.schema,
                           .layout = manifest_.layout,
                           .reads_payload = true,
                           .progress = [this](auto, auto) { events_.stop_if_asked(); }};
    const FindingSink refuse = [](const Finding& finding) {
      throw Error(Code::damaged, "shard cannot be scanned: {}", describe(finding));
    };
    ElementScan scan(format_, input);
    format_.scan(
        input, OptionSet(format_.options),
        [&](IndexRow row) {
          scan.locate(row);
          writer.append(row);
        },
        refuse);
    const WrittenIndex written = writer.finish();
    const auto publish_list = [this](const ManifestFile& list, const FileSummary& made) {
      publish(join_path(side_->work().path(), list.name), list, made);
    };
    if (written.elements) publish_list(shard.elements, *written.elements);
    publish_list(shard.index, written.index);
  }

  void write_blocks(const ManifestShard& shard, const std::vector<Hash128>& blocks) const {
    const std::string path = join_path(side_->work().path(), shard.blocks.name);
    OutputFile file(path, {.io = IoMode::buffered, .buffer_bytes = 64 * 1024, .buffers = 1});
    file.append(block_list_bytes(blocks));
    publish(path, shard.blocks, file.finish());
  }

  void publish(const std::string& path, const ManifestFile& expected,
               const FileSummary& made) const {
    if (made.bytes != expected.bytes || made.hash != expected.hash) {
      throw Error(Code::damaged,
                  "the rebuilt file is {} bytes with hash {}, but the manifest says {} with {}",
                  made.bytes, made.hash.hex(), expected.bytes, expected.hash.hex())
          .at(expected.name);
    }
    rename_file(path, join_path(directory_, expected.name));
    sync_directory(directory_);
  }

  const std::string& directory_;
  const Manifest& manifest_;
  const Events& events_;
  const Format& format_;
  const bool is_only_planned_;
  std::optional<SideFolder> side_;  // made when the first file is to be written
};

}  // namespace

RebuildReport rebuild_index(const std::string& dataset, const Events& events,
                            bool is_only_planned) {
  if (!is_only_planned && is_swapping(dataset)) {
    const WorkFolder work(dataset);
    (void)finish_swap(SetPlace::of_dataset(dataset), work);
  }
  const Place place = look_at(dataset);
  if (place == Place::absent) throw absent(dataset);
  if (place == Place::unfinished) throw unfinished(dataset);
  if (place == Place::other_file) throw unrecognized(dataset);
  if (place != Place::dataset) {
    if (const std::optional<Error> error = several_datasets(dataset)) throw Error(*error);
    throw Error(Code::mismatch,
                "holds no dataset.json: without it a rebuilt index could not be verified")
        .at(dataset)
        .hint(
            "copy dataset.json back if it was lost; for a file that another tool wrote, name the "
            "file itself");
  }
  const ShardList shards = open_shard_list(dataset);
  RebuildReport report;
  Rebuilding rebuilding(dataset, shards.manifest(), events, is_only_planned);
  for (const ManifestShard& shard : shards) {
    events.stop_if_asked();
    report.shards.push_back(rebuilding.rebuild(shard));
    const RebuiltShard& result = report.shards.back();
    ++(result.was_whole ? report.whole : result.fault.empty() ? report.rebuilt : report.failed);
    events.report(report.shards.size(), shards.size(), 0);
  }
  rebuilding.finish();
  return report;
}

}  // namespace shale
