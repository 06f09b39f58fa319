#include "shale/trees/hdf5_tables.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/trees/hdf5_elements.hpp"

namespace shale {
namespace {

using Datasets = std::vector<const Hdf5Dataset*>;

// Where D4RL and others keep what they say of the file: no sample lacks anything without it.
constexpr std::string_view kMetadata = "metadata";

std::string top_of(const Hdf5Dataset& dataset) {
  return dataset.name.substr(0, dataset.name.find('/'));
}

// Of what is composed of other datasets they are not known.
std::optional<std::uint64_t> rows_of(const Hdf5Dataset& dataset) {
  return dataset.shape.empty() ? std::nullopt : std::optional(dataset.sides()[0]);
}

// The error for another number of rows than that of the first dataset whose rows are known.
std::optional<Error> rows_fault(const Datasets& datasets) {
  const Hdf5Dataset* first = nullptr;
  for (const Hdf5Dataset* dataset : datasets) {
    if (!rows_of(*dataset)) continue;
    if (first == nullptr) first = dataset;
    if (rows_of(*dataset) != rows_of(*first))
      return other_hdf5_rows(*first, *rows_of(*first), *dataset, *rows_of(*dataset));
  }
  return std::nullopt;
}

// "offsets" beside "data", "x_offset" or "x_offsets" beside "x": they cut bytes into values.
bool is_offsets_of(std::string_view name, std::string_view data) {
  if (data == "data" && name == "offsets") return true;
  if (!name.starts_with(data)) return false;
  name.remove_prefix(data.size());
  return name == "_offset" || name == "_offsets" || name == "_first";
}

bool is_flat(const Hdf5Dataset& dataset, const Datasets& all) {
  return dataset.descr == "|u1" && dataset.all_sides().size() == 1 &&
         std::ranges::any_of(
             all, [&](const auto* other) { return is_offsets_of(other->name, dataset.name); });
}

// What somebody calls by one of these names, or is needed to read it: offsets, keys.
bool belongs_to(const Hdf5Dataset& dataset, const std::vector<std::string>& fields) {
  if (dataset.name == "key" || dataset.name == "keys") return true;
  return std::ranges::any_of(fields, [&](const std::string& field) {
    return field == dataset.name || field == dataset.field_name() || field == dataset.path() ||
           is_offsets_of(dataset.name, field) || dataset.name.starts_with(field + "/");
  });
}

// Where bytes are cut into values by others, the numbers of rows are known by what those hold.
void check_rows(const Datasets& datasets) {
  if (std::ranges::any_of(datasets, [&](const auto* one) { return is_flat(*one, datasets); }))
    return;
  if (std::optional<Error> fault = rows_fault(datasets)) throw std::move(*fault);
}

// The same datasets in two groups may be columns, or samples.
void refuse_groups_alike(const Datasets& datasets) {
  std::map<std::string, std::string> groups;  // by the path below
  for (const Hdf5Dataset* dataset : datasets) {
    const std::string top = top_of(*dataset);
    const auto [other, is_first] =
        groups.emplace(dataset->name.substr(std::min(top.size(), dataset->name.size())), top);
    if (is_first || other->second == top) continue;
    throw Error(Code::unsupported, "groups '{}' and '{}' hold the same datasets",
                printable(other->second), printable(top))
        .hint(
            "they may be samples, which 'shale convert' reads with --parse samples, or columns of "
            "one table, which it takes with --fields");
  }
}

// MATLAB keeps names of classes and the like in cells beside the data.
void leave_out_other_cells(Datasets& datasets) {
  const auto is_cell = [](const Hdf5Dataset* one) { return one->storage == Hdf5Storage::referred; };
  const auto first = std::ranges::find_if_not(datasets, is_cell);
  if (first == datasets.end()) return;
  const std::optional<std::uint64_t> rows = rows_of(**first);
  std::erase_if(datasets,
                [&](const Hdf5Dataset* one) { return is_cell(one) && rows_of(*one) != rows; });
}

Datasets in_groups(const Datasets& taken) {
  if (std::optional<Error> fault = rows_fault(taken)) throw std::move(*fault);
  const Hdf5Dataset& first = *taken.front();
  for (const Hdf5Dataset* dataset : taken) {
    if (split_in(top_of(*dataset)) == split_in(top_of(first))) continue;
    throw Error(Code::unsupported, "dataset '{}' and dataset '{}' are of different splits",
                printable(first.name), printable(dataset->name))
        .hint("'shale convert' takes those of one with --fields; 'shale info' prints the commands");
  }
  refuse_groups_alike(taken);
  return taken;
}

Datasets chosen(const Hdf5Description& description, const Datasets& taken,
                const std::vector<std::string>& fields) {
  Datasets found;
  if (!fields.empty()) {
    std::ranges::copy_if(taken, std::back_inserter(found),
                         [&](const auto* one) { return belongs_to(*one, fields); });
    check_rows(found);
    return found;
  }
  std::ranges::copy_if(taken, std::back_inserter(found),
                       [](const auto* one) { return one->is_at_root(); });
  // What lies beside demonstrations says which of them are for what.
  if (found.empty())
    return taken.empty() || !description.demos.empty() ? Datasets() : in_groups(taken);
  if (std::ranges::any_of(found, [&](const auto* one) { return is_flat(*one, found); }))
    return found;
  leave_out_other_cells(found);
  check_rows(found);
  const auto known =
      std::ranges::find_if(found, [](const auto* one) { return rows_of(*one).has_value(); });
  const std::optional<std::uint64_t> rows = known == found.end() ? std::nullopt : rows_of(**known);
  for (const Hdf5Dataset* one : taken) {
    const bool has_rows = rows && rows_of(*one) == rows && split_in(top_of(*one)).empty();
    if (!one->is_at_root() && has_rows) found.push_back(one);
  }
  return found;
}

// A note is enough: they describe the data, and no sample lacks anything without them.
void note_attributes(const Hdf5Description& description, UnpackReport& left) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> shown;
  std::size_t count = 0;
  const auto add = [&](const std::string& of, const std::vector<NamedText>& attributes,
                       bool has_classes) {
    for (const NamedText& one : attributes) {
      if (has_classes && one.name == kClassNamesAttribute) continue;
      if (++count <= kMostShown)
        shown.push_back(fmt::format("'{}' of {}", printable(one.name), of));
    }
  };
  add("the file", description.attributes, false);
  std::string before;  // all members of a compound type have the same
  for (const Hdf5Dataset& dataset : description.datasets) {
    if (std::exchange(before, dataset.path()) != dataset.path())
      add(fmt::format("'{}'", printable(dataset.path())), dataset.attributes,
          !class_names_of(dataset).empty());
  }
  if (count == 0) return;
  left.notes.push_back(
      fmt::format("attributes are not read: {}{}", fmt::join(shown, ", "),
                  count > kMostShown ? fmt::format(" and {} more", count - kMostShown) : ""));
}

class LeftOutFinder {
 public:
  LeftOutFinder(const Hdf5Description& description, const Datasets& taken, UnpackReport& left)
      : description_(description), taken_(taken), left_(left) {
    for (const Hdf5Dataset* dataset : taken) tops_.insert(top_of(*dataset));
  }

  void run() {
    for (const Hdf5Dataset& dataset : description_.datasets) {
      if (std::ranges::find(taken_, &dataset) != taken_.end()) {
        note_names(dataset);
      } else if (dataset.is_at_root() || tops_.contains(top_of(dataset))) {
        explain(dataset);
      }
    }
    note_attributes(description_, left_);
    for (const std::string& group : hdf5_groups_without(description_, taken_)) {
      const bool is_of_file = group == fmt::format("group '{}'", kMetadata);
      if (!is_of_file) left_.left_out.add(left_out_of_words(group, "other_rows"));
      left_.notes.push_back(fmt::format("left out: {}: {}", group,
                                        is_of_file ? "it says something of the file"
                                                   : "no dataset in it is a column of the table"));
    }
    note_others();
  }

 private:
  void explain(const Hdf5Dataset& dataset) {
    if (!is_column_dataset(dataset)) {
      leave_out(dataset, dataset.has_shape ? "is a single value" : "is empty (null)",
                dataset.has_shape ? "single_value" : "empty");
    } else if (const auto fault = hdf5_elements_fault(description_, dataset)) {
      const std::string name = fmt::format("dataset '{}' ", printable(dataset.name));
      leave_out(dataset, fault->message().substr(name.size()), "type_not_held");
    } else {
      leave_out(dataset, fmt::format("has {} rows", rows_of(dataset).value_or(0)), "other_rows");
    }
  }

  void leave_out(const Hdf5Dataset& dataset, std::string_view what, std::string_view reason) {
    left_.notes.push_back(
        fmt::format("dataset '{}' is left out: it {}", printable(dataset.name), what));
    left_.left_out.add({.kind = "dataset", .name = dataset.name, .reason = std::string(reason)});
  }

  void note_names(const Hdf5Dataset& dataset) {
    if (std::vector<std::string> classes = class_names_of(dataset); !classes.empty()) {
      left_.classes = std::move(classes);
    } else if (!dataset.names.empty()) {
      left_.notes.push_back(fmt::format(
          "the names of the numbers in dataset '{}' are left out: only 'label' has class names, "
          "of 0, 1, 2 ...",
          printable(dataset.name)));
      left_.left_out.add({.kind = "names", .name = dataset.name, .reason = "not_class_names"});
    }
  }

  void note_others() {
    const std::vector<std::string>& others = description_.others;
    const std::uint64_t more = description_.other_count - others.size();
    if (others.empty()) return;
    constexpr std::size_t kMostShown = 8;
    const std::size_t shown = std::min(others.size(), kMostShown);
    const std::uint64_t unsaid = more + others.size() - shown;
    left_.notes.push_back(fmt::format("left out: {}{}",
                                      fmt::join(std::span(others).first(shown), ", "),
                                      unsaid > 0 ? fmt::format(" and {} more", unsaid) : ""));
    for (const std::string& other : others)
      left_.left_out.add(left_out_of_words(other, "not_a_dataset"));
    left_.left_out.more += more;
  }

  const Hdf5Description& description_;
  const Datasets& taken_;
  UnpackReport& left_;
  std::set<std::string> tops_;
};

}  // namespace

Error other_hdf5_rows(const Hdf5Dataset& first, std::uint64_t first_rows, const Hdf5Dataset& other,
                      std::uint64_t rows) {
  return Error(Code::unsupported, "dataset '{}' has {} samples, but dataset '{}' has {}",
               printable(first.name), first_rows, printable(other.name), rows)
      .hint(
          "'shale convert' takes the datasets that belong together with --fields, or one dataset "
          "per sample with --parse samples; 'shale info' prints the commands");
}

LeftOut left_out_of_words(const std::string& words, std::string_view reason) {
  const std::size_t quote = words.find(" '");
  if (quote == std::string::npos) return {"entry", words, std::string(reason)};
  const std::string kind = words.substr(0, quote);
  return {kind, words.substr(quote + 2, words.size() - quote - 3),
          std::string(kind.ends_with("link")        ? "link_not_followed"
                      : kind.starts_with("damaged") ? "damaged"
                                                    : reason)};
}

std::vector<std::string> hdf5_groups_without(const Hdf5Description& description,
                                             const Datasets& datasets) {
  std::set<std::string> tops, others;
  for (const Hdf5Dataset* dataset : datasets) tops.insert(top_of(*dataset));
  for (const Hdf5Dataset& dataset : description.datasets) {
    if (!dataset.is_at_root() && !tops.contains(top_of(dataset)))
      others.insert(fmt::format("group '{}'", printable(top_of(dataset))));
  }
  return {others.begin(), others.end()};
}

void set_hdf5_axes(Hdf5Description& description, const std::vector<SampleAxis>& axes) {
  for (const SampleAxis& axis : axes) {
    std::vector<std::string> names;
    bool is_there = false;
    for (Hdf5Dataset& dataset : description.datasets) {
      names.push_back(dataset.name);
      if (axis.name != dataset.name && axis.name != dataset.field_name()) continue;
      dataset.axis = axis.among(dataset.all_sides().size());
      if (dataset.axis > 0 && dataset.axis >= dataset.shape.size()) {
        throw Error(Code::unsupported, "--axis: axis {} of '{}' is one of its elements, not of it",
                    dataset.axis, printable(dataset.name));
      }
      is_there = true;
    }
    if (is_there) continue;
    throw Error(Code::usage, "--axis: '{}' is not a dataset of the file", printable(axis.name))
        .hint(did_you_mean(axis.name, names))
        .hint("'shale info' lists the datasets");
  }
}

Hdf5Table choose_hdf5_table(const Hdf5Description& description,
                            const std::vector<std::string>& fields) {
  Hdf5Table table;
  Datasets taken;
  for (const Hdf5Dataset& dataset : description.datasets) {
    if (is_taken(description, dataset)) taken.push_back(&dataset);
  }
  table.datasets = chosen(description, taken, fields);
  if (fields.empty()) {
    LeftOutFinder(description, table.datasets, table.left).run();
    return table;
  }
  for (const Hdf5Dataset& dataset : description.datasets) {
    if (std::ranges::find(table.datasets, &dataset) == table.datasets.end())
      table.left.left_out.add({.kind = "dataset", .name = dataset.name, .reason = "not_asked_for"});
    else if (std::vector<std::string> classes = class_names_of(dataset); !classes.empty())
      table.left.classes = std::move(classes);
  }
  return table;
}

}  // namespace shale
