#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/digest.hpp"
#include "shale/format/format.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"

#include "tests/support/sample_sets.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// How a set is written; small shards by default.
struct SetOptions {
  std::uint64_t limit_bytes = std::uint64_t{1} << 30, limit_samples = ~std::uint64_t{0};
  std::string fail_at = {};  ///< of the toy format
  bool keys_are_unique = false;
  bool lists_elements = true;
};

/// A format's options as they are where none is set.
inline OptionSet defaults(const Format& format) { return OptionSet(format.options); }

/// The sample as the core hands it to a writer.
inline Record encoded(const Format& format, const Sample& sample, const Schema& schema,
                      const OptionSet& options) {
  Record record = format.encode(sample, schema, options);
  locate_elements(record, schema, format, format.layout(schema, options));
  SampleDigest digest = digest_of(sample, schema);
  if (!format.layout(schema, options).has_keys) digest.keyed = {};
  record.digest.add(digest);
  for (const Value& value : sample.values) {
    if (const auto* bytes = std::get_if<Bytes>(&value)) record.payload_bytes += bytes->size();
    if (const auto* list = std::get_if<std::vector<Bytes>>(&value)) {
      for (const Bytes element : *list) record.payload_bytes += element.size();
    }
  }
  return record;
}

/// Samples as the core hands a run of fixed rows to a writer: the columns of all of them.
inline Record encoded_run(const Format& format, std::span<const Sample> samples,
                          const Schema& schema, const OptionSet& options) {
  Record run;
  run.parts.resize(schema.fields.size());
  for (const Sample& sample : samples) {
    const Record one = encoded(format, sample, schema, options);
    for (std::size_t i = 0; i < run.parts.size(); ++i)
      run.parts[i].append_copy(one.parts[i].flattened());
    run.digest.append(one.digest);
    run.payload_bytes += one.payload_bytes;
  }
  return run;
}

/// A set under way in a directory: everything that convert has around a ShardSetWriter.
class SetInProgress {
 public:
  SetInProgress(const Format& format, Schema schema, const std::string& directory,
                const SetOptions& set_options = {})
      : format_(format),
        schema_(std::move(schema)),
        options_(format.options),
        directory_(directory),
        work_(directory) {
    if (!set_options.fail_at.empty()) options_.set("fail_at", set_options.fail_at);
    work_.clear();
    work_.begin("a test");
    writer_.emplace(format_, schema_, options_, work_,
                    ShardSetWriter::Options{.limit_bytes = set_options.limit_bytes,
                                            .limit_samples = set_options.limit_samples,
                                            .io = IoMode::buffered,
                                            .memory_bytes = 16 << 20,
                                            .keys_are_unique = set_options.keys_are_unique,
                                            .lists_elements = set_options.lists_elements});
  }

  void append(const Sample& sample) {
    writer_->append(encoded(format_, sample, schema_, options_));
  }
  /// Several samples as one record, where rows are fixed.
  void append_run(std::span<const Sample> samples) {
    writer_->append(encoded_run(format_, samples, schema_, options_));
  }
  [[nodiscard]] ShardSetWriter& writer() { return *writer_; }
  [[nodiscard]] WorkFolder& work() { return work_; }

  /// Commits the last shard and writes the manifest.
  Manifest finish() {
    const ShardSetWriter::Summary written = writer_->finish();
    Manifest manifest;
    manifest.generator = "shale test";
    manifest.format = format_.name;
    manifest.schema = schema_;
    manifest.layout = writer_->layout();
    manifest.source = {"samples of a test", written.digest.samples, written.payload_bytes,
                       written.digest.content};
    manifest.digest = written.digest;
    manifest.payload_bytes = written.payload_bytes;
    manifest.shard_count = written.shards;
    const auto for_each_shard = [this](const ShardVisitor& visit) { work_.for_each_shard(visit); };
    write_manifest(work_.path(), manifest, for_each_shard);
    put_in_place(SetPlace::of_dataset(directory_), work_);
    work_.remove();
    return manifest;
  }

 private:
  const Format& format_;
  Schema schema_;
  OptionSet options_;
  std::string directory_;
  WorkFolder work_;
  std::optional<ShardSetWriter> writer_;
};

inline Manifest write_set(const Format& format, const SampleSet& set, const std::string& directory,
                          const SetOptions& options = {}) {
  SetInProgress progress(format, set.schema, directory, options);
  for (const Sample& sample : set.samples) progress.append(sample);
  return progress.finish();
}

/// A finished set, read back by its index. Where no keys are stored, a sample's is its number.
struct ReadSet {
  Manifest manifest;
  std::vector<ManifestShard> shards;
  std::vector<std::vector<IndexRow>> rows;  ///< of each shard
  std::vector<LoadedSample> samples;        ///< of all shards
};

inline ReadSet read_set(const std::string& directory) {
  ReadSet set;
  set.manifest =
      read_manifest(directory, [&](const ManifestShard& shard) { set.shards.push_back(shard); });
  const Format& format = format_named(set.manifest.format);
  for (const ManifestShard& shard : set.shards) {
    const ShardReader reader(directory, set.manifest, shard);
    IndexReader index = reader.open_index();
    std::vector<IndexRow>& rows = set.rows.emplace_back();
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      rows.push_back(index.row(row));
      const std::string number = std::to_string(set.samples.size());
      set.samples.push_back(
          load_sample(reader, rows.back(), set.manifest.schema, format, {.bytes = 64 << 20}));
      if (!set.manifest.layout.has_keys) set.samples.back().sample.key = number;
    }
  }
  return set;
}

/// Every file of a directory and what is in it.
inline std::map<std::string, std::string> content_of(const std::string& directory) {
  std::map<std::string, std::string> content;
  for (const std::string& name : files_in(directory))
    content[name] = read_text(join_path(directory, name));
  return content;
}

/// The names of those files that differ between two directories, or are in one only.
inline std::vector<std::string> differing_files(const std::string& one, const std::string& other) {
  std::map<std::string, std::string> left = content_of(one), right = content_of(other);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : left) {
    const auto twin = right.find(name);
    if (twin == right.end() || twin->second != bytes) names.push_back(name);
    if (twin != right.end()) right.erase(twin);
  }
  for (const auto& [name, bytes] : right) names.push_back(name);
  return names;
}

/// What is wrong with a directory whose run was cut short, as a sentence; empty if nothing: it
/// holds the work folder and nothing else, and in that every shard which the journal lists is
/// whole.
inline std::string fault_of_unfinished(const std::string& directory) {
  const std::string work = join_path(directory, kWorkFolder), built = join_path(work, "new");
  if (!std::filesystem::exists(directory)) return "";  // it had not begun
  for (const std::string& name : files_in(directory)) {
    if (!name.starts_with(kWorkFolder)) return name + " is there before the set is complete";
  }
  if (std::filesystem::exists(join_path(built, kManifestName))) return "there is a manifest";
  std::map<std::string, ManifestFile> told;
  (void)read_journal(join_path(work, "journal"), [&](std::string_view line) {
    const ManifestShard shard = parse_shard_line(line.substr(line.find('\t') + 1));
    for (const ManifestFile& file : shard.files) told[file.name] = file;
    if (!shard.index.name.empty()) told[shard.index.name] = shard.index;
    told[shard.blocks.name] = shard.blocks;
  });
  for (const auto& [name, expected] : told) {
    const std::string path = join_path(built, name);
    if (!std::filesystem::exists(path)) return name + " is in the journal, but not there";
    const FileSummary found = summarize_file(InputFile(path));
    if (found.bytes != expected.bytes || found.hash != expected.hash) return name + " is not whole";
  }
  return "";
}

}  // namespace shale::test
