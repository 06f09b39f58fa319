#include "shale/trees/hdf5_samples.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_tables.hpp"

namespace shale {
namespace {

using Form = Hdf5SampleValue::Form;

constexpr std::uint64_t kSampleShare = 2;
constexpr std::size_t kMostPaths = 1024;
constexpr std::string_view kValueField = "value";  // of a sample that is a dataset

std::string field_name_of(const std::string& path) {
  std::string name = path.empty() ? std::string(kValueField) : path;
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
}

std::string_view words_of(Form form) {
  constexpr std::string_view kWords[] = {"an array of numbers", "a string", "an array of strings",
                                         "a sequence of numbers", "of no kind"};
  return kWords[static_cast<std::size_t>(form)];
}

std::string text_of(const Hdf5SampleValue& value) {
  if (value.form != Form::number) return std::string(words_of(value.form));
  return fmt::format("{} {}", dtype_text(DType::parse(value.descr)), shape_text(value.shape));
}

// What all samples say of a path.
struct SampleField {
  Hdf5SampleValue first;  // without its bytes
  std::string first_of;   // the name of its sample
  bool is_of_steps = false;
  std::vector<std::uint64_t> shape;  // kFreeSide where they differ
  bool is_utf8 = true;
  std::uint64_t samples = 0;
  std::string name;
};
using SampleFields = std::map<std::string, SampleField>;

// The groups of a file by form: two are of one form if they have a path in common, or both have one
// in common with others. Only the first groups say what the file is like: what comes later, and
// shares nothing with most, is not a sample.
class GroupForms {
 public:
  // The form with most groups, or nothing.
  [[nodiscard]] std::optional<std::size_t> largest() const {
    const auto most = std::ranges::max_element(forms_, {}, &GroupForm::groups);
    if (most == forms_.end()) return std::nullopt;
    return static_cast<std::size_t>(most - forms_.begin());
  }
  [[nodiscard]] std::size_t form_of(const std::string& path) const { return forms_by_.at(path); }

  void add(const std::string& group, std::uint64_t samples, const std::vector<std::string>& paths) {
    if (paths.empty()) return;
    const auto [at, is_new] = forms_by_.try_emplace(paths.front(), forms_.size());
    if (is_new) forms_.emplace_back();
    const std::size_t form = at->second;
    for (const std::string& path : paths) {
      const std::size_t other = forms_by_.try_emplace(path, form).first->second;
      if (other != form) join(other, form);
    }
    GroupForm& of = forms_[form];
    ++of.groups;
    of.samples += samples;
    if (of.names.size() < kMostNames) of.names.push_back(group);
  }

  struct GroupForm {
    std::uint64_t groups = 0, samples = 0;
    std::vector<std::string> names;  // the first
  };
  // Those that were joined with others are empty.
  [[nodiscard]] const std::vector<GroupForm>& all() const { return forms_; }

 private:
  static constexpr std::size_t kMostNames = 8;

  void join(std::size_t from, std::size_t into) {
    for (auto& [path, form] : forms_by_)
      if (form == from) form = into;
    GroupForm& left = forms_[from];
    forms_[into].groups += left.groups;
    forms_[into].samples += left.samples;
    std::ranges::copy(left.names, std::back_inserter(forms_[into].names));
    if (forms_[into].names.size() > kMostNames) forms_[into].names.resize(kMostNames);
    left = {};
  }

  std::map<std::string, std::size_t> forms_by_;  // path -> its form
  std::vector<GroupForm> forms_;
};

Field field_of(const SampleField& found, std::uint64_t samples) {
  Field field;
  const bool is_sequence = found.first.form == Form::sequence;
  const bool is_text = found.is_utf8;
  if (is_sequence && found.first.descr == "|u1") {
    field.kind = Kind::bytes;
  } else if (found.first.form == Form::number || is_sequence) {
    const DType dtype = DType::parse(found.first.descr);
    if (found.shape.empty()) {
      field = field_of_column(found.name, dtype, {});
    } else {
      field.kind = Kind::tensor;
      field.dtype = dtype;
      field.shape = found.shape;
    }
  } else if (found.first.form == Form::text || (found.is_of_steps && found.shape.empty())) {
    field.kind = is_text ? Kind::text : Kind::bytes;
  } else {
    field.kind = Kind::list;
    field.elements = is_text ? Kind::text : Kind::bytes;
  }
  field.name = found.name;
  field.is_optional = found.samples < samples;
  return field;
}

class SampleUnpacking {
 public:
  SampleUnpacking(const UnpackRequest& request, const Hdf5SamplePlace& place,
                  const WalkHdf5Samples& walk_samples, const Hdf5SampleSink& sink)
      : request_(request),
        walk_samples_(walk_samples),
        sink_(sink),
        has_steps_(request.parsing.dialect == Dialect::episodes),
        walk_{.parent = place.parent,
              .takes_attributes = !has_steps_,
              .most_bytes = request.memory_bytes / kSampleShare} {
    if (request.fields.empty()) return;
    walk_.wants = [this](const std::string& path) {
      const std::string name = field_name_of(path);
      return std::ranges::any_of(request_.fields, [&](const std::string& wanted) {
        return wanted == name || wanted == path;
      });
    };
  }

  UnpackReport run() {
    walk_samples_(
        walk_, [this](Hdf5WalkedSample&& sample) { survey(sample); },
        [this](const std::string& what) {
          leave_out(left_out_of_words(what, "not_a_dataset"), "left out: " + what);
        },
        [this] { report_progress(); });
    if (!request_.parsing.dialect) leave_out_other_forms();
    if (samples_ == 0) {
      throw Error(Code::unsupported, "has no {} in '{}'",
                  has_steps_ ? "episodes with steps" : "groups of values", printable(walk_.parent));
    }
    const Schema schema = make_schema();
    constexpr std::uint64_t kOfEach = 64;  // key, offsets, shapes
    const std::uint64_t bytes = bytes_ + samples_ * kOfEach * (schema.fields.size() + 1);
    if (const std::optional<std::uint64_t> free = free_space(request_.into.descriptor());
        free && bytes > *free)
      throw no_room_to_unpack(request_.file.path(), bytes, *free);
    write(schema);
    return std::move(report_);
  }

 private:
  // ---- the first pass

  // How many steps an episode has: what most of its arrays have rows of.
  [[nodiscard]] static std::uint64_t steps_of(const Hdf5WalkedSample& sample) {
    std::map<std::uint64_t, std::size_t> lengths;
    for (const Hdf5SampleValue& value : sample.values) {
      const bool has_rows = (value.form == Form::number && value.bytes > 0) ||
                            (value.form == Form::texts && value.shape.size() == 1);
      if (has_rows && !value.shape.empty()) ++lengths[value.shape[0]];
    }
    const auto most = std::ranges::max_element(
        lengths, {}, [](const auto& one) { return std::pair(one.second, one.first); });
    return most == lengths.end() ? 0 : most->first;
  }

  [[nodiscard]] static bool has_rows(const Hdf5SampleValue& value, std::uint64_t rows) {
    return (value.form == Form::number || value.form == Form::texts) && !value.shape.empty() &&
           value.shape[0] == rows && (value.form == Form::number || value.shape.size() == 1);
  }

  void survey(const Hdf5WalkedSample& sample) {
    const std::uint64_t steps = has_steps_ ? steps_of(sample) : 1;
    if (steps == 0) {
      return leave_out({.kind = "group", .name = sample.name, .reason = "no_steps"},
                       fmt::format("group '{}' has no steps", printable(sample.name)));
    }
    if (sample.name.size() > kMaxKeyBytes / 2)
      throw Error(Code::limit, "a group has a name of {} bytes", sample.name.size());
    std::vector<std::string> paths;
    for (const Hdf5SampleValue& value : sample.values) {
      if (value.form == Form::other) {
        leave_out(value, "type_not_held", "holds " + value.type_name);
      } else if (fold(sample, value, steps)) {
        paths.push_back(value.path);
      }
    }
    forms_.add(sample.name, steps, paths);
    are_episodes_ = are_episodes_ && looks_like_episode(sample);
    samples_ += steps;
    ++groups_;
  }

  static bool looks_like_episode(const Hdf5WalkedSample& sample) {
    const std::uint64_t steps = steps_of(sample);
    std::size_t arrays = 0;
    for (const Hdf5SampleValue& value : sample.values) {
      if (value.form != Form::number || value.shape.empty()) continue;
      if (value.shape[0] != steps) return false;
      ++arrays;
    }
    return arrays > 1 && steps > 1;
  }

  // Said once for all samples, of which each may have names of its own.
  void leave_out(LeftOut what, const std::string& words) {
    constexpr std::size_t kMostNotes = 20;
    report_.left_out.add(std::move(what));
    const bool is_new = notes_.size() < kMostNotes && notes_.insert(words).second;
    if (is_new) report_.notes.push_back(words);
  }

  void leave_out(const Hdf5SampleValue& value, std::string_view reason, std::string_view what) {
    leave_out({.kind = "dataset", .name = value.path, .reason = std::string(reason)},
              fmt::format("dataset '{}' of the {} is left out: it {}", printable(value.path),
                          has_steps_ ? "episodes" : "samples", what));
  }

  // Nobody has said that these groups are samples: those of another form are none.
  void leave_out_other_forms() {
    const std::optional<std::size_t> most = forms_.largest();
    for (std::size_t i = 0; i < forms_.all().size(); ++i) {
      const auto& form = forms_.all()[i];
      if (i == most || form.groups == 0) continue;
      samples_ -= form.samples;
      groups_ -= form.groups;
      for (const std::string& name : form.names) {
        leave_out({.kind = "group", .name = name, .reason = "other_form"},
                  fmt::format("group '{}' is left out: it has no dataset in common with the others",
                              printable(name)));
      }
      report_.left_out.more += form.groups - form.names.size();
    }
    std::erase_if(fields_, [&](const auto& field) {
      const bool is_other = forms_.form_of(field.first) != most;
      if (is_other) other_forms_.insert(field.first);
      return is_other;
    });
  }

  [[nodiscard]] bool is_of_other_form(const Hdf5WalkedSample& sample) const {
    return !other_forms_.empty() && std::ranges::any_of(sample.values, [&](const auto& value) {
      return other_forms_.contains(value.path);
    });
  }

  // False: it is left out.
  bool fold(const Hdf5WalkedSample& sample, const Hdf5SampleValue& value, std::uint64_t steps) {
    const bool has_steps = has_steps_ && has_rows(value, steps);
    if (has_steps_ && !has_steps && !value.shape.empty()) {
      if (const auto known = fields_.find(value.path);
          known != fields_.end() && known->second.is_of_steps)
        throw differs(sample, value, known->second);
      leave_out(value, "not_rows", "has no row per step");
      return false;
    }
    const std::vector<std::uint64_t> shape(value.shape.begin() + (has_steps ? 1 : 0),
                                           value.shape.end());
    if (fields_.size() > kMostPaths) throw nothing_in_common();
    const auto [at, is_new] = fields_.try_emplace(value.path);
    SampleField& field = at->second;
    if (is_new) {
      field.first = value;
      field.first_of = sample.name;
      field.is_of_steps = has_steps;
      field.shape = shape;
      field.name = field_name_of(value.path);
    }
    const bool is_alike = field.first.form == value.form && field.first.descr == value.descr &&
                          field.shape.size() == shape.size() && field.is_of_steps == has_steps;
    if (!is_alike) throw differs(sample, value, field);
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (field.shape[i] != shape[i]) field.shape[i] = kFreeSide;
    if (value.form == Form::sequence) field.shape = {kFreeSide};
    field.is_utf8 = field.is_utf8 && value.is_utf8;
    field.samples += steps;
    bytes_ += has_steps ? value.bytes : value.bytes * steps;
    return true;
  }

  [[nodiscard]] Error nothing_in_common() const {
    return Error(Code::unsupported, "the groups in '{}' have more than {} different datasets",
                 printable(walk_.parent), kMostPaths)
        .hint("a group per sample has datasets of the same names in all groups");
  }

  [[nodiscard]] static Error differs(const Hdf5WalkedSample& sample, const Hdf5SampleValue& value,
                                     const SampleField& field) {
    return Error(Code::unsupported, "dataset '{}' of '{}' is {}, but that of '{}' is {}",
                 printable(value.path), printable(sample.name), text_of(value),
                 printable(field.first_of), text_of(field.first))
        .hint(
            "what a field holds has one type and one number of axes in all groups: leave it out "
            "with --fields");
  }

  Schema make_schema() {
    Schema schema;
    for (const auto& [path, found] : fields_) schema.fields.push_back(field_of(found, samples_));
    for (const std::string_view name : {kEpisodeField, kStepOfEpisodeField}) {
      if (!has_steps_) break;
      schema.fields.push_back(field_of_column(std::string(name), DType::parse("<i8"), {}));
    }
    std::ranges::sort(schema.fields, {}, &Field::name);
    check_hdf5_names(schema);
    for (const auto& [path, found] : fields_) places_.emplace(path, *schema.find(found.name));
    if (!has_steps_ && are_episodes_ && groups_ > 1) {
      report_.notes.push_back(
          "each group is one sample; --parse episodes makes each row of its datasets one");
    }
    return schema;
  }

  // ---- the second pass

  void write(const Schema& schema) {
    sink_.begin(schema);
    walk_.reads_values = true;
    const std::uint64_t expected = samples_;
    samples_ = groups_ = 0;
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
    if (is_of_other_form(sample)) return;
    const std::uint64_t steps = has_steps_ ? steps_of(sample) : 1;
    std::map<const Hdf5SampleValue*, std::vector<Bytes>> texts;
    for (const Hdf5SampleValue& value : sample.values)
      if (value.form == Form::texts) texts.emplace(&value, texts_of(value.data));
    for (std::uint64_t step = 0; step < steps; ++step) {
      Sample made{.key = sample.name, .values = {}};
      made.values.assign(schema.fields.size(), std::monostate{});
      std::vector<std::vector<std::uint64_t>> shapes(schema.fields.size());
      std::uint64_t bytes = 0;
      for (const Hdf5SampleValue& value : sample.values) {
        const auto place = places_.find(value.path);
        if (place == places_.end() || value.form == Form::other) continue;
        const SampleField& found = fields_.at(value.path);
        if (found.is_of_steps && !has_rows(value, steps)) throw differs(sample, value, found);
        check_unchanged(value, found);
        made.values[place->second] =
            value.form != Form::texts ? value_at(value, found, schema.fields[place->second], step)
            : found.is_of_steps       ? Value(texts.at(&value).at(step))
                                      : Value(texts.at(&value));
        shapes[place->second].assign(value.shape.begin() + (found.is_of_steps ? 1 : 0),
                                     value.shape.end());
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
        made.values[*schema.find(kEpisodeField)] = static_cast<std::int64_t>(groups_);
        made.values[*schema.find(kStepOfEpisodeField)] = static_cast<std::int64_t>(step);
      }
      append(made, bytes);
    }
    if (steps > 0) ++groups_;
  }

  static void check_unchanged(const Hdf5SampleValue& value, const SampleField& found) {
    if (value.data.size() != value.bytes || value.descr != found.first.descr ||
        value.form != found.first.form)
      throw hdf5_dataset_changed(value.path);
  }

  [[nodiscard]] static Value value_at(const Hdf5SampleValue& value, const SampleField& found,
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
    request_.progress(std::min(done_, bytes_), walk_.reads_values ? bytes_ : 0);
  }

  const UnpackRequest& request_;
  const WalkHdf5Samples& walk_samples_;
  const Hdf5SampleSink& sink_;
  bool has_steps_;
  Hdf5SampleWalk walk_;
  SampleFields fields_;
  GroupForms forms_;
  std::set<std::string> other_forms_;          // paths of groups that are left out
  std::map<std::string, std::size_t> places_;  // of a path, in the schema
  std::set<std::string> notes_;
  UnpackReport report_;
  std::uint64_t samples_ = 0, groups_ = 0, bytes_ = 0, done_ = 0;
  bool are_episodes_ = true;
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
  return Error(Code::unsupported, "has a group per sample{}: they are converted, not read in place",
               place.parent == "/" ? "" : fmt::format(" in '{}'", printable(place.parent)))
      .at(path)
      .hint(fmt::format("run 'shale convert {} OUT --to FORMAT'", printable(path)));
}

UnpackReport unpack_hdf5_samples(const UnpackRequest& request, const Hdf5SamplePlace& place,
                                 const WalkHdf5Samples& walk, const Hdf5SampleSink& sink) {
  UnpackReport report = SampleUnpacking(request, place, walk, sink).run();
  report.is_own = true;
  return report;
}

}  // namespace shale
