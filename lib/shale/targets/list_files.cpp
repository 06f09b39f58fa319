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

void refuse_missing_split(const ConvertRequest& request) {
  if (!request.split.is_empty()) return;
  throw Error(Code::usage, "--layout {} needs --split: it is a file per list", request.layout)
      .at(request.output)
      .hint("add --split train=0.9,val=0.1, or --split train=FILE,val=FILE");
}

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
    ConvertReport report = convert_into(target, events);
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
  Manifest& manifest = all.manifest;
  if (manifest.format.empty()) {
    all = std::move(one);
    return;
  }
  one.manifest.ignored = 0;  // each of them has what the whole input has
  append_totals(manifest, one.manifest);
  all.file_bytes += one.file_bytes;
  all.data_bytes += one.data_bytes;
  all.skipped += one.skipped;
  for (SkippedSample& sample : one.first_skipped) all.first_skipped.push_back(std::move(sample));
}

void refuse_empty_list(const SplitLists& lists, const SplitRequest& split) {
  for (std::size_t part = 0; part < split.parts.size(); ++part) {
    const SplitLists::File& file = lists.files()[lists.file_of(part)];
    if (file.rows > 0) continue;
    throw Error(Code::bad_content, "--split leaves no video for {}", file.name)
        .hint("give each list a video");
  }
}

// The input as a whole: what belongs to which list, and what the report says of all of it.
SplitLists plan_lists(ConvertRequest& request, const Events& events, const Format& format,
                      const Layout& layout, const std::string& scratch, const std::string& listing,
                      ConvertReport& report) {
  ConvertRequest plain = request;
  plain.order.is_shuffled = false;
  plain.files.listing.written = listing;
  if (!listing.empty()) (void)remove_file(listing);  // what a kill left
  const std::unique_ptr<Source> whole = open_input(plain, scratch, events);
  const SourceInfo& info = whole->info();
  refuse_unfit_file(request, format, info);
  (void)format.layout(info.schema, format_options_of(request, format));  // or refuses it
  say_notes(info, events);
  if (request.is_dry_run) {
    report = plan_conversion(request, format, *open_input(plain, scratch, events),
                             wanted_manifest(request, info), {kAnySize, kAnySize});
    report.file_bytes = report.data_bytes;
  } else {
    report.manifest.source = info.manifest;
  }
  SplitLists lists(layout, request.split, *whole, request.order.seed, scratch,
                   list_memory(request.memory_bytes), events);
  refuse_empty_list(lists, request.split);
  say_unlisted(lists.unlisted(), "in neither file", events);
  if (!listing.empty() && stands(listing)) request.files.listing.stored = listing;
  return lists;
}

void put_in_place(WorkFolder& work, const std::string& output) {
  sync_directory(work.path());
  if (!rename_to_free_name(work.path(), output)) refuse_taken_directory(output);
  sync_directory(folder_of_file(output));
  work.remove();
}

}  // namespace

ConvertReport convert_to_list_files(const ConvertRequest& request, const Events& events) {
  refuse_missing_split(request);
  ConvertRequest of_files = request;
  while (of_files.output.size() > 1 && of_files.output.ends_with('/')) of_files.output.pop_back();
  const std::string output = of_files.output;
  refuse_taken_directory(output);
  refuse_nested({output}, inputs_of(request));
  const Layout& layout = *layout_of(request);
  of_files.layout = layout.option;
  of_files.files.frame_order = FrameOrder::bytewise;
  const Format& format = format_named(request.format);
  std::optional<WorkFolder> work;  // in which the directory is built
  if (!request.is_dry_run) work.emplace(WorkFolder::BesideFile{output});
  ConvertReport report;
  try {
    if (work) work->clear();
    const std::string scratch = work ? work->path() : temporary_folder();
    SplitLists lists = plan_lists(of_files, events, format, layout, scratch,
                                  work ? work->new_listing_path() : "", report);
    std::vector<SplitLists::File> files = lists.files();
    if (work) {
      const ManifestSource source = report.manifest.source;
      report = {};
      Events of_one = events;
      of_one.note = nullptr;  // they were said of the whole
      SplitLists::KeySet skipped;
      for (std::size_t part = 0; part < request.split.parts.size(); ++part)
        add_to(report,
               FileOfPart{of_files, layout, work->path(), lists}.write(part, of_one, skipped));
      report.manifest.source = source;
      files = lists.write(work->path(), skipped);
      put_in_place(*work, output);
    }
    for (const SplitLists::File& file : files) report.lists.push_back({file.name, file.rows});
  } catch (...) {
    if (work) work->remove();
    throw;
  }
  std::erase_if(report.manifest.options, [](const auto& option) {  // what shaped one file alone
    return option.first.starts_with("shard_") || option.first == kChosenSamples;
  });
  report.is_one_file = true;
  report.first_file = join_path(output, layout.part_name(request.split.parts.front().name));
  report.manifest.shard_count = request.split.parts.size();
  return report;
}

}  // namespace shale
