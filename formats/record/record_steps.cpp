#include "formats/record/record_steps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/output_file.hpp"
#include "shale/wire/protobuf_cursor.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_sequence.hpp"

// An episode of RLDS is an Example whose features `steps/X` have the values of all steps, one step
// after the other. How many steps there are is told by those that have one value per step.
// Source: google-research/rlds, README ("Dataset format"); files that TFDS 4.9.10 wrote.

namespace shale {
namespace {

using Type = ParsedFeature::Type;

constexpr std::uint64_t kStepsBufferBytes = 1 << 20;
constexpr std::uint64_t kMostAround = 64;  // what tags, lengths and the frame take per feature
constexpr std::string_view kOfOneEach[] = {"is_first", "is_last", "is_terminal", "reward",
                                           "discount"};
constexpr std::string_view kEpisode = "episode", kStep = "step";

// A feature with all of its values.
struct WholeFeature {
  std::string name;
  Type type = Type::none;
  std::vector<Bytes> strings = {};
  std::vector<std::byte> floats = {};
  std::vector<std::int64_t> integers = {};

  [[nodiscard]] std::uint64_t count() const {
    return type == Type::bytes    ? strings.size()
           : type == Type::floats ? floats.size() / sizeof(float)
                                  : integers.size();
  }
  // Of its values in a record.
  [[nodiscard]] std::uint64_t most_bytes() const {
    constexpr std::uint64_t kMostVarint = 10;
    std::uint64_t bytes = floats.size() + kMostVarint * (integers.size() + strings.size());
    for (const Bytes one : strings) bytes += one.size();
    return bytes;
  }
  // The values [begin, begin + count), which are borrowed.
  [[nodiscard]] Feature part(std::string_view called, std::uint64_t begin,
                             std::uint64_t many) const {
    if (type == Type::bytes)
      return {.name = called, .value = std::span(strings).subspan(begin, many)};
    if (type == Type::integers)
      return {.name = called, .value = std::span(integers).subspan(begin, many)};
    const Bytes all = floats;
    return {.name = called,
            .value = PackedFloats{all.subspan(begin * sizeof(float), many * sizeof(float))}};
  }
};

std::vector<WholeFeature> features_of(Bytes record, std::string_view where) {
  const ViewBytes view = [record](std::uint64_t offset, std::uint64_t length) {
    return record.subspan(offset, length);
  };
  std::map<std::string, WholeFeature> features;  // of one name the last
  ProtobufCursor cursor(view, record.size(), where);
  for (ParsedFeature& parsed : parse_example(view, 0, record.size(), where)) {
    if (parsed.type == Type::none) continue;
    WholeFeature one{.name = parsed.name, .type = parsed.type};
    const auto take = [&](const WireField& run) {
      const Bytes bytes = record.subspan(run.begin, run.bytes());
      if (one.type == Type::bytes) return one.strings.push_back(bytes);
      if (one.type == Type::floats)
        return void(one.floats.insert(one.floats.end(), bytes.begin(), bytes.end()));
      for (std::uint64_t at = run.begin; at < run.end;) {
        const ProtobufCursor::Varint varint = cursor.read_varint(at, run.end);
        one.integers.push_back(static_cast<std::int64_t>(varint.value));
        at = varint.end;
      }
    };
    cursor.for_each_field(parsed.list_offset, parsed.list_offset + parsed.list_length, take);
    features.insert_or_assign(std::move(parsed.name), std::move(one));
  }
  std::vector<WholeFeature> list;
  list.reserve(features.size());
  for (auto& [name, feature] : features) list.push_back(std::move(feature));
  return list;
}

class StepWriter {
 public:
  StepWriter(const UnpackRequest& request, const InputFile& file, const NamelessFile& into)
      : request_(request),
        file_(file),
        out_(into.duplicate(), into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kStepsBufferBytes, .buffers = 1}),
        episode_(static_cast<std::int64_t>(request.first_episode)) {}

  FlatSteps run(const DescribedFeatures& described) {
    for_each_record(request_, file_, [&](Bytes record) {
      most_bytes_ += record.size();
      learn(features_of(record, request_.file.path()));
      return true;
    });
    if (steps_ == 0) {
      throw Error(Code::unsupported, "none of its episodes has a step").at(request_.file.path());
    }
    if (const auto free = free_space(request_.into.descriptor()); free && most_bytes_ > *free)
      throw no_room_to_unpack(request_.file.path(), most_bytes_, *free);
    for_each_record(request_, file_, [&](Bytes record) {
      write(features_of(record, request_.file.path()));
      return true;
    });
    (void)out_.finish();
    FlatSteps flat;
    flat.episodes = static_cast<std::uint64_t>(episode_) - request_.first_episode;
    for (const auto& [name, feature] : described) {
      DescribedFeature of_step = feature;
      if (name.starts_with(kStepsPrefix) && !of_step.shape.empty())
        of_step.shape.erase(of_step.shape.begin());
      flat.described.emplace(name_in_step(name), std::move(of_step));
    }
    for (const auto& [name, fact] : left_out_) {
      flat.notes.push_back(
          fmt::format("feature '{}' is left out: its values are not as many for each step: {}",
                      printable(name), fact));
      flat.left_out.add({"feature", name, "other_rows", std::nullopt});
    }
    flat.left_out.add(without_steps_);
    if (!without_steps_.entries.empty())
      flat.notes.push_back(
          fmt::format("{} no steps: no sample has what they say",
                      format_counted(without_steps_.entries.size() + without_steps_.more,
                                     "episode has", "episodes have")));
    return flat;
  }

 private:
  static std::string name_in_step(const std::string& name) {
    return name.starts_with(kStepsPrefix) ? name.substr(kStepsPrefix.size()) : name;
  }

  // How many steps an episode has.
  [[nodiscard]] std::uint64_t steps_in(const std::vector<WholeFeature>& features) const {
    for (const std::string_view name : kOfOneEach) {
      const auto found = std::ranges::find(features, std::string(kStepsPrefix) + std::string(name),
                                           &WholeFeature::name);
      if (found != features.end()) return found->count();
    }
    throw Error(Code::unsupported,
                "a record is not an episode of RLDS: it has none of steps/is_first, "
                "steps/is_last, steps/is_terminal, steps/reward and steps/discount")
        .at(request_.file.path())
        .hint("leave out --parse episodes: each record is then a sample");
  }

  void learn(const std::vector<WholeFeature>& features) {
    const std::uint64_t steps = steps_in(features), episode = request_.first_episode + records_++;
    steps_ += steps;
    if (steps == 0) {
      without_steps_.add({.kind = "entry",
                          .name = fmt::format("episode {}", episode),
                          .reason = "no_steps",
                          .samples = {}});
    }
    std::set<std::string> names;
    for (const WholeFeature& feature : features) {
      const std::string name = name_in_step(feature.name);
      if (!names.insert(name).second || name == kEpisode || name == kStep) {
        throw Error(Code::unsupported, "two fields of a step would have the name '{}'",
                    printable(name))
            .at(request_.file.path())
            .hint("leave out --parse episodes: each record is then a sample");
      }
      const bool is_repeated = !feature.name.starts_with(kStepsPrefix);
      most_bytes_ +=
          steps * (feature.name.size() + kMostAround + (is_repeated ? feature.most_bytes() : 0));
      if (is_repeated || steps == 0) continue;
      const std::uint64_t many = feature.count() / steps;
      const auto [known, is_new] = per_step_.emplace(feature.name, many);
      if (feature.count() == many * steps && known->second == many && many > 0) continue;
      std::string fact = fmt::format("episode {} has {} for {}", episode,
                                     format_counted(feature.count(), "value", "values"),
                                     format_counted(steps, "step", "steps"));
      if (!is_new) fact += fmt::format(", those before it {} a step", known->second);
      left_out_.emplace(feature.name, std::move(fact));
    }
  }

  void write(const std::vector<WholeFeature>& features) {
    const std::uint64_t steps = steps_in(features);
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::int64_t numbers[] = {episode_, static_cast<std::int64_t>(step)};
      std::vector<Feature> parts = {{.name = kEpisode, .value = std::span(numbers).first(1)},
                                    {.name = kStep, .value = std::span(numbers).last(1)}};
      for (const WholeFeature& feature : features) {
        const std::string_view name = feature.name;
        if (!name.starts_with(kStepsPrefix)) {
          parts.push_back(feature.part(name, 0, feature.count()));
        } else if (!left_out_.contains(feature.name)) {
          const std::uint64_t many = per_step_.at(feature.name);
          parts.push_back(feature.part(name.substr(kStepsPrefix.size()), step * many, many));
        }
      }
      std::ranges::sort(parts, {}, &Feature::name);
      Blob example;
      (void)append_example(parts, example);
      append_frame(out_, example);
    }
    ++episode_;
  }

  const UnpackRequest& request_;
  const InputFile& file_;
  OutputFile out_;
  std::map<std::string, std::uint64_t> per_step_;           // values, of each feature
  std::map<std::string, std::string> left_out_;             // and why
  LeftOutList without_steps_;                               // episodes
  std::uint64_t steps_ = 0, records_ = 0, most_bytes_ = 0;  // of all episodes; that are written
  std::int64_t episode_;
};

}  // namespace

FlatSteps flatten_steps(const UnpackRequest& request, const InputFile& file,
                        const DescribedFeatures& described, const NamelessFile& into) {
  return StepWriter(request, file, into).run(described);
}

}  // namespace shale
