#include "shale/encoding/sample_transformer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/printable.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

// Of each piece, beside its bytes.
constexpr std::uint64_t kPieceOverhead = 96;
// Beside --memory, so that with little of it ordinary images can be decoded: a part of the 64 MiB
// that a command may take for itself.
constexpr std::uint64_t kWorkAllowance = 32 << 20;
// Of the memory for work, what the threads have without asking for it.
constexpr std::uint64_t kOwnShare = 16;
// What they get is more than this part of the memory for samples, beside the allowance; the results
// of one sample get this one.
constexpr std::uint64_t kWorkPart = 3, kOneSamplePart = 8;

void count(ImageChanges& changes, ImageChange change) {
  ++changes[static_cast<std::size_t>(change)];
}

ImageChanges changes_of(const ImagePlan& plan, const ImageInfo& info) {
  ImageChanges changes = {};
  if (plan.keeps_bytes) {
    count(changes, ImageChange::kept);
    return changes;
  }
  if (plan.keeps_pixels) count(changes, ImageChange::stripped);
  if (plan.geometry.is_resized()) count(changes, ImageChange::resized);
  if (plan.geometry.is_cropped()) count(changes, ImageChange::cropped);
  if (plan.geometry.turn != 1) count(changes, ImageChange::rotated);
  if (plan.type != info.type) count(changes, ImageChange::converted);
  if (plan.loses_alpha) count(changes, ImageChange::over_white);
  if (info.is_odd("pages") && !plan.keeps_pixels) count(changes, ImageChange::to_page);
  if (plan.loses_depth) count(changes, ImageChange::to_eight);
  if (plan.loses_color) count(changes, ImageChange::to_gray);
  const bool is_cmyk = info.color == "cmyk" || info.color == "ycck";
  if (is_cmyk && !plan.keeps_pixels) count(changes, ImageChange::to_rgb);
  return changes;
}

// What a thread keeps of its scratch memory is its own; what is more goes when the image is done.
class Scratch {
 public:
  Scratch(std::vector<std::byte>& memory, std::uint64_t own_bytes)
      : memory_(memory), own_bytes_(own_bytes) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (memory_.capacity() > own_bytes_) std::vector<std::byte>().swap(memory_);
  }

 private:
  std::vector<std::byte>& memory_;
  const std::uint64_t own_bytes_;
};

ImageFault named(ImageFault fault, const Field& field, bool is_one_of_many,
                 std::optional<std::size_t> element) {
  if (element) {
    fault.text = fmt::format("has a bad frame: number {} {}", *element, fault.text);
  } else if (is_one_of_many) {
    fault.text = fmt::format("of field '{}' {}", printable(field.name), fault.text);
  }
  return fault;
}

std::string_view hint_for(Misfit misfit, const ImageRule& rule) {
  if (misfit == Misfit::color) return "pass --color gray or --color rgb for all";
  if (misfit == Misfit::size) {
    return rule.only_larger
               ? "leave out --only-larger, or add --crop center=WxH"
               : "pass --resize exact=WxH, or --resize shorter=N with --crop center=WxH";
  }
  if (rule.encode != EncodeAs::raw) return "pass --encode png, which keeps them, or --depth 8";
  return rule.is_mask ? "pass --depth 16 for raw values of uint16, or --encode png for masks"
                      : "pass --depth 8 for raw pixels of uint8, or --depth 16 for uint16";
}

// Not a fault of the image, for which it could be left out: it is asked how they are wanted.
Error misfit_error(const ImagePlan& plan, const FieldTransform& field) {
  Error error(Code::bad_content, "the image {}{}", plan.fault.text,
              field.like.empty()
                  ? ""
                  : fmt::format(" (like the largest file, '{}')", printable(field.like)));
  return error.hint(std::string(hint_for(plan.misfit, field.rule)));
}

}  // namespace

Error over_share(std::string_view what, std::uint64_t needed, std::uint64_t room,
                 std::uint64_t enough) {
  return Error(Code::limit, "{} {} bytes, but at this --memory {} may be taken for that", what,
               needed, room)
      .hint(memory_for_sample_hint(enough));
}

std::string_view name_of(ImageChange change) {
  constexpr std::string_view kNames[kImageChanges] = {
      "kept",          "resized",   "cropped",          "rotated",
      "converted",     "stripped",  "alpha-over-white", "cmyk-to-rgb",
      "to-first-page", "to-8-bits", "to-gray"};
  return kNames[static_cast<std::size_t>(change)];
}

TransformShares shares_of(std::uint64_t memory_bytes) {
  TransformShares shares;
  shares.payload = memory_bytes / 8 * 3;
  shares.results = shares.one_sample = memory_bytes / kOneSamplePart;
  shares.work = memory_bytes - shares.payload - shares.results - shares.one_sample + kWorkAllowance;
  return shares;
}

std::uint64_t payload_memory(std::uint64_t memory_bytes, const SourceInfo& source) {
  return source.transform ? shares_of(memory_bytes).payload : memory_bytes;
}

TransformBudget::TransformBudget(std::uint64_t memory_bytes, unsigned threads)
    : work(shares_of(memory_bytes).work - shares_of(memory_bytes).work / kOwnShare),
      results(shares_of(memory_bytes).results),
      own_bytes(shares_of(memory_bytes).work / kOwnShare / std::max(1U, threads)),
      one_sample_bytes(shares_of(memory_bytes).one_sample) {}

std::optional<Bytes> ResultMemory::copy(Bytes bytes, SharedBudget* budget) {
  Piece piece;
  if (budget != nullptr) {
    std::optional<SharedBudget::Hold> hold = budget->try_acquire(bytes.size() + kPieceOverhead);
    if (!hold) return std::nullopt;
    piece.hold = std::move(*hold);
  }
  piece.bytes = bytes.size();
  piece.memory =
      std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes.size()));
  if (!bytes.empty()) std::memcpy(piece.memory.get(), bytes.data(), bytes.size());
  bytes_ += bytes.size();
  const Bytes copied(piece.memory.get(), bytes.size());
  pieces_.push_back(std::move(piece));
  return copied;
}

void ResultMemory::shrink_to(std::size_t pieces) {
  while (pieces_.size() > pieces) {
    bytes_ -= pieces_.back().bytes;
    pieces_.pop_back();
  }
}

SampleTransformer::SampleTransformer(const Transform& transform, TransformBudget& budget)
    : transform_(transform), budget_(budget) {
  for (const FieldTransform& field : transform.fields()) workers_.emplace_back(field.rule);
}

SampleTransformer::Outcome SampleTransformer::run_image(Bytes image, std::size_t rule,
                                                        const std::function<void(Bytes)>& take) {
  if (budget_.is_stopped) throw interruption();
  const ImageInfo info = probe_image(image, "");
  if (!info.fault.empty()) return {.fault = info.fault};
  const ImagePlan plan = plan_image(image, info, transform_.fields()[rule].rule);
  if (plan.misfit != Misfit::none) throw misfit_error(plan, transform_.fields()[rule]);
  if (!plan.fault.empty()) return {.fault = plan.fault};
  Outcome outcome{.fault = {}, .changes = changes_of(plan, info)};
  if (plan.keeps_bytes) {
    take(image);
    return outcome;
  }
  const std::uint64_t needed = plan.work_bytes + plan.most_output_bytes;
  if (needed > budget_.work.limit()) {
    throw over_share(
        fmt::format("work on an image of {} x {} pixels takes", info.width, info.height), needed,
        budget_.work.limit(), kWorkPart * (needed - std::min(needed, kWorkAllowance / 16 * 15)));
  }
  // In this order: the memory is freed before others may take it.
  SharedBudget::Hold hold;
  if (needed > budget_.own_bytes) hold = budget_.work.acquire(needed);
  const Scratch scratch(scratch_, budget_.own_bytes);
  ImageResult result = workers_[rule].run(image, info, plan, scratch_);
  if (!result.fault.empty()) return {.fault = std::move(result.fault)};
  take(Bytes(scratch_).first(result.bytes));
  return outcome;
}

std::optional<TransformedSample> SampleTransformer::run(const Sample& sample, std::uint64_t number,
                                                        ResultMemory& into, bool may_fail) try {
  const std::size_t pieces_before = into.pieces();
  const std::uint64_t bytes_before = into.bytes();
  transform_.refuse_other_images(sample);
  TransformedSample made{.sample = sample, .fault = {}};
  bool has_room = true;
  const auto work_on = [&](Bytes image, std::size_t rule) {
    Bytes result = image;
    Outcome outcome = run_image(image, rule, [&](Bytes bytes) {
      if (bytes.data() == image.data()) return;
      const std::optional<Bytes> copied = into.copy(bytes, may_fail ? &budget_.results : nullptr);
      has_room = copied.has_value();
      if (copied) result = *copied;
    });
    if (into.bytes() - bytes_before > budget_.one_sample_bytes)
      throw over_share("the results of image work take", into.bytes() - bytes_before,
                       budget_.one_sample_bytes, kOneSamplePart * (into.bytes() - bytes_before));
    for (std::size_t i = 0; i < kImageChanges; ++i) made.changes[i] += outcome.changes[i];
    made.fault = std::move(outcome.fault);
    return result;
  };
  const std::vector<FieldTransform>& rules = transform_.fields();
  for (std::size_t rule = 0; rule < rules.size() && has_room && made.fault.empty(); ++rule) {
    const Field& field = transform_.input().fields[rules[rule].field];
    Value& value = made.sample.values[rules[rule].field];
    std::optional<std::size_t> element;
    if (auto* list = std::get_if<std::vector<Bytes>>(&value)) {
      for (std::size_t i = 0; i < list->size() && has_room && made.fault.empty(); ++i) {
        element = i;
        (*list)[i] = work_on((*list)[i], rule);
      }
    } else if (auto* image = std::get_if<Bytes>(&value)) {
      *image = work_on(*image, rule);
    }
    if (!made.fault.empty())
      made.fault = named(std::move(made.fault), field, rules.size() > 1, element);
  }
  if (!has_room || !made.fault.empty()) into.shrink_to(pieces_before);
  if (!has_room) return std::nullopt;
  if (!made.fault.empty()) {
    made.sample = sample;
    made.changes = {};
  }
  return made;
} catch (Error& error) {
  error.for_sample(sample.key, number);
  throw;
}

}  // namespace shale
