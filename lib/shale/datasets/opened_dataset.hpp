#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/format/lost_range.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {

struct OpenedDataset;
/// Opens what is read instead of a path, such as inputs that are joined.
using OpenInstead = std::function<OpenedDataset(const Events& events)>;

/// Of more files none is looked at by whoever reads nothing of them.
inline constexpr std::uint64_t kMostSizedFiles = 10'000;

/// When a file of another tool is unpacked, on the disk.
enum class Unpacking {
  never,
  if_refused,  ///< no samples can be located in it
  fully,       ///< or not all that it holds
};

/// A dataset that is to be read: a directory that shale wrote, a file of another tool, or a set of
/// such files (file_set.hpp).
struct DatasetRequest {
  std::string path;
  std::vector<SetMember> files = {};  ///< not empty: these as one set, instead of `path`
  std::string index_folder = {};      ///< where the index of a file is looked for; empty: beside it
  Parsing parsing = {};  ///< of a file: nothing: as its index says, else as shale wrote it, else
                         ///< as it is recognized
  bool with_checksums = false;  ///< of a file: crc32c and digests are wanted
  std::string generator = {};
  std::uint64_t memory_bytes = 256 << 20;
  Unpacking unpacking = Unpacking::never;
  std::vector<std::string> fields = {};  ///< that are wanted; what is wrong with others is ignored
  bool takes_only_fields = false;        ///< of the files of a set: they are unpacked, these alone
  std::vector<SampleAxis> axes =
      {};  ///< of a file: of arrays whose samples are not along the first: no index is taken
  /// All is to be read: the checksums of a file's own container are proved where its index has
  /// none.
  bool proves_container = false;
  /// Samples that the index proves to be damaged are left out by whoever reads them: of a file with
  /// checksums in its index it does not matter that it has changed, unless it is longer. Of a file
  /// without an index only what is whole is taken (Format::salvage).
  bool takes_damaged = false;
  /// Of a set with an index: its files are compared with it by their sizes alone. Whoever reads
  /// them compares more (refuse_changed_members).
  bool trusts_sizes = false;
  /// Nothing is read of the files: those of a set of more than kMostSizedFiles are compared with
  /// its index by their names alone.
  bool trusts_names = false;
  std::uint64_t first_episode = 0;    ///< of a file in a set: UnpackRequest::first_episode
  bool says_what_is_unpacked = true;  ///< false: of a set, for which it was said
  OpenInstead open_instead = {};      ///< `path` is only for messages then
};

/// What decides which columns the index of a file of another tool has.
struct IndexedAs {
  Schema schema;
  bool has_checksums = false;
  std::set<std::string> beside = {};  ///< ForeignRequest::beside
  friend bool operator==(const IndexedAs&, const IndexedAs&) = default;
};

/// Samples of a damaged file that cannot be read. `range.before` counts the rows of the dataset.
struct LostSamples {
  std::string file;
  LostRange range;
};

/// A dataset whose manifest has been read. Of a file without an index, one is made in files without
/// names in the temporary folder, which are gone with the last copy of this, or with the process,
/// whatever ends it; so is what a file was unpacked into. The index
/// of a file of at most a quarter of the memory stays in memory if there is no such folder.
struct OpenedDataset {
  DatasetPaths paths;
  Manifest manifest;
  ShardList shards;
  std::optional<ShardLineBytes> bytes = {};     ///< of all shards, where their lines were read
  std::vector<std::string> notes;               ///< what of a file is left out
  std::shared_ptr<const void> temporary_index;  ///< null: the index stands where it was found
  bool is_unpacked = false;                     ///< it is of what the file was unpacked into
  std::uint64_t episodes = 0;                   ///< of such a file: UnpackReport::episodes
  /// Of a set, or a join: of the files of all shards, in their order. Zero: it does not change.
  std::vector<FileFingerprint> file_states;
  std::vector<LostSamples> lost = {};  ///< with takes_damaged, in the order of the rows
  /// Of files in which keys begin again, a shard each: what goes before keys that are written.
  std::vector<std::string> key_prefixes = {};
  bool has_repeated_keys = false;  ///< a key of a file has several values: they get numbers
};

}  // namespace shale
