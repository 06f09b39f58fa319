#include "shale/targets/list_files.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/file_target.hpp"
#include "shale/targets/split_lists.hpp"

// The work folder .OUT.shale has in new/ what OUT will hold, and while a file is written the rows
// that it takes; new/ itself becomes OUT.

namespace shale {
namespace {

constexpr std::string_view kRowsName = "rows";

void refuse_taken_directory(const std::string& output) {
  if (!stands(output)) return;
  WorkFolder::clear_left_of_file(output);
  throw Error(Code::exists, "already exists, and a directory of this layout is never replaced")
      .at(output)
      .hint("choose another output, or remove it");
}

// One file of the directory, as a conversion of some rows of the input.
struct FileOfPart {
  const ConvertRequest& whole;
  const Layout& layout;
  const std::string& folder;
  SplitLists& lists;

  [[nodiscard]] ConvertReport write(std::size_t part, const Events& events,
                                    SplitLists::KeySet& skipped) const {
    ConvertRequest request = whole;
    request.output = join_path(folder, layout.part_name(whole.split.parts[part].name));
    request.split = {};
    request.order.choice.select_file = join_path(folder, kRowsName);
    write_rows(part, request.order.choice.select_file);
    (void)remove_file(request.output);  // what a kill left
    FileTarget target(request, [&](const std::string& key) { skipped.insert(key); });
    ConvertReport report = run(target, events);
    (void)remove_file(request.order.choice.select_file);
    return report;
  }

 private:
  void write_rows(std::size_t part, const std::string& path) const {
    (void)remove_file(path);
    OutputFile rows(path, {.io = IoMode::buffered, .buffer_bytes = 64 * 1024, .buffers = 1});
    rows.append(as_bytes("row\n"));
    lists.for_each_sample(
        part, [&](std::uint64_t row) { rows.append(as_bytes(std::to_string(row) + "\n")); });
    (void)rows.finish();
  }
};

void add_to(ConvertReport& all, ConvertReport one) {
  if (!all.manifest.format.empty())
    one.manifest.ignored = 0;  // each of them has what the whole input has
  append_output(all, one);
  all.skipped += one.skipped;
  all.left_out = std::max(all.left_out, one.left_out);
  for (SkippedSample& sample : one.first_skipped) all.first_skipped.push_back(std::move(sample));
}

void put_in_place(WorkFolder& work, const std::string& output) {
  sync_directory(work.path());
  if (!rename_to_free_name(work.path(), output)) refuse_taken_directory(output);
  sync_directory(folder_of_file(output));
  work.remove();
}

// The directory, as it is planned and written.
class ListDirectory {
 public:
  ListDirectory(const ConvertRequest& request, const Events& events)
      : request_(request),
        events_(events),
        layout_(*layout_of(request)),
        format_(format_named(request.format)) {
    std::string& output = request_.output;
    if (request.split.is_empty()) {
      throw Error(Code::usage, "--layout {} needs --split: it is a file per list", request.layout)
          .at(output)
          .hint("add --split train=0.9,val=0.1, or --split train=FILE,val=FILE");
    }
    while (output.size() > 1 && output.ends_with('/')) output.pop_back();
    refuse_taken_directory(output);
    refuse_nested({output}, inputs_of(request));
    request_.layout = layout_.option;
    request_.files.frame_order = FrameOrder::bytewise;
  }

  ConvertPlan plan() {
    WorkFolder::refuse_unwritable(WorkFolder::BesideFile{request_.output});
    ConvertPlan plan;
    const SplitLists lists = open(temporary_folder(), "", &plan);
    plan.file_bytes = plan.data_bytes;
    finish(plan, lists.files());
    return plan;
  }

  ConvertReport write() {
    WorkFolder work(WorkFolder::BesideFile{request_.output});
    try {
      work.clear();
      SplitLists lists = open(work.path(), work.new_listing_path(), nullptr);
      ConvertReport report;
      Events of_one = events_;
      of_one.note = nullptr;  // they were said of the whole
      SplitLists::KeySet skipped;
      for (std::size_t part = 0; part < request_.split.parts.size(); ++part)
        add_to(report,
               FileOfPart{request_, layout_, work.path(), lists}.write(part, of_one, skipped));
      report.manifest.source = source_;
      finish(report, lists.write(work.path(), skipped));
      put_in_place(work, request_.output);
      return report;
    } catch (...) {
      work.remove();
      throw;
    }
  }

 private:
  // The input as a whole: what belongs to which list, and what is said of all of it.
  SplitLists open(const std::string& scratch, const std::string& listing, ConvertPlan* plan) {
    ConvertRequest plain = request_;
    plain.order.is_shuffled = false;
    plain.files.listing.written = listing;
    if (!listing.empty()) (void)remove_file(listing);  // what a kill left
    const std::unique_ptr<Source> whole = open_input(plain, scratch, events_);
    const SourceInfo& info = whole->info();
    refuse_unfit_file(request_, format_, info);
    (void)format_.layout(info.schema, format_options_of(request_, format_));  // or refuses it
    say_notes(info, events_);
    const SpaceNeed space = require_space(
        request_, format_, info, {.file_name = std::string(kRowsName), .writes_index = false},
        kSpaceHint, events_);
    source_ = info.manifest;
    if (plan != nullptr) {
      forecast(*plan, request_, format_, *open_input(plain, scratch, events_),
               wanted_manifest(request_, info), {kAnySize, kAnySize});
      plan->space = space;
    }
    SplitLists lists(layout_, request_.split, *whole, request_.order.seed, scratch,
                     list_memory(request_.memory_bytes), events_);
    for (std::size_t part = 0; part < request_.split.parts.size(); ++part) {
      const SplitLists::File& file = lists.files()[lists.file_of(part)];
      if (file.rows > 0) continue;
      throw Error(Code::bad_content, "--split leaves no video for {}", file.name)
          .hint("give each list a video");
    }
    say_unlisted(lists.unlisted(), "in neither file", events_);
    if (!listing.empty() && stands(listing)) request_.files.listing.stored = listing;
    return lists;
  }

  void finish(ConvertOutput& output, const std::vector<SplitLists::File>& files) const {
    for (const SplitLists::File& file : files) output.lists.push_back({file.name, file.rows});
    drop_shard_options(output.manifest);
    std::erase_if(output.manifest.options, [](const auto& option) {
      return option.first == kChosenSamples;  // of one file
    });
    output.kind = OutputKind::list_files;
    output.output = request_.output;
    output.first_file =
        join_path(request_.output, layout_.part_name(request_.split.parts.front().name));
    output.manifest.shard_count = request_.split.parts.size();
  }

  ConvertRequest request_;  // for the files
  const Events& events_;
  const Layout& layout_;
  const Format& format_;
  ManifestSource source_;
};

}  // namespace

ConvertPlan plan_list_files(const ConvertRequest& request, const Events& events) {
  return ListDirectory(request, events).plan();
}

ConvertReport convert_to_list_files(const ConvertRequest& request, const Events& events) {
  return ListDirectory(request, events).write();
}

}  // namespace shale
