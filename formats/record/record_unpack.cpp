#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_name.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/unpacked_stream.hpp"
#include "shale/wire/protobuf_cursor.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"
#include "formats/record/record_scan.hpp"
#include "formats/record/record_sequence.hpp"
#include "formats/record/record_steps.hpp"

// An unpacked record is the Example as it is, and behind it another that protobuf merges with it:
//   payload          the whole Example
//   0a LEN Features  for each feature x whose numbers are not an array, again:
//                    integers: x BytesList of one, int64 little-endian; x/dtype "<i8"
//                    floats:   x FloatList, packed
// Of features of one name the last counts. If fields are named, only the arrays of these are
// written: records of the second Example alone. One without any has its first feature's x/dtype, so
// that it still is an Example with features.

namespace shale {
namespace {

constexpr std::uint64_t kUnpackBufferBytes = 1 << 20;
constexpr std::string_view kIntegers = "<i8";
constexpr std::uint64_t kBytesOfNone = 64;  // at most, besides a name

class RecordUnpacking {
 public:
  // `lost` of the file is passed over.
  RecordUnpacking(const UnpackRequest& request, UnpackedSurvey found, const LostRanges& lost)
      : request_(request),
        lost_(lost),
        features_(std::move(found.features)),
        floats_(std::move(found.floats)),
        window_(request.file, kPayloadWindow),
        view_(window_.views()),
        out_(request.into.duplicate(), request.into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kUnpackBufferBytes, .buffers = 1}) {}

  // `all_bytes`: what will have been written.
  void run(std::uint64_t all_bytes) {
    if (request_.progress) request_.progress(0, all_bytes);
    const WalkProgress of_frames = [&](std::uint64_t, std::uint64_t) {
      if (request_.progress) request_.progress(std::min(out_.size(), all_bytes), all_bytes);
    };
    WalkPace pace(of_frames, request_.file.size());
    FrameWalk frames(request_.file, view_, pace, 0, kMissing, &lost_);
    while (const std::optional<RecordFrame> frame = frames.next()) {
      // The frame that is written has a checksum of its own: damage would not show in it.
      if (const std::optional<Finding> wrong = check_payload(view_, *frame, {}, pace))
        refuse(*wrong);
      write(*frame);
    }
    if (frames.damage()) refuse(*frames.damage());
    (void)out_.finish();
  }

 private:
  // Numbers of a feature, as an array.
  struct Array {
    std::string name, dtype_name;  // empty: floats have none
    std::vector<std::byte> bytes;
  };

  void refuse(Finding finding) const {
    finding.file = request_.file.path();
    throw is_damaged(request_.file.path(), finding);
  }

  void write(const RecordFrame& frame) {
    const std::vector<Array> arrays = arrays_of(frame);
    const bool is_alone = !request_.fields.empty();
    const std::string dtype_of_none =
        features_.empty() ? "" : features_[0] + std::string(kDTypeSuffix);
    std::vector<Feature> again;
    for (const Array& array : arrays) {
      if (array.dtype_name.empty()) {
        again.push_back({.name = array.name, .value = PackedFloats{Bytes(array.bytes)}});
      } else {
        again.push_back({.name = array.name, .value = Bytes(array.bytes)});
        again.push_back({.name = array.dtype_name, .value = as_bytes(kIntegers)});
      }
    }
    if (is_alone && again.empty())
      again.push_back({.name = dtype_of_none, .value = as_bytes(kIntegers)});
    std::ranges::sort(again, {}, &Feature::name);
    Blob behind;
    if (!again.empty()) (void)append_example(again, behind);
    const std::uint64_t copied = is_alone ? 0 : frame.payload_bytes;
    out_.append(frame_header(copied + behind.size()));
    std::uint32_t crc = 0;
    const auto append = [&](Bytes bytes) {
      crc = crc32c(bytes, crc);
      out_.append(bytes);
    };
    for (std::uint64_t done = 0; done < copied;) {
      const std::uint64_t count = std::min(kPayloadWindow, copied - done);
      append(view_(frame.payload_begin() + done, count));
      done += count;
    }
    behind.for_each_piece(append);
    out_.append(bytes_of(mask_crc(crc)));
  }

  // The last feature of a name; null where it has no value.
  [[nodiscard]] const ParsedFeature* last_of(const std::string& name) const {
    const auto last = std::find_if(parsed_.rbegin(), parsed_.rend(),
                                   [&](const ParsedFeature& one) { return one.name == name; });
    return last == parsed_.rend() || last->type == ParsedFeature::Type::none ? nullptr : &*last;
  }

  // Records that have none need not be Examples.
  std::vector<Array> arrays_of(const RecordFrame& frame) {
    if (features_.empty()) return {};
    parsed_ =
        parse_example(view_, frame.payload_begin(), frame.payload_bytes, request_.file.path());
    std::vector<Array> arrays;
    std::uint64_t numbers = 0;
    for (const std::string& name : features_) {
      const ParsedFeature* const last = last_of(name);
      if (last == nullptr) continue;
      numbers += last->count;
      if (numbers > request_.memory_bytes / 4 / sizeof(std::int64_t)) {
        throw Error(Code::limit,
                    "the record has {} numbers that are not stored as arrays, which "
                    "do not fit into a quarter of the {} of memory",
                    numbers, format_size(request_.memory_bytes))
            .at(request_.file.path(), frame.begin)
            .hint("pass a larger --memory");
      }
      arrays.push_back(array_of(*last, frame.payload_begin() + frame.payload_bytes));
    }
    return arrays;
  }

  // parse_example has proved that the list is sound.
  Array array_of(const ParsedFeature& feature, std::uint64_t payload_end) {
    // An empty list may be one of another type.
    const bool is_integers = std::ranges::find(floats_, feature.name) == floats_.end();
    Array array{.name = feature.name, .dtype_name = {}, .bytes = {}};
    if (is_integers) array.dtype_name = feature.name + std::string(kDTypeSuffix);
    array.bytes.reserve(feature.count * (is_integers ? sizeof(std::int64_t) : sizeof(float)));
    const auto append = [&](Bytes bytes) {
      array.bytes.insert(array.bytes.end(), bytes.begin(), bytes.end());
    };
    ProtobufCursor cursor(view_, payload_end, request_.file.path());
    cursor.for_each_field(feature.list_offset, feature.list_offset + feature.list_length,
                          [&](const WireField& run) {
                            for (std::uint64_t at = run.begin; is_integers && at < run.end;) {
                              const ProtobufCursor::Varint varint = cursor.read_varint(at, run.end);
                              append(bytes_of(varint.value));
                              at = varint.end;
                            }
                            for (std::uint64_t at = run.begin; !is_integers && at < run.end;) {
                              const std::uint64_t count = std::min(kPayloadWindow, run.end - at);
                              append(view_(at, count));
                              at += count;
                            }
                          });
    return array;
  }

  const UnpackRequest& request_;
  const LostRanges& lost_;
  const std::vector<std::string> features_, floats_;
  std::vector<ParsedFeature> parsed_;  // of the record at hand
  WindowReader window_;
  ViewBytes view_;
  OutputFile out_;
};

// Into a file without a name. Of damaged ones what comes before the damage, which is returned, if
// that is asked for. Errors: as UnpackedStream.
std::optional<std::string> decompress(const UnpackRequest& request, Packing packing,
                                      const NamelessFile& into) {
  const auto stop_if_asked = [&request] {
    if (request.progress) request.progress(0, 0);
  };
  UnpackedStream stream(std::make_unique<InputStream>(request.file.path(), stop_if_asked), packing,
                        request.memory_bytes / 4);
  OutputFile out(into.duplicate(), into.path(),
                 {.io = IoMode::buffered, .buffer_bytes = kUnpackBufferBytes, .buffers = 1});
  std::vector<std::byte> piece(kPayloadWindow);
  std::optional<std::string> damage;
  try {
    while (const std::uint64_t filled = stream.read(piece)) {
      out.append(Bytes(piece).first(filled));
      stop_if_asked();
    }
  } catch (const Error& error) {
    if (!request.takes_damaged || error.code() != Code::damaged) throw;
    out.append(Bytes(piece).first(stream.before_damage()));
    damage = error.message();
  }
  (void)out.finish();
  return damage;
}

void copy_whole_frames(const InputFile& file, const LostRanges& lost, const NamelessFile& into) {
  OutputFile out(into.duplicate(), into.path(),
                 {.io = IoMode::buffered, .buffer_bytes = kUnpackBufferBytes, .buffers = 1});
  WindowReader window(file, kPayloadWindow);
  std::uint64_t at = 0;
  const auto copy_to = [&](std::uint64_t end) {
    for (std::uint64_t count = 0; at < end; at += count) {
      count = std::min(kPayloadWindow, end - at);
      out.append(window.view(at, count));
    }
  };
  for (const LostRange& range : lost) {
    copy_to(range.offset);
    at = range.offset + range.length;
  }
  copy_to(file.size());
  (void)out.finish();
}

// Of a file of episodes nobody knows between which of its steps.
LostRanges lost_of(const UnpackRequest& request, const InputFile& frames,
                   const std::optional<std::string>& cut) {
  LostRanges lost = find_lost_frames(frames, {}, cut);
  refuse_all_lost(frames, lost);
  for (LostRange& range : lost) {
    if (frames.path() != request.file.path()) range.why += ", in what it is decompressed to";
    if (request.parsing.dialect == Dialect::episodes) range.before = range.samples = 0;
  }
  return lost;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    lines.emplace_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

// Leaves the fields that are named, and what is written for them.
void choose_fields(const std::vector<std::string>& fields, UnpackedSurvey& found) {
  const auto is_other = [&](const std::string& field) {
    return std::ranges::find(fields, field) == fields.end();
  };
  std::erase_if(found.features,
                [&](const std::string& feature) { return is_other(field_name_of(feature)); });
  std::erase_if(found.survey.schema.fields,
                [&](const Field& field) { return is_other(field.name); });
}

UnpackReport unpack_frames(const UnpackRequest& request, UnpackedSurvey found,
                           const LostRanges& lost) {
  found.most_bytes += request.fields.empty()
                          ? request.file.size()
                          : found.records * (kFrameBytes + kBytesOfNone + found.features[0].size());
  if (const std::optional<std::uint64_t> free = free_space(request.into.descriptor());
      free && found.most_bytes > *free)
    throw no_room_to_unpack(request.file.path(), found.most_bytes, *free);
  UnpackReport report{.notes = std::move(found.survey.notes),
                      .left_out = std::move(found.survey.left_out),
                      .classes = std::move(found.survey.classes),
                      .schema = std::move(found.survey.schema)};
  const std::uint64_t most_bytes = found.most_bytes;
  RecordUnpacking(request, std::move(found), lost).run(most_bytes);
  return report;
}

}  // namespace

std::optional<UnpackReport> unpack_record_file(const UnpackRequest& request) {
  std::optional<NamelessFile> plain, whole, flat;
  std::optional<InputFile> file;   // what is left to be unpacked, if it is not the file itself,
  std::optional<InputFile> saved;  // or what is whole of it
  const auto at_hand = [&]() -> const InputFile& {
    return file ? *file : saved ? *saved : request.file;
  };
  std::optional<std::string> cut;  // why it does not go on
  if (const Packing packing = packing_of_frames(request.file); packing != Packing::none) {
    plain.emplace(temporary_folder());
    cut = decompress(request, packing, *plain);
    file.emplace(plain->link());
  }
  try {
    const LostRanges lost = request.takes_damaged ? lost_of(request, at_hand(), cut) : LostRanges();
    const bool has_episodes = request.parsing.dialect == Dialect::episodes;
    const bool has_lists = !has_episodes && request.parsing.dialect != Dialect::plain &&
                           has_feature_lists(at_hand(), lost);
    if (!lost.empty() && (has_episodes || has_lists)) {
      whole.emplace(temporary_folder());
      copy_whole_frames(at_hand(), lost, *whole);
      (file ? file : saved).emplace(whole->link());
    }
    DescribedFeatures described = described_features(request.file.path());
    FlatSteps steps;
    if (has_episodes) {
      flat.emplace(temporary_folder());
      steps = flatten_steps(request, at_hand(), described, *flat);
      described = std::move(steps.described);
      file.emplace(flat->link());
    } else if (has_lists) {
      flat.emplace(temporary_folder());
      if (flatten_sequences(request, at_hand(), *flat)) file.emplace(flat->link());
    }
    const LostRanges passed_over = whole ? LostRanges() : lost;
    UnpackedSurvey found = survey_unpacked_record_file(at_hand(), std::move(described),
                                                       lines_of(request.parsing.keys), passed_over);
    std::ranges::move(steps.notes, std::back_inserter(found.survey.notes));
    found.survey.left_out.add(steps.left_out);
    const std::vector<std::string> fields = file ? std::vector<std::string>() : request.fields;
    if (!fields.empty()) choose_fields(fields, found);
    if (!file && found.features.empty()) return std::nullopt;
    UnpackReport report = unpack_frames({.file = at_hand(),
                                         .into = request.into,
                                         .memory_bytes = request.memory_bytes,
                                         .parsing = request.parsing,
                                         .progress = request.progress,
                                         .fields = fields},
                                        std::move(found), passed_over);
    report.episodes = steps.episodes;
    report.lost = lost;
    return report;
  } catch (const Error& error) {
    if (!file || !is_about_bytes(error) || error.file() == request.file.path()) throw;
    // What it was unpacked to has no name.
    std::string message = error.message();
    const std::string nameless = file->path() + ": ";
    if (const std::size_t at = message.find(nameless); at != message.npos)
      message.erase(at, nameless.size());
    throw Error(error.code(), "unpacked: {}", message)
        .at(request.file.path())
        .hint(error.code() == Code::damaged ? "copy the file again from an intact copy"
                                            : error.hint());
  }
}

}  // namespace shale
