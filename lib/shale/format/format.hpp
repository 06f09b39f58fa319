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
#include "shale/data/sample_axis.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/key_map.hpp"
#include "shale/format/lost_range.hpp"
#include "shale/format/options.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"

// The interface between the core and the containers. A format is a row (struct Format) in
// formats/<name>/<name>_format.cpp and one line in formats/table.hpp. It knows how one shard is
// written and read. File names, temporary files, size bounds, order, hashes, index and manifest are
// implemented once, in shards/.

namespace shale {

struct FileContents;  // file_contents.hpp
struct Layout;

/// One sample encoded for one format. Offsets in `row` are relative to the part that they are in
/// (ShardLayout says which); the core adds the offset of the part. Payload bytes are borrowed from
/// the sample.
/// If RowStorage::takes_runs, a record may be many samples at once: it has one part per field, with
/// the values of all samples, and `row` and `key` stay empty.
struct Record {
  std::string key;
  std::vector<Blob> parts;
  IndexRow row;
  DatasetDigest digest;             ///< filled in by the core, with the number of samples
  std::uint64_t payload_bytes = 0;  ///< filled in by the core: bytes of the located values
};

/// Computes the sizes of a shard's files, so that none exceeds --shard-size. Touches no file.
class ShardSizer {
 public:
  virtual ~ShardSizer() = default;
  /// Bytes of each closed file if one more record, of so many samples and with parts of these
  /// sizes, were added: exact, or an upper bound.
  [[nodiscard]] virtual std::vector<std::uint64_t> size_with(
      std::span<const std::uint64_t> part_bytes, std::uint64_t samples = 1) const = 0;
  virtual void add(std::span<const std::uint64_t> part_bytes, std::uint64_t samples = 1) = 0;
};

/// Offsets that are known only when the shard is closed.
struct ClosedShard {
  std::vector<std::uint64_t>
      late_offsets;  ///< as from append(), for the records whose offsets it did not return yet
  std::vector<std::uint64_t>
      part_bases;  ///< to add to every offset, one per part; empty: offsets were absolute
                   ///< (with fixed rows: the offset of the first value of each part)
};

/// The class names of a dataset: of the numbers 0, 1, 2 ... in one field.
struct LabelNames {
  std::size_t field = 0;  ///< its number in the schema
  std::vector<std::string> names;
};

/// Writes one shard into files that the core has opened and will finish, hash and name. One thread.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;
  /// Appends one record. Returns the offsets of parts, layout.part_file.size() numbers per record,
  /// of zero or more records, oldest first: a format may learn the offsets of a record later than
  /// its append(). Empty with fixed rows: close() then returns the offset of each part. Valid until
  /// the next call.
  virtual std::span<const std::uint64_t> append(const Record& record) = 0;
  /// The names of the labels, which the shard holds from close() on. Called once, before close(),
  /// if Format::classes has room for them. They outlive the writer.
  virtual void name_labels(const LabelNames& /*names*/) {}
  /// Writes the rest (tables, trailers, patched headers). Must be the last call.
  virtual ClosedShard close() = 0;
};

using RowSink = std::function<void(const IndexRow&)>;

/// The most bytes that are unpacked in memory at once, where nobody says how many.
inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{4} << 30;

/// A shard to scan.
struct ShardInput {
  std::span<const InputFile> files;  ///< in the order of ShardLayout::file_suffixes
  const Schema& schema;
  const ShardLayout& layout;
  bool reads_payload;  ///< false: structure only; crc32c is 0 and payload bytes are not touched
  /// With fixed rows: how many there must be, and where those of each field begin. The sink gets no
  /// rows then.
  std::uint64_t samples = 0;
  std::span<const std::uint64_t> bases = {};
  WalkProgress progress = {};
  /// Of a file that may be damaged: what salvage() says is lost of it, which the scan passes over.
  /// Null: nothing is known of damage.
  const LostRanges* lost = nullptr;
  /// With ShardLayout::has_values: adds the bytes of a value that does not lie in the file to the
  /// shard's file of values, and returns where it stands there.
  std::function<std::uint64_t(Bytes value)> put_value = {};
  /// For what a scan has to hold of a file of another tool at once: pages that it unpacks.
  std::uint64_t memory_bytes = kMostUnpacked;
};

/// A position in a walk through the samples of a shard: before this row, whose sample begins at
/// this byte of the shard's only file.
struct ScanPoint {
  std::uint64_t row = 0, offset = 0;
  friend bool operator==(const ScanPoint&, const ScanPoint&) = default;
};

/// The rows from one point to another of a shard, for one of several threads that scan it.
struct ScanRows {
  ScanPoint begin, end;
  ViewBytes view = {};  ///< reads the file for the scan, if the caller reads it anyway; or null
};

/// scan() of one of shale's own shards by several threads. It says only whether the shard is what
/// shale would write, so that scan() would find nothing; if not, call scan() to learn what is
/// wrong. It refers to the files of its shard.
struct SplitScan {
  std::uint64_t samples = 0;  ///< in the container
  /// If rows are stored column by column: the least number of rows for a part, whose points say
  /// nothing about bytes. 0: rows are stored roughly in order, and first_at() finds the parts.
  std::uint64_t rows_at_once = 0;
  /// A row whose bytes begin at or after this byte, approximately; nullopt: the shard is not what
  /// shale would write. Null: parts begin at records, where the index says, which may lie: the scan
  /// proves that a part ends where the next one begins. Not thread-safe. Errors: Code::io.
  std::function<std::optional<ScanPoint>(std::uint64_t byte)> first_at = {};
  /// Passes the rows to the sink as scan() does, and returns true if there is nothing to find in
  /// them; if false, ignore what the sink got. Null: this shard can only be scanned as a whole.
  /// Thread-safe. Errors: Code::io; Code::damaged; those of the sink and the progress.
  std::function<bool(const ShardInput&, const ScanRows&, const RowSink&)> scan = {};
  /// After parts that covered every row once: whether the container holds nothing else.
  std::function<bool()> is_complete = {};
};

/// The content of a file that another tool wrote, determined from all of its samples.
struct Survey {
  Schema schema;
  ShardLayout layout;         ///< one file, with the suffix ""; has_checksums is the core's
  std::uint64_t samples = 0;  ///< if layout.rows.has_strides(): their number,
  std::vector<std::uint64_t> bases = {};  ///< and the offset of the first one, per field
  std::vector<std::string> notes;  ///< the parts of the file that are left out, a sentence each
  LeftOutList left_out = {};       ///< the same, for the manifest
  std::vector<std::string> classes = {};  ///< names by label, if the file has them
  LostRanges lost = {};                   ///< from salvage()

  /// For samples with keys that are all in the one file.
  [[nodiscard]] static Survey of_one_file(Schema schema, Dialect dialect);
  /// For rows without keys that are stored column by column in the one file.
  [[nodiscard]] static Survey of_columns(Schema schema, std::uint64_t samples,
                                         std::vector<std::uint64_t> bases);
};

/// A file of another tool that is unpacked in memory, piece by piece, to be surveyed.
struct PackedSurvey {
  const InputFile& file;
  WalkProgress progress = {};
  std::uint64_t memory_bytes = kMostUnpacked;  ///< for the pieces
  bool takes_damaged = false;                  ///< as salvage()
  /// Values that cannot be located are said to lie beside the file, for a scan() that reads them
  /// and keeps none.
  bool takes_packed = false;
};

/// What is left out of a file that is unpacked.
struct UnpackReport {
  bool is_own = false;       ///< what was written is as shale itself writes it (Format::recognize)
  bool stays_whole = false;  ///< the file is read as it is, for the reason in `notes`
  bool is_decompressed = false;    ///< no more: what survey() finds in it is what the file has
  std::vector<std::string> notes;  ///< a sentence each
  LeftOutList left_out = {};
  std::vector<std::string> classes = {};  ///< names by label, if the file has them
  /// What the other file holds, where more is known of it than it says itself.
  std::optional<Schema> schema = {};
  std::uint64_t episodes = 0;  ///< of Dialect::episodes: how many there are
  LostRanges lost = {};        ///< with UnpackRequest::takes_damaged
};

/// A file whose samples cannot be located, to be unpacked into another.
struct UnpackRequest {
  const InputFile& file;
  const NamelessFile& into;  ///< empty; after an error its content is garbage
  std::uint64_t memory_bytes;
  Parsing parsing = {};        ///< as for survey()
  WalkProgress progress = {};  ///< bytes written, and their total: 0 and 0 until they are known
  std::vector<std::string> fields = {};  ///< only these; empty: all, if they have to be unpacked
  std::vector<SampleAxis> axes = {};     ///< of arrays whose samples do not lie along the first
  std::uint64_t first_episode = 0;       ///< of Dialect::episodes: the number of its first one
  bool takes_damaged = false;            ///< only what is whole is unpacked, as salvage() has it
};

/// The result of reading a shard with the container's own library.
struct LibraryReading {
  std::string library;  ///< with its version: "liblmdb 0.9.24"
  std::string
      obstacle;  ///< why it could not be used, which says nothing about the shard; else empty
};

/// What a format may look at to recognize a file.
struct Probe {
  std::string_view path;
  Bytes head;  ///< the first bytes of the file, at most 4 KiB
  std::uint64_t file_bytes;
  const InputFile* file = nullptr;  ///< to look further; null: only the head is known
};

/// The longest key that a container may hold. Keys are read as a whole, so this limits the memory
/// that a hostile file can make shale allocate.
inline constexpr std::uint64_t kMaxKeyBytes = 65'536;
[[nodiscard]] Error key_too_long(std::uint64_t bytes);

/// The most elements that a list may have, because their positions are kept in memory.
inline constexpr std::uint64_t kMaxElements = 1 << 20;
/// Errors: Code::limit for more.
void check_elements(std::uint64_t count);

/// What a format can do.
struct Capabilities {
  std::span<const Kind> kinds;
  bool self_checksummed = false;  ///< the container itself carries checksums
  bool holds_ragged = false;      ///< tensors of free sides
  bool holds_optional = false;    ///< values may be absent
  bool holds_slashes = false;     ///< in names of fields, such as "image/encoded"
  bool keeps_dtypes = true;       ///< a file says which dtypes its reals and tensors have
  bool places_ascend = true;      ///< the values of a field are stored in the order of the rows
  bool streams = false;           ///< a file is written from front to back: it may be a pipe
  bool forks = false;  ///< reads files of other tools in a child: all other threads must be idle
  std::uint64_t largest_record = ~std::uint64_t{0} >> 1;  ///< bytes of one encoded sample
};

using ShardVisitor = std::function<void(const ManifestShard&)>;

struct TensorFormat;  // tensor_file.hpp

/// How people read a file of a format without shale: a library, and Python code in which a report
/// puts paths and names of fields (report/snippets.hpp).
struct ReaderCode {
  std::string_view library = {}, code = {};
};

/// Where a container has the names of labels: in the first file of each shard, and in single files.
struct ClassPlace {
  /// What these names add to a file, in bytes, at most; 0: it has no room for them.
  std::uint64_t (*bytes)(std::span<const std::string> names) = nullptr;
  /// The names in a file that shale wrote, of the numbers in the field of this name; empty: none.
  /// Errors: Code::damaged, Code::limit, Code::io.
  std::vector<std::string> (*read)(const InputFile& file, std::string_view field) = nullptr;
};

/// A row: data first, then functions. A null pointer means that the format cannot do it.
struct Format {
  std::string_view name, summary;
  std::span<const std::string_view> suffixes;  ///< of its files: ".tfrecord"
  std::span<const OptionSpec> options;
  std::span<const std::string_view>
      reserved_fields;  ///< field names that it refuses in addition to the common ones
  Capabilities can;
  std::span<const std::string_view> aliases = {};        ///< other names for --to: "tfrecord"
  std::span<const std::string_view> more_suffixes = {};  ///< of single files: ".hdf5"
  std::string_view a_file = {};            ///< one of its files, in words: "an LMDB file"
  std::span<const Dialect> dialects = {};  ///< that it reads in files of other tools, beside plain
  /// A command that looks at a finished file, {}, as its usual readers do; empty: 'shale info'.
  std::string_view look_at_file = {};

  /// What its files are made of, if they hold tensors and nothing else.
  const TensorFormat* tensors = nullptr;

  /// Bits of evidence that a file has this format: 0 for none, 8 per matching byte of magic number
  /// or checksum.
  int (*bid)(const Probe&) = nullptr;
  /// Errors: Code::unsupported for a schema that this format cannot hold, naming the field.
  ShardLayout (*layout)(const Schema&, const OptionSet&) = nullptr;
  /// Pure; runs in the workers. The sample has been checked against the schema. Errors:
  /// Code::limit, naming the sample.
  Record (*encode)(const Sample&, const Schema&, const OptionSet&) = nullptr;
  std::unique_ptr<ShardSizer> (*create_sizer)(const Schema&, const OptionSet&) = nullptr;
  /// `files` and `schema` outlive the writer.
  std::unique_ptr<ShardWriter> (*create_shard)(std::span<OutputFile> files, const Schema& schema,
                                               const OptionSet&) = nullptr;
  /// The schema of a single file that shale itself wrote, which is then read like a shard; nullopt
  /// for any other file. Null: such files are read like those of other tools. Errors:
  /// Code::damaged, Code::io.
  std::optional<Schema> (*recognize)(const InputFile& file, const WalkProgress& progress) = nullptr;
  /// The content of a file of another tool; payload is read only if that cannot be avoided. Without
  /// a dialect: the layout that is recognized, else plain. Null: the format reads shale's shards
  /// only. Errors: Code::unsupported, by name, for data that cannot be located (a filter, a sample
  /// in several pieces) or has no meaning here; Code::damaged. The dialect is one of `dialects`.
  Survey (*survey)(const InputFile& file, const Parsing& parsing,
                   const WalkProgress& progress) = nullptr;
  /// The same of a file that may be damaged: only what is proved, or at least read whole, counts,
  /// and the rest is in Survey::lost. Reads what it takes to know that: with checksums, everything.
  /// Null: nothing can be saved of damaged files. Errors: those of survey(); Code::damaged if no
  /// sample is whole.
  Survey (*salvage)(const InputFile& file, const Parsing& parsing,
                    const WalkProgress& progress) = nullptr;
  /// Both of files of which pieces are unpacked in memory, with what that takes. Null: they have no
  /// such pieces. Errors: the same; Code::limit, with a hint, for pieces that take more memory.
  Survey (*survey_packed)(const PackedSurvey&) = nullptr;
  /// The files of one dataset that a text file lists, as they are named there; nullopt: the file is
  /// not such a list. Null: the format has no such lists. Errors: Code::limit for a list that is
  /// too long; Code::io.
  std::optional<std::vector<std::string>> (*list_files)(const InputFile& list) = nullptr;
  /// Writes the data that survey() cannot locate (compressed values, samples in pieces), and the
  /// rest, into a file that survey() and scan() can read. Returns what is left out; nullopt if
  /// nothing in the file has to be unpacked. Null: the format has no such files. Memory: a quarter
  /// of `memory_bytes` here, all of it in a child. Errors: Code::unsupported by name; Code::limit;
  /// Code::damaged; Code::io, before anything is written, if there is not enough space.
  std::optional<UnpackReport> (*unpack)(const UnpackRequest&) = nullptr;
  /// All arrays of a file of another tool, whether or not they are a table of samples. Null: its
  /// files hold no arrays by name. Reads no payload. Errors: Code::damaged, Code::limit, Code::io.
  FileContents (*list_contents)(const InputFile& file, const WalkProgress& progress) = nullptr;
  /// The columns of a file of another tool that is one table in any case. Null: there are no such
  /// files. Reads no payload. Errors: Code::damaged, Code::limit, Code::io.
  FileContents (*list_columns)(const InputFile& file) = nullptr;
  /// Walks a shard's files, with every access checked against their bounds, and passes the index
  /// rows to the sink in order. For shale's own shards, and for files that survey() describes, as
  /// layout.dialect says. A missing value has the offset kMissing. Damage goes to the finding sink;
  /// scan returns early if nothing after it can be trusted. Memory: at most the files' size +
  /// 64 MiB, whatever they hold.
  void (*scan)(const ShardInput&, const OptionSet&, const RowSink&, const FindingSink&) = nullptr;
  /// scan() of one of shale's own shards, which has one file, in parts for several threads. Null:
  /// shards can only be scanned as a whole. Errors: Code::io.
  SplitScan (*split_scan)(const ShardInput&) = nullptr;
  /// A scan of one of shale's own shards in which the container's own library opens the file and
  /// reads every value, in a child process with limits: rows with checksums, and findings, as from
  /// scan(). If the library refuses the file or crashes, that is a finding. `ask` is called at
  /// least ten times a second, and may throw to stop. Forks: all other threads must be idle. Null:
  /// the container has no library of its own. Memory: some 20 MiB, and what the library maps.
  /// Errors: Code::io; those of the sinks and `ask`.
  LibraryReading (*scan_by_library)(const ShardInput&, const RowSink&, const FindingSink&,
                                    const std::function<void()>& ask) = nullptr;
  /// The file as a sorted map from keys to positions; the file lives as long as the map. Null: the
  /// container is not a map. Memory: a few MiB, whatever the file holds. Errors:
  /// Code::unsupported, by name, for a layout that is not read; Code::damaged; Code::io.
  std::shared_ptr<const KeyMap> (*open_map)(std::shared_ptr<const InputFile> file) = nullptr;
  /// Offset and length of every element of a list, from their headers alone; `list` is its extent
  /// in the view. Null if the format holds no lists, or if encode and scan fill IndexRow::elements.
  /// Errors: Code::damaged; those of the view.
  std::vector<FieldPlace> (*walk_list)(const ViewBytes& view, const FieldPlace& list) = nullptr;
  /// The elements of a list field's extent. Null if the format holds no lists, or if the extent
  /// does not say where an element ends; only IndexRow::elements does then (list_elements.hpp).
  /// Errors: Code::damaged.
  std::vector<Bytes> (*split_list)(Bytes extent, std::uint32_t count) = nullptr;
  /// True if values may stay unread (Unread), because encode() and append() never need all bytes of
  /// one at once. Null: never.
  bool (*takes_unread)(const OptionSet&) = nullptr;
  /// How it writes for readers of other programs (layout.hpp). Empty: in no way but its own.
  std::span<const Layout* const> layouts = {};
  /// Empty: there is no such library.
  ReaderCode reader = {};
  /// Null: its files have no place for the names of labels.
  const ClassPlace* classes = nullptr;
  /// What a README.md says of the fields to the library `datasets`, by the first shard of a
  /// dataset: lines of YAML, with two spaces in front. Null: its readers want no README.md. Errors:
  /// Code::damaged, Code::io.
  std::string (*readme_fields)(const InputFile& shard, const Schema&, const LabelNames&) = nullptr;
  /// What other programs know a sample of this key by, where that is less than its key: no two
  /// samples of a shard may have the same. Empty, or null: its key.
  std::string (*sample_name)(std::string_view key, const OptionSet&) = nullptr;
  /// What the fields of an indexed file are called in the file itself, as a note has it, by its
  /// first samples; empty: the same. Null: survey() renames nothing. Errors: Code::io.
  std::string (*tell_names)(const InputFile& file, const Schema& schema) = nullptr;
};

/// The registry. Defined in formats/table.cpp; tests link their own.
[[nodiscard]] std::span<const Format* const> all_formats();

/// The format with this name or alias. Errors: Code::usage, listing the available formats, one per
/// line in the hint; an empty name means that none was given.
[[nodiscard]] const Format& format_named(std::string_view name);

/// Errors: Code::schema for a schema that is not valid; Code::unsupported, naming field and
/// format, for a kind that the format does not hold.
void check_schema_fits(const Format& format, const Schema& schema);

/// Errors: Code::usage for a dialect that files of this format do not have, naming the format whose
/// files have it.
void check_dialect(const Format& format, const Parsing& parsing, std::string_view path);

/// The format with the highest bid for a file; null if none bids.
[[nodiscard]] const Format* detect_format(const Probe& probe);
/// Whether a file is a zip archive, but not what some format takes for its own, by its content or
/// its name: one of any files. Errors: same as InputFile.
[[nodiscard]] bool is_zip_of_files(const InputFile& file);

/// A sample of fixed rows as a record: one part per field, as it is stored. Formats of fixed rows
/// use it as Format::encode. Errors: Code::schema, naming field and sample, for a number that its
/// dtype cannot hold.
[[nodiscard]] Record encode_fixed_row(const Sample& sample, const Schema& schema);

/// The common case of a sizer: each file is a fixed number of bytes, plus the parts that go to it,
/// plus a fixed number of bytes per sample.
[[nodiscard]] std::unique_ptr<ShardSizer> make_sum_sizer(
    const ShardLayout& layout, std::vector<std::uint64_t> file_bytes_fixed,
    std::vector<std::uint64_t> file_bytes_per_sample);

}  // namespace shale
