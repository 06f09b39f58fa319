#include "shale/ops/open_dataset.hpp"

#include <filesystem>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/ops/foreign_file.hpp"
#include "shale/ops/open_input.hpp"
#include "shale/shards/manifest_file.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "shale-index-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      const int error = errno;
      throw Error(Code::io, "no temporary folder can be made")
          .at(path_)
          .because_errno(error)
          .hint("set TMPDIR to a directory that can be written to");
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void read_into(OpenedDataset& dataset) {
  dataset.manifest = read_manifest(
      dataset.paths, [&](const ManifestShard& shard) { dataset.shards.push_back(shard); });
}

// An index that was made for another state of the file would point into the wrong bytes.
void refuse_stale(const OpenedDataset& dataset, const std::string& file) {
  const InputFile now(file);
  const bool is_of_this_file = dataset.shards.size() == 1;
  if (is_of_this_file && is_index_fresh(now, dataset.manifest, dataset.shards[0])) return;
  throw Error(Code::mismatch, "has changed since it was indexed: {} bytes then, {} now",
              is_of_this_file ? dataset.shards[0].files.at(0).bytes : 0, now.size())
      .at(file)
      .hint(fmt::format("'shale index {}' indexes it again", printable(file)));
}

OpenedDataset open_file(const DatasetRequest& request, const std::string& file,
                        const Events& events) {
  OpenedDataset dataset;
  dataset.paths = DatasetPaths::of_file(file, request.index_folder);
  std::error_code error;
  if (fs::exists(dataset.paths.manifest, error)) {
    read_into(dataset);
    refuse_stale(dataset, file);
    const ShardLayout& layout = dataset.manifest.layout;
    const bool is_wanted =
        (request.dialect != Dialect::msgpack || layout.dialect == Dialect::msgpack) &&
        (!request.with_checksums || layout.has_checksums);
    if (is_wanted) return dataset;
    dataset.shards.clear();
  }
  auto folder = std::make_shared<const TemporaryFolder>();
  const Dialect dialect = request.dialect == Dialect::msgpack ? Dialect::msgpack : Dialect::plain;
  IndexedFile indexed = index_file({.file = file,
                                    .index_folder = folder->path(),
                                    .dialect = dialect,
                                    .with_checksums = request.with_checksums,
                                    .generator = request.generator,
                                    .memory_bytes = request.memory_bytes},
                                   events);
  dataset.paths = DatasetPaths::of_file(file, folder->path());
  dataset.notes = std::move(indexed.notes);
  dataset.temporary_folder = std::move(folder);
  read_into(dataset);
  return dataset;
}

}  // namespace

OpenedDataset open_dataset(const DatasetRequest& request, const Events& events) {
  const Place place = look_at(request.path);
  if (place == Place::absent)
    throw Error(Code::not_found, "there is no such dataset").at(request.path);
  if (place == Place::unfinished) throw unfinished(request.path);
  if (place != Place::dataset) {
    if (const std::optional<std::string> file = file_of_path(request.path))
      return open_file(request, *file, events);
    throw Error(Code::unsupported, "is neither a dataset that shale wrote nor a file of a format")
        .at(request.path)
        .hint("'shale convert' turns a folder of images into a dataset");
  }
  OpenedDataset dataset;
  dataset.paths = DatasetPaths(request.path);
  read_into(dataset);
  return dataset;
}

}  // namespace shale
