#include "shale/targets/file_target.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "shale/arrays/array_writers.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/layout.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/entry_list.hpp"
#include "shale/targets/lists_beside.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// Of what becomes an archive, in the work folder: no output ends so.
constexpr std::string_view kArrayName = "array";

// True if each field is written to a file of its own, and these are packed into one at the end: an
// .npz archive, a file of several tensors.
bool is_packed(const ConvertRequest& request, const Schema& schema) {
  return is_archive_name(request.output) ||
         (is_tensor_name(request.output) && schema.fields.size() > 1);
}

// What is next to the file, or is only there to verify it: of the file, whose samples are all
// there, not of the input.
void write_file_manifest(TemporaryOutput& output, Manifest manifest) {
  std::string origin =
      manifest.source.origin.empty() ? manifest.source.kind : manifest.source.origin;
  manifest.source = source_of_file(InputFile(output.path()), manifest.format,
                                   manifest.digest.samples, manifest.payload_bytes);
  manifest.source.origin = std::move(origin);
  manifest.skipped = manifest.ignored = 0;
  manifest.left_out = {};
  write_manifest_file(join_path(output.work().path(), output.place().manifest), manifest,
                      [&](const ShardVisitor& visit) { output.work().for_each_shard(visit); });
}

// Packs the arrays, one per field, that are in the work folder, as .npz members.
void pack_arrays(const ConvertRequest& request, const Events& events, TemporaryOutput& output,
                 Manifest& manifest, OutputFile& archive) {
  manifest.format = "npz";
  std::vector<NpzMember> members;
  for (const Field& field : manifest.schema.fields) {
    const std::string name = field.name + ".npy";
    members.push_back(
        {name, join_path(output.work().path(), fmt::format("{}.{}", kArrayName, name))});
  }
  write_npz(archive, members, request.is_deflated, [&] { events.stop_if_asked(); });
}

// The same of files of one tensor each.
void pack_tensors(const Events& events, TemporaryOutput& output, const Manifest& manifest,
                  OutputFile& file) {
  std::vector<ColumnFile> columns;
  output.work().for_each_shard([&](const ManifestShard& shard) {
    for (std::size_t i = 0; i < shard.files.size(); ++i)
      columns.push_back({join_path(output.work().path(), shard.files[i].name), shard.bases[i]});
  });
  const TensorFrame frame =
      format_named(manifest.format).tensors->frame(manifest.schema.fields, manifest.digest.samples);
  write_tensors(file, frame, columns, [&] { events.stop_if_asked(); });
}

void finish_packed(const ConvertRequest& request, const Events& events, TemporaryOutput& output,
                   ConvertReport& report) {
  OutputFile file(output.path(), data_file_options(request.io, request.memory_bytes));
  if (is_archive_name(request.output)) {
    pack_arrays(request, events, output, report.manifest, file);
  } else {
    pack_tensors(events, output, report.manifest, file);
  }
  const FileSummary written = file.finish();
  report.file_bytes = written.bytes;
  if (!request.verify) return;
  report.was_verified = true;
  report.verification.bytes = written.bytes;
  const FileSummary found = summarize_file(InputFile(output.path()));
  if (found.hash == written.hash) return;
  Finding finding;
  finding.message = "the bytes read back differ from those written";
  finding.file = request.output;
  finding.found = "xxh3-128 " + found.hash.hex();
  finding.expected = written.hash.hex();
  report.verification.findings = 1;
  report.verification.first_findings.push_back(std::move(finding));
}

// What only an index could keep.
void say_what_is_lost(const ConvertRequest& request, const Format& format, const SourceInfo& source,
                      const Events& events) {
  const Layout* const layout = layout_of(request);
  if (layout != nullptr && !layout->option.empty() && format.classes != nullptr &&
      !source.classes.empty())
    events.say(fmt::format("layout {} has no place for class names", layout->name));
  if (request.with_index || !request.layout.empty()) return;
  const auto lost = why_classes_are_lost(format, source);
  if (lost && !is_array_name(request.output) && !is_archive_name(request.output) &&
      !is_tensor_name(request.output))
    events.say(*lost + "; --with-index keeps them beside it");
  const bool has_others = std::ranges::any_of(source.schema.fields, [](const Field& field) {
    const bool is_double = field.kind == Kind::real && field.dtype.item_bytes() != sizeof(float);
    return is_double || field.is_json || field.elements == Kind::text;
  });
  if (format.can.keeps_dtypes || !has_others) return;
  events.say(fmt::format(
      "{} does not say what is a 64-bit float, JSON or a list of text: they are read back as "
      "bytes, text and a list of bytes; --with-index keeps their types beside it",
      format.a_file));
}

void say_what_readers_want(const ConvertRequest& request, const Events& events) {
  const Layout* const layout = layout_of(request);
  if (layout != nullptr && !layout->lists_note.empty() && request.split.is_empty())
    events.say(std::string(layout->lists_note));
}

// A file that has its name keeps its lists, whatever comes after.
void publish_with_lists(TemporaryOutput& output, ListsBeside* lists) {
  if (lists == nullptr) return output.publish();
  lists->take_names();
  try {
    output.publish();
  } catch (...) {
    if (!stands(output.path())) lists->settle();
    throw;
  }
  lists->settle();
}

}  // namespace

void refuse_unfit_file(const ConvertRequest& request, const Format& format,
                       const SourceInfo& source) {
  if (is_archive_name(request.output) || is_tensor_name(request.output))
    refuse_images(source, request.output, !request.fields.only.empty());
  if (is_array_name(request.output))
    (void)only_array_field(source, request.output, !request.fields.only.empty());
  if (request.with_index && is_packed(request, source.schema)) {
    throw Error(Code::usage, "--with-index: a file of several tensors is written without an index")
        .at(request.output)
        .hint("leave it out; 'shale index' makes the index of the finished file");
  }
  check_schema_fits(format, source.schema);
  refuse_unfit_samples(request, format, source, kAnySize);
}

FileTarget::FileTarget(ConvertRequest request, KeySink left_out)
    : Target(std::move(request)), left_out_(std::move(left_out)) {
  request_.format = format_of_output(request_.output)->name;
  if (const Layout* const layout = layout_of(request_)) frames_note_ = layout->frames_note;
  if (!frames_note_.empty()) request_.files.frame_order = FrameOrder::bytewise;
  const Layout* const layout = layout_of(request_);
  if (layout == nullptr || layout->entries_name.empty()) return;
  entries_path_ = join_path(folder_of_file(request_.output), layout->entries_name);
  request_.files.may_be_flat = true;  // names alone: there are no labels
}

FileTarget::~FileTarget() {
  if (made_folder_.empty()) return;
  output_.reset();
  (void)::rmdir(made_folder_.c_str());
}

void FileTarget::look(const Events& /*events*/) {
  if (!output_ && !is_only_planned_) clear_left_output(request_.output);
  refuse_taken_output(request_.output, request_.overwrite);
  if (!entries_path_.empty()) refuse_taken_output(entries_path_, request_.overwrite);
  // What a kill left of this output has its names, and goes when it is taken.
  if (request_.with_index && !stands(WorkFolder::path_beside(request_.output)))
    refuse_foreign_files(SetPlace::beside_file(request_.output),
                         {std::begin(kListSuffixes), std::end(kListSuffixes)});
}

void FileTarget::refuse_untakeable() const {
  const std::string folder = folder_of_file(request_.output);
  const bool is_to_be_made = !entries_path_.empty() && !stands(folder);
  WorkFolder::refuse_unwritable(WorkFolder::BesideFile{is_to_be_made ? folder : request_.output});
}

void FileTarget::take() {
  const std::string folder = folder_of_file(request_.output);
  if (!entries_path_.empty() && make_directory(folder)) made_folder_ = folder;
  output_.emplace(request_.output, request_.overwrite);
}

// The lists are of the samples in the order that they have without a shuffle; what follows reads
// the input from the list of its files that this leaves.
void FileTarget::plan_lists(ConvertRequest& request, const std::string& scratch_folder,
                            const Events& events) {
  ConvertRequest plain = request;
  plain.order.is_shuffled = false;
  if (output_) {
    plain.files.listing.written = output_->work().new_listing_path();
    (void)remove_file(plain.files.listing.written);  // what a kill left
  }
  const std::unique_ptr<Source> whole = Target::open(plain, scratch_folder, events);
  refuse_unfit_file(request, format(), whole->info());
  (void)format().layout(whole->info().schema, format_options_of(request, format()));  // or refuses
  SplitLists lists(*layout_of(request), request.split, *whole, request.order.seed, scratch_folder,
                   list_memory(request.memory_bytes), events);
  if (output_ && stands(plain.files.listing.written))
    request.files.listing.stored = plain.files.listing.written;
  const std::uint64_t most_missing = request.on_error == OnError::skip
                                         ? request.max_errors.limit(whole->info().manifest.samples)
                                         : 0;
  say_unlisted(lists.unlisted(), "in the file, but in neither list beside it", events);
  lists_ = std::make_unique<ListsBeside>(request.output, std::move(lists), most_missing);
}

std::unique_ptr<Source> FileTarget::open(const ConvertRequest& request,
                                         const std::string& scratch_folder, const Events& events) {
  say_what_readers_want(request, events);
  ConvertRequest listed = request;
  if (!request.split.is_empty()) plan_lists(listed, scratch_folder, events);
  return open_input(listed, scratch_folder, events);
}

void FileTarget::accept(const SourceInfo& info, const Events& events) {
  refuse_unfit_file(request_, format(), info);
  if (!frames_note_.empty() && !request_.files.groups_frames) events.say(std::string(frames_note_));
}

PlannedRun FileTarget::describe(const SourceInfo& info) const {
  return {.wanted = wanted_manifest(request_, info), .head = {}};
}

void FileTarget::plan(ConvertPlan& plan) const {
  drop_shard_options(plan.manifest);
  const std::vector<Field>& fields = plan.manifest.schema.fields;
  const std::uint64_t samples = plan.manifest.digest.samples;
  plan.file_bytes = plan.data_bytes;
  if (is_tensor_name(request_.output))
    plan.file_bytes = format().tensors->frame(fields, samples).file_bytes();
  if (is_archive_name(request_.output)) {
    plan.manifest.format = "npz";
    std::vector<NpzMemberSize> members;
    for (const Field& field : fields) {
      const TensorFrame frame = format().tensors->frame(std::span(&field, 1), samples);
      members.push_back({field.name + ".npy", frame.file_bytes()});
    }
    plan.file_bytes = npz_bytes(members);
  }
  if (lists_) plan.lists = lists_->report();
}

std::optional<RunState> FileTarget::begin(const RunInput& input, const Events& events) {
  const SourceInfo& source = input.info();
  (void)require_space(source, events);
  say_notes(source, events);
  say_how_reals_are_kept(format(), source, events);
  say_what_is_lost(request_, format(), source, events);
  output_->work().begin("");
  return std::nullopt;
}

ShardSetWriter::Options FileTarget::division(const Schema& schema) const {
  if (is_packed(request_, schema))
    return {.file_name = std::string(kArrayName), .keeps_suffixes = true};
  return {.file_name = fs::path(request_.output).filename().string(),
          .writes_index = request_.with_index || request_.verify};
}

void FileTarget::complete(Conversion* conversion, ConvertReport& report, const Events& events) {
  drop_shard_options(report.manifest);
  if (is_packed(request_, report.manifest.schema)) {
    finish_packed(request_, events, *output_, report);
  } else {
    const bool has_index = request_.with_index || request_.verify;
    if (has_index) write_file_manifest(*output_, report.manifest);
    if (request_.verify) verify_output(request_, output_->path(), report, events);
    if (has_index && !request_.with_index) output_->drop_index();
    report.file_bytes = InputFile(output_->path()).size();
  }
  if (!entries_path_.empty()) {
    const FormatLayout layout = layout_named(request_.layout);
    const std::string path = join_path(output_->work().path(), layout.layout->entries_name);
    report.lists.push_back({std::string(layout.layout->entries_name),
                            write_entry_list(layout, output_->path(), path)});
  }
  if (!lists_ && !left_out_) return;
  SplitLists::KeySet skipped;
  conversion->for_each_skipped([&](const std::string& key) {
    if (lists_) skipped.insert(key);
    if (left_out_) left_out_(key);
  });
  if (!lists_) return;
  lists_->write(output_->work().path(), skipped);
  report.lists = lists_->report();
}

void FileTarget::place(ConvertReport& report) {
  if (report.verification.findings > 0) return;
  const std::string_view entries = layout_of(request_) ? layout_of(request_)->entries_name : "";
  const std::string from = join_path(output_->work().path(), entries);
  if (!entries.empty() && request_.overwrite) rename_file(from, entries_path_);
  if (!entries.empty() && !request_.overwrite && !rename_to_free_name(from, entries_path_))
    throw already_exists(entries_path_);
  try {
    publish_with_lists(*output_, lists_.get());
  } catch (...) {
    if (!entries.empty() && !request_.overwrite) (void)remove_file(entries_path_);
    throw;
  }
  made_folder_.clear();
  if (request_.with_index) report.index = DatasetPaths::of_file(request_.output, "").manifest;
}

}  // namespace shale
