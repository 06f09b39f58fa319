#include "shale/trees/hdf5_samples.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/trees/hdf5_sample_fields.hpp"

namespace shale {
namespace {

using Form = Hdf5SampleValue::Form;

constexpr std::uint64_t kSampleShare = 2;

class SampleUnpacking {
 public:
  SampleUnpacking(const UnpackRequest& request, const Hdf5SamplePlace& place,
                  const WalkHdf5Samples& walk_samples, const Hdf5SampleSink& sink)
      : request_(request),
        walk_samples_(walk_samples),
        sink_(sink),
        has_steps_(request.parsing.dialect == Dialect::episodes),
        walk_{
            .parent = place.parent,
            .file = place.is_file ? std::filesystem::path(request.file.path()).stem().string() : "",
            .takes_attributes = !has_steps_,
            .most_bytes = request.memory_bytes / kSampleShare},
        fields_(has_steps_, place.parent),
        first_episode_(request.first_episode) {
    if (request.fields.empty()) return;
    walk_.wants = [this](const std::string& path) {
      const std::string name = hdf5_sample_field_name(path);
      return std::ranges::any_of(request_.fields, [&](const std::string& wanted) {
        return wanted == name || wanted == path;
      });
    };
  }

  UnpackReport run() {
    if (request_.takes_damaged) walk_.lose = [](auto, auto) {};
    walk_samples_(
        walk_, [this](Hdf5WalkedSample&& sample) { fields_.add(sample); },
        [this](const std::string& what) { fields_.add_other(what); },
        [this] { report_progress(); });
    const Schema schema = fields_.finish(request_.parsing.dialect.has_value());
    constexpr std::uint64_t kOfEach = 64;  // key, offsets, shapes
    const std::uint64_t bytes =
        fields_.bytes() + fields_.samples() * kOfEach * (schema.fields.size() + 1);
    if (const std::optional<std::uint64_t> free = free_space(request_.into.descriptor());
        free && bytes > *free)
      throw no_room_to_unpack(request_.file.path(), bytes, *free);
    write(schema);
    fields_.report().episodes = groups_;
    fields_.report().lost = std::move(lost_);
    return std::move(fields_.report());
  }

 private:
  void write(const Schema& schema) {
    sink_.begin(schema);
    walk_.reads_values = true;
    if (request_.takes_damaged) {
      walk_.lose = [this](std::string name, std::string why) {
        lost_.push_back({.before = samples_, .why = std::move(why), .key = std::move(name)});
      };
    }
    const std::uint64_t expected = fields_.samples();
    const auto append = [&](const Sample& sample, std::uint64_t bytes) {
      check_sample(sample, schema);
      sink_.append(sample);
      done_ += bytes;
      ++samples_;
    };
    walk_samples_(
        walk_, [&](Hdf5WalkedSample&& sample) { write_sample(sample, schema, append); },
        [](const std::string&) {}, [this] { report_progress(); });
    if (samples_ != expected) {
      throw Error(Code::mismatch, "changed while it was being read: it had {} samples, now {}",
                  expected, samples_)
          .hint("wait until nothing writes to the file, then convert it again");
    }
  }

  void write_sample(const Hdf5WalkedSample& sample, const Schema& schema, const auto& append) {
    if (fields_.is_left_out(sample)) return;
    const std::uint64_t steps = fields_.steps_of(sample);
    std::map<const Hdf5SampleValue*, std::vector<Bytes>> texts;
    for (const Hdf5SampleValue& value : sample.values)
      if (value.form == Form::texts) texts.emplace(&value, texts_of(value.data));
    for (std::uint64_t step = 0; step < steps; ++step) {
      Sample made{.key = sample.name, .values = {}};
      made.values.assign(schema.fields.size(), std::monostate{});
      std::vector<std::vector<std::uint64_t>> shapes(schema.fields.size());
      std::uint64_t bytes = 0;
      for (const Hdf5SampleValue& value : sample.values) {
        const std::optional<std::size_t> place = fields_.place_of(value);
        if (!place) continue;
        const Hdf5SampleField& found = fields_.field_of(value);
        if (found.is_of_steps && !Hdf5SampleFields::has_rows(value, steps))
          throw Hdf5SampleFields::differs(sample, value, found);
        if (value.data.size() != value.bytes) throw hdf5_dataset_changed(value.path);
        made.values[*place] = value.form != Form::texts
                                  ? value_at(value, found, schema.fields[*place], step)
                              : found.is_of_steps ? Value(texts.at(&value).at(step))
                                                  : Value(texts.at(&value));
        shapes[*place].assign(value.shape.begin() + (found.is_of_steps ? 1 : 0), value.shape.end());
        bytes += found.is_of_steps ? value.bytes / steps : value.bytes;
      }
      for (std::size_t i = 0; i < schema.fields.size(); ++i) {
        const Field& field = schema.fields[i];
        if (!field.is_ragged()) continue;
        shapes[i].resize(field.shape.size(), 0);
        made.sides.insert(made.sides.end(), shapes[i].begin(), shapes[i].end());
      }
      if (has_steps_) {
        made.key += fmt::format("/{}", step);
        made.values[*schema.find(kEpisodeField)] =
            static_cast<std::int64_t>(first_episode_ + groups_);
        made.values[*schema.find(kStepOfEpisodeField)] = static_cast<std::int64_t>(step);
      }
      append(made, bytes);
    }
    if (steps > 0) ++groups_;
  }

  [[nodiscard]] static Value value_at(const Hdf5SampleValue& value, const Hdf5SampleField& found,
                                      const Field& field, std::uint64_t step) {
    const Bytes data(value.data);
    if (value.form == Form::text || value.form == Form::sequence) return data;
    const std::uint64_t row = found.is_of_steps ? value.bytes / value.shape[0] : value.bytes;
    const Bytes bytes = found.is_of_steps ? data.subspan(step * row, row) : data;
    if (is_located(field.kind)) return bytes;
    const IndexCell cell = read_number(bytes, field);
    return field.kind == Kind::integer ? Value(cell.integer) : Value(cell.real);
  }

  static std::vector<Bytes> texts_of(Bytes data) {
    std::vector<Bytes> texts;
    ByteReader in(data, "the strings of an HDF5 file");
    while (!in.at_end()) {
      const std::uint32_t length = in.read_u32();
      texts.push_back(in.read_bytes(length));
    }
    return texts;
  }

  void report_progress() const {
    if (!request_.progress) return;
    const std::uint64_t all = fields_.bytes();
    request_.progress(std::min(done_, all), walk_.reads_values ? all : 0);
  }

  const UnpackRequest& request_;
  const WalkHdf5Samples& walk_samples_;
  const Hdf5SampleSink& sink_;
  bool has_steps_;
  Hdf5SampleWalk walk_;
  Hdf5SampleFields fields_;
  const std::uint64_t first_episode_;
  LostRanges lost_;
  std::uint64_t samples_ = 0, groups_ = 0, done_ = 0;
};

}  // namespace

std::optional<Hdf5SamplePlace> hdf5_samples_in(const Hdf5Description& description,
                                               std::optional<Dialect> dialect) {
  const bool is_asked_for = dialect == Dialect::samples || dialect == Dialect::episodes;
  if (is_asked_for && !description.samples) {
    throw Error(Code::unsupported, "has no groups or datasets that could be {}", name_of(*dialect))
        .hint("leave out --parse");
  }
  const bool is_taken =
      is_asked_for || (!dialect && description.samples && description.samples->is_clear);
  return is_taken ? description.samples : std::nullopt;
}

Error is_read_by_convert(const Hdf5SamplePlace& place, std::string_view path) {
  const std::string what =
      place.is_file
          ? "is one sample, or one episode"
          : fmt::format(
                "has a group per sample{}",
                place.parent == "/" ? "" : fmt::format(" in '{}'", printable(place.parent)));
  return Error(Code::unsupported, "{}: such files are converted, not read in place", what)
      .at(path)
      .hint(place.is_file
                ? "'shale convert' makes one sample of it with --parse samples, and one of each "
                  "row with --parse episodes"
                : fmt::format("run 'shale convert {} OUT --to FORMAT'", printable(path)));
}

UnpackReport unpack_hdf5_samples(const UnpackRequest& request, const Hdf5SamplePlace& place,
                                 const WalkHdf5Samples& walk, const Hdf5SampleSink& sink) {
  UnpackReport report = SampleUnpacking(request, place, walk, sink).run();
  report.is_own = true;
  return report;
}

}  // namespace shale
