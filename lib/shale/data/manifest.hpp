#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/data/digest.hpp"
#include "shale/data/image_report.hpp"
#include "shale/data/left_out.hpp"
#include "shale/data/part_number.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"

namespace shale {

inline constexpr std::uint64_t kManifestVersion = 1;

/// ManifestSource::kind of a copy of a dataset.
inline constexpr std::string_view kDatasetKind = "shale dataset";
/// ManifestSource::kind of the files of another tool that a list names.
inline constexpr std::string_view kFileListKind = "list of files";

/// A file of the dataset and what it must be.
struct ManifestFile {
  std::string name;  ///< relative to the dataset's directory
  std::uint64_t bytes = 0;
  Hash128 hash;  ///< hash_of_blocks of its 1 MiB blocks; zero: never read as a whole
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

/// What tells one state of a file of another tool from another: xxh3-128 of its head, of its tail,
/// and of pieces in between (datasets/file_fingerprint).
struct FileFingerprint {
  Hash128 head, middle, tail;
  friend bool operator==(const FileFingerprint&, const FileFingerprint&) = default;
};

struct ManifestShard {
  std::string name;  ///< "shard-000000"
  std::uint64_t payload_bytes = 0;
  std::vector<ManifestFile> files;  ///< in the order of ShardLayout::file_suffixes
  /// No name for blocks: the payload was never read. No name for the index: rows are fixed.
  ManifestFile index, blocks;
  ManifestFile elements = {};        ///< no name: no field is a list, or shale 0.2.0 wrote it
  ManifestFile values = {};          ///< no name: all values lie in the files (has_values)
  std::vector<std::uint64_t> bases;  ///< where row 0 of each field begins, where rows are fixed
  DatasetDigest digest;              ///< digest.samples is the number of rows
  /// Of a file of another tool in a set that has one index: the state that was indexed.
  std::optional<FileFingerprint> state = {};

  /// The files about the shard that it has: index, elements, blocks.
  [[nodiscard]] std::vector<const ManifestFile*> lists() const;
  /// Bytes of those.
  [[nodiscard]] std::uint64_t list_bytes() const;
};

/// Where the samples came from, without roots or times.
struct ManifestSource {
  std::string kind;  ///< "image folder", "flat folder", "shale dataset"
  std::uint64_t samples = 0, bytes = 0;
  Hash128 fingerprint;  ///< xxh3-128 over kind, relative paths and sizes in order
  /// Of the file of another tool that was indexed; only for those.
  std::optional<FileFingerprint> file = {};
  /// Of a copy of a dataset: the kind of what the first one was made from. Empty: not recorded.
  std::string origin = {};
  /// Of samples whose images were worked on: the digests of those that were written, as they were
  /// read.
  std::optional<DatasetDigest> digest = {};
};

/// One of the runs that wrote a set which was appended to.
struct ManifestRun {
  ManifestSource source;
  std::vector<std::pair<std::string, std::string>> options;  ///< as Manifest::options
  std::uint64_t samples = 0, shards = 0;                     ///< that it wrote
  /// The hash of itself that the manifest had before this run; zero: of the first one.
  Hash128 after = {};
};

/// What a conversion did to the images of one field: docs/images.md explains each parameter.
struct ManifestTransform {
  std::string field;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< of the rule, in a fixed order
  std::string filter;  ///< of a resize; "none": there is none
  std::string codec;   ///< "libjpeg-turbo 2.1.5, libpng 1.6.39": those that may shape the bytes
  friend bool operator==(const ManifestTransform&, const ManifestTransform&) = default;
};

/// ManifestSource::kind of what a program wrote sample by sample.
inline constexpr std::string_view kProgramKind = "program";

/// Everything dataset.json says but the shards, which are streamed: a set may have 10^5 of them.
struct Manifest {
  std::string generator;  ///< "shale 0.2.0"
  std::string format;     ///< name of the format's row
  std::vector<std::pair<std::string, std::string>>
      options;  ///< those that shaped the bytes, in a fixed order
  Schema schema;
  ShardLayout layout;
  std::vector<std::string> classes;  ///< class names (raw bytes) by label; empty: none
  ManifestSource source;  ///< of a part: that of the whole run; of several runs: their sums
  /// Of a set that was appended to: all its runs, in the order of their shards. Else empty.
  std::vector<ManifestRun> runs = {};
  /// Which part of a run; only for those.
  std::optional<PartNumber> part = {};
  std::uint64_t skipped = 0, ignored = 0;
  LeftOutList left_out = {};  ///< of the input, by this run and those before
  std::optional<ImageReport> images;
  std::vector<ManifestTransform> transform = {};  ///< one per field; empty: payload is untouched
  std::vector<ManifestFile> files;                ///< every other file of the directory
  DatasetDigest digest;
  std::uint64_t payload_bytes = 0, shard_count = 0;
};

/// The value of an option that shaped the bytes; empty: it was not given.
[[nodiscard]] std::string option_of(const Manifest& manifest, std::string_view name);

/// The option of manifests that holds image_fields_text().
inline constexpr std::string_view kImageFieldsOption = "image_fields";

/// The positions of the fields that hold images, as an option of the manifest: "0,2". Empty, and no
/// option, for field 0 alone, and where no field holds any.
[[nodiscard]] std::string image_fields_text(const std::vector<std::size_t>& fields);
/// The fields that the report of images is about, in order: also those of which image work made
/// pixels. None where there is no report.
[[nodiscard]] std::vector<std::size_t> reported_image_fields(const Manifest& manifest);
/// Those of them that hold images: files, or lists of files.
[[nodiscard]] std::vector<std::size_t> image_fields_of(const Manifest& manifest);

}  // namespace shale
