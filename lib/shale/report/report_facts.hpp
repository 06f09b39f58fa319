#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shale/base/finding.hpp"

// Everything that a report of a dataset shows, in the order in which it shows it: plain data, and
// nothing about how it looks. gather_report() makes it, report_page() draws it, --json prints it.
//
// Strings named `key`, `name`, `class_name` and `path` are raw bytes as the dataset has them: any
// bytes but NUL, up to 255 and more, with markup, quotes, newlines and invalid UTF-8. Who shows
// them escapes them. All other strings are UTF-8 that shale made, which may quote such names,
// printable() then.

namespace shale {

/// How many of a thing were looked at. `looked_at == of`: all of them, and numbers are exact.
struct SampledFrom {
  std::uint64_t looked_at = 0, of = 0;
  [[nodiscard]] bool is_all() const { return looked_at == of; }
  friend bool operator==(const SampledFrom&, const SampledFrom&) = default;
};

/// An integer of any of NumPy's types, exactly.
struct WholeNumber {
  bool is_negative = false;
  std::uint64_t magnitude = 0;

  /// Any integer, or a double that is one and is within +-2^53.
  template <class T>
  [[nodiscard]] static WholeNumber of(T value) {
    if constexpr (std::is_unsigned_v<T>)
      return {false, value};
    else if (value >= 0)
      return {false, static_cast<std::uint64_t>(value)};
    else
      return {true, 0 - static_cast<std::uint64_t>(static_cast<std::int64_t>(value))};
  }
  /// One that was an int64.
  [[nodiscard]] std::int64_t as_int64() const {
    return static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
  }
  friend bool operator==(const WholeNumber&, const WholeNumber&) = default;
};
[[nodiscard]] bool operator<(const WholeNumber& a, const WholeNumber& b);

/// A picture of the page.
struct ReportImage {
  std::vector<std::byte> bytes = {};    ///< a whole JPEG or PNG; empty: there is none
  std::string media_type = {};          ///< "image/jpeg", "image/png"
  std::uint32_t width = 0, height = 0;  ///< pixels of `bytes`; of masks as of their image
};

/// A mask that lies over its image.
struct ReportOverlay {
  std::string name = {};   ///< of the field that holds the mask
  ReportImage image = {};  ///< a PNG with alpha: background 0 is transparent; empty: see `problem`
  std::string problem = {};
};

/// One sample in a contact sheet.
struct ReportSample {
  std::string key = {};  ///< raw bytes; where keys are the numbers of rows: that number
  std::uint64_t row = 0;
  std::optional<std::int64_t> label = {};
  std::string class_name = {};          ///< empty: none known
  std::uint64_t bytes = 0;              ///< of its payload
  std::uint32_t width = 0, height = 0;  ///< pixels of the image as stored; 0: unknown
  std::string type = {};                ///< "jpeg", "png", ...; empty: not an image
  std::vector<std::string> odd = {};    ///< "cmyk", "exif-rotated", ...
  ReportImage thumbnail = {};           ///< of the first image or frame
  std::string problem = {};             ///< why there is no thumbnail: "does not decode: ..."
  bool is_damaged = false;              ///< `problem` is damage, not size or an unknown type
  std::vector<ReportOverlay> masks = {};
  /// Of a clip: more of its frames in order, `thumbnail` is the first.
  std::vector<ReportImage> frames = {};
  std::uint64_t frame_count = 0;  ///< of a list: elements it has; else 0
  /// Of a sample without an image: its fields in words, name and value, shortened.
  std::vector<std::pair<std::string, std::string>> values = {};
};

enum class SheetKind { random, of_class, odd, problem };
/// "random", "class", "odd", "problem".
[[nodiscard]] std::string_view name_of(SheetKind kind);

/// A row of samples that belong together.
struct ContactSheet {
  SheetKind kind = SheetKind::random;
  std::string caption = {};  ///< "random samples", "largest class"; UTF-8
  std::optional<std::int64_t> label = {};
  std::string class_name = {};   ///< of `of_class`; raw bytes
  std::uint64_t of_samples = 0;  ///< how many samples the set has of this kind; 0: not counted
  std::vector<ReportSample> samples = {};
};

/// A bar of a histogram: values in [low, high), the last one in [low, high].
struct HistogramBar {
  double low = 0, high = 0;
  std::uint64_t count = 0;
  friend bool operator==(const HistogramBar&, const HistogramBar&) = default;
};
struct Histogram {
  std::string name = {};                ///< "bytes per sample", "shorter side"
  std::string unit = {};                ///< "bytes", "pixels"; empty: none
  bool is_logarithmic = false;          ///< bars are of equal ratio, not of equal width
  std::vector<HistogramBar> bars = {};  ///< from low to high, adjacent
  SampledFrom from = {};
  std::string times = {};  ///< as FieldFacts::times
};
/// A bar of a histogram of names: "4:3", "jpeg".
struct NamedCount {
  std::string name = {};
  std::uint64_t count = 0;
  friend bool operator==(const NamedCount&, const NamedCount&) = default;
};

struct ClassCount {
  std::int64_t label = 0;
  std::string class_name = {};  ///< raw bytes; empty: only the number is known
  std::uint64_t count = 0;
};
struct ClassFacts {
  std::string field = {};  ///< the field that holds the label; empty: there is none, nor classes
  /// By label. Above 200 classes: the first and the last hundred of them.
  std::vector<ClassCount> classes = {};
  std::uint64_t class_count = 0;  ///< of all, also of those without samples
  std::uint64_t empty_classes = 0;
  /// Of those with samples; of equals the first. Count 0: there are no samples.
  ClassCount largest = {}, smallest = {};
  /// Above 200 classes: how many classes have so many samples, as logarithmic bars.
  Histogram sizes = {};
  /// Above 200 classes: all of them, the largest first, at most 10,000.
  std::vector<ClassCount> list = {};
  std::uint64_t without_label = 0;  ///< samples whose label names no class: below 0 or too large
  SampledFrom from = {};
};

struct OrderFacts {
  /// 0: all samples of a class stand together; 1: as mixed as by chance. The share of neighbours
  /// with different labels, divided by what a random order is expected to have.
  std::optional<double> shuffle_score = {};
  std::uint64_t neighbours = 0, differing = 0;  ///< pairs of adjacent rows, and of those the mixed
  double expected_differing = 0;                ///< share of them, 0 to 1, by chance
  /// The order in brief: for each of at most 512 equal runs of rows its smallest, median and
  /// largest label.
  struct Run {
    std::uint64_t first_row = 0;
    std::int64_t least = 0, median = 0, most = 0;
  };
  std::vector<Run> runs = {};
  std::string verdict = {};  ///< a sentence: "sorted by class: shuffle when you read it"
  SampledFrom from = {};
};

struct ShardFacts {
  std::string name = {};
  std::uint64_t samples = 0, payload_bytes = 0, file_bytes = 0;
};
struct ShardsFacts {
  std::uint64_t count = 0;
  std::uint64_t file_bytes = 0;                      ///< of all, with their lists
  std::uint64_t bound_samples = 0, bound_bytes = 0;  ///< a shard may have; 0: no such bound known
  std::vector<ShardFacts> shards =
      {};  ///< all up to 200; above that the first and the last hundred
  ShardFacts fullest = {}, emptiest = {};  ///< by file_bytes
};

struct ImageFacts {
  std::vector<std::string> fields = {};  ///< that hold images
  std::vector<NamedCount> types = {};    ///< "jpeg" -> count, the most frequent first
  std::vector<NamedCount> odd = {};      ///< "cmyk" -> count; an image may be odd twice
  /// Odd images, each counted once; nullopt: the list of them is damaged.
  std::optional<std::uint64_t> odd_images = {};
  std::vector<NamedCount> changed = {};        ///< what image work did: "resized" -> count
  Histogram shorter = {}, longer = {};         ///< sides in pixels, logarithmic
  std::vector<NamedCount> aspects = {};        ///< "4:3" -> count, from tall to wide, width:height
  std::optional<std::uint64_t> repeated = {};  ///< images that an earlier sample has too
  std::uint64_t relabelled = 0;                ///< of them, with another label
  SampledFrom from = {};                       ///< of types, sizes and aspects
  bool is_from_manifest = false;               ///< what convert counted, all of it
};

enum class VerifyState { not_asked, sound, damaged, unproven };
/// "not asked", "sound", "damaged", "unproven".
[[nodiscard]] std::string_view name_of(VerifyState state);
struct IntegrityFacts {
  VerifyState state = VerifyState::not_asked;
  std::uint64_t shards = 0, samples = 0, bytes = 0;  ///< verified
  std::uint64_t finding_count = 0;
  std::vector<Finding> findings = {};  ///< at most 1000 of them; raw names inside
  std::vector<std::string> notes = {};
  /// What the report itself ran into while it read, whether asked to verify or not; raw names
  /// inside.
  std::vector<Finding> met = {};
  std::string command = {};  ///< "shale verify PATH --full": what proves more
};

/// One choice that shaped the set.
using NamedText = std::pair<std::string, std::string>;

struct RunFacts {
  std::string source_kind = {};
  std::uint64_t samples = 0, shards = 0;
  std::vector<NamedText> options = {};
};
struct OriginFacts {
  std::string generator = {};    ///< that wrote the set; empty: another tool
  std::string source_kind = {};  ///< "image folder"
  std::uint64_t source_samples = 0, source_bytes = 0;
  std::vector<NamedText> options = {};  ///< in the manifest's order
  std::vector<NamedText> transforms =
      {};                           ///< field -> "resize shorter=256, quality 90; filter; codec"
  std::vector<RunFacts> runs = {};  ///< of a set that was appended to
  std::string part = {};            ///< "3 of 8, counted from 0"
  std::string content_digest = {};  ///< hex; empty: the payload was never read
};
struct LeftOut {
  std::string reason = {};  ///< "truncated"
  std::uint64_t count = 0;
  std::vector<std::string> examples = {};  ///< raw names of files, a few
};
struct LeftOutFacts {
  std::uint64_t skipped = 0, ignored = 0;
  std::vector<LeftOut> skipped_by = {}, ignored_by = {};  ///< the most frequent reason first
  std::string skipped_file = {}, ignored_file = {};       ///< "skipped.csv"; where all of them are
  /// Lists beside the shards that are not what the manifest says, of these and of images: nothing
  /// that they list is shown.
  std::vector<std::string> damaged_lists = {};
};

struct Snippet {
  std::string title = {};     ///< "shale", "h5py", "six lines, no library"
  std::string language = {};  ///< "python", "sh"
  std::string code = {};      ///< contains path and field names as valid literals; lines end in \n
};

/// One row of an array, as a picture or in words.
struct ValuePreview {
  std::uint64_t row = 0;
  std::string key = {};           ///< raw bytes
  ReportImage image = {};         ///< if the shape says so: (H, W), (H, W, 1|3|4), (1|3, H, W)
  std::vector<double> line = {};  ///< of a vector: at most 256 of its values, evenly spaced
  std::string text = {};  ///< else: the first values in words, or the first words of a string
};
enum class FieldRole { image, mask, clip, label, number, array, text, bytes };
/// "image", "mask", "clip", "label", "number", "array", "text", "bytes".
[[nodiscard]] std::string_view name_of(FieldRole role);
struct FieldFacts {
  std::string name = {};  ///< UTF-8 by the schema's rules; escape it all the same
  std::string kind = {};  ///< "bytes", "text", "integer", "real", "tensor", "list"
  FieldRole role = FieldRole::bytes;
  std::string dtype = {};                 ///< "float32", "<U3"; empty: bytes and text
  std::vector<std::uint64_t> shape = {};  ///< of a tensor, per sample
  SampledFrom from = {};                  ///< samples that the numbers are of
  std::uint64_t missing = 0;              ///< samples without a value
  std::uint64_t bytes = 0, least_bytes = 0,
                most_bytes = 0;  ///< of values that lie in the container
  // Of numbers; minimum, maximum, mean and deviation are of the finite ones. Complex: of |x|.
  bool has_numbers = false;
  std::uint64_t values = 0;  ///< elements that were looked at
  std::uint64_t nan_count = 0, infinite_count = 0, zero_count = 0;
  std::optional<double> minimum = {}, maximum = {}, mean = {}, deviation = {};
  /// Of integers and times: the same two, exactly.
  std::optional<WholeNumber> least_whole = {}, most_whole = {};
  /// Of times: NumPy's name of their type, by which time_text() puts them into words; else empty.
  std::string times = {};
  bool is_constant = false;  ///< all values looked at are one
  Histogram histogram = {};
  /// Of a structured dtype: its columns, by name, with these same numbers.
  std::vector<FieldFacts> columns = {};
  std::vector<ValuePreview> previews = {};
  std::string note = {};  ///< what was not looked at, and why
};

struct ReportFacts {
  std::string generator = {};  ///< "shale 0.5.0", of the report
  std::string path = {};       ///< as it was given; raw bytes
  std::string format = {};     ///< "record"
  std::string what = {};  ///< "a complete record dataset by shale 0.5.0", "a file of another tool"
  std::uint64_t samples = 0, payload_bytes = 0;
  std::vector<std::string> notes = {};  ///< what of a file is left out, what could not be read
  std::vector<NamedText> options = {};  ///< of the report: "sample" -> "10000"
  SampledFrom looked_at = {};           ///< samples that were read for sheets and numbers of fields

  std::vector<ContactSheet> sheets = {};
  ClassFacts classes = {};
  std::optional<ImageFacts> images = {};
  std::vector<FieldFacts> fields = {};  ///< in the schema's order
  Histogram sample_bytes = {};          ///< bytes per sample, logarithmic
  ShardsFacts shards = {};
  OrderFacts order = {};
  LeftOutFacts left_out = {};
  IntegrityFacts integrity = {};
  OriginFacts origin = {};
  std::vector<Snippet> snippets = {};

  /// Something is damaged: exit code 3.
  [[nodiscard]] bool is_damaged() const {
    return integrity.finding_count > 0 || !integrity.met.empty();
  }
};

}  // namespace shale
