#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/sample.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/pixels/image_work.hpp"

namespace shale {

/// What was done to an image. The names appear in manifests, so they are fixed.
enum class ImageChange {
  kept,        ///< its bytes are untouched
  resized,     ///< its pixels were scaled
  cropped,     ///< some of its pixels were left out
  rotated,     ///< its pixels were turned as EXIF says
  converted,   ///< it is stored as another type, or as raw pixels
  stripped,    ///< nothing but its metadata went
  over_white,  ///< its alpha was laid over white
  to_rgb,      ///< CMYK became RGB
  to_page,     ///< of several pages or frames the first
  to_eight,    ///< of more than 8 bits a channel the upper 8 stay
  to_gray,     ///< colors became gray
};
inline constexpr std::size_t kImageChanges = 11;
/// "kept", "resized", "cropped", "rotated", "converted", "stripped", "alpha-over-white",
/// "cmyk-to-rgb", "to-first-page", "to-8-bits", "to-gray".
[[nodiscard]] std::string_view name_of(ImageChange change);
/// How many images each happened to; one image may count for several.
using ImageChanges = std::array<std::uint64_t, kImageChanges>;

/// How the memory for samples in flight is divided where their images are worked on.
/// docs/architecture.md says why this cannot deadlock.
struct TransformShares {
  std::uint64_t payload = 0;     ///< bytes that were read
  std::uint64_t work = 0;        ///< decoding and filtering: one image per thread
  std::uint64_t results = 0;     ///< what waits for its commit
  std::uint64_t one_sample = 0;  ///< the results of the sample that is committed next
};
[[nodiscard]] TransformShares shares_of(std::uint64_t memory_bytes);
/// Of `memory_bytes` for samples in flight: what their payload may take.
[[nodiscard]] std::uint64_t payload_memory(std::uint64_t memory_bytes, const SourceInfo& source);

/// The error for what needs more memory than its share; `what`: "the file takes"; `enough`: the
/// memory for samples of which the share would do.
[[nodiscard]] Error over_share(std::string_view what, std::uint64_t needed, std::uint64_t room,
                               std::uint64_t enough);

/// What the threads of one pipeline share. Outlives its transformers and their results.
class TransformBudget {
 public:
  TransformBudget(std::uint64_t memory_bytes, unsigned threads);
  SharedBudget work, results;
  const std::uint64_t own_bytes;         ///< of a thread, without asking
  const std::uint64_t one_sample_bytes;  ///< the most that the results of a sample may take
  std::atomic<bool> is_stopped = false;  ///< the work is wanted no more
};

/// The bytes of results, in one piece for each image.
class ResultMemory {
 public:
  /// A copy that lives as long as this; nullopt if there is no room. Without a budget there always
  /// is.
  [[nodiscard]] std::optional<Bytes> copy(Bytes bytes, SharedBudget* budget);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Forgets what came after the first `pieces`.
  void shrink_to(std::size_t pieces);
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }

 private:
  struct Piece {
    std::unique_ptr<std::byte[]> memory;
    std::uint64_t bytes = 0;
    SharedBudget::Hold hold;
  };
  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;
};

/// A sample after image work.
struct TransformedSample {
  Sample sample;
  ImageFault fault;  ///< not empty: one of its images cannot be worked on; nothing was changed
  ImageChanges changes = {};
};

/// Does the image work on samples: one per thread.
class SampleTransformer {
 public:
  SampleTransformer(const Transform& transform, TransformBudget& budget);

  /// The sample of that number, with its images worked on. Results are in `into`, the rest is
  /// borrowed from `sample`. Takes the memory for the work, one image at a time, and waits for it.
  /// `may_fail`: nullopt if there is no room for the results in the budget; else they are not
  /// counted there: the caller commits them at once. Errors: Code::limit, naming the sample, for
  /// an image, or results, that --memory has no room for; Code::interrupted if
  /// budget.is_stopped.
  [[nodiscard]] std::optional<TransformedSample> run(const Sample& sample, std::uint64_t number,
                                                     ResultMemory& into, bool may_fail);

  struct Outcome {
    ImageFault fault;
    ImageChanges changes = {};
  };
  /// One image, by rule number `rule` of the transform. `take` gets the bytes, borrowed for the
  /// call: of the result, or the image's own if it is kept. It must not wait for the budget.
  /// Errors: same as of run, without the sample; what `take` throws.
  Outcome run_image(Bytes image, std::size_t rule, const std::function<void(Bytes)>& take);

 private:
  const Transform& transform_;
  TransformBudget& budget_;
  std::vector<ImageWorker> workers_;  // one per field of the transform
  std::vector<std::byte> scratch_;
};

}  // namespace shale
