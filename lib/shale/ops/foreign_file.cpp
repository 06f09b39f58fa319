#include "shale/ops/foreign_file.hpp"

#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/manifest_file.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kProbeBytes = 4096, kIndexBufferBytes = 256 * 1024,
                        kRowsBetweenLooks = 4096;

std::uint64_t mtime_ns_of(const InputFile& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) {
    throw Error(Code::io, "cannot be asked for its time").at(file.path()).because_errno(errno);
  }
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}

// Files on their way to their names: one run's, cleared by the next one if it was killed.
class IndexWorkFolder {
 public:
  IndexWorkFolder(const std::string& lists, const std::string& name)
      : path_(join_path(lists, fmt::format(".{}.shale", name))) {
    try {
      fs::create_directories(lists);
      fs::remove_all(path_);
      fs::create_directory(path_);
    } catch (const fs::filesystem_error& error) {
      throw Error(Code::io, "no index can be written here")
          .at(lists)
          .because(error.code().message())
          .hint("pass --index-dir with a directory that can be written to");
    }
  }
  ~IndexWorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  IndexWorkFolder(const IndexWorkFolder&) = delete;
  IndexWorkFolder& operator=(const IndexWorkFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Indexing {
 public:
  Indexing(const ForeignRequest& request, const Events& events)
      : request_(request),
        events_(events),
        paths_(DatasetPaths::of_file(request.file, request.index_folder)),
        mtime_ns_(0) {
    files_.emplace_back(request.file);
    mtime_ns_ = mtime_ns_of(files_[0]);
    name_ = fs::path(request.file).filename().string();
  }

  IndexedFile run() {
    const Format& format = format_of_file(files_[0]);
    Survey survey = format.survey(files_[0], request_.dialect);
    validate_schema(survey.schema);
    survey.layout.has_checksums = request_.with_checksums;
    manifest_.generator = request_.generator;
    manifest_.format = format.name;
    manifest_.schema = std::move(survey.schema);
    manifest_.layout = std::move(survey.layout);
    shard_.name = name_;
    shard_.files = {{name_, files_[0].size(), {}}};

    const IndexWorkFolder work(paths_.lists, name_);
    write_index(format, work);
    if (request_.with_checksums) {
      write_blocks(work);
      digest_samples(format, work);
    }
    describe_source();
    refuse_changed_file();
    publish(work);
    return {std::move(manifest_), std::move(survey.notes)};
  }

 private:
  void write_index(const Format& format, const IndexWorkFolder& work) {
    shard_.index.name = name_ + std::string(kIndexSuffix);
    IndexWriter writer(
        OutputFile(join_path(work.path(), shard_.index.name),
                   {.io = IoMode::buffered, .buffer_bytes = kIndexBufferBytes, .buffers = 1}),
        IndexColumns(manifest_.schema, manifest_.layout));
    const FindingSink refuse = [this](const Finding& finding) {
      throw Error(Code::damaged, "the file is damaged and gets no index: {}", describe(finding))
          .hint(fmt::format("'shale verify {}' lists all that is wrong", printable(request_.file)));
    };
    const auto take = [&](const IndexRow& row) {
      writer.append(row);
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (is_located(manifest_.schema.fields[i].kind))
          shard_.payload_bytes += row.cells[i].place.length;
      }
      if (writer.rows() % kRowsBetweenLooks != 0) return;
      events_.stop_if_asked();
      events_.report(writer.rows(), 0, shard_.payload_bytes);
    };
    format.scan({files_, manifest_.schema, manifest_.layout, request_.with_checksums},
                OptionSet(format.options), take, refuse);
    shard_.digest.samples = writer.rows();
    const FileSummary written = writer.finish();
    shard_.index.bytes = written.bytes;
    shard_.index.hash = written.hash;
  }

  void write_blocks(const IndexWorkFolder& work) {
    const FileSummary summary = summarize_file(files_[0]);
    shard_.files[0].hash = summary.hash;
    shard_.blocks.name = name_ + std::string(kBlocksSuffix);
    OutputFile file(join_path(work.path(), shard_.blocks.name),
                    {.io = IoMode::buffered, .buffer_bytes = kIndexBufferBytes, .buffers = 1});
    file.append(block_list_bytes(summary.blocks));
    const FileSummary written = file.finish();
    shard_.blocks.bytes = written.bytes;
    shard_.blocks.hash = written.hash;
  }

  void digest_samples(const Format& format, const IndexWorkFolder& work) {
    DatasetPaths paths = paths_;
    paths.lists = work.path();
    const ShardReader reader(paths, manifest_, shard_);
    IndexReader index = reader.open_index();
    DatasetDigest digest;
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      LoadedSample loaded =
          load_sample(reader, index.row(row), manifest_.schema, format, request_.memory_bytes);
      if (!manifest_.layout.has_keys) loaded.sample.key = std::to_string(row);
      check_sample(loaded.sample, manifest_.schema, true);
      digest.add(digest_of(loaded.sample, manifest_.schema));
      if (row % kRowsBetweenLooks == 0) events_.stop_if_asked();
    }
    if (!manifest_.layout.has_keys) digest.keys = {};  // null: the key of a row is its number
    shard_.digest = digest;
  }

  // The fingerprint tells one content from another as well as sizes can, and does not depend on
  // where or when.
  void describe_source() {
    const std::string facts =
        fmt::format("{} file\n{}\n{}\n{}\n", manifest_.format, files_[0].size(),
                    shard_.digest.samples, shard_.payload_bytes);
    manifest_.source = {.kind = manifest_.format + " file",
                        .samples = shard_.digest.samples,
                        .bytes = shard_.payload_bytes,
                        .fingerprint = xxh3_128(as_bytes(facts)),
                        .mtime_ns = mtime_ns_};
    manifest_.digest = shard_.digest;
    manifest_.payload_bytes = shard_.payload_bytes;
    manifest_.shard_count = 1;
  }

  void refuse_changed_file() const {
    const InputFile now(request_.file);
    if (now.size() == files_[0].size() && mtime_ns_of(now) == mtime_ns_) return;
    throw Error(Code::mismatch, "the file changed while it was indexed: {} bytes, then {}",
                files_[0].size(), now.size())
        .at(request_.file)
        .hint("wait until nothing writes to it, then run the same command again");
  }

  // The old manifest goes first: it must never speak of new lists.
  void publish(const IndexWorkFolder& work) {
    std::error_code ignored;
    fs::remove(paths_.manifest, ignored);
    sync_directory(paths_.lists);
    for (const ManifestFile* file : {&shard_.index, &shard_.blocks}) {
      if (file->name.empty()) continue;
      rename_file(join_path(work.path(), file->name), join_path(paths_.lists, file->name));
    }
    if (shard_.blocks.name.empty())
      fs::remove(join_path(paths_.lists, name_ + std::string(kBlocksSuffix)), ignored);
    sync_directory(paths_.lists);
    write_manifest_file(paths_.manifest, join_path(work.path(), kManifestName), manifest_,
                        [this](const auto& visit) { visit(shard_); });
  }

  const ForeignRequest& request_;
  const Events& events_;
  DatasetPaths paths_;
  std::vector<InputFile> files_;  // one: what a scan takes
  std::string name_;
  std::uint64_t mtime_ns_;
  Manifest manifest_;
  ManifestShard shard_;
};

}  // namespace

std::optional<std::string> file_of_path(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  const std::string data = join_path(path, "data.mdb");
  if (fs::is_directory(path, error) && fs::is_regular_file(data, error)) return data;
  return std::nullopt;
}

const Format* detect_file(const InputFile& file) {
  std::vector<std::byte> head(std::min(kProbeBytes, file.size()));
  file.read_exact(0, head);
  return detect_format({file.path(), head, file.size()});
}

const Format& format_of_file(const InputFile& file) {
  const Format* format = detect_file(file);
  if (format == nullptr) {
    throw Error(Code::unsupported, "is of no format that shale knows")
        .at(file.path())
        .hint("'shale formats' lists them");
  }
  if (format->survey == nullptr) {
    throw Error(Code::unsupported, "{} files of other tools are not supported yet", format->name)
        .at(file.path())
        .hint("shards that 'shale convert' wrote are read by the directory they are in");
  }
  return *format;
}

IndexedFile index_file(const ForeignRequest& request, const Events& events) {
  return Indexing(request, events).run();
}

bool is_index_fresh(const InputFile& file, const Manifest& manifest, const ManifestShard& shard) {
  return shard.files.size() == 1 && shard.files[0].bytes == file.size() &&
         manifest.source.mtime_ns == mtime_ns_of(file);
}

}  // namespace shale
