#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/format/format.hpp"
#include "shale/io/archive_file.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/verify/compare_transformed.hpp"

namespace shale {

/// A sample of the dataset and the file, or the folder of frames, that it should be.
struct ComparedPair {
  std::string key, path;
  std::uint64_t offset, bytes;        ///< of a file in an archive
  std::vector<ArchivedFrame> frames;  ///< of a folder of frames there
  std::uint64_t row;
  FieldPlace place;
  std::shared_ptr<const ShardReader> shard;
  std::size_t field;  ///< of the dataset: that of the image, or of a file beside it
  std::optional<std::string> known = {};  ///< the file itself, of a stream
};

/// What reads many pairs at once, of one thread.
struct PairReader {
  BatchReader reader{BatchReader::Options{}};
  ReadBuffer buffer = {};
};

/// How pairs are compared.
struct PairComparison {
  std::size_t field = 0;                       ///< of the image, or of the list of frames
  const Format* frames = nullptr;              ///< the format that divides the list; null: an image
  bool keeps_hidden = false;                   ///< among the frames
  FrameOrder order = FrameOrder::natural;      ///< of the frames
  std::uint64_t memory_bytes = 0;              ///< for a list of frames
  std::shared_ptr<const ArchiveFile> archive;  ///< that the source's files lie in, if they do
  ImageWorkAgain* work = nullptr;              ///< that the images went through; null: none
  std::size_t worked_field = 0;                ///< of the dataset, with those images
  std::size_t source_field = 0;                ///< the same of the source
  bool compares_payload = true;
  std::span<PairReader> readers = {};  ///< one per thread
  std::uint64_t bytes_at_once = 0;     ///< that each of them may hold
};

/// A finding about the sample of a key.
[[nodiscard]] Finding finding_of(const std::string& key, std::string message);

/// What differs, in the order of the pairs. `thread`: its number, for image work. A list that is
/// malformed, and a file that is gone, are findings. Errors: Code::io; Code::limit.
[[nodiscard]] std::vector<Finding> compare_pairs(const std::vector<ComparedPair>& pairs,
                                                 const PairComparison& how, unsigned thread);

}  // namespace shale
