#include "shale/sources/made_of_folder.hpp"

#include <algorithm>
#include <cstddef>

#include "shale/base/bytes.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/dataset_source.hpp"

namespace shale {

std::vector<std::string> names_in_input(const Manifest& manifest) {
  const std::vector<FieldName> recorded = field_names_of(option_of(manifest, kFieldsOption));
  std::vector<std::string> names;
  for (const Field& field : manifest.schema.fields) {
    const auto renamed = std::ranges::find(recorded, field.name, &FieldName::name);
    names.push_back(renamed == recorded.end() ? field.name : renamed->of_input);
  }
  return names;
}

const Field* find_input_field(const Manifest& manifest, std::string_view of_input) {
  const std::vector<std::string> names = names_in_input(manifest);
  const auto found = std::ranges::find(names, of_input);
  return found == names.end() ? nullptr
                              : &manifest.schema.fields[std::size_t(found - names.begin())];
}

namespace {

bool is_field(const Manifest& manifest, std::string_view of_input, Kind kind) {
  const Field* const field = find_input_field(manifest, of_input);
  return field != nullptr && field->kind == kind;
}

}  // namespace

bool is_of_list(const Manifest& manifest) {
  return manifest.source.kind == kFileList || manifest.source.origin == kFileList;
}

bool is_of_flat_folder(const OpenedDataset& dataset) {
  const Manifest& manifest = dataset.manifest;
  const ManifestSource& source = manifest.source;
  if (!source.origin.empty()) return source.origin == kFlatFolder;
  if (source.kind != kDatasetKind) return source.kind == kFlatFolder;
  // A copy made before origins were recorded: its first key tells whether folders are classes.
  if (dataset.shards.size() == 0 || !manifest.layout.has_keys) return false;
  const ShardReader shard(dataset.paths, manifest, dataset.shards[0]);
  const FieldPlace place = shard.open_index().row(0).key;
  std::vector<std::byte> key(place.length);
  shard.file_of_key().read_exact(place.offset, key);
  const std::string_view folder = as_text(key).substr(0, as_text(key).find('/'));
  return std::ranges::find(manifest.classes, folder) == manifest.classes.end();
}

bool holds_frames_of_folder(const Manifest& manifest) {
  const ManifestSource& source = manifest.source;
  return is_field(manifest, "frames", Kind::list) &&
         (manifest.layout.is_of_one_file() || source.kind == kVideoFrames ||
          source.origin == kVideoFrames);
}

bool needs_labels(const Manifest& manifest) {
  const std::vector<FieldName> taken = field_names_of(option_of(manifest, kFieldsOption));
  return taken.empty() || std::ranges::count(taken, kLabelField, &FieldName::of_input) > 0;
}

std::string suffixes_of(const Manifest& manifest) { return option_of(manifest, kSuffixesOption); }

bool are_files_samples(std::span<const std::string> inputs, std::string_view suffixes) {
  if (inputs.size() != 1 || suffixes.empty()) return false;
  const Place place = look_at(inputs.front());
  return place == Place::other_folder || place == Place::empty_folder;
}

bool holds_files_of_folder(const Manifest& manifest, const std::vector<NamedFolder>& folders) {
  if (!manifest.layout.is_of_one_file()) return true;
  const std::string field =
      folders.empty() ? SoughtFiles(suffixes_of(manifest)).field() : folders.front().field;
  const bool are_arrays = !recorded_arrays(suffixes_of(manifest)).empty();
  return manifest.layout.has_keys &&
         (are_arrays || is_field(manifest, field, Kind::bytes) ||
          holds_frames_of_folder(manifest)) &&
         (find_input_field(manifest, kLabelField) == nullptr ||
          is_field(manifest, kLabelField, Kind::integer));
}

}  // namespace shale
