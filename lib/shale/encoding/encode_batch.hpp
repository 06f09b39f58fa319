#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/convert.hpp"
#include "shale/data/image_report.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/encoding/sample_transformer.hpp"
#include "shale/format/format.hpp"
#include "shale/image/probe.hpp"

namespace shale {

// The hash by which two images of a set, or lists of them, are proved to be the same. Of a first
// field of kind bytes it is the head of the sample (HeadedDigest), which costs nothing where the
// digest is taken anyway; of any other it is xxh3-128 of the stored bytes.

/// True if the hash of this field's values is the head of their samples.
[[nodiscard]] bool is_hashed_as_head(const Schema& schema, std::size_t field);

/// Takes the hash of a value that is stored as so many bytes, which are to be added.
[[nodiscard]] Hasher128 begin_image_hash(const Schema& schema, std::size_t field,
                                         std::uint64_t bytes);

/// The hash of a value that is_hashed_as_head does not hold for, in a record that was encoded;
/// nullopt where its bytes are not in memory, or it is absent.
[[nodiscard]] std::optional<Hash128> image_hash_of(const Record& record, const ShardLayout& layout,
                                                   std::size_t field);

/// What samples are encoded for.
struct Encoding {
  const Format& format;
  const OptionSet& options;
  ShardLayout layout;
  OnError on_error = OnError::skip;
  /// The field whose values are hashed on the way (EncodedSample::image_hash), if any.
  std::optional<std::size_t> hashed_field = {};
  /// Bad images are encoded as they are, beside their fault, whatever `on_error` says.
  bool takes_bad_images = false;
  /// Images are decoded, too: what only that finds wrong is a fault like those of their headers.
  bool decodes_images = false;
};

/// One sample, or a run of fixed rows as one record, on its way from worker to commit.
struct EncodedSample {
  std::optional<Record> record;  ///< absent: it is left out, because of `fault`
  std::string key;
  ImageFault fault;
  /// What the probe saw, where the source holds images. Of a list of images: of its first one, with
  /// what is odd about any of them; "frame-sizes" if they differ in size.
  std::optional<ImageInfo> image;
  /// Of a list, or of several fields of images: the types and sizes of all of them.
  std::optional<ImageReport> all_images;
  std::optional<StreamPoint> behind;  ///< of a sample of a stream: PendingSample has it
  /// As it was read, before any image work: whether it is left out or not, and with its key.
  DatasetDigest read;
  /// Of the value of Encoding::hashed_field as it is written (image_hash_of); absent where not all
  /// of its bytes were in memory.
  std::optional<Hash128> image_hash = {};
  /// With Encoding::decodes_images: images of types that were not decoded all the same.
  std::uint64_t undecoded = 0;
  ImageChanges changes = {};                       ///< where source.transform is given
  std::shared_ptr<const UnfitNumbers> unfit = {};  ///< null: all numbers fit the types of casts
};

/// A batch with its samples encoded. The records point into the batch's buffer, and into `results`;
/// what stays unread (unread_sample.hpp) is read again by whoever goes through their bytes.
struct EncodedBatch {
  Batch batch;
  std::vector<EncodedSample> samples;
  ResultMemory results;      ///< of image work
  std::vector<Sample> left;  ///< the samples behind those: there was no room for their results
};

/// Reads, probes, checks, works on images, hashes and encodes the samples of a batch: all that can
/// be done out of order. Pure but for the reading; runs in the workers. `transformer`: of this
/// thread, where source.transform is given; `step`: as load_unread has it; `reused`: the samples of
/// another batch, whose memory is used again. Errors: same as
/// load_batch and SampleTransformer::run; Code::bad_content under OnError::fail; Code::schema;
/// Code::limit. In the order of the samples.
[[nodiscard]] EncodedBatch encode_batch(Batch batch, const SourceInfo& source,
                                        const Encoding& encoding, BatchReader& reader,
                                        SampleTransformer* transformer = nullptr,
                                        const std::function<void()>& step = {},
                                        std::vector<EncodedSample> reused = {});

/// Errors: Code::bad_content for a sample that lacks a partner or a row (PendingSample::lacks),
/// which only OnError::skip leaves out.
void refuse_incomplete(const PendingSample& pending, std::uint64_t number, OnError on_error);

/// Encodes what encode_batch left of a batch whose samples are committed, and commits each sample
/// before the next: their results take the memory that is kept for that. In the one thread that
/// commits. Errors: same as encode_batch, without those of reading; those of `commit`.
void encode_left(EncodedBatch& encoded, const SourceInfo& source, const Encoding& encoding,
                 SampleTransformer& transformer,
                 const std::function<void(const EncodedSample&)>& commit);

}  // namespace shale
