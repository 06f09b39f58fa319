#include "shale/trees/hdf5_sample_fields.hpp"

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_tables.hpp"

namespace shale {
namespace {

using Form = Hdf5SampleValue::Form;

constexpr std::size_t kMostPaths = 1024;
constexpr std::string_view kValueField = "value";  // of a sample that is a dataset

std::string_view words_of(Form form) {
  constexpr std::string_view kWords[] = {"an array of numbers", "a string", "an array of strings",
                                         "a sequence of numbers", "of no kind"};
  return kWords[static_cast<std::size_t>(form)];
}

std::string text_of(const Hdf5SampleValue& value) {
  if (value.form != Form::number) return std::string(words_of(value.form));
  return fmt::format("{} {}", dtype_text(DType::parse(value.descr)), shape_text(value.shape));
}

Field field_that_is(const Hdf5SampleField& found, std::uint64_t samples) {
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

// How many steps an episode has: what most of its arrays have rows of.
std::uint64_t most_rows(const Hdf5WalkedSample& sample) {
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

bool looks_like_episode(const Hdf5WalkedSample& sample) {
  const std::uint64_t steps = most_rows(sample);
  std::size_t arrays = 0;
  for (const Hdf5SampleValue& value : sample.values) {
    if (value.form != Form::number || value.shape.empty()) continue;
    if (value.shape[0] != steps) return false;
    ++arrays;
  }
  return arrays > 1 && steps > 1;
}

}  // namespace

std::string hdf5_sample_field_name(const std::string& path) {
  std::string name = path.empty() ? std::string(kValueField) : path;
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
}

bool Hdf5SampleFields::has_rows(const Hdf5SampleValue& value, std::uint64_t rows) {
  return (value.form == Form::number || value.form == Form::texts) && !value.shape.empty() &&
         value.shape[0] == rows && (value.form == Form::number || value.shape.size() == 1);
}

void Hdf5SampleFields::add(const Hdf5WalkedSample& sample) {
  const std::uint64_t steps = steps_of(sample);
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

// Said once for all samples, of which each may have names of its own.
void Hdf5SampleFields::leave_out(LeftOut what, const std::string& words) {
  constexpr std::size_t kMostNotes = 20;
  report_.left_out.add(std::move(what));
  const bool is_new = notes_.size() < kMostNotes && notes_.insert(words).second;
  if (is_new) report_.notes.push_back(words);
}

void Hdf5SampleFields::leave_out(const Hdf5SampleValue& value, std::string_view reason,
                                 std::string_view what) {
  leave_out({.kind = "dataset", .name = value.path, .reason = std::string(reason)},
            fmt::format("dataset '{}' of the {} is left out: it {}", printable(value.path),
                        has_steps_ ? "episodes" : "samples", what));
}

// Nobody has said that these groups are samples: those of another form are none.
void Hdf5SampleFields::leave_out_other_forms() {
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

bool Hdf5SampleFields::is_left_out(const Hdf5WalkedSample& sample) const {
  return !other_forms_.empty() && std::ranges::any_of(sample.values, [&](const auto& value) {
    return other_forms_.contains(value.path);
  });
}

// False: it is left out.
bool Hdf5SampleFields::fold(const Hdf5WalkedSample& sample, const Hdf5SampleValue& value,
                            std::uint64_t steps) {
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
  Hdf5SampleField& field = at->second;
  if (is_new) {
    field.first = value;
    field.first_of = sample.name;
    field.is_of_steps = has_steps;
    field.shape = shape;
    field.name = hdf5_sample_field_name(value.path);
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

Error Hdf5SampleFields::nothing_in_common() const {
  return Error(Code::unsupported, "the groups in '{}' have more than {} different datasets",
               printable(parent_), kMostPaths)
      .hint("a group per sample has datasets of the same names in all groups");
}

Error Hdf5SampleFields::differs(const Hdf5WalkedSample& sample, const Hdf5SampleValue& value,
                                const Hdf5SampleField& field) {
  return Error(Code::unsupported, "dataset '{}' of '{}' is {}, but that of '{}' is {}",
               printable(value.path), printable(sample.name), text_of(value),
               printable(field.first_of), text_of(field.first))
      .hint(
          "what a field holds has one type and one number of axes in all groups: leave it out "
          "with --fields");
}

Schema Hdf5SampleFields::make_schema() {
  Schema schema;
  for (const auto& [path, found] : fields_) schema.fields.push_back(field_that_is(found, samples_));
  for (const std::string_view name : {kEpisodeField, kStepOfEpisodeField}) {
    if (!has_steps_) break;
    schema.fields.push_back(field_of_column(std::string(name), DType::parse("<i8"), {}));
  }
  if (schema.fields.empty()) {
    throw Error(Code::unsupported, "has nothing in '{}' that a field can hold{}{}",
                printable(parent_), report_.notes.empty() ? "" : "; ",
                report_.notes.empty() ? "" : report_.notes.front())
        .hint("write it as numbers, strings or sequences of numbers");
  }
  std::ranges::sort(schema.fields, {}, &Field::name);
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [path, found] : fields_) names.emplace_back(path, found.name);
  check_hdf5_paths(names);
  check_hdf5_names(schema);
  for (const auto& [path, found] : fields_) places_.emplace(path, *schema.find(found.name));
  if (!has_steps_ && are_episodes_ && groups_ > 1) {
    report_.notes.push_back(
        "each group is one sample; --parse episodes makes each row of its datasets one");
  }
  return schema;
}

void Hdf5SampleFields::add_other(const std::string& what) {
  leave_out(left_out_of_words(what, "not_a_dataset"), "left out: " + what);
}

Schema Hdf5SampleFields::finish(bool is_asked_for) {
  if (!is_asked_for) leave_out_other_forms();
  if (samples_ > 0) return make_schema();
  throw Error(Code::unsupported, "has no {} in '{}'",
              has_steps_ ? "episodes with steps" : "groups of values", printable(parent_));
}

std::uint64_t Hdf5SampleFields::steps_of(const Hdf5WalkedSample& sample) const {
  return has_steps_ ? most_rows(sample) : 1;
}

std::optional<std::size_t> Hdf5SampleFields::place_of(const Hdf5SampleValue& value) const {
  const auto place = places_.find(value.path);
  if (place == places_.end() || value.form == Form::other) return std::nullopt;
  return place->second;
}

const Hdf5SampleField& Hdf5SampleFields::field_of(const Hdf5SampleValue& value) const {
  const Hdf5SampleField& found = fields_.at(value.path);
  if (value.descr == found.first.descr && value.form == found.first.form) return found;
  throw hdf5_dataset_changed(value.path);
}

}  // namespace shale
