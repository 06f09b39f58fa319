#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/field_name.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_described.hpp"
#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"
#include "formats/record/record_scan.hpp"
#include "formats/record/record_sequence.hpp"

namespace shale {
namespace {

using Type = ParsedFeature::Type;

// Proving that strings are text takes reading them: only short ones are read.
constexpr std::uint64_t kMostTextBytes = 4096;
// What tags and lengths take around numbers that are written again, their dtype included.
constexpr std::uint64_t kMostBytesAround = 128;
// What hostile records, each with names of its own, can cost.
constexpr std::size_t kMostFields = 1024;
constexpr std::size_t kNamesShown = 8;
constexpr std::size_t kMostAxes = 64;  // of NumPy's arrays

// UTF-8 without control characters but tab and line ends: small binary numbers are often UTF-8.
bool is_plain_text(std::string_view text) {
  const bool has_controls = std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
           c == '\x7f';
  });
  return !has_controls && is_utf8(text);
}

// What the records so far say of the features of one name. Records are counted from 0.
struct FeatureFacts {
  std::uint64_t next_record = 0;  // behind the last one that has it, with or without a value
  std::uint64_t records = 0;      // that have a list, of any length
  std::uint64_t empty = 0;        // of these, with nothing in it
  Type type = Type::none;
  std::uint64_t count = 0;  // of the first record's values
  bool is_of_one_type = true, is_one_each = true, is_one_at_most = true, is_of_one_count = true;
  bool is_contiguous = true, is_text = true, is_of_one_length = true;
  std::uint64_t common_count = 0;  // divides the counts of all
  // Of the values in bytes, where there is one each.
  std::uint64_t longest = 0, common_divisor = 0;
  std::uint64_t all_counts = 0;
  std::optional<std::string> dtype;  // that every one names, of a feature that may
  // Of what may be the shapes of another feature: the sides, free where they differ.
  bool is_shape = true;
  std::vector<std::uint64_t> sides;

  void add(const ParsedFeature& feature) {
    if (records == 0) count = feature.count;
    // An empty list says nothing of the type.
    if (records == empty && (records == 0 || feature.count > 0)) type = feature.type;
    ++records;
    if (feature.count == 0) ++empty;
    is_of_one_type = is_of_one_type && (feature.count == 0 || feature.type == type);
    is_of_one_count = is_of_one_count && feature.count == count;
    is_one_each = is_one_each && feature.count == 1;
    is_one_at_most = is_one_at_most && feature.count <= 1;
    is_contiguous = is_contiguous && shale::is_contiguous(feature);
    is_of_one_length = is_of_one_length && (records == 1 || feature.first_length == longest);
    longest = std::max(longest, feature.first_length);
    common_divisor = std::gcd(common_divisor, feature.first_length);
    all_counts += feature.count;
    common_count = std::gcd(common_count, feature.count);
  }
};

class RecordSurvey {
 public:
  // `lost` of it is passed over; null: nothing is.
  RecordSurvey(const InputFile& file, DescribedFeatures described, const WalkProgress& progress,
               const LostRanges* lost = nullptr)
      : file_(file),
        lost_(lost),
        described_(std::move(described)),
        pace_(progress, file.size()),
        window_(file, kStructureWindow),
        view_(window_.views()) {}

  // As if all numbers were arrays; `arrays`: also those of these fields, of which there is one.
  UnpackedSurvey run_unpacked(std::vector<std::string> arrays) {
    is_unpacked_ = true;
    arrays_ = std::move(arrays);
    UnpackedSurvey found{
        .survey = run(), .features = std::move(unpacked_), .floats = std::move(unpacked_floats_)};
    found.records = frames_;
    for (const std::string& feature : found.features) {
      const FeatureFacts& facts = facts_.at(feature);
      found.most_bytes += facts.all_counts * sizeof(std::int64_t) +
                          facts.records * (2 * feature.size() + kMostBytesAround);
    }
    return found;
  }

  Survey run() {
    FrameWalk frames(file_, view_, pace_, 0, kMissing, lost_);
    std::optional<std::string> not_example;
    while (!not_example) {
      const std::optional<RecordFrame> frame = frames.next();
      if (!frame) break;
      not_example = add(*frame);
      ++frames_;
    }
    if (not_example || frames_ == 0) return plain(not_example);
    if (records_ == 0) {
      throw Error(Code::damaged, "none of its {} records is readable with a correct checksum",
                  frames_)
          .at(file_.path())
          .hint("restore the file from an intact copy");
    }
    return examples();
  }

 private:
  // Why the record is not an Example; nullopt if it is one, or is damaged, which says nothing.
  std::optional<std::string> add(const RecordFrame& frame) {
    if (frame.bytes() <= kStructureWindow) (void)window_.view(frame.begin, frame.bytes());
    const std::optional<std::string> fault = parse(frame);
    // A name or a type that no record had before may be damage: the checksum says.
    if ((fault || has_news()) && check_payload(view_, frame, {}, pace_)) return std::nullopt;
    if (!fault) {
      // From the last to the first: of features of one name the last counts.
      for (auto feature = parsed_.rbegin(); feature != parsed_.rend(); ++feature) note(*feature);
      for (const ParsedFeature& feature : parsed_) {
        if (feature.name.ends_with(kShapeSuffix)) note_shape(feature);
      }
      ++records_;
      return std::nullopt;
    }
    return fmt::format(
        "not all records are a tf.train.Example, so each is one field of bytes, 'value' (record {} "
        "at "
        "byte {} {})",
        frames_, frame.begin, *fault);
  }

  std::optional<std::string> parse(const RecordFrame& frame) {
    try {
      parsed_ = parse_example(view_, frame.payload_begin(), frame.payload_bytes, file_.path());
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
      return fmt::format("is not one: {}", error.message());
    }
    const bool has_value =
        std::any_of(parsed_.begin(), parsed_.end(),
                    [](const ParsedFeature& feature) { return feature.type != Type::none; });
    if (!has_value) return "has no feature";
    const bool has_names =
        std::all_of(parsed_.begin(), parsed_.end(),
                    [](const ParsedFeature& feature) { return is_utf8(feature.name); });
    if (!has_names) return "has a feature whose name is not UTF-8";
    return std::nullopt;
  }

  [[nodiscard]] bool has_news() const {
    return std::ranges::any_of(parsed_, [this](const ParsedFeature& feature) {
      const auto known = facts_.find(feature.name);
      if (known == facts_.end()) return true;
      const FeatureFacts& facts = known->second;
      return facts.is_of_one_type && facts.records > 0 && feature.type != Type::none &&
             feature.count > 0 && feature.type != facts.type;
    });
  }

  void note(const ParsedFeature& feature) {
    auto known = facts_.find(feature.name);
    if (known == facts_.end()) known = meet(feature.name);
    FeatureFacts& facts = known->second;
    if (facts.next_record == records_ + 1) return;
    facts.next_record = records_ + 1;
    if (feature.type == Type::none) return;
    facts.add(feature);
    if (feature.type != Type::bytes || !facts.is_text) return;
    facts.is_text = feature.count == 1 && feature.first_length <= kMostTextBytes &&
                    is_plain_text(as_text(view_(feature.first_offset, feature.first_length)));
    if (!facts.is_text || !feature.name.ends_with(kDTypeSuffix)) return;
    const std::string_view dtype = as_text(view_(feature.first_offset, feature.first_length));
    if (facts.records == 1) facts.dtype = dtype;
    if (facts.dtype != dtype) facts.dtype.reset();
  }

  // Whether the integers of "<feature>/shape" are the shape of that feature's value.
  void note_shape(const ParsedFeature& shape) {
    FeatureFacts& facts = facts_.at(shape.name);
    const std::string feature = shape.name.substr(0, shape.name.size() - kShapeSuffix.size());
    const auto dtype = facts_.find(feature + std::string(kDTypeSuffix));
    const auto value = std::find_if(parsed_.rbegin(), parsed_.rend(),
                                    [&](const ParsedFeature& one) { return one.name == feature; });
    facts.is_shape = facts.is_shape && shape.type == Type::integers && shape.count <= kMostAxes &&
                     shape.integers.size() == shape.count && value != parsed_.rend() &&
                     dtype != facts_.end() && dtype->second.dtype.has_value() &&
                     std::ranges::all_of(shape.integers, [](auto side) { return side >= 0; });
    if (!facts.is_shape) return;
    const std::vector<std::uint64_t> sides(shape.integers.begin(), shape.integers.end());
    const std::optional<DType> parsed = parse_dtype(*dtype->second.dtype);
    const Field any{.name = {},
                    .kind = Kind::tensor,
                    .dtype = parsed.value_or(DType()),
                    .shape = std::vector<std::uint64_t>(sides.size(), kFreeSide)};
    if (facts.records == 1) facts.sides = sides;
    facts.is_shape = parsed && facts.sides.size() == sides.size() &&
                     any.takes_tensor(sides, value->first_length);
    for (std::size_t axis = 0; facts.is_shape && axis < sides.size(); ++axis) {
      if (facts.sides[axis] != sides[axis]) facts.sides[axis] = kFreeSide;
    }
  }

  static std::optional<DType> parse_dtype(const std::string& text) {
    try {
      return DType::parse(text);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  std::map<std::string, FeatureFacts>::iterator meet(const std::string& name) {
    if (facts_.size() == kMostFields) {
      throw Error(Code::unsupported, "has more than {} different features", kMostFields)
          .at(file_.path())
          .hint("store what belongs together as one feature");
    }
    try {
      validate_schema({.fields = {{.name = field_name_of(name)}}});
    } catch (Error& error) {
      error.at(file_.path());
      throw;
    }
    return facts_.emplace(name, FeatureFacts()).first;
  }

  static Survey plain(const std::optional<std::string>& note) {
    Survey survey =
        Survey::of_one_file({.fields = {{.name = "value", .kind = Kind::bytes}}}, Dialect::plain);
    survey.layout.has_keys = false;
    if (note) survey.notes.push_back(*note);
    return survey;
  }

  Survey examples() {
    const std::optional<std::string_view> key = find_key();
    std::map<std::string, std::string> named;  // field name -> feature name
    Schema schema;
    for (const auto& [feature, facts] : facts_) {
      if (feature == key || describes_another(feature)) continue;
      const std::string name = field_name_of(feature);
      if (const auto [other, is_new] = named.emplace(name, feature); !is_new) {
        throw Error(Code::unsupported, "features '{}' and '{}' would both be the field '{}'",
                    printable(other->second), printable(feature), printable(name))
            .at(file_.path())
            .hint("rename one of the features: '/' and '.' become '_' in field names");
      }
      if (std::optional<Field> field = field_of(feature, facts)) {
        field->name = name;
        schema.fields.push_back(std::move(*field));
      }
    }
    if (schema.fields.empty()) {
      const bool is_empty = facts_.size() == (key ? 1 : 0);
      throw Error(Code::unsupported, "{}{}",
                  is_empty ? "its records have no features" + std::string(key ? " but a key" : "")
                           : "none of its features can be located in place: ",
                  fmt::join(notes_, "; "))
          .at(file_.path())
          .hint(is_empty ? "nothing says what fields it has: keep the dataset that it was made of"
                : is_unpacked_ ? "store numbers as bytes, or as packed lists of floats"
                               : "'shale convert' reads it");
    }
    std::sort(schema.fields.begin(), schema.fields.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });
    Survey survey = Survey::of_one_file(std::move(schema), Dialect::plain);
    survey.layout.has_keys = key.has_value();
    survey.layout.has_whole_records = true;
    survey.notes = std::move(notes_);
    survey.left_out = std::move(left_out_);
    take_described_classes(survey);
    if (std::string described = tell_described(survey); !described.empty())
      survey.notes.push_back(std::move(described));
    if (const auto records = described_records(file_.path()); records && *records != frames_) {
      survey.notes.push_back(fmt::format("has {} records, but dataset_info.json beside it says {}",
                                         frames_, *records));
    }
    if (std::string renamed = tell_renamed(named); !renamed.empty())
      survey.notes.push_back(std::move(renamed));
    return survey;
  }

  [[nodiscard]] std::optional<std::string_view> find_key() const {
    auto found = facts_.find(std::string(kKeyFeature));
    if (found == facts_.end()) found = facts_.find(std::string(kOtherKeyFeature));
    if (found == facts_.end()) return std::nullopt;
    const FeatureFacts& facts = found->second;
    const bool is_key = facts.type == Type::bytes && facts.is_of_one_type && facts.is_one_each &&
                        facts.records == records_ && facts.longest <= kMaxKeyBytes;
    return is_key ? std::optional<std::string_view>(found->first) : std::nullopt;
  }

  // The array that "<feature>/dtype" says a feature is, as shale writes tensors: its shape is in
  // "<feature>/shape", or its one side is as long as its values are many.
  [[nodiscard]] std::optional<Field> array_beside(const std::string& feature) const {
    const auto array = facts_.find(feature);
    const auto beside = facts_.find(feature + std::string(kDTypeSuffix));
    const auto shape = facts_.find(feature + std::string(kShapeSuffix));
    if (array == facts_.end() || beside == facts_.end()) return std::nullopt;
    const FeatureFacts &facts = array->second, &named = beside->second;
    const bool is_one = named.is_of_one_type && named.is_text && named.dtype &&
                        named.records == facts.records && facts.is_of_one_type;
    std::optional<DType> dtype = is_one ? parse_dtype(*named.dtype) : std::nullopt;
    if (!dtype || named.dtype->starts_with('>')) return std::nullopt;
    const bool is_floats = dtype->descr() == kFloatDType && facts.type == Type::floats;
    const bool is_bytes = facts.type == Type::bytes && facts.is_one_each;
    if (is_floats ? !facts.is_contiguous : !is_bytes) return std::nullopt;
    Field field{.name = {}, .kind = Kind::tensor, .dtype = std::move(*dtype)};
    if (shape != facts_.end()) {
      if (!shape->second.is_shape || shape->second.records != facts.records) return std::nullopt;
      field.shape = shape->second.sides;
      return field;
    }
    const std::uint64_t length = facts.longest / field.dtype.item_bytes();
    field.shape = {facts.is_of_one_length && length > 0 ? length : kFreeSide};
    const bool is_array = facts.common_divisor % field.dtype.item_bytes() == 0;
    return is_array ? std::optional(std::move(field)) : std::nullopt;
  }

  [[nodiscard]] bool describes_another(std::string_view feature) const {
    for (const std::string_view suffix : {kDTypeSuffix, kShapeSuffix}) {
      if (feature.ends_with(suffix) &&
          array_beside(std::string(feature.substr(0, feature.size() - suffix.size()))))
        return true;
    }
    return false;
  }

  // The field that a feature makes; nullopt, after a note, for what cannot be located.
  std::optional<Field> field_of(const std::string& feature, const FeatureFacts& facts) {
    Field field;
    const auto leave_out = [&](std::string_view reason, const std::string& why) {
      notes_.push_back(fmt::format("feature '{}' is left out: {}", printable(feature), why));
      left_out_.add({"feature", feature, std::string(reason), facts.records});
      return std::nullopt;
    };
    if (facts.type == Type::none) return leave_out("no_value", "it has no value in any record");
    if (!facts.is_of_one_type)
      return leave_out("mixed_types", "its type of list differs between records");
    field.is_optional = facts.records < records_;
    if (std::optional<Field> array = array_beside(feature)) {
      array->is_optional = field.is_optional;
      return array;
    }
    const bool has_numbers = facts.type != Type::bytes;
    const auto described = described_.find(feature);
    const bool is_described = described != described_.end() && !described->second.shape.empty();
    if (has_numbers && facts.empty == facts.records && !is_described)
      return leave_out("no_value", "its lists of numbers are empty");
    const bool is_asked = std::ranges::find(arrays_, field_name_of(feature)) != arrays_.end();
    const bool is_array = is_asked || is_described;
    if (has_numbers && facts.is_one_at_most && !is_array) {
      // Of lists of one number, an empty one has none.
      field.is_optional = facts.records - facts.empty < records_;
      field.kind = facts.type == Type::integers ? Kind::integer : Kind::real;
      return field;
    }
    if (!has_numbers) {
      if (is_described && facts.is_one_each && described->second.dtype)
        return array_of_bytes(feature, facts, std::move(field));
      const bool is_list = !facts.is_one_each || is_described;
      field.kind = is_list ? Kind::list : facts.is_text ? Kind::text : Kind::bytes;
      return field;
    }
    const bool is_integers = facts.type == Type::integers;
    if (is_unpacked_ && (is_integers || !facts.is_contiguous)) {
      unpacked_.push_back(feature);
      if (!is_integers) unpacked_floats_.push_back(feature);
    } else if (is_integers) {
      return leave_out(
          facts.is_of_one_count ? "several_integers" : "varying_length",
          fmt::format("varint lists of {} integers cannot be located in place",
                      facts.is_of_one_count ? fmt::to_string(facts.count) : "several"));
    } else if (!facts.is_contiguous) {
      return leave_out("not_packed", "its floats are not packed");
    }
    field.kind = Kind::tensor;
    field.dtype = DType::parse(is_integers ? "<i8" : kFloatDType);
    field.shape = {facts.is_of_one_count && facts.count > 0 && !is_asked ? facts.count : kFreeSide};
    if (!is_asked && is_described)
      take_described_shape(feature, facts, described->second.shape, field);
    return field;
  }

  // The shape that the numbers of every record have by the file beside them.
  void take_described_shape(const std::string& feature, const FeatureFacts& facts,
                            const std::vector<std::uint64_t>& shape, Field& field) {
    const bool is_fixed = std::ranges::find(shape, kFreeSide) == shape.end();
    const bool fits = is_fixed ? facts.is_of_one_count : true;
    if (!fits || shape_of_numbers(shape, facts.common_count).empty()) return;
    field.shape = shape;
    if (shape.size() > 1 || facts.is_one_at_most) shaped_.push_back(feature);
  }

  // What the file beside says of strings that are the bytes of arrays.
  Field array_of_bytes(const std::string& feature, const FeatureFacts& facts, Field field) {
    const DescribedFeature& described = described_.find(feature)->second;
    const std::uint64_t item = described.dtype->item_bytes();
    const bool is_fixed = std::ranges::find(described.shape, kFreeSide) == described.shape.end();
    const bool fits = (!is_fixed || facts.is_of_one_length) && facts.common_divisor % item == 0 &&
                      !shape_of_numbers(described.shape, facts.common_divisor / item).empty();
    field.kind = Kind::bytes;
    if (!fits) return field;
    field.kind = Kind::tensor;
    field.dtype = *described.dtype;
    field.shape = described.shape;
    shaped_.push_back(feature);
    return field;
  }

  // The classes of the labels, if the files beside name them.
  void take_described_classes(Survey& survey) const {
    const auto label = described_.find("label");
    const std::optional<std::size_t> field = survey.schema.find("label");
    if (label == described_.end() || label->second.classes.empty() || !field ||
        survey.schema.fields[*field].kind != Kind::integer)
      return;
    survey.classes = label->second.classes;
  }

  [[nodiscard]] std::string tell_described(const Survey& survey) const {
    std::string text;
    for (const std::string& feature : shaped_)
      text += fmt::format("{}the shape of '{}'", text.empty() ? "" : ", ", printable(feature));
    if (!survey.classes.empty())
      text += fmt::format("{}the names of the {} classes", text.empty() ? "" : ", ",
                          survey.classes.size());
    return text.empty() ? text : text + " come from features.json of TensorFlow Datasets beside it";
  }

  static std::string tell_renamed(const std::map<std::string, std::string>& named) {
    std::string text;
    std::size_t renamed = 0;
    for (const auto& [field, feature] : named) {
      if (field == feature || ++renamed > kNamesShown) continue;
      text += fmt::format("{}'{}' is the field '{}'", text.empty() ? "feature " : ", ",
                          printable(feature), printable(field));
    }
    if (renamed > kNamesShown) text += fmt::format(", and {} more", renamed - kNamesShown);
    return text;
  }

  const InputFile& file_;
  const LostRanges* const lost_;
  const DescribedFeatures described_;
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_;
  std::vector<ParsedFeature> parsed_;  // of the record at hand
  std::map<std::string, FeatureFacts> facts_;
  std::uint64_t frames_ = 0, records_ = 0;  // records: of the frames, those that could be read
  bool is_unpacked_ = false;
  std::vector<std::string> unpacked_, unpacked_floats_, arrays_;  // features; of these; fields
  std::vector<std::string> shaped_;                               // features, by what is described
  std::vector<std::string> notes_;
  LeftOutList left_out_;
};

void refuse_compressed(const InputFile& file) {
  const Packing packing = packing_of_frames(file);
  if (packing == Packing::none) return;
  throw Error(Code::unsupported,
              "is a TFRecord file compressed with {}, so samples cannot be located in it",
              name_of(packing))
      .at(file.path())
      .hint(fmt::format("'shale convert {} OUT --to record' decompresses and converts it",
                        shell_word(file.path())));
}

}  // namespace

Packing packing_of_frames(const InputFile& file) {
  std::array<std::byte, 4096> head;
  const std::uint64_t filled = file.read_some(0, head);
  const Bytes bytes = Bytes(head).first(filled);
  if (filled == file.size() && is_gzip_of_nothing(bytes)) return Packing::gzip;
  const std::optional<Compression> found = compression_of_frames(bytes);
  if (!found) return Packing::none;
  return *found == Compression::gzip ? Packing::gzip : Packing::zlib;
}

namespace {

Survey survey_frames(const InputFile& file, const Parsing& parsing, const WalkProgress& progress,
                     const LostRanges* lost) {
  refuse_compressed(file);
  if (parsing.dialect == Dialect::episodes) {
    throw Error(Code::unsupported, "the steps of its episodes cannot be located in place")
        .at(file.path())
        .hint(
            fmt::format("'shale convert {} OUT --to record --parse episodes' makes samples of them",
                        shell_word(file.path())));
  }
  Survey survey = RecordSurvey(file, described_features(file.path()), progress, lost).run();
  const bool are_plain = !survey.layout.has_whole_records;
  if (are_plain && parsing.dialect != Dialect::plain &&
      has_feature_lists(file, lost ? *lost : LostRanges())) {
    survey.notes = {
        fmt::format("each record is a tf.train.SequenceExample, and here one field of bytes, "
                    "'value'; 'shale convert {} OUT --to record' makes fields of its lists",
                    shell_word(file.path()))};
    survey.left_out.add({"feature", "feature_lists", "feature_lists", std::nullopt});
  }
  return survey;
}

}  // namespace

Survey survey_record_file(const InputFile& file, const Parsing& parsing,
                          const WalkProgress& progress) {
  return survey_frames(file, parsing, progress, nullptr);
}

Survey salvage_record_file(const InputFile& file, const Parsing& parsing,
                           const WalkProgress& progress) {
  refuse_compressed(file);
  LostRanges lost = find_lost_frames(file, progress);
  refuse_all_lost(file, lost);
  Survey survey = survey_frames(file, parsing, progress, &lost);
  survey.lost = std::move(lost);
  return survey;
}

UnpackedSurvey survey_unpacked_record_file(const InputFile& file, DescribedFeatures described,
                                           const std::vector<std::string>& arrays,
                                           const LostRanges& lost) {
  refuse_compressed(file);
  return RecordSurvey(file, std::move(described), {}, &lost).run_unpacked(arrays);
}

}  // namespace shale
