#include "shale/ops/convert.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/ops/list_arrays.hpp"
#include "shale/requests/choose_part.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/readme.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/split_folders.hpp"
#include "shale/sources/split_rows.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/list_files.hpp"
#include "shale/targets/target_of.hpp"

namespace shale {
namespace {

void say_readme(const std::string& output, const Manifest& manifest, const Events& events) {
  if (std::string note = note_on_readme(output, manifest); !note.empty()) events.say(note);
}

ConvertReport verified(const ConvertRequest& request, ConvertReport report, const Events& events) {
  if (report.is_of_files()) return report;  // one file was verified before it got its name
  say_readme(request.output, report.manifest, events);
  if (request.verify) verify_output(request, request.output, report, events);
  return report;
}

// .OUT.shale, beside the output: it holds off a second run of several splits, and has what all of
// them share. Where it cannot be made there is neither, and each split still has its own lock.
class SharedFolder {
 public:
  SharedFolder(const std::string& output, PlanFor purpose) {
    if (purpose == PlanFor::telling) return;
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

  [[nodiscard]] bool is_own() const { return work_.has_value(); }
  [[nodiscard]] std::string scratch() const { return work_ ? work_->path() : temporary_folder(); }
  /// Where a list of the input's files is made, or of those of a split; empty: nowhere.
  [[nodiscard]] std::string listing(const std::string& split = {}) const {
    if (!work_) return {};
    return split.empty() ? work_->new_listing_path() : join_path(work_->path(), split);
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
    // Beside train and val, a dataset of another name is not of an earlier split.
    const bool is_one_of_these =
        std::ranges::find(names, name) != names.end() ||
        (!is_split_name(name) && std::ranges::all_of(names, is_split_name));
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

void add_report(ConvertReport& all, const ConvertReport& one) {
  append_output(all, one);
  const bool is_first = all.splits.empty();
  all.skipped += one.skipped;
  all.left_out += one.left_out;
  all.was_complete = (is_first || all.was_complete) && one.was_complete;
  all.was_compared = (is_first || all.was_compared) && one.was_compared;
  all.was_verified = (is_first || all.was_verified) && one.was_verified;
  all.verification.findings += one.verification.findings;
  all.splits.push_back(one);
}

/// A dataset per split, OUTPUT/train, OUTPUT/val ...: where the input is a folder of splits
/// (find_split_folders) or a file of them (find_split_columns), or `request.split` divides it. Each
/// is complete by itself, so a run that was killed goes on with the first one that is not. All are
/// planned before the first one runs.
class SplitSets {
 public:
  SplitSets(const ConvertRequest& whole, const std::optional<SplitFolders>& folders,
            PlanFor purpose, const Events& events)
      : whole_(whole), purpose_(purpose), events_(events), output_(directory_of(whole)) {
    if (folders) refuse_combinations(whole, kFolderOfSplits);
    std::vector<std::string> names;
    for (const SplitPart& part : whole.split.parts) names.push_back(part.name);
    if (folders) names = folders->names;
    refuse_other_sets(output_, names);
    refuse_nested({output_}, inputs_of(whole));
    if (folders) say_left_out(*folders);
    shared_.emplace(output_, purpose);
    scratch_ = shared_->scratch();
    if (!folders) divide();
    for (const std::string& name : names) splits_.push_back(split_of(name, folders));
  }

  ConvertPlan plan() {
    ConvertPlan all;
    ConvertReport complete;
    for (OneSplit& split : splits_) {
      ConvertPlan plan = plan_of(split);
      plan.split = split.name;
      if (plan.complete) {
        plan.complete->split = split.name;
        add_report(complete, *plan.complete);
      }
      append_output(all, plan.complete ? static_cast<const ConvertOutput&>(*plan.complete) : plan);
      all.splits.push_back(std::move(plan));
    }
    name_sum(complete);
    name_sum(all);
    if (complete.splits.size() == splits_.size()) all.complete = std::move(complete);
    return all;
  }

  ConvertReport run() {
    SpaceNeed space;
    for (OneSplit& split : splits_) {
      if (is_swapping(split.request.output)) continue;  // what stands there is known after that
      ConvertPlan plan = plan_of(split);
      space.bytes += plan.space.bytes;
      space.files += plan.space.files;
      split.complete = std::move(plan.complete);
    }
    require_space(output_, space, kSpaceHint, events_);
    ConvertReport all;
    for (OneSplit& split : splits_) {
      const Events of_split = events_of_split(events_, split.name);
      ConvertReport report = split.complete ? std::move(*split.complete)
                                            : shale::run(*target_of(split.request), of_split);
      report = verified(split.request, std::move(report), of_split);
      report.split = split.name;
      add_report(all, report);
    }
    name_sum(all);
    all.in_two_splits = list_duplicates();
    say_splits(all.splits.front().manifest);
    return all;
  }

 private:
  struct OneSplit {
    std::string name;
    ConvertRequest request;
    std::optional<ConvertReport> complete = {};  // it stands already
  };

  void name_sum(ConvertOutput& all) const {
    all.output = output_;
    all.split.clear();
    all.notes.clear();
  }

  // Beside the splits: each of them is complete without the others. Parts of them say little.
  [[nodiscard]] SplitDuplicates list_duplicates() const {
    if (whole_.order.part) {
      events_.say(
          "images that are in two splits are looked for in whole splits only, not in parts of "
          "them");
      return {};
    }
    std::vector<OpenedDataset> sets;
    for (const OneSplit& split : splits_)
      sets.push_back(open_dataset({.path = split.request.output}, events_));
    std::vector<ImagesOfSplit> images;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (!field_of_duplicates(sets[i].manifest)) continue;
      const ForEachShard for_each = [&shards = sets[i].shards](const ShardVisitor& visit) {
        for (const ManifestShard& shard : shards) visit(shard);
      };
      images.push_back({splits_[i].name, sets[i].manifest, {sets[i].paths, for_each}});
    }
    // What is not ours stays: then there is no list.
    const std::string list = join_path(output_, kDuplicatesName);
    const bool is_ours = is_split_list(list);
    const bool has_room = shared_->is_own() && (is_ours || !stands(list));
    SplitDuplicates found =
        find_duplicates(images,
                        {.shards = {},
                         .folder = scratch_,
                         .list_name = has_room ? std::string(kDuplicatesName) : "",
                         .memory_bytes = list_memory(whole_.memory_bytes)},
                        events_);
    const std::string made = std::exchange(found.list, {});
    if (found.samples > 0 && !made.empty()) {
      rename_file(made, list);
      sync_directory(output_);
      found.list = list;
    } else if (is_ours) {
      (void)remove_file(list);
    }
    if (found.samples > 0) events_.say(note_on(found));
    return found;
  }

  // To those who read the splits by a README.md, which is beside them.
  void say_splits(const Manifest& first) const {
    if (!shared_->is_own() || whole_.order.part) return;  // none of them is a dataset yet
    std::vector<std::string> names;
    for (const OneSplit& split : splits_) names.push_back(split.name);
    put_readme(output_, scratch_, first, names);
    say_readme(output_, first, events_);
  }

  [[nodiscard]] std::string note_on(const SplitDuplicates& found) const {
    std::string pairs;
    for (const auto& [first, other] : found.examples)
      pairs += fmt::format("{}{} in {} is {} in {}", pairs.empty() ? "" : ", ",
                           printable(first.key), first.split, printable(other.key), other.split);
    const bool is_divided = rows_.has_value();
    return fmt::format(
        "{} in two splits, byte for byte: {}{}{}{}",
        format_counted(found.samples, "image is", "images are"), pairs,
        found.samples > found.examples.size() ? " ..." : "",
        found.list.empty() ? "" : "; all that are repeated are listed in " + printable(found.list),
        found.list.empty() ? ""
        : is_divided ? fmt::format("; to split without them, pass --exclude {} and another OUTPUT",
                                   printable(found.list))
                     : "; remove them from one of the two");
  }

  void say_left_out(const SplitFolders& folders) const {
    std::vector<std::string> spelled;
    for (const auto& [split, folder] : folders.spelled)
      spelled.push_back(fmt::format("{} is {}", printable(folder), split));
    if (!spelled.empty())
      events_.say(fmt::format("folders are splits by their names: {}", fmt::join(spelled, ", ")));
    if (folders.others == 0) return;
    std::vector<std::string> names;
    for (const std::string& name : folders.beside) names.push_back(printable(name));
    events_.say(fmt::format("{} left out: {}{}",
                            format_counted(folders.others, "entry beside the splits is",
                                           "entries beside the splits are"),
                            fmt::join(names, ", "), folders.others > names.size() ? " ..." : ""));
  }

  void divide() {
    InputRequest input = whole_;
    input.files.listing.written = shared_->listing();
    input.output = output_;
    rows_.emplace(input, whole_.split, scratch_, events_);
    if (whole_.split.has_files() && rows_->unlisted() > 0) {
      events_.say(
          fmt::format("{} left out",
                      format_counted(rows_->unlisted(), "sample is in no file of --split, and is",
                                     "samples are in no file of --split, and are")));
    } else if (!whole_.split.has_files() && !rows_->has_labels()) {
      events_.say(
          "the samples have no integer field 'label': the shares are taken of all together");
    }
  }

  [[nodiscard]] OneSplit split_of(const std::string& name,
                                  const std::optional<SplitFolders>& folders) const {
    OneSplit split{.name = name, .request = whole_};
    ConvertRequest& request = split.request;
    if (folders) {
      static_cast<InputRequest&>(request) = input_of_split(whole_, *folders, name);
      request.files.listing.written = shared_->listing(name);
    } else {
      // The folder is listed once for all.
      if (stands(shared_->listing())) request.files.listing.stored = shared_->listing();
      request.order.choice = {
          .select_file = {}, .exclude_file = {}, .rows_file = rows_->file_of(splits_.size())};
    }
    request.order.part.reset();
    request.output = join_path(output_, name);
    if (whole_.order.part) choose_part(request, *whole_.order.part);
    request.split = {};
    return split;
  }

  [[nodiscard]] ConvertPlan plan_of(OneSplit& split) const {
    ConvertPlan plan = shale::plan(*target_of(split.request), purpose_, scratch_,
                                   events_of_split(events_, split.name));
    ListingRequest& listing = split.request.files.listing;
    if (stands(listing.written)) listing.stored = std::exchange(listing.written, {});
    return plan;
  }

  const ConvertRequest& whole_;
  const PlanFor purpose_;
  const Events& events_;
  const std::string output_;
  std::optional<SharedFolder> shared_;
  std::string scratch_;
  std::optional<SplitRows> rows_;
  std::vector<OneSplit> splits_;
};

std::unique_ptr<SplitSets> splits_of(const ConvertRequest& request, PlanFor purpose,
                                     const Events& events) {
  const bool is_one_file = format_of_output(request.output) != nullptr || request.output == kStdout;
  if (is_one_file || !request.layout.empty()) return nullptr;
  std::optional<SplitFolders> folders;
  if (request.split_by != SplitBy::none) {
    folders = find_split_columns(request, events);
  } else if (request.split.is_empty() && !(folders = find_split_folders(request, events))) {
    return nullptr;
  }
  return std::make_unique<SplitSets>(request, folders, purpose, events);
}

}  // namespace

ConvertPlan plan(const ConvertRequest& request, const Events& events) {
  refuse_combinations(request);
  ConvertRequest told = request;
  told.files.listing.is_only_read = true;
  if (kind_of_output(told) == OutputKind::list_files) return plan_list_files(told, events);
  if (const auto splits = splits_of(told, PlanFor::telling, events)) return splits->plan();
  return plan(*target_of(told), PlanFor::telling, temporary_folder(), events);
}

ConvertReport convert(const ConvertRequest& request, const Events& events) {
  refuse_combinations(request);
  if (kind_of_output(request) == OutputKind::list_files)
    return convert_to_list_files(request, events);
  if (const auto splits = splits_of(request, PlanFor::running, events)) return splits->run();
  return verified(request, run(*target_of(request), events), events);
}

}  // namespace shale
