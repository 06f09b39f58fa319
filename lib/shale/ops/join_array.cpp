#include "shale/ops/join_array.hpp"

#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/ops/encode_pipeline.hpp"
#include "shale/ops/open_input.hpp"
#include "shale/shards/naming.hpp"
#include "shale/shards/shard_set_writer.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// The one format whose shard is one array.
constexpr std::string_view kArrayFormat = "npy";

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The output under its temporary name, held by this process alone.
class TemporaryArray {
 public:
  explicit TemporaryArray(const std::string& output)
      : output_(output),
        path_(join_path(folder_of(output),
                        fmt::format(".{}.shale", fs::path(output).filename().string()))) {
    // Who holds it may give it its final name between our open and our lock: then it is another
    // file by now.
    do {
      release();
      take();
    } while (!still_has_name());
  }
  ~TemporaryArray() {
    if (!is_published_) ::unlink(path_.c_str());
    release();
  }
  TemporaryArray(const TemporaryArray&) = delete;
  TemporaryArray& operator=(const TemporaryArray&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void publish() {
    rename_file(path_, output_);
    is_published_ = true;
    sync_directory(folder_of(output_));
  }

 private:
  void take() {
    lock_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) {
      const int error = errno;
      throw Error(Code::io, "cannot be written").at(output_).because_errno(error);
    }
    // Where the file system has no locks the last one to finish wins.
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    release();
    throw Error(Code::exists, "another process is writing it")
        .at(output_)
        .hint("wait for it, or choose another output");
  }
  [[nodiscard]] bool still_has_name() const {
    struct stat held {
    }, named{};
    return ::fstat(lock_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
  }
  void release() {
    if (lock_ >= 0) ::close(std::exchange(lock_, -1));
  }

  std::string output_, path_;
  int lock_ = -1;
  bool is_published_ = false;
};

void refuse_existing(const ConvertRequest& request) {
  std::error_code error;
  const fs::file_status status = fs::status(request.output, error);
  if (!fs::exists(status)) return;
  if (fs::is_directory(status)) {
    throw Error(Code::exists, "is a directory, an array is one file")
        .at(request.output)
        .hint("a set of shards goes into a directory whose name does not end in .npy");
  }
  if (request.overwrite) return;
  throw Error(Code::exists, "is there already")
      .at(request.output)
      .hint("choose another output, or pass --overwrite to replace it");
}

const Field& only_field(const ConvertRequest& request, const SourceInfo& info) {
  const Schema& schema = info.schema;
  if (info.holds_images && request.fields.empty()) {
    throw Error(Code::unsupported, "images differ in size, and make no array")
        .at(request.output)
        .hint("write shards: choose an output directory and pass --to");
  }
  if (schema.fields.size() != 1) {
    std::string names;
    for (const Field& field : schema.fields)
      names += (names.empty() ? "" : ", ") + printable(field.name);
    throw Error(Code::usage, "one array holds one field, the input has {}", schema.fields.size())
        .at(request.output)
        .hint("pass --fields with one of them: " + names);
  }
  const Field& field = schema.fields.front();
  if (fixed_bytes_of(field)) return field;
  throw Error(Code::unsupported, "field '{}' is of kind {}, whose values differ in size: no array",
              printable(field.name), name_of(field.kind))
      .at(request.output);
}

void verify_array(const ConvertRequest& request, const FileSummary& written,
                  ConvertReport& report) {
  const FileSummary found = summarize_file(InputFile(request.output));
  report.was_verified = true;
  report.verification.bytes = found.bytes;
  if (found.hash == written.hash) return;
  Finding finding;
  finding.message = "the bytes read back are not those that were written";
  finding.file = request.output;
  finding.found = "xxh3-128 " + found.hash.hex();
  finding.expected = written.hash.hex();
  report.verification.findings = 1;
  report.verification.first_findings.push_back(std::move(finding));
}

}  // namespace

ConvertReport join_into_array(const ConvertRequest& request, const Events& events) {
  refuse_existing(request);
  const std::string folder =
      request.is_dry_run ? fs::temp_directory_path().string() : folder_of(request.output);
  const std::unique_ptr<Source> source = open_input(request, folder, events);
  const SourceInfo& info = source->info();
  const Field& field = only_field(request, info);
  const Format& format = format_named(kArrayFormat);
  const OptionSet options(format.options);

  ConvertReport report;
  report.is_one_array = true;
  report.is_plan = request.is_dry_run;
  report.notes = info.notes;
  report.manifest.generator = request.generator;
  report.manifest.format = kArrayFormat;
  report.manifest.layout = format.layout(info.schema, options);
  report.manifest.schema = info.schema;
  report.manifest.source = info.manifest;
  report.manifest.shard_count = 1;
  report.manifest.digest.samples = info.manifest.samples;
  report.manifest.payload_bytes = info.manifest.samples * fixed_bytes_of(field).value();
  report.file_bytes =
      format.create_sizer(info.schema, options)
          ->size_with(std::array{report.manifest.payload_bytes}, info.manifest.samples)[0];
  for (const std::string& note : info.notes) events.say(note);
  if (request.is_dry_run) return report;

  TemporaryArray temporary(request.output);
  const std::uint64_t buffers = ShardSetWriter::buffer_bytes(request.memory_bytes);
  std::vector<OutputFile> files;
  files.emplace_back(temporary.path(), data_file_options(request.io, request.memory_bytes));
  const auto writer = format.create_shard(files, info.schema, options, nullptr);
  const Encoding encoding{format, options, report.manifest.layout, OnError::fail};
  DatasetDigest digest;
  encode_all(*source, encoding,
             {.jobs = request.jobs,
              .memory_bytes = request.memory_bytes - buffers -
                              std::max(list_memory(request.memory_bytes), info.memory_bytes),
              .rows_a_shard = std::nullopt},
             events, [&](const EncodedSample& sample) {
               digest.append(sample.record->digest);
               (void)writer->append(*sample.record);
             });
  prove_input(info, digest, request.inputs.front());
  (void)writer->close();
  const FileSummary written = files.front().finish();
  temporary.publish();
  report.manifest.digest = digest;
  if (request.verify) verify_array(request, written, report);
  return report;
}

}  // namespace shale
