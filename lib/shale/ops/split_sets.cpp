#include "shale/ops/split_sets.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/ops/choose_part.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/split_folders.hpp"
#include "shale/sources/split_rows.hpp"
#include "shale/targets/dataset_output.hpp"

namespace shale {
namespace {

// .OUT.shale, beside the output: it holds off a second run of several splits, and has what all of
// them share. Where it cannot be made there is neither, and each split still has its own lock.
class SharedFolder {
 public:
  SharedFolder(const std::string& output, bool is_dry_run) {
    if (is_dry_run) return;
    try {
      work_.emplace(WorkFolder::BesideFile{output});
      work_->clear();
    } catch (const Error& error) {
      if (error.code() != Code::io && error.code() != Code::not_found) throw;
    }
  }
  ~SharedFolder() {
    if (work_) work_->remove();
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  [[nodiscard]] std::string scratch() const { return work_ ? work_->path() : temporary_folder(); }
  /// Where the list of the input's files is made; empty: nowhere.
  [[nodiscard]] std::string listing() const {
    return work_ ? work_->new_listing_path() : std::string();
  }

 private:
  std::optional<WorkFolder> work_;
};

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Of a part: the directory that all parts were asked for.
std::string directory_of(const ConvertRequest& request) {
  const std::string output = without_slashes(request.output);
  return request.order.part ? output.substr(0, output.rfind('/')) : output;
}

// Whatever the output holds that these splits would not replace: a reader would take it for one of
// them.
void refuse_other_sets(const std::string& output, const std::vector<std::string>& names) {
  const Place place = look_at(output);
  if (place == Place::other_file) refuse_strange_output(output, place);
  if (place == Place::dataset || place == Place::unfinished) {
    throw Error(Code::exists, "is a dataset itself, and these splits would stand inside of it")
        .at(output)
        .hint("choose another output");
  }
  for (const std::string& name : splits_in(output)) {
    const bool is_one_of_these = std::ranges::find(names, name) != names.end();
    if (is_one_of_these || !holds_dataset(join_path(output, name))) continue;
    throw Error(Code::exists, "holds a dataset, but this command makes {}",
                fmt::format("{}", fmt::join(names, ", ")))
        .at(join_path(output, name))
        .hint("remove it if it is of an earlier split, or choose another output");
  }
}

Events events_of_split(const Events& events, const std::string& name) {
  Events of_split = events;
  of_split.note = [&events, name](std::string_view sentence) {
    events.say(fmt::format("{}: {}", name, sentence));
  };
  return of_split;
}

// All splits as one.
void add_split(ConvertReport& all, const ConvertReport& one) {
  if (all.splits.empty()) {
    all = one;
    all.split.clear();
    all.first_skipped.clear();
    all.notes.clear();
    all.verification.first_findings.clear();
    return;
  }
  Manifest& sum = all.manifest;
  append_totals(sum, one.manifest);
  sum.source.samples += one.manifest.source.samples;
  sum.source.bytes += one.manifest.source.bytes;
  if (sum.images && sum.images->duplicates && one.manifest.images->duplicates)
    sum.images->duplicates->add(*one.manifest.images->duplicates);
  all.file_bytes += one.file_bytes;
  all.data_bytes += one.data_bytes;
  all.skipped += one.skipped;
  all.was_complete = all.was_complete && one.was_complete;
  all.was_compared = all.was_compared && one.was_compared;
  all.was_verified = all.was_verified && one.was_verified;
  all.verification.findings += one.verification.findings;
}

struct OneSplit {
  std::string name;
  ConvertRequest request;
};

ConvertReport convert_all(std::vector<OneSplit> splits, const ConvertRequest& whole,
                          const Events& events, const ConvertOne& convert_one) {
  const std::string output = directory_of(whole);
  ConvertReport all;
  std::vector<ConvertReport> reports;
  for (OneSplit& split : splits) {
    ConvertRequest& request = split.request;
    request.split = {};
    request.order.part.reset();
    request.output = join_path(output, split.name);
    if (whole.order.part) choose_part(request, *whole.order.part);
    ConvertReport report = convert_one(request, events_of_split(events, split.name));
    report.split = split.name;
    report.output = request.output;
    add_split(all, report);
    all.splits.emplace_back();  // add_split: there was one
    reports.push_back(std::move(report));
  }
  all.splits = std::move(reports);
  all.output = output;
  return all;
}

ConvertReport convert_folders(const ConvertRequest& request, const SplitFolders& splits,
                              const Events& events, const ConvertOne& convert_one) {
  refuse_combinations(request, kFolderOfSplits);
  const std::string output = directory_of(request);
  refuse_other_sets(output, splits.names);
  refuse_nested({output}, inputs_of(request));
  std::vector<OneSplit> all;
  for (const std::string& name : splits.names) {
    OneSplit split{.name = name, .request = request};
    static_cast<InputRequest&>(split.request) = input_of_split(request, splits, name);
    all.push_back(std::move(split));
  }
  for (const std::string& name : splits.without_classes)  // now, not when others are written
    (void)open_input(input_of_split(request, splits, name), temporary_folder(), events);
  if (splits.others > 0) {
    std::vector<std::string> names;
    for (const std::string& name : splits.beside) names.push_back(printable(name));
    events.say(fmt::format("{} left out: {}{}",
                           format_counted(splits.others, "entry beside the splits is",
                                          "entries beside the splits are"),
                           fmt::join(names, ", "), splits.others > names.size() ? " ..." : ""));
  }
  const SharedFolder shared(output, request.is_dry_run);
  return convert_all(std::move(all), request, events, convert_one);
}

void say_division(const SplitRows& rows, const SplitRequest& split, const Events& events) {
  if (split.has_files()) {
    if (rows.unlisted() == 0) return;
    return events.say(fmt::format(
        "{} left out", format_counted(rows.unlisted(), "sample is in no file of --split, and is",
                                      "samples are in no file of --split, and are")));
  }
  if (rows.has_labels()) return;
  events.say("the samples have no integer field 'label': the shares are taken of all together");
}

ConvertReport divide(const ConvertRequest& request, const Events& events,
                     const ConvertOne& convert_one) {
  const std::string output = directory_of(request);
  std::vector<std::string> names;
  for (const SplitPart& part : request.split.parts) names.push_back(part.name);
  refuse_other_sets(output, names);
  refuse_nested({output}, inputs_of(request));
  const SharedFolder shared(output, request.is_dry_run);
  const std::string scratch = shared.scratch();
  InputRequest input = request;
  input.files.listing.written = shared.listing();
  input.output = output;
  const SplitRows rows(input, request.split, scratch, events);
  say_division(rows, request.split, events);
  std::vector<OneSplit> all;
  for (std::size_t part = 0; part < names.size(); ++part) {
    OneSplit split{.name = names[part], .request = request};
    split.request.order.choice = {
        .select_file = {}, .exclude_file = {}, .rows_file = rows.file_of(part)};
    // The folder is listed once for all.
    if (!input.files.listing.written.empty() && stands(input.files.listing.written))
      split.request.files.listing.stored = input.files.listing.written;
    all.push_back(std::move(split));
  }
  return convert_all(std::move(all), request, events, convert_one);
}

}  // namespace

std::optional<ConvertReport> convert_splits(const ConvertRequest& request, const Events& events,
                                            const ConvertOne& convert_one) {
  if (format_of_output(request.output) != nullptr || !request.layout.empty()) return std::nullopt;
  if (!request.split.is_empty()) return divide(request, events, convert_one);
  if (const std::optional<SplitFolders> splits = find_split_folders(request, events))
    return convert_folders(request, *splits, events, convert_one);
  return std::nullopt;
}

}  // namespace shale
