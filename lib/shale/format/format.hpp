#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/blob.hpp"
#include "shale/base/finding.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/digest.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/sample.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/key_map.hpp"
#include "shale/format/options.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"

// The seam between the core and the containers. A format is a row (struct Format) in
// formats/<name>/<name>_format.cpp and one line in formats/table.cpp. It knows how one shard is
// written and read; names, temporary files, size bounds, order, hashes, index and manifest live
// once, in shards/.

namespace shale {

/// One sample encoded for one format. `row` holds its places relative to the part they lie in
/// (ShardLayout says which); the core adds where the part came to lie. Payload bytes are borrowed
/// from the sample.
/// Where RowStorage::takes_runs it may be many samples at once: its parts are the fields, each the
/// values of all of them, and `row` and `key` stay empty.
struct Record {
  std::string key;
  std::vector<Blob> parts;
  IndexRow row;
  DatasetDigest digest;             ///< filled in by the core; how many samples it is, too
  std::uint64_t payload_bytes = 0;  ///< filled in by the core: bytes of the located values
};

/// What a shard will hold, known before it is begun: only for formats with can.needs_plan.
struct ShardPlan {
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> part_bytes;  ///< sum over the records, one per part
};

/// Arithmetic on the sizes of a shard's files; touches no file. Bounds every file by --shard-size.
class ShardSizer {
 public:
  virtual ~ShardSizer() = default;
  /// Bytes of each closed file if one more record, of so many samples, with parts of these sizes
  /// were added; exact, or an upper bound.
  [[nodiscard]] virtual std::vector<std::uint64_t> size_with(
      std::span<const std::uint64_t> part_bytes, std::uint64_t samples = 1) const = 0;
  virtual void add(std::span<const std::uint64_t> part_bytes, std::uint64_t samples = 1) = 0;
};

/// What close() has still to say.
struct ClosedShard {
  std::vector<std::uint64_t>
      late_offsets;  ///< as append() returns them, for records that it still owed
  std::vector<std::uint64_t>
      part_bases;  ///< to add to every offset, one per part; empty: offsets were absolute
                   ///< (where rows are fixed: where the first value of each part lies)
};

/// Writes one shard into files that the core has opened and will finish, hash and name. One thread.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;
  /// Appends one record. Returns where parts begin, layout.part_file.size() numbers a record, for
  /// zero or more records, oldest first: a format that learns a place later than append() may lag.
  /// Nothing where rows are fixed: close() then tells where each part begins. Valid until the next
  /// call.
  virtual std::span<const std::uint64_t> append(const Record& record) = 0;
  /// Writes what is left (tables, trailers, patched headers). No call after it.
  virtual ClosedShard close() = 0;
};

using RowSink = std::function<void(const IndexRow&)>;

/// One shard to be scanned.
struct ShardInput {
  std::span<const InputFile> files;  ///< in the order of ShardLayout::file_suffixes
  const Schema& schema;
  const ShardLayout& layout;
  bool reads_payload;  ///< false: structure only; crc32c is 0 and payload bytes are not touched
  /// Where rows are fixed: how many there must be, and where those of each field begin. No rows go
  /// to the sink then.
  std::uint64_t samples = 0;
  std::span<const std::uint64_t> bases = {};
  WalkProgress progress = {};
};

/// Where a walk through the samples of a shard is: in front of this row, whose sample begins at
/// this byte of the shard's only file.
struct ScanPoint {
  std::uint64_t row = 0, offset = 0;
  friend bool operator==(const ScanPoint&, const ScanPoint&) = default;
};

/// A part of a walk: the samples that begin in front of byte `end`.
struct ScanPart {
  ScanPoint begin;
  std::uint64_t end;
  ViewBytes view = {};  ///< what reads the file, where the caller reads it anyway; null: the scan
};

/// How far a part of a walk got.
struct ScannedPart {
  ScanPoint end;         ///< where the next part begins
  bool is_lost = false;  ///< a finding said why nothing behind `end` can be walked
};

/// The rows [begin, end) of a shard, for one of several threads that scan it.
struct ScanRows {
  std::uint64_t begin, end;
  ViewBytes view = {};  ///< what reads the file, where the caller reads it anyway
};

/// scan() of a shard of shale's own by several threads, which says only whether the shard is as
/// shale writes it, so that scan() would find nothing; where it is not, scan() has to be asked what
/// is wrong. It refers to the files of its shard.
struct SplitScan {
  std::uint64_t samples = 0;  ///< that the container has
  /// Where the bytes of rows lie column by column: rows of a part, at least. 0: in the order of the
  /// rows, about, and parts are found by first_at().
  std::uint64_t rows_at_once = 0;
  /// A row whose bytes begin at this byte or behind it, as far as that can be said; nullopt: the
  /// shard is not as shale writes it. Not thread-safe. Errors: Code::io.
  std::function<std::optional<ScanPoint>(std::uint64_t byte)> first_at = {};
  /// Null: there are only whole scans of this shard. Hands out the rows as scan() does, and returns
  /// true if there is nothing to find in them; if not, what was handed out means nothing.
  /// Thread-safe. Errors: Code::io; Code::damaged; those that the sink and the progress throw.
  std::function<bool(const ShardInput&, const ScanRows&, const RowSink&)> scan = {};
  /// After parts that have every row once: whether nothing else is in the container.
  std::function<bool()> is_complete = {};
};

/// What a file that another tool wrote holds, found out from all of its samples.
struct Survey {
  Schema schema;
  ShardLayout layout;         ///< one file, with the suffix ""; has_checksums is the core's
  std::uint64_t samples = 0;  ///< where layout.rows.has_strides(): how many,
  std::vector<std::uint64_t> bases = {};  ///< and where those of each field begin
  std::vector<std::string> notes;         ///< what of the file is left out, a sentence each
  std::vector<std::string> classes = {};  ///< names by label, if the file has them

  /// Of samples that lie in the one file from begin to end, and have keys.
  [[nodiscard]] static Survey of_one_file(Schema schema, Dialect dialect);
  /// Of rows that lie in the one file column by column, and have no keys.
  [[nodiscard]] static Survey of_columns(Schema schema, std::uint64_t samples,
                                         std::vector<std::uint64_t> bases);
};

/// A file whose samples cannot be located, to be written plainly into another.
struct UnpackRequest {
  const InputFile& file;
  const NamelessFile& into;  ///< empty; what it holds after an error is garbage
  std::uint64_t memory_bytes;
  std::optional<Dialect> dialect = {};  ///< as for survey()
  WalkProgress progress = {};  ///< bytes written and to be written: 0 and 0 until they are known
};

/// What came of asking a container's own library about a shard.
struct LibraryReading {
  std::string library;   ///< with its version: "liblmdb 0.9.24"
  std::string obstacle;  ///< why it could not be asked, which says nothing of the shard; else empty
};

/// What a detector may look at.
struct Probe {
  std::string_view path;
  Bytes head;  ///< the first bytes of the file, at most 4 KiB
  std::uint64_t file_bytes;
};

/// What containers hold of a sample's key: keys are read whole, so this bounds what a hostile file
/// can ask for.
inline constexpr std::uint64_t kMaxKeyBytes = 65'536;

/// The most elements that a list may have: their places are held in memory.
inline constexpr std::uint64_t kMaxElements = 1 << 20;
/// Errors: Code::limit for more.
void check_elements(std::uint64_t count);

/// What a format can do.
struct Capabilities {
  std::span<const Kind> kinds;
  bool needs_plan = false;        ///< a table in front of the samples: create_shard gets a plan
  bool self_checksummed = false;  ///< the container itself carries checksums
  bool places_ascend = true;      ///< the values of a field lie in the order of the rows
  bool forks = false;  ///< a child is asked about files of other tools: beside idle threads only
  std::uint64_t largest_record = ~std::uint64_t{0} >> 1;  ///< bytes of one encoded sample
};

using ShardVisitor = std::function<void(const ManifestShard&)>;

/// A row: data first, then functions. A null pointer is something the format cannot do.
struct Format {
  std::string_view name, summary;
  std::span<const std::string_view> suffixes;  ///< of its files, ".tfrecord"
  std::span<const OptionSpec> options;
  std::span<const std::string_view>
      reserved_fields;  ///< field names it refuses besides the common ones
  Capabilities can;
  std::span<const std::string_view> aliases = {};        ///< other names for --to: "tfrecord"
  std::span<const std::string_view> more_suffixes = {};  ///< of single files: ".hdf5"

  /// Bits of evidence that a file is of this format: 0 none, 8 per byte of magic or checksum that
  /// fits.
  int (*bid)(const Probe&) = nullptr;
  /// Errors: Code::unsupported for a schema this format cannot hold, by field.
  ShardLayout (*layout)(const Schema&, const OptionSet&) = nullptr;
  /// Pure; runs in the workers. The sample has been checked against the schema. Errors: Code::limit
  /// by sample.
  Record (*encode)(const Sample&, const Schema&, const OptionSet&) = nullptr;
  std::unique_ptr<ShardSizer> (*create_sizer)(const Schema&, const OptionSet&) = nullptr;
  /// `files` and `schema` outlive the writer; `plan` is null unless can.needs_plan.
  std::unique_ptr<ShardWriter> (*create_shard)(std::span<OutputFile> files, const Schema& schema,
                                               const OptionSet&, const ShardPlan* plan) = nullptr;
  /// The schema of a single file that shale itself wrote, which is then read as a shard is; nullopt
  /// for any other. Null: such files are read as those of other tools are. Errors: Code::damaged,
  /// Code::io.
  std::optional<Schema> (*recognize)(const InputFile& file, const WalkProgress& progress) = nullptr;
  /// What a file of another tool holds; payload is not read where that can be helped. Null if only
  /// shards of shale are read. Errors: Code::unsupported, by name, for what cannot be located (a
  /// filter, a sample in several pieces) or has no meaning here; Code::usage for a dialect that the
  /// format does not have; Code::damaged. Nullopt: by a layout that is recognized, else plain.
  Survey (*survey)(const InputFile& file, std::optional<Dialect> dialect,
                   const WalkProgress& progress) = nullptr;
  /// The files of one dataset that a text file lists, as it names them; nullopt: the file is not
  /// such a list. Null: the format has none. Errors: Code::limit for a list that is too long;
  /// Code::io.
  std::optional<std::vector<std::string>> (*list_files)(const InputFile& list) = nullptr;
  /// Writes what survey() cannot locate (compressed values, samples in pieces), and the rest, into
  /// a file that survey() and scan() read. Returns what is left out, a sentence each; nullopt if
  /// nothing of the file has to be unpacked. Null if the format has no such files. Memory: a
  /// quarter of `memory_bytes` here, all of it in a child. Errors: Code::unsupported by name;
  /// Code::limit; Code::damaged; Code::io, before anything is written, if there is not enough
  /// space.
  std::optional<std::vector<std::string>> (*unpack)(const UnpackRequest&) = nullptr;
  /// Walks a shard's files, bounds-checked, and hands out its index rows in order: shards of its
  /// own, and those that survey() describes, as layout.dialect says. A value that is absent has
  /// kMissing for its offset. What is wrong goes to the sink; it returns early where nothing after
  /// the damage can be trusted. Memory: at most the files' size + 64 MiB, whatever they hold.
  void (*scan)(const ShardInput&, const OptionSet&, const RowSink&, const FindingSink&) = nullptr;
  /// scan() of a part of a shard of shale's own, which has one file. The parts of a shard, each
  /// begun where the one before it ended, hand out what scan() does. A part that begins anywhere
  /// else says nothing about the shard. Null: there are only whole scans. Memory and errors: as
  /// scan().
  ScannedPart (*scan_part)(const ShardInput&, const ScanPart&, const RowSink&,
                           const FindingSink&) = nullptr;
  /// For shards of shale's own whose parts depend on one another (a tree, columns). Null: none has
  /// parts. Errors: Code::io.
  SplitScan (*split_scan)(const ShardInput&) = nullptr;
  /// A scan of a shard of shale's own in which the container's own library opens the file and reads
  /// every value, in a child process with limits: rows with checksums, and findings, as scan()
  /// hands them out; the library's refusal, or its death, is a finding. `ask` is called at least
  /// ten times a second, and may throw, to stop. Forks: beside idle threads only. Null: the
  /// container has no library of its own. Memory: some 20 MiB, and what the library maps. Errors:
  /// Code::io; those that the sinks and `ask` throw.
  LibraryReading (*scan_by_library)(const ShardInput&, const RowSink&, const FindingSink&,
                                    const std::function<void()>& ask) = nullptr;
  /// The file as a sorted map of keys to places, for containers that are one; the file lives as
  /// long as the map does. Null: it is none. Memory: a few MiB, whatever the file holds. Errors:
  /// Code::unsupported, by name, for a layout that is not read; Code::damaged; Code::io.
  std::shared_ptr<const KeyMap> (*open_map)(std::shared_ptr<const InputFile> file) = nullptr;
  /// Where the elements of a list lie, as many as it has, offsets and lengths, from their headers
  /// alone; `list` is its extent in the view. Null if the format holds no lists, or its rows have
  /// their elements (IndexRow::elements) from encode and scan. Errors: Code::damaged; what the view
  /// throws.
  std::vector<FieldPlace> (*walk_list)(const ViewBytes& view, const FieldPlace& list) = nullptr;
  /// The elements of a list field's extent. Null if the format holds no lists, or nothing in an
  /// extent says where an element ends: then IndexRow::elements alone does (list_elements.hpp).
  /// Errors: Code::damaged.
  std::vector<Bytes> (*split_list)(Bytes extent, std::uint32_t count) = nullptr;
  /// True if samples may have values that stay unread (Unread): encode() and append() then never
  /// need all bytes of one at once. Null: never.
  bool (*takes_unread)(const OptionSet&) = nullptr;
  /// Writes the files that the format's own readers want beside the shards, durably, into
  /// `directory`, the work folder; the core gives them their places. Returns their names.
  std::vector<std::string> (*write_native_index)(
      const Manifest&, const std::function<void(const ShardVisitor&)>& for_each_shard,
      const std::string& directory) = nullptr;
};

/// The registry. Defined in formats/table.cpp; tests link their own.
[[nodiscard]] std::span<const Format* const> all_formats();

/// By its name or an alias. Errors: Code::usage, listing the available formats, one per line in the
/// hint; an empty name means that none was given.
[[nodiscard]] const Format& format_named(std::string_view name);

/// Errors: Code::schema for a schema that is not valid; Code::unsupported, by field and format, for
/// a kind it does not claim.
void check_schema_fits(const Format& format, const Schema& schema);

/// The format with the highest bid for a file; null if none bids.
[[nodiscard]] const Format* detect_format(const Probe& probe);

/// A sample of fixed rows as a record: one part per field, as it is stored. What Format::encode is
/// there. Errors: Code::schema, naming field and sample, for a number that its dtype cannot hold.
[[nodiscard]] Record encode_fixed_row(const Sample& sample, const Schema& schema);

/// The common case of a sizer: each file is a fixed number of bytes, plus the parts that go to it,
/// plus a fixed number of bytes per sample.
[[nodiscard]] std::unique_ptr<ShardSizer> make_sum_sizer(
    const ShardLayout& layout, std::vector<std::uint64_t> file_bytes_fixed,
    std::vector<std::uint64_t> file_bytes_per_sample);

}  // namespace shale
