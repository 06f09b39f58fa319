#include "shale/trees/hdf5_foreign_columns.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_tables.hpp"

namespace shale {
namespace {

bool is_array_of(const Hdf5Dataset& dataset, std::size_t sides) {
  return dataset.has_shape && dataset.shape.size() == sides && dataset.element_shape.empty();
}

char letter_of(const Hdf5Dataset& dataset) {
  return dataset.type == Hdf5Type::number && dataset.descr.size() > 2 ? dataset.descr[1] : '\0';
}

bool is_integer(const Hdf5Dataset& dataset) {
  return letter_of(dataset) == 'i' || letter_of(dataset) == 'u';
}

bool is_flat_bytes(const Hdf5Dataset& dataset) {
  return is_array_of(dataset, 1) && dataset.type == Hdf5Type::number && dataset.descr == "|u1";
}

std::string filter_reason(const std::vector<std::string>& filters) {
  // What does not make data smaller; any other filter may.
  const bool compresses = std::any_of(filters.begin(), filters.end(), [](const std::string& name) {
    return name != "shuffle" && name != "fletcher32";
  });
  return fmt::format("is {} ({})", compresses ? "compressed" : "stored through a filter",
                     fmt::join(filters, ", "));
}

constexpr std::size_t kMostRootObjects = 1024;
constexpr std::string_view kParseSamples =
    "if it has a group or a dataset per sample: 'shale convert' reads it with --parse samples, or "
    "the steps of episodes with --parse episodes";

// Whether every row was written: numbers are in the index, where there is no word for "missing".
bool is_complete(const Hdf5Dataset& dataset) {
  const std::uint64_t rows = dataset.shape[0];
  if (rows == 0) return true;
  std::uint64_t chunks = 0;
  for (const Hdf5ChunkRun& run : dataset.runs) chunks += run.count;
  return chunks == (rows - 1) / dataset.rows_per_chunk() + 1;
}

// Arrays have it: they are missing where they were never written, until they are unpacked.
void list_unwritten(const Hdf5Dataset& dataset, UnpackReport& left) {
  if (dataset.row_bytes() == 0 || is_complete(dataset)) return;
  left.left_out.add({.kind = "dataset", .name = dataset.name, .reason = "never_written"});
  left.notes.push_back(
      fmt::format("dataset '{}' has rows that were never written: they are missing in place, and "
                  "'shale convert' gives them the fill value",
                  printable(dataset.name)));
}

}  // namespace

void need_all_rows(const Hdf5Dataset& dataset) {
  if (!is_complete(dataset)) throw cannot_locate_error(dataset, "has rows that were never written");
}

void check_hdf5_names(const Schema& schema) {
  try {
    validate_schema(schema);
  } catch (const Error& error) {
    throw Error(Code::unsupported, "a dataset cannot be a field: {}", error.message())
        .hint("rename the dataset (h5py: f.move('old', 'new'))");
  }
}

void check_hdf5_paths(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::map<std::string, std::string> paths;  // of a field; of two the one that does not spell it
  std::optional<Error> fault;
  for (const auto& [path, field] : fields) {
    const auto [at, is_new] = paths.try_emplace(field, path);
    if (is_new) continue;
    if (!fault) {
      fault = Error(Code::unsupported, "field '{}' is called by two paths: '{}' and '{}'",
                    printable(field), printable(at->second), printable(path));
    }
    if (at->second == field) at->second = path;
  }
  if (!fault) return;
  std::string words;
  for (const auto& [field, path] : paths) {
    const bool is_clear =
        std::ranges::count(fields, field, [](const auto& one) { return one.second; }) == 1;
    words += (words.empty() ? "" : ",") + (is_clear ? field : path);
  }
  throw fault->hint(
      fmt::format("take one of the two, by its path: --fields {}", shell_word(words)));
}

namespace {

class ColumnFinder {
 public:
  ColumnFinder(Hdf5ForeignColumns& columns, const InputFile& file)
      : columns_(columns), file_(file) {}

  void run() {
    if (columns_.description.is_large) throw too_many_hdf5_objects(kMostRootObjects, "at the root");
    Hdf5Table table = choose_hdf5_table(columns_.description);
    columns_.left = std::move(table.left);
    candidates_ = std::move(table.datasets);
    if (candidates_.empty()) throw nothing_there();
    for (const Hdf5Dataset* dataset : candidates_) {
      const std::string fault = hdf5_storage_fault(*dataset);
      if (!fault.empty()) throw cannot_locate_error(*dataset, fault);
    }
    pair_offsets();
    check_rows();
    for (const Hdf5Dataset* dataset : candidates_) {
      if (!is_offsets(dataset)) columns_.fields.push_back(column_of(*dataset));
    }
    choose_key();
    std::ranges::sort(columns_.fields, {}, [](const auto& column) { return column.field.name; });
    std::vector<std::pair<std::string, std::string>> names;
    for (const Hdf5ForeignColumn& column : columns_.fields)
      names.emplace_back(column.data->name, column.field.name);
    check_hdf5_paths(names);
    check_hdf5_names(columns_.schema());
  }

 private:
  struct Pair {
    const Hdf5Dataset *data, *offsets;
    const Hdf5Dataset* firsts = nullptr;
  };

  [[nodiscard]] Error nothing_there() const {
    for (const Hdf5Dataset& dataset : columns_.description.datasets) {
      if (!is_column_dataset(dataset)) continue;
      if (std::optional<Error> fault = hdf5_elements_fault(columns_.description, dataset))
        return std::move(*fault);
    }
    const std::vector<std::string>& others = columns_.description.others;
    Error error(Code::unsupported, "has no dataset of samples ({})",
                others.empty() ? "it is empty" : "there is " + others.front());
    error.hint(columns_.description.samples
                   ? std::string(kParseSamples)
                   : "write datasets with the samples as their first dimension");
    return error;
  }

  [[nodiscard]] const Hdf5Dataset* find(const std::string& name) const {
    const auto found = std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const Hdf5Dataset* other) { return other->name == name; });
    return found == candidates_.end() ? nullptr : *found;
  }

  [[nodiscard]] bool is_offsets(const Hdf5Dataset* dataset) const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
      return pair.offsets == dataset || pair.firsts == dataset;
    });
  }

  [[nodiscard]] Pair pair_of(const Hdf5Dataset& data) const {
    const auto found = std::find_if(pairs_.begin(), pairs_.end(),
                                    [&](const Pair& pair) { return pair.data == &data; });
    return found == pairs_.end() ? Pair{&data, nullptr} : *found;
  }

  void pair_offsets() {
    for (const Hdf5Dataset* data : candidates_) {
      if (!is_flat_bytes(*data)) continue;
      std::vector<std::string> names = {data->name + "_offset", data->name + "_offsets"};
      if (data->name == "data") names.emplace_back("offsets");
      for (const std::string& name : names) {
        const Hdf5Dataset* offsets = find(name);
        if (offsets == nullptr || !are_offsets(*offsets, *data)) continue;
        const Hdf5Dataset* firsts = find(data->name + "_first");
        const bool is_list = firsts != nullptr && are_firsts(*firsts, offsets->shape[0] - 1);
        pairs_.push_back({data, offsets, is_list ? firsts : nullptr});
        break;
      }
    }
  }

  // Only what divides all of the values makes lists of them; any other is a column of numbers.
  [[nodiscard]] bool are_firsts(const Hdf5Dataset& firsts, std::uint64_t values) const {
    return is_array_of(firsts, 1) && is_integer(firsts) && firsts.shape[0] > 0 &&
           is_complete(firsts) && Hdf5Rows(firsts, file_).integer(0) == 0 &&
           end_of_ascending(firsts) == values;
  }

  [[nodiscard]] bool are_offsets(const Hdf5Dataset& offsets, const Hdf5Dataset& data) const {
    if (!is_array_of(offsets, 1) || !is_integer(offsets) || offsets.shape[0] == 0) return false;
    // Of the same length, they may be two columns of small numbers: then what they hold decides.
    if (offsets.shape[0] != data.shape[0] || !is_complete(offsets)) return true;
    const std::optional<std::uint64_t> end = end_of_ascending(offsets);
    return end && *end <= data.shape[0];
  }

  // The last number of those that ascend from 0 or above; nullopt for any others.
  [[nodiscard]] std::optional<std::uint64_t> end_of_ascending(const Hdf5Dataset& numbers) const {
    Hdf5Rows rows(numbers, file_);
    std::int64_t before = 0;
    for (std::uint64_t row = 0; row < rows.count(); ++row) {
      const std::int64_t number = rows.integer(row);
      if (number < before) return std::nullopt;
      before = number;
    }
    return static_cast<std::uint64_t>(before);
  }

  [[nodiscard]] std::uint64_t rows_of(const Hdf5Dataset& dataset) const {
    const Pair pair = pair_of(dataset);
    if (pair.offsets == nullptr) return dataset.shape[0];
    return (pair.firsts != nullptr ? pair.firsts : pair.offsets)->shape[0] - 1;
  }

  void check_rows() {
    const Hdf5Dataset* first = nullptr;
    for (const Hdf5Dataset* dataset : candidates_) {
      if (is_offsets(dataset)) continue;
      if (first == nullptr) first = dataset;
      if (rows_of(*dataset) == rows_of(*first)) continue;
      throw other_hdf5_rows(*first, rows_of(*first), *dataset, rows_of(*dataset));
    }
    columns_.rows = rows_of(*first);
    // Were nothing written of most rows, there would be no end of them.
    if (columns_.rows > file_.size()) {
      throw Error(Code::unsupported, "dataset '{}' claims {} samples in a file of {}",
                  printable(first->name), columns_.rows, format_size(file_.size()));
    }
  }

  [[nodiscard]] Hdf5ForeignColumn column_of(const Hdf5Dataset& dataset) const {
    Hdf5ForeignColumn column;
    column.field.name = dataset.field_name();
    column.data = &dataset;
    const Pair pair = pair_of(dataset);
    column.offsets = pair.offsets;
    column.firsts = pair.firsts;
    if (column.offsets == nullptr) check_hdf5_elements(columns_.description, dataset);
    if (column.offsets != nullptr) {
      need_all_rows(*column.offsets);
      const bool is_list = column.firsts != nullptr;
      column.form = is_list ? Hdf5ForeignColumn::Form::list : Hdf5ForeignColumn::Form::flat;
      if (is_list) column.field.kind = Kind::list;
    } else if (dataset.has_variable_length()) {
      column.form = Hdf5ForeignColumn::Form::vlen;
      if (column.may_be_text()) column.field.kind = Kind::text;
      if (dataset.type == Hdf5Type::vlen_numbers) {
        column.field.kind = Kind::tensor;
        column.field.dtype = native_dtype(dataset);
        column.field.shape = {kFreeSide};
      }
    } else {
      column.field = hdf5_field_of(dataset);
      if (!is_located(column.field.kind)) need_all_rows(dataset);
      list_unwritten(dataset, columns_.left);
    }
    return column;
  }

  void choose_key() {
    for (const std::string_view name : {"key", "keys"}) {
      const auto found =
          std::find_if(columns_.fields.begin(), columns_.fields.end(),
                       [&](const Hdf5ForeignColumn& column) { return column.field.name == name; });
      if (found == columns_.fields.end()) continue;
      const bool is_padded =
          found->data->type == Hdf5Type::fixed_text && is_array_of(*found->data, 1);
      if (found->form == Hdf5ForeignColumn::Form::rows && !is_padded) continue;
      if (found->form == Hdf5ForeignColumn::Form::list || found->field.is_ragged()) continue;
      if (is_padded) found->form = Hdf5ForeignColumn::Form::padded;
      need_all_rows(*found->data);
      columns_.key = std::move(*found);
      columns_.fields.erase(found);
      return;
    }
  }

  Hdf5ForeignColumns& columns_;
  const InputFile& file_;
  std::vector<const Hdf5Dataset*> candidates_;
  std::vector<Pair> pairs_;
};

}  // namespace

std::string hdf5_storage_fault(const Hdf5Dataset& dataset) {
  switch (dataset.storage) {
    case Hdf5Storage::external:
      return "lies in other files (external storage)";
    case Hdf5Storage::composed:
      return "is composed of parts of other datasets (virtual)";
    case Hdf5Storage::compact:
      return "is stored inside its own header (compact)";
    case Hdf5Storage::referred:
      return "refers to its values (as a cell of MATLAB)";
    case Hdf5Storage::absent:
    case Hdf5Storage::contiguous:
    case Hdf5Storage::chunked:
      break;
  }
  if (!dataset.filters.empty()) return filter_reason(dataset.filters);
  if (!dataset.member.empty()) return "is stored among the other members of a compound type";
  if (dataset.has_to_be_turned()) return fmt::format("is big-endian ({})", dataset.descr);
  if (dataset.has_whole_rows()) return {};
  return fmt::format("splits its samples into chunks of {}, as h5py's automatic chunking does",
                     shape_text(dataset.chunk));
}

Error cannot_locate_error(const Hdf5Dataset& dataset, std::string_view reason) {
  if (!dataset.sources.empty()) {
    return Error(Code::unsupported, "dataset '{}' {}, and the file '{}' that it needs is missing",
                 printable(dataset.name), reason, printable(dataset.sources.front()))
        .hint("put that file back first: tools of HDF5 fill what they cannot find with zeros");
  }
  Error error(Code::unsupported, "dataset '{}' {}", printable(dataset.name), reason);
  const bool is_elsewhere =
      dataset.storage == Hdf5Storage::external || dataset.storage == Hdf5Storage::composed;
  error.hint(is_elsewhere
                 ? "write it into one file and in one piece: h5repack -l CONTI OLD.h5 NEW.h5"
                 : "'shale convert' reads it, unpacked in a temporary folder; or rewrite it in one "
                   "piece: h5repack -f NONE -l CONTI OLD.h5 NEW.h5");
  return error;
}

Schema Hdf5ForeignColumns::schema() const {
  Schema schema;
  for (const Hdf5ForeignColumn& column : fields) schema.fields.push_back(column.field);
  schema.has_keys = key.has_value();
  return schema;
}

std::optional<std::vector<std::uint64_t>> Hdf5ForeignColumns::fixed_bases() const {
  if (key || rows == 0) return std::nullopt;
  std::vector<std::uint64_t> bases;
  for (const Hdf5ForeignColumn& column : fields) {
    const Hdf5Dataset& data = *column.data;
    const bool is_hollow = data.row_bytes() == 0;  // stored nowhere
    const bool is_one_run = data.runs.size() == 1 && is_complete(data);
    const bool is_fixed = column.form == Hdf5ForeignColumn::Form::rows &&
                          !data.descr.starts_with('>') && (is_hollow || is_one_run);
    if (!is_fixed) return std::nullopt;
    bases.push_back(is_hollow ? 0 : data.runs[0].address);
  }
  return bases;
}

std::string Hdf5ForeignColumns::layout_name() const {
  using Form = Hdf5ForeignColumn::Form;
  const auto has_form = [&](Form form) {
    return std::ranges::any_of(
        fields, [&](const Hdf5ForeignColumn& column) { return column.form == form; });
  };
  if ((has_form(Form::flat) || has_form(Form::list)) && !has_form(Form::vlen)) return "flat";
  if (key || fields.size() != 2) return {};
  const std::string &first = fields[0].field.name, &second = fields[1].field.name;
  const Hdf5Dataset &data = *fields[0].data, &label = *fields[1].data;
  if (first == "images" && second == "labels" && is_integer(label) && is_array_of(label, 1)) {
    if (data.type == Hdf5Type::vlen_bytes) return "vlen";
    const bool is_rgb = is_array_of(data, 4) && data.descr == "|u1" && data.shape[3] == 3;
    return is_rgb ? "fixed" : "";
  }
  const auto is_number = [](const Hdf5Dataset& dataset) {
    return is_integer(dataset) || letter_of(dataset) == 'f';
  };
  const bool is_one_label = is_array_of(label, 1) || (is_array_of(label, 2) && label.shape[1] == 1);
  const bool is_of_caffe = first == "data" && second == "label" && is_number(data) &&
                           data.all_sides().size() >= 2 && is_number(label) && is_one_label;
  return is_of_caffe ? "caffe-h5" : "";
}

Hdf5ForeignColumns find_hdf5_columns(Hdf5Description description, const InputFile& file) {
  Hdf5ForeignColumns columns;
  columns.description = std::move(description);
  try {
    ColumnFinder(columns, file).run();
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
  return columns;
}

}  // namespace shale
