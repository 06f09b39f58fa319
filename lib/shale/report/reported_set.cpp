#include "shale/report/reported_set.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/path_text.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostMet = 1000;
// What is looked at sample by sample in a shard that has a damaged index: it is read for each.
constexpr std::size_t kMostFailures = 4;
// Copies of files that are listed, while the report is made.
constexpr std::uint64_t kMostListedBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostValueBytes = std::uint64_t{64} << 20;
// What any command may take beside --memory, and a report takes to decode images.
constexpr std::uint64_t kWorkBeside = std::uint64_t{24} << 20;

std::optional<std::size_t> find_label(const Manifest& manifest) {
  if (const std::optional<std::size_t> label = label_of(manifest)) return label;
  constexpr std::array<std::string_view, 5> kNames = {"labels", "y", "target", "class", "cls"};
  const Schema& schema = manifest.schema;
  for (const std::string_view name : kNames) {
    const std::optional<std::size_t> field = schema.find(name);
    if (field && schema.fields[*field].kind == Kind::integer) return field;
  }
  return std::nullopt;
}

LoaderRequest loader_request(const ReportRequest& request) {
  LoaderRequest loader{.path = request.dataset,
                       .index_folder = request.index_folder,
                       .parsing = request.parsing,
                       .generator = request.generator};
  if (request.joined) {
    loader.open_instead = [inputs = *request.joined](const Events& events) {
      return open_joined_inputs(inputs, events);
    };
  }
  if (request.listed) {
    loader.open_instead = [inputs = *request.listed](const Events& events) {
      return open_listed_input(inputs, {.takes = {}, .most_bytes = kMostListedBytes}, events);
    };
  }
  return loader;
}

bool has_key(const Finding& finding) { return finding.sample && !finding.sample->key.empty(); }

bool is_index(std::string_view file) {
  return file.ends_with(kIndexSuffix) || file.ends_with(kElementsSuffix);
}

std::string cause_of(const Finding& finding) {
  if (is_index(finding.file)) return finding.file;
  if (finding.file.empty()) return describe(finding);
  return fmt::format("{}\n{}\n{}", finding.file,
                     finding.offset ? std::to_string(*finding.offset) : std::string(),
                     finding.message);
}

// Neither keys nor reasons that shale writes are longer; what a forged list has may not be held.
constexpr std::size_t kMostShownBytes = 4096;

std::vector<std::string> cut_off(std::vector<std::string> fields) {
  for (std::string& field : fields)
    if (field.size() > kMostShownBytes) field.resize(kMostShownBytes);
  return fields;
}

}  // namespace

ReportedSet::ReportedSet(const ReportRequest& request, const Events& events)
    : request_(request),
      events_(events),
      loader_(open()),
      values_budget_(std::make_unique<SharedBudget>(request.memory_bytes / 8 * 3)),
      work_budget_(std::make_unique<SharedBudget>(request.memory_bytes / 8 * 3 + kWorkBeside)),
      most_value_bytes_(std::min(kMostValueBytes, values_budget_->limit())),
      label_field_(find_label(manifest())) {}

Loader ReportedSet::open() {
  LoaderRequest loader = loader_request(request_);
  try {
    return Loader(loader, events_);
  } catch (const Error& error) {
    if (loader.open_instead || error.code() != Code::unsupported) throw;
  }
  is_unpacked_ = true;
  loader.open_instead = [&request = request_](const Events& events) {
    return open_dataset({.path = request.dataset,
                         .index_folder = request.index_folder,
                         .parsing = request.parsing,
                         .generator = request.generator,
                         .memory_bytes = request.memory_bytes,
                         .unpacking = Unpacking::if_refused,
                         .trusts_sizes = true},
                        events);
  };
  return Loader(loader, events_);
}

std::string ReportedSet::class_name(std::int64_t label) const {
  const std::vector<std::string>& classes = manifest().classes;
  if (label < 0 || static_cast<std::uint64_t>(label) >= classes.size()) return {};
  return classes[static_cast<std::size_t>(label)];
}

std::string ReportedSet::relative(const std::string& path) const {
  const std::string& dataset = request_.dataset;
  if (path == dataset) return path.substr(path.rfind('/') + 1);
  if (!path.starts_with(dataset)) return path;
  const std::size_t begin = path.find_first_not_of('/', dataset.size());
  return begin == std::string::npos || begin == dataset.size() ? path : path.substr(begin);
}

void ReportedSet::meet(Finding finding) {
  finding.file = relative(finding.file);
  const bool is_of_whole_file =
      !finding.file.empty() && (!finding.offset || is_index(finding.file));
  // The sample that met it first has no more to do with it than the others.
  if (is_of_whole_file) finding.sample.reset();
  const auto [told, is_new] = told_.try_emplace(cause_of(finding), met_.size());
  if (is_new && met_.size() >= kMostMet) {
    told_.erase(told);
  } else if (is_new) {
    met_.push_back(std::move(finding));
  } else if (!has_key(met_[told->second]) && has_key(finding)) {
    met_[told->second] = std::move(finding);
  }
}

std::vector<Finding> without_files_of(const std::vector<Finding>& findings,
                                      const std::vector<Finding>& others) {
  std::set<std::string> files;
  for (const Finding& other : others) files.insert(other.file);
  std::vector<Finding> rest;
  for (const Finding& finding : findings)
    if (finding.file.empty() || !files.contains(finding.file)) rest.push_back(finding);
  return rest;
}

ProvedLists::ProvedLists(ReportedSet& set) : set_(set) {
  if (set.manifest().layout.is_of_one_file()) return;
  const DatasetPaths paths(set.request().dataset);
  for (const ManifestFile& file : set.manifest().files) {
    try {
      prove_list(paths, file, [&](std::uint64_t) { set.events().stop_if_asked(); });
      whole_.push_back(file.name);
    } catch (const Error& error) {
      set.meet(finding_of_damage(error));
      damaged_.push_back(file.name);
    }
  }
}

void ProvedLists::read(std::string_view list, const UseRow& use) const {
  for (const std::string& name : whole_) {
    if (!is_list_name(name, list)) continue;
    try {
      read_csv(join_path(set_.request().dataset, name), [&](std::uint64_t row, CsvRow fields) {
        if (row % 4096 == 0) set_.events().stop_if_asked();
        if (row > 1 && fields.size() >= 2) use(cut_off({fields.begin(), fields.end()}));
      });
    } catch (const Error& error) {
      set_.meet(finding_of_damage(error));
    }
  }
}

std::string ProvedLists::first_of(std::string_view list) const {
  for (const std::string& name : whole_)
    if (is_list_name(name, list)) return name;
  return {};
}

std::span<const std::uint64_t> shape_of(const Schema& schema, const IndexRow& row,
                                        std::size_t field) {
  ShapeWalk shapes(row.sides);
  for (std::size_t i = 0; i < field; ++i) (void)shapes.next(schema.fields[i]);
  return shapes.next(schema.fields[field]);
}

Finding finding_of_damage(const Error& error) {
  if (error.code() != Code::damaged && error.code() != Code::not_found &&
      error.code() != Code::bad_content && error.code() != Code::schema)
    throw Error(error);
  Finding finding;
  finding.message = error.message();
  if (!error.cause().empty()) finding.message.append(": ").append(error.cause());
  finding.file = error.file();
  finding.offset = error.offset();
  finding.sample = error.sample();
  return finding;
}

FoundRows find_rows(const Loader& loader, std::span<const std::uint64_t> rows) {
  FoundRows found;
  const auto add = [&](std::span<const std::uint64_t> some) -> std::optional<Finding> {
    try {
      std::vector<LocatedSample> located = loader.locate(some);
      found.samples.insert(found.samples.end(), std::make_move_iterator(located.begin()),
                           std::make_move_iterator(located.end()));
      return std::nullopt;
    } catch (const Error& error) {
      return finding_of_damage(error);
    }
  };
  if (rows.empty() || !add(rows)) return found;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const ShardLine& line = loader.shard_line(loader.shard_of(rows[begin]));
    while (end < rows.size() && rows[end] - line.first_row < line.samples) ++end;
    if (end - begin > 1 && !add(rows.subspan(begin, end - begin))) continue;
    std::size_t failures = 0;
    for (std::size_t i = begin; i < end && failures < kMostFailures; ++i) {
      if (std::optional<Finding> damage = add(rows.subspan(i, 1))) {
        found.damage.push_back(std::move(*damage));
        ++failures;
      }
    }
  }
  return found;
}

ReadValues read_values(const Loader& loader, std::span<const Fetch> wanted) {
  ReadValues read;
  read.values.resize(wanted.size());
  std::uint64_t bytes = 0;
  for (const Fetch& value : wanted)
    bytes += value.place().offset == kMissing ? 0 : value.place().length;
  read.memory.resize(bytes);
  std::vector<Fetch> fetches;
  std::vector<std::size_t> numbers;
  fetches.reserve(wanted.size());
  std::span<std::byte> left = read.memory;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const FieldPlace& place = wanted[i].place();
    read.values[i].is_missing = place.offset == kMissing;
    if (place.offset == kMissing || place.length == 0) continue;
    Fetch& fetch = fetches.emplace_back(wanted[i]);
    read.values[i].bytes = fetch.into = left.first(place.length);
    left = left.subspan(place.length);
    numbers.push_back(i);
  }
  try {
    loader.fetch(fetches);
    return read;
  } catch (const Error& error) {
    (void)finding_of_damage(error);
  }
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    ReadValue& value = read.values[numbers[i]];
    try {
      loader.fetch(std::span(fetches).subspan(i, 1));
    } catch (const Error& error) {
      value.damage = finding_of_damage(error);
      value.bytes = {};
    }
  }
  return read;
}

}  // namespace shale
