#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/encoding/written_images.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/common_keys.hpp"

namespace shale {

/// Where duplicates are looked for, and listed.
struct DuplicateSearch {
  std::vector<ShardsIn> shards;   ///< all of the dataset, in order
  std::uint64_t first_row = 0;    ///< from this sample on duplicates are counted and listed
  std::string folder, list_name;  ///< of the list, which is written only if it has a row
  std::uint64_t memory_bytes;     ///< what outgrows it is sorted in `folder`
  /// What the run that wrote the rows from `written_from` on has noted of them; null: nothing.
  WrittenImages* written = nullptr;
  std::uint64_t written_from = 0;
};

struct FoundDuplicates {
  DuplicateCounts counts;
  std::optional<ManifestFile> list;
};

/// The field whose values are compared; nullopt for a dataset without images, or without an index
/// that has their checksums.
[[nodiscard]] std::optional<std::size_t> field_of_duplicates(const Manifest& manifest);

/// Looks for samples whose image (the value of the first field that holds any) is the same, byte
/// for byte, as that of an earlier sample: by the lengths and checksums in the index, and by hashes
/// of 128 bits (encoding/encode_batch) where both are equal. Only what search.written does not know
/// is read. `manifest` has a field_of_duplicates. Errors: Code::damaged, Code::io; what `events`
/// throws to stop.
[[nodiscard]] FoundDuplicates find_duplicates(const Manifest& manifest,
                                              const DuplicateSearch& search, const Events& events);

/// Images that samples of two splits have, byte for byte.
struct SplitDuplicates {
  std::uint64_t samples = 0;  ///< whose image is in a split before theirs
  struct Place {
    std::string split, key;
  };
  std::vector<std::pair<Place, Place>> examples = {};  ///< where they are; at most 3
  std::string list = {};                               ///< of all repeated images; empty: none
};

/// One of several datasets of one split, all of which have a field_of_duplicates.
struct ImagesOfSplit {
  std::string name;
  const Manifest& manifest;
  ShardsIn shards;
};

/// Looks for images that samples of two splits have; if there are any, the list has all that are
/// there more than once, in the order of the splits; none without a name for it. The indexes are
/// proved first. Errors: same as of one dataset.
[[nodiscard]] SplitDuplicates find_duplicates(const std::vector<ImagesOfSplit>& splits,
                                              const DuplicateSearch& search, const Events& events);
/// True for such a list, by its first row.
[[nodiscard]] bool is_split_list(const std::string& path);

/// The same, for the report of images in the manifest, and its list; nothing where the dataset
/// cannot hold duplicates.
void report_duplicates(Manifest& manifest, const DuplicateSearch& search, const Events& events);

}  // namespace shale
