#include "shale/trees/hdf5_steps.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_sample_fields.hpp"
#include "shale/trees/hdf5_tables.hpp"

namespace shale {
namespace {

Field number_field(std::string_view name) {
  Field field;
  field.name = name;
  field.kind = Kind::integer;
  field.dtype = DType::parse("<i8");
  return field;
}

class StepFinder {
 public:
  StepFinder(Hdf5Steps& steps) : steps_(steps) {}

  void run() {
    for (const Hdf5Demo& demo : steps_.description.demos) add(demo);
    if (steps_.demos.empty()) throw Error(Code::unsupported, "has demonstrations, but no steps");
    check_names();
    note_what_is_left_out();
  }

 private:
  using ByPath = std::map<std::string, const Hdf5Dataset*>;  // below the demo: "obs/image"

  // What has a row per step.
  ByPath rows_of(const Hdf5Demo& demo) {
    const std::size_t prefix = std::string_view("data/").size() + demo.name.size() + 1;
    ByPath rows;
    for (const Hdf5Dataset& dataset : demo.datasets) {
      std::string path = dataset.name.substr(std::min(prefix, dataset.name.size()));
      if (!is_column_dataset(dataset)) {
        left_out_.emplace(path, "a single value, or empty");
      } else if (dataset.has_variable_length()) {
        left_out_.emplace(path, "of values of variable length");
      } else if (hdf5_elements_fault(steps_.description, dataset)) {
        left_out_.emplace(path, kNotHeld);
      } else {
        rows.emplace(std::move(path), &dataset);
      }
    }
    return rows;
  }

  static std::uint64_t length_of(const Hdf5Dataset& dataset) {
    return dataset.shape.empty() ? 0 : dataset.shape[0];
  }

  void add(const Hdf5Demo& demo) {
    ByPath datasets = rows_of(demo);
    const std::uint64_t rows = steps_in(demo, datasets);
    if (rows == 0) return;
    // robomimic's documentation has states "empty" where there is no simulator.
    std::erase_if(datasets, [&](const auto& entry) {
      if (length_of(*entry.second) != 0) return false;
      left_out_.emplace(entry.first, "without rows");
      return true;
    });
    if (steps_.demos.empty()) {
      first_ = &demo;
      for (const auto& [path, dataset] : datasets) add_field(path, *dataset);
    }
    Hdf5Steps::Demo found{.number = static_cast<std::int64_t>(demo.number),
                          .first = steps_.rows,
                          .rows = rows,
                          .datasets = {}};
    for (const auto& [path, field] : fields_) found.datasets.push_back(take(datasets, path, field));
    if (!datasets.empty()) {
      throw Error(Code::unsupported, "dataset '{}' has no counterpart in 'data/{}'",
                  printable(datasets.begin()->second->name), printable(first_->name))
          .hint("all demonstrations must have the same datasets");
    }
    steps_.rows += rows;
    if (rows > kMostRows || steps_.rows > kMostRows)
      throw Error(Code::limit, "the demonstrations claim more than {} steps", kMostRows);
    steps_.demos.push_back(std::move(found));
  }

  // All datasets have so many rows.
  static std::uint64_t steps_in(const Hdf5Demo& demo, const ByPath& datasets) {
    std::optional<std::uint64_t> rows = demo.samples;
    const Hdf5Dataset* first = nullptr;
    for (const auto& [path, dataset] : datasets) {
      const std::uint64_t length = length_of(*dataset);
      if (length == 0) continue;
      if (!rows) rows = length;
      if (first == nullptr) first = dataset;
      if (length == *rows) continue;
      throw Error(Code::unsupported, "dataset '{}' has {} rows, but {} {}",
                  printable(dataset->name), length,
                  demo.samples ? fmt::format("num_samples of 'data/{}' is", printable(demo.name))
                               : fmt::format("'{}' has", printable(first->name)),
                  *rows)
          .hint("each dataset of a demonstration has one row per step");
    }
    if (first == nullptr && rows.value_or(0) > 0) {
      throw Error(Code::unsupported, "group 'data/{}' has num_samples {}, but no datasets of rows",
                  printable(demo.name), *rows);
    }
    return rows.value_or(0);
  }

  void add_field(const std::string& path, const Hdf5Dataset& dataset) {
    fields_.emplace(path, field_of(path, dataset));
  }

  [[nodiscard]] Field field_of(const std::string& path, const Hdf5Dataset& dataset) const {
    check_hdf5_elements(steps_.description, dataset);
    Field field = hdf5_field_of(dataset);
    field.name = path;
    std::ranges::replace_if(
        field.name, [](char c) { return c == '/' || c == '.'; }, '_');
    return field;
  }

  // The dataset of a field, which is taken off the demo's.
  const Hdf5Dataset* take(ByPath& datasets, const std::string& path, const Field& field) const {
    const auto found = datasets.find(path);
    if (found == datasets.end()) {
      throw Error(Code::unsupported,
                  "'data/{}' has the dataset '{}', but another demonstration lacks it",
                  printable(first_->name), printable(path))
          .hint("all demonstrations must have the same datasets");
    }
    const Hdf5Dataset* dataset = found->second;
    datasets.erase(found);
    if (const Field here = field_of(path, *dataset); here != field) {
      throw Error(Code::unsupported, "dataset '{}' is {}, but that of 'data/{}' is {}",
                  printable(dataset->name), field_text(here), printable(first_->name),
                  field_text(field))
          .hint("all demonstrations must have the same types and shapes");
    }
    return dataset;
  }

  // Names decide the order of the fields, and of each demo's datasets.
  void check_names() {
    std::map<std::string, std::pair<Field, std::size_t>> by_name;  // field, number in fields_
    std::size_t number = 0;
    const auto add_name = [&](Field field, std::size_t which) {
      const std::string name = field.name;
      if (by_name.emplace(name, std::pair(std::move(field), which)).second) return;
      throw Error(Code::unsupported, "two datasets of a demonstration would be the field '{}'",
                  printable(name))
          .hint("rename one of them");
    };
    for (const auto& [path, field] : fields_) add_name(field, number++);
    add_name(number_field(kDemoField), kNoDataset);
    add_name(number_field(kStepField), kNoDataset);
    std::vector<std::size_t> order;
    for (auto& [name, entry] : by_name) {
      steps_.schema.fields.push_back(std::move(entry.first));
      order.push_back(entry.second);
    }
    steps_.schema.has_keys = false;
    for (Hdf5Steps::Demo& demo : steps_.demos) {
      std::vector<const Hdf5Dataset*> sorted;
      sorted.reserve(order.size());
      for (const std::size_t which : order)
        sorted.push_back(which == kNoDataset ? nullptr : demo.datasets[which]);
      demo.datasets = std::move(sorted);
    }
    check_hdf5_names(steps_.schema);
  }

  void note_what_is_left_out() {
    constexpr std::size_t kMostNotes = 20;
    LeftOutList& left_out = steps_.left.left_out;
    for (const auto& [path, what] : left_out_)
      left_out.add({.kind = "dataset",
                    .name = path,
                    .reason = what == kNotHeld ? "type_not_held" : "not_rows"});
    for (const auto& [path, what] : left_out_) {
      if (steps_.left.notes.size() == kMostNotes) break;
      steps_.left.notes.push_back(fmt::format(
          "dataset '{}' of the demonstrations is left out: it is {}", printable(path), what));
    }
    for (const std::string& other : steps_.description.demo_others)
      steps_.left.notes.push_back(fmt::format("left out: {}", other));
    for (const std::string& other : steps_.description.demo_others)
      left_out.add(left_out_of_words(other, "not_a_dataset"));
    const Hdf5Description& all = steps_.description;
    std::vector<std::string> others = hdf5_groups_without(all, {});
    std::ranges::copy_if(all.others, std::back_inserter(others),
                         [](const std::string& other) { return other != "group 'data'"; });
    if (others.empty()) return;
    const std::uint64_t more = all.other_count - all.others.size();
    for (const std::string& other : others)
      left_out.add(left_out_of_words(other, "not_of_the_demonstrations"));
    left_out.more += more;
    steps_.left.notes.push_back(fmt::format("left out: {}{}", fmt::join(others, ", "),
                                            more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  static constexpr std::uint64_t kMostRows = std::uint64_t{1} << 48;
  static constexpr std::size_t kNoDataset = ~std::size_t{0};
  static constexpr std::string_view kNotHeld = "of a type that no field can hold";
  Hdf5Steps& steps_;
  const Hdf5Demo* first_ = nullptr;      // that has steps
  std::map<std::string, Field> fields_;  // by path
  std::map<std::string, std::string> left_out_;
};

}  // namespace

bool has_hdf5_steps(const Hdf5Description& description) {
  const bool has_datasets = std::ranges::any_of(
      description.demos, [](const Hdf5Demo& demo) { return !demo.datasets.empty(); });
  return has_datasets && std::ranges::none_of(description.datasets, [](const Hdf5Dataset& one) {
           return one.is_at_root() && is_column_dataset(one);
         });
}

Hdf5Steps find_hdf5_steps(Hdf5Description description, const InputFile& file) {
  Hdf5Steps steps;
  steps.description = std::move(description);
  try {
    StepFinder(steps).run();
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
  return steps;
}

namespace {

// Leaves out what has no row per step: fewer datasets have as many as it.
void leave_out_other_lengths(Hdf5Description& description, UnpackReport& left) {
  std::map<std::uint64_t, std::size_t> lengths;
  for (const Hdf5Dataset& dataset : description.datasets)
    if (is_column_dataset(dataset)) ++lengths[dataset.shape[0]];
  if (lengths.empty()) throw Error(Code::unsupported, "has no dataset with a row per step");
  const std::uint64_t steps = std::ranges::max_element(lengths, {}, [](const auto& one) {
                                return std::pair(one.second, one.first);
                              })->first;
  std::erase_if(description.datasets, [&](const Hdf5Dataset& dataset) {
    if (!is_column_dataset(dataset) || dataset.shape[0] == steps) return false;
    left.left_out.add({.kind = "dataset", .name = dataset.name, .reason = "not_rows"});
    left.notes.push_back(fmt::format("dataset '{}' of the episode is left out: it has {}, not {}",
                                     printable(dataset.name),
                                     format_counted(dataset.shape[0], "row", "rows"), steps));
    return true;
  });
}

}  // namespace

Hdf5Steps steps_of_hdf5_file(Hdf5Description description, const std::vector<std::string>& fields,
                             std::uint64_t number) {
  Hdf5Steps steps;
  steps.number_field = kEpisodeField;
  leave_out_other_lengths(description, steps.left);
  steps.description = std::move(description);
  Hdf5Table table = choose_hdf5_table(steps.description, fields);
  std::map<std::string, const Hdf5Dataset*> by_name = {{std::string(kEpisodeField), nullptr},
                                                       {std::string(kStepOfEpisodeField), nullptr}};
  for (const Hdf5Dataset* dataset : table.datasets) {
    if (by_name.emplace(dataset->field_name(), dataset).second) continue;
    throw Error(Code::unsupported, "dataset '{}' and a field of an episode are both called '{}'",
                printable(dataset->name), printable(dataset->field_name()))
        .hint("name the datasets that you need with --fields");
  }
  steps.rows = table.datasets.front()->shape[0];
  Hdf5Steps::Demo& all = steps.demos.emplace_back();
  all.number = static_cast<std::int64_t>(number);
  all.rows = steps.rows;
  for (const auto& [name, dataset] : by_name) {
    steps.schema.fields.push_back(number_field(name));
    all.datasets.push_back(dataset);
  }
  check_hdf5_names(steps.schema);
  steps.left.left_out.add(table.left.left_out);
  std::ranges::move(table.left.notes, std::back_inserter(steps.left.notes));
  steps.left.classes = std::move(table.left.classes);
  steps.left.episodes = 1;
  return steps;
}

void check_steps_lie_in_place(const Hdf5Steps& steps, const InputFile& file) {
  // Were nothing written of most rows, there would be no end of them.
  if (steps.rows > file.size()) {
    throw Error(Code::unsupported, "the demonstrations claim {} steps in a file of {}", steps.rows,
                format_size(file.size()))
        .at(file.path());
  }
  for (const Hdf5Steps::Demo& demo : steps.demos) {
    for (std::size_t i = 0; i < demo.datasets.size(); ++i) {
      if (demo.datasets[i] == nullptr) continue;
      const Hdf5Dataset& dataset = *demo.datasets[i];
      try {
        if (const std::string fault = hdf5_storage_fault(dataset); !fault.empty())
          throw cannot_locate_error(dataset, fault);
        if (!is_located(steps.schema.fields[i].kind)) need_all_rows(dataset);
      } catch (Error& error) {
        error.at(file.path());
        throw;
      }
    }
  }
}

}  // namespace shale
