#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"
#include "formats/record/record_scan.hpp"

namespace shale {
namespace {

using Type = ParsedFeature::Type;

// Proving that strings are text takes reading them: only short ones are read.
constexpr std::uint64_t kMostTextBytes = 4096;
// What hostile records, each with names of its own, can cost.
constexpr std::size_t kMostFields = 1024;
constexpr std::size_t kNamesShown = 8;

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
  std::uint64_t records = 0;      // that have a value
  std::optional<std::uint64_t> first_without;
  Type type = Type::none;
  std::uint64_t count = 0;  // of the first record's values
  bool is_of_one_type = true, is_one_each = true, is_of_one_count = true, is_contiguous = true;
  bool is_text = true;
  std::uint64_t longest = 0;  // of the values in bytes, where there is one each

  void add(const ParsedFeature& feature, std::uint64_t record) {
    if (records == 0) {
      type = feature.type;
      count = feature.count;
    }
    if (!first_without && record > records) first_without = records;
    ++records;
    is_of_one_type = is_of_one_type && feature.type == type;
    is_of_one_count = is_of_one_count && feature.count == count;
    is_one_each = is_one_each && feature.count == 1;
    is_contiguous = is_contiguous && shale::is_contiguous(feature);
    longest = std::max(longest, feature.first_length);
  }
};

class RecordSurvey {
 public:
  RecordSurvey(const InputFile& file, const WalkProgress& progress)
      : file_(file),
        pace_(progress, file.size()),
        window_(file, kStructureWindow),
        view_(window_.views()) {}

  Survey run() {
    FrameWalk frames(file_, view_, pace_);
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
    if (!fault) {
      // From the last to the first: of features of one name the last counts.
      for (auto feature = parsed_.rbegin(); feature != parsed_.rend(); ++feature) note(*feature);
      ++records_;
      return std::nullopt;
    }
    if (check_payload(view_, frame, {}, pace_)) return std::nullopt;
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

  void note(const ParsedFeature& feature) {
    auto known = facts_.find(feature.name);
    if (known == facts_.end()) known = meet(feature.name);
    FeatureFacts& facts = known->second;
    if (facts.next_record == records_ + 1) return;
    facts.next_record = records_ + 1;
    if (feature.type == Type::none) return;
    facts.add(feature, records_);
    if (feature.type != Type::bytes || !facts.is_text) return;
    facts.is_text = feature.count == 1 && feature.first_length <= kMostTextBytes &&
                    is_plain_text(as_text(view_(feature.first_offset, feature.first_length)));
  }

  std::map<std::string, FeatureFacts>::iterator meet(const std::string& name) {
    if (facts_.size() == kMostFields) {
      throw Error(Code::unsupported, "has more than {} different features", kMostFields)
          .at(file_.path())
          .hint("store what belongs together as one feature");
    }
    try {
      validate_schema({.fields = {{.name = field_name_of_feature(name)}}});
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
      if (feature == key) continue;
      const std::string name = field_name_of_feature(feature);
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
      throw Error(Code::unsupported, "none of its features can be located in place: {}",
                  fmt::join(notes_, "; "))
          .at(file_.path())
          .hint("store numbers as bytes, or as packed lists of floats of one length");
    }
    std::sort(schema.fields.begin(), schema.fields.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });
    Survey survey = Survey::of_one_file(std::move(schema), Dialect::plain);
    survey.layout.has_keys = key.has_value();
    survey.layout.has_whole_records = true;
    survey.notes = std::move(notes_);
    survey.left_out = std::move(left_out_);
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
    const std::string how_many = facts.is_of_one_count ? fmt::to_string(facts.count) : "several";
    switch (facts.type) {
      case Type::bytes:
        field.kind = !facts.is_one_each ? Kind::list : facts.is_text ? Kind::text : Kind::bytes;
        break;
      case Type::integers:
        if (!facts.is_one_each)
          return leave_out(
              facts.is_of_one_count ? "several_integers" : "varying_length",
              fmt::format("varint lists of {} integers cannot be located in place", how_many));
        field.kind = Kind::integer;
        break;
      case Type::floats:
        if (facts.is_one_each) {
          field.kind = Kind::real;
          break;
        }
        if (!facts.is_of_one_count)
          return leave_out("varying_length", "its lists of floats differ in length");
        if (facts.count == 0) return leave_out("no_value", "its lists of floats are empty");
        if (!facts.is_contiguous) return leave_out("not_packed", "its floats are not packed");
        field.kind = Kind::tensor;
        field.dtype = DType::parse("<f4");
        field.shape = {facts.count};
        break;
      case Type::none:
        break;
    }
    // An index has no way to say that a number is absent.
    if (is_located(field.kind) || facts.records == records_) return field;
    throw Error(Code::unsupported,
                "feature '{}' is a number but absent in {} of {} records, the first being {}",
                printable(feature), records_ - facts.records, records_,
                facts.first_without.value_or(facts.records))
        .at(file_.path())
        .hint("write a number into every record, or into none");
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
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_;
  std::vector<ParsedFeature> parsed_;  // of the record at hand
  std::map<std::string, FeatureFacts> facts_;
  std::uint64_t frames_ = 0, records_ = 0;  // records: of the frames, those that could be read
  std::vector<std::string> notes_;
  LeftOutList left_out_;
};

}  // namespace

Survey survey_record_file(const InputFile& file, std::optional<Dialect>,
                          const WalkProgress& progress) {
  std::array<std::byte, 4096> head;
  const std::uint64_t filled = file.read_some(0, head);
  const std::optional<Compression> compression = compression_of_frames(Bytes(head).first(filled));
  if (!compression) return RecordSurvey(file, progress).run();
  const bool is_gzip = *compression == Compression::gzip;
  throw Error(Code::unsupported,
              "is a TFRecord file compressed with {}, so samples cannot be located in it",
              is_gzip ? "gzip" : "zlib")
      .at(file.path())
      .hint(is_gzip ? "decompress it first: gzip -dc FILE > PLAIN"
                    : "decompress it first: pigz -dc FILE > PLAIN");
}

}  // namespace shale
