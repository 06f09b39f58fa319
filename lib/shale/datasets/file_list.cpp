#include "shale/datasets/file_list.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/format.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// What a listed name stands for.
std::string path_of_name(const std::string& list, const std::string& name, std::size_t number) {
  const std::string beside = (fs::path(list).parent_path() / name).string();
  const std::optional<struct stat> there = facts_behind(beside), here = facts_behind(name);
  if (!there && !here) {
    throw Error(Code::not_found, "file {} of the list, '{}', does not exist", number,
                printable(name))
        .at(list)
        .hint("names are relative to the folder of the list, or else to the current directory");
  }
  const bool is_one =
      !there || !here || (there->st_dev == here->st_dev && there->st_ino == here->st_ino);
  if (!is_one) {
    throw Error(Code::usage,
                "file {} of the list, '{}', is one file in the folder of the list and another in "
                "the current directory",
                number, printable(name))
        .at(list)
        .hint("run the command in the folder of the list, or list absolute paths");
  }
  if (!S_ISREG((there ? there : here)->st_mode)) {
    throw Error(Code::unsupported, "file {} of the list, '{}', is not a regular file", number,
                printable(name))
        .at(list);
  }
  return there ? beside : name;
}

std::string full_path(const std::string& folder, const std::string& name) {
  return fs::absolute(join_path(folder, name)).string();
}

}  // namespace

std::optional<std::vector<SetMember>> files_of_list(const std::string& path) {
  const InputFile list(path);
  for (const Format* format : all_formats()) {
    if (format->list_files == nullptr) continue;
    std::optional<std::vector<std::string>> names = format->list_files(list);
    if (!names) continue;
    std::vector<SetMember> files;
    for (std::string& name : *names) {
      std::string found = path_of_name(path, name, files.size() + 1);
      files.push_back({std::move(name), std::move(found)});
    }
    return files;
  }
  return std::nullopt;
}

bool ListedDataset::has_fitting_rows(const OpenedDataset& file) {
  return file.manifest.layout.rows.has_strides();
}

void ListedDataset::add(const SetMember& listed, const OpenedDataset& file) {
  const Manifest& manifest = file.manifest;
  if (manifest.digest.samples == 0)
    throw Error(Code::unsupported, "has no samples, but is in the list {}", printable(list_))
        .at(listed.path);
  if (!has_fitting_rows(file)) {
    throw Error(Code::unsupported,
                "its samples are not stored as rows of one size, as those of a list must be")
        .at(listed.path)
        .hint(
            "'shale convert' reads the list if the datasets are chunked or compressed; what has "
            "values of different lengths is converted file by file, with --append");
  }
  if (shards_.empty()) {
    manifest_ = manifest;
    manifest_.digest = {};
    manifest_.payload_bytes = 0;
    first_name_ = listed.name;
  }
  refuse_other_fields(listed, manifest.schema);
  manifest_.layout.has_checksums = manifest_.layout.has_checksums && manifest.layout.has_checksums;
  if (manifest.layout.known_as != manifest_.layout.known_as) manifest_.layout.known_as.clear();
  manifest_.payload_bytes += manifest.payload_bytes;
  fingerprints_ += manifest.source.fingerprint.hex() + "\n";
  ManifestShard shard = file.shards[0];
  shard.name = printable(listed.name);
  for (ManifestFile& one : shard.files) one.name = full_path(file.paths.shards, one.name);
  if (!shard.blocks.name.empty())
    shard.blocks.name = full_path(file.paths.lists, shard.blocks.name);
  shards_.push_back(std::move(shard));
  states_.push_back(manifest.source.file.value_or(FileFingerprint{}));
  for (const std::string& note : file.notes) {
    std::string of_file = fmt::format("{}: {}", printable(listed.name), note);
    if (std::ranges::find(notes_, of_file) == notes_.end() && notes_.size() < kMostNotes)
      notes_.push_back(std::move(of_file));
  }
  if (file.temporary_index) kept_.push_back(file.temporary_index);
}

void ListedDataset::refuse_other_fields(const SetMember& listed, const Schema& schema) const {
  const std::vector<Field>&ours = manifest_.schema.fields, &theirs = schema.fields;
  const auto text_at = [](const std::vector<Field>& fields, std::size_t i) {
    return i < fields.size() ? field_text(fields[i]) : "no more fields";
  };
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    if (i < ours.size() && i < theirs.size() && ours[i] == theirs[i]) continue;
    throw Error(Code::unsupported, "has {}, but '{}', the first file of the list, has {}",
                text_at(theirs, i), printable(first_name_), text_at(ours, i))
        .at(listed.path)
        .hint(
            "the files of a list must have the same datasets, types and shapes; convert others "
            "on their own");
  }
}

OpenedDataset ListedDataset::finish() && {
  OpenedDataset set;
  // Not all files were read: then none of them counts as proved.
  for (ManifestShard& shard : shards_) {
    if (!manifest_.layout.has_checksums) {
      shard.blocks = {};
      shard.digest = {.samples = shard.digest.samples, .content = {}, .ordered = {}, .keys = {}};
      for (ManifestFile& file : shard.files) file.hash = {};
    }
    manifest_.digest.append(shard.digest);
  }
  manifest_.shard_count = shards_.size();
  manifest_.source = {
      .kind = std::string(kFileListKind),
      .samples = manifest_.digest.samples,
      .bytes = manifest_.payload_bytes,
      .fingerprint = xxh3_128(as_bytes(fmt::format("{}\n{}", kFileListKind, fingerprints_)))};
  set.paths.manifest = list_;
  set.manifest = manifest_;
  set.notes = std::move(notes_);
  set.file_states = std::move(states_);
  if (!kept_.empty())
    set.temporary_index =
        std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(kept_));
  set.shards = ShardList(std::move(manifest_), std::move(shards_));
  return set;
}

}  // namespace shale
