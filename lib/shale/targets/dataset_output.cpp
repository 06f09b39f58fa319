#include "shale/targets/dataset_output.hpp"

#include <vector>

#include <sys/stat.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/verify/verify.hpp"

namespace shale {

void refuse_strange_output(const std::string& output, Place place) {
  if (place == Place::other_file) {
    throw Error(Code::exists, "is a file, not a directory")
        .at(output)
        .hint("choose another output");
  }
  if (place == Place::other_folder) {
    throw Error(Code::exists, "is not empty and holds no shale dataset")
        .at(output)
        .hint("choose another output, or empty the directory yourself");
  }
}

void refuse_taken_names(const std::string& output, const Format& format, const Schema& schema) {
  std::vector<std::string> suffixes =
      format.layout(schema, OptionSet(format.options)).file_suffixes;
  suffixes.insert(suffixes.end(), std::begin(kListSuffixes), std::end(kListSuffixes));
  refuse_foreign_files(SetPlace::of_dataset(output), suffixes);
}

void verify_output(const ConvertRequest& request, const std::string& path, ConvertReport& report,
                   const Events& events) {
  VerifyRequest verification;
  verification.dataset = path;
  verification.jobs = request.jobs;
  verification.memory_bytes = request.memory_bytes;
  report.verification = verify(verification, {}, events);
  report.was_verified = true;
}

// All that a finished set needs, by name and size: a manifest alone is not a reason to continue
// with it.
Manifest refuse_incomplete(const std::string& output, bool may_overwrite) {
  const auto require = [&](const ManifestFile& file) {
    if (file.name.empty()) return;
    const std::string path = join_path(output, file.name);
    const std::optional<struct stat> facts = facts_behind(path);
    if (facts && static_cast<std::uint64_t>(facts->st_size) == file.bytes) return;
    throw Error(Code::damaged, "{}, but the finished dataset needs it with {} bytes",
                facts ? fmt::format("has {} bytes", facts->st_size) : "is missing", file.bytes)
        .at(path)
        .hint(fmt::format("run 'shale verify {}' to list all the damage{}", printable(output),
                          may_overwrite ? ", or pass --overwrite to write the dataset again" : ""));
  };
  Manifest manifest = read_manifest(output, [&](const ManifestShard& shard) {
    for (const ManifestFile& file : shard.files) require(file);
    for (const ManifestFile* list : shard.lists()) require(*list);
  });
  for (const ManifestFile& file : manifest.files) require(file);
  return manifest;
}

void drop_shard_options(Manifest& manifest) {
  std::erase_if(manifest.options,
                [](const auto& option) { return option.first.starts_with("shard_"); });
}

void append_totals(Manifest& sum, const Manifest& more) {
  sum.digest.append(more.digest);
  sum.payload_bytes += more.payload_bytes;
  sum.shard_count += more.shard_count;
  sum.skipped += more.skipped;
  sum.ignored += more.ignored;
  sum.left_out.add(more.left_out);
  if (!more.images) return;
  if (!sum.images) sum.images.emplace();
  sum.images->add(*more.images);
}

void append_output(ConvertOutput& all, const ConvertOutput& one) {
  if (all.manifest.format.empty()) {
    all = one;
    return;
  }
  Manifest& sum = all.manifest;
  append_totals(sum, one.manifest);
  sum.source.samples += one.manifest.source.samples;
  sum.source.bytes += one.manifest.source.bytes;
  if (sum.images && sum.images->duplicates && one.manifest.images->duplicates)
    sum.images->duplicates->add(*one.manifest.images->duplicates);
  all.file_bytes += one.file_bytes;
}

void write_set_manifest(const Manifest& manifest, const WorkFolder& work) {
  write_set_manifest(manifest, work,
                     [&](const ShardVisitor& visit) { work.for_each_shard(visit); });
}

void write_set_manifest(const Manifest& manifest, const WorkFolder& work,
                        const ForEachShard& for_each_shard) {
  sync_directory(work.path());  // a manifest never outlives the names of what it lists
  write_manifest(work.path(), manifest, for_each_shard);
}

}  // namespace shale
