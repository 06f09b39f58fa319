#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/left_out.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/data/unfit_numbers.hpp"
#include "shale/format/archive_file.hpp"

namespace shale {

struct Format;
class Casts;      // numbers/casts.hpp
class Transform;  // encoding/transform.hpp

/// A small file to be read as the value of a field, or as one element of a list.
struct PendingFile {
  std::string path;  ///< of one in an archive: only its name
  std::uint64_t bytes = 0;
  /// Since 1970, when it was listed long ago: it must be the same now. 0: not compared.
  std::int64_t modified_ns = 0;
  std::size_t field = 0;       ///< of the schema
  ArchivedFile archived = {};  ///< if it lies in an archive
  /// Of an .npy file whose array is the value: the tensor that it is to be. Null: the file itself
  /// is.
  std::shared_ptr<const Field> array = nullptr;

  /// How often such a file takes its size: as it is read, and where it has to be reordered.
  static constexpr std::uint64_t kArrayCopies = 2;
};

/// A value that the source already knows, so that nothing has to be read.
struct KnownValue {
  std::size_t field = 0;
  std::string bytes;
};

/// How far a stream was read: the number of bytes, and their xxh3-128. For compressed streams these
/// are the decompressed bytes.
struct StreamPoint {
  std::uint64_t bytes = 0;
  Hash128 hash;
  friend bool operator==(const StreamPoint&, const StreamPoint&) = default;
};

/// One sample of an input before its payload is read: everything that is known without reading it.
/// From a source of fixed rows (SourceInfo::row_bytes) a run of consecutive samples: its cells are
/// the places of the columns, of integers and reals too, and its keys are the numbers of the
/// samples.
struct PendingSample {
  std::string key;
  std::uint64_t rows = 1, first_number = 0;  ///< of a run: how many, and the number of the first
  std::vector<IndexCell>
      cells;  ///< a field each: numbers as they are, located fields with offset and length
  /// The small files that its located fields are, in the order of the fields; those of a list one
  /// after the other, and its place then has their number, and the sum of their bytes. A located
  /// field that has none, and is not among `known`, lies in an open file.
  std::vector<PendingFile> files = {};
  std::vector<KnownValue> known = {};  ///< in the order of the fields
  /// What the sample lacks, in words; none of it is read then. Empty: it is complete.
  std::string lacks = {};
  bool lacks_row = false;  ///< it is a row of a list that is missing, not a file
  /// Of a dataset, with OnDamage::leave_out: what of it is not as it was written, in words; none of
  /// it is read then, and its key and numbers may be unknown. Empty: nothing that is known of.
  std::string damage = {};
  /// Why one of `files` has no array of its field, in words; known when they have been read.
  std::string bad_array = {};
  /// Of a stream: how far it was read for this sample, the last byte of it included.
  std::optional<StreamPoint> behind = {};
  /// Where the elements of its lists lie, field by field, if the container's extents do not say.
  std::vector<FieldPlace> elements = {};
  std::vector<std::uint64_t> sides = {};   ///< of its ragged tensors, as ShapeWalk has them
  std::vector<int> descriptors;            ///< of the open file, for each field
  std::shared_ptr<const void> keeps_open;  ///< what the descriptors belong to
  /// Of a run: columns that the source had to read itself, as they were stored; null: to be read.
  std::vector<std::shared_ptr<std::vector<std::byte>>> columns;
  /// Of a run: what of each element lies big-endian, a field each, or nothing. Borrowed from the
  /// source.
  std::vector<std::span<const ByteSwap>> swaps;
  bool has_crc32c = false;  ///< places carry the crc32c that the bytes must have
  /// Fields whose places carry none all the same: of a join, from an input that has none.
  std::vector<std::size_t> unproved = {};
  /// What casts did not fit so far; null: nothing.
  std::shared_ptr<const UnfitNumbers> unfit = {};
  std::uint64_t bytes = 0;  ///< to be read, unpacked and cast into: what a lease must cover

  [[nodiscard]] bool proves(std::size_t field) const {
    return has_crc32c && std::ranges::find(unproved, field) == unproved.end();
  }
};

/// For a source that gives one part of an input: which part, and the counts of the whole input.
struct PartOfInput {
  PartNumber number;
  std::uint64_t samples = 0, bytes = 0;
};

/// What becomes of a sample of a dataset that is not as it was written.
enum class OnDamage : std::uint8_t {
  stop,       ///< it ends the reading
  suggest,    ///< the same, and the user is told how it is left out
  leave_out,  ///< PendingSample::damage
};

/// What is known of an input before its first sample.
struct SourceInfo {
  ManifestSource manifest;  ///< kind, samples, bytes, fingerprint
  /// `manifest` then has the samples of the part, and about its bytes.
  std::optional<PartOfInput> part = {};
  Schema schema;
  std::vector<std::string> classes;  ///< by label; empty: none
  /// The fields that are image files, or lists of them, in order: they are probed.
  std::vector<std::size_t> image_fields = {};
  bool keys_are_unique = false;  ///< else they are compared when all are written
  bool labels_are_sorted =
      false;  ///< in the order of next(): a loader without shuffle would see class after class
  /// A stream, which is read once, in its own order: samples, bytes and fingerprint of `manifest`,
  /// labels, ignored and notes are known when next() has returned nullopt, and 0 before. Its
  /// samples come with their payload.
  bool is_stream = false;
  OnDamage on_damage = OnDamage::stop;
  Hash128 labels;  ///< xxh3-128 of all labels in order; zero where they are part of the samples'
                   ///< digests
  Hash128 chosen;  ///< of the rows, where not all of them are taken; else zero
  std::uint64_t ignored = 0;  ///< entries that are not samples
  LeftOutList left_out = {};  ///< what the samples lack of the input: of a dataset, from before
  std::uint64_t skipped = 0;  ///< samples left out by the conversion that wrote this dataset
  std::string hidden;         ///< that conversion's policy; empty: the input is not a dataset
  std::string suffixes;       ///< of the files that the samples were made from; empty: images
  std::string pairs;          ///< suffixes of the files that became further fields: "json,txt"
  std::string metadata;       ///< what came from rows of metadata.csv: kMetadataOption; empty: none
  std::string folders;        ///< names of the folders that samples are joined from: "image,mask"
  std::string fields;         ///< which were taken, and their names: kFieldsOption; empty: as it is
  /// What --parse and --database found the samples by, of the input or of the dataset that it is:
  /// as the options of manifests have it.
  std::vector<std::pair<std::string, std::string>> parsing = {};
  bool leaves_bytes = false;  ///< fields are not taken whose bytes `manifest` counts
  /// Of a folder: when the last one of its files was modified, in nanoseconds since 1970; else 0.
  std::int64_t modified_ns = 0;
  /// Bytes of one sample if all have the same size: samples come in runs. Nullopt: one by one.
  std::optional<std::uint64_t> row_bytes;
  std::uint64_t memory_bytes = 0;  ///< memory that the source holds while it is read
  /// Bytes that it writes into a scratch folder and keeps there until its last sample.
  std::string scratch_folder;
  std::uint64_t scratch_bytes = 0;
  /// The digests that all samples must have together, if known; a digest of zero is unknown.
  std::optional<DatasetDigest> digest;
  /// The largest sample, if a list gives sizes before anything is read.
  std::optional<PendingSample> largest;
  /// Then also some of the others, evenly spread.
  std::vector<PendingSample> spread = {};
  std::vector<std::string> notes;  ///< what the user should know, a sentence each
  /// Fields whose numbers are cast when they are read (load_batch, load_runs): their lengths among
  /// the cells of a sample are those that they have then, as `schema` is. Null: nothing.
  std::shared_ptr<const Casts> casts = {};
  /// What the workers do to the images of the samples, before they are encoded: `schema` is then
  /// that of the result, transform->input() that of what is read. Null: nothing.
  std::shared_ptr<const Transform> transform = {};
  /// Of the container that the samples lie in; null: there is none, and no list lies in one piece.
  const Format* container = nullptr;
};

/// A sample that was left out, as skipped.csv has it.
struct SkippedSample {
  std::string key;
  std::string reason;  ///< a fixed code, such as "truncated" (name_of(ImageFaultCode))
  std::string detail;  ///< in words
};
using SkippedSink = std::function<void(const SkippedSample&)>;

/// Gets the entries of the input that are not samples.
using ReasonSink = std::function<void(std::string_view entry, std::string_view reason)>;

/// An input: samples in a fixed order. One thread.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual const SourceInfo& info() const = 0;
  /// The next sample, or a run of at most `most_rows` where info().row_bytes is given; nullopt
  /// after the last. Errors: Code::io, Code::damaged.
  [[nodiscard]] virtual std::optional<PendingSample> next(std::uint64_t most_rows) = 0;
  /// Skips samples that next() would give, without reading payload if possible.
  /// Errors: same as next; Code::bug for more samples than are left.
  virtual void skip(std::uint64_t samples) {
    // Rows that have to be put together are, so few at a time that they take little memory.
    constexpr std::uint64_t kBytesAtOnce = 1 << 20;
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, info().row_bytes.value_or(1));
    const std::uint64_t most = std::max<std::uint64_t>(1, kBytesAtOnce / row_bytes);
    while (samples > 0) {
      const std::optional<PendingSample> passed = next(std::min(most, samples));
      if (!passed) throw Error(Code::bug, "{} samples too many to pass over", samples);
      samples -= passed->rows;
    }
  }
  /// Before the first next(): passes over the samples before `first`, and prepares for no more than
  /// `samples` from there on; the caller asks for no more, and knows that their digest is not
  /// info().digest. Errors: same as skip.
  virtual void narrow(std::uint64_t first, std::uint64_t samples) {
    (void)samples;
    skip(first);
  }
  /// For a stream: how far it was read for the last sample that next() gave or skip() skipped.
  [[nodiscard]] virtual std::optional<StreamPoint> point() const { return std::nullopt; }
  /// The info().ignored entries of the input that are not samples, in a fixed order, each with the
  /// reason.
  virtual void list_ignored(const ReasonSink&) {}
  /// The info().skipped samples that an earlier conversion left out.
  virtual void list_skipped(const SkippedSink&) {}
};

}  // namespace shale
