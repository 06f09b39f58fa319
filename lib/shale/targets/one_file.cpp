#include "shale/targets/one_file.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shale/archives/tar_stream.hpp"
#include "shale/arrays/npz_writer.hpp"
#include "shale/arrays/tensor_frame.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/file_output.hpp"
#include "shale/targets/lists_beside.hpp"
#include "shale/targets/space_check.hpp"
#include "shale/verify/verify.hpp"

namespace shale {
namespace {

using KeySink = std::function<void(const std::string&)>;

// Of what becomes an archive, in the work folder: no output ends so.
constexpr std::string_view kArrayName = "array";

// Options of shards did not shape it.
void drop_shard_options(Manifest& manifest) {
  std::erase_if(manifest.options,
                [](const auto& option) { return option.first.starts_with("shard_"); });
}

ConvertReport plan_file(const ConvertRequest& request, const Events& events, const Format& format,
                        Source& source) {
  const SourceInfo& info = source.info();
  for (const std::string& note : info.notes) events.say(note);
  ConvertReport report = plan_conversion(request, format, source, wanted_manifest(request, info),
                                         {kAnySize, kAnySize});
  drop_shard_options(report.manifest);
  report.file_bytes = is_tensor_name(request.output) ? TensorFrame(format.name, info.schema.fields,
                                                                   report.manifest.digest.samples)
                                                           .file_bytes()
                                                     : report.data_bytes;
  return report;
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
  write_manifest_file(join_path(output.work().path(), output.place().manifest), manifest,
                      [&](const ShardVisitor& visit) { output.work().for_each_shard(visit); });
}

void verify_file(const ConvertRequest& request, const std::string& path, const Events& events,
                 ConvertReport& report) {
  VerifyRequest verification;
  verification.dataset = path;
  verification.jobs = request.jobs;
  verification.memory_bytes = request.memory_bytes;
  report.verification = verify(verification, {}, events);
  report.was_verified = true;
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
  const TensorFrame frame(manifest.format, manifest.schema.fields, manifest.digest.samples);
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
void say_what_is_lost(const ConvertRequest& request, const SourceInfo& source,
                      const Events& events) {
  if (request.with_index || !request.layout.empty()) return;
  if (!source.classes.empty() && !is_array_name(request.output) &&
      !is_archive_name(request.output) && !is_tensor_name(request.output))
    events.say("the file has no place for class names; --with-index keeps them beside it");
  const bool has_others = std::any_of(
      source.schema.fields.begin(), source.schema.fields.end(),
      [](const Field& field) { return field.kind == Kind::real || field.kind == Kind::tensor; });
  if (request.format == "record" && has_others) {
    events.say(
        "a TFRecord file has no dtypes: reals and arrays are read back as bytes; --with-index "
        "keeps their dtypes beside it");
  }
}

void say_what_readers_want(const ConvertRequest& request, const Events& events) {
  if (request.layout != name_of(Dialect::coclr) || !request.split.is_empty()) return;
  events.say(
      "CoCLR's readers also want ClassInd.txt and lists of train and test videos: --split writes "
      "them");
}

// The input is opened for it, in the order that it has without a shuffle; what follows reads it
// from the list of its files that this leaves.
std::unique_ptr<ListsBeside> plan_lists(ConvertRequest& request, const Events& events,
                                        const Format& format, TemporaryOutput* output) {
  ConvertRequest plain = request;
  plain.order.is_shuffled = false;
  if (output != nullptr) {
    plain.files.listing.written = output->work().new_listing_path();
    (void)remove_file(plain.files.listing.written);  // what a kill left
  }
  const std::string scratch = output != nullptr ? output->work().path() : temporary_folder();
  const std::unique_ptr<Source> whole = open_input(plain, scratch, events);
  refuse_for_stream(*whole, request.inputs.front(), "--split");
  refuse_unfit_file(request, format, whole->info());
  (void)format.layout(whole->info().schema, format_options_of(request, format));  // or refuses it
  CoclrLists lists(CoclrReaders::ucf101, request.split, *whole, request.order.seed, scratch,
                   list_memory(request.memory_bytes), events);
  if (output != nullptr && stands(plain.files.listing.written))
    request.files.listing.stored = plain.files.listing.written;
  const std::uint64_t most_missing = request.on_error == OnError::skip
                                         ? request.max_errors.limit(whole->info().manifest.samples)
                                         : 0;
  say_unlisted(lists.unlisted(), "in the file, but in neither list beside it", events);
  return std::make_unique<ListsBeside>(request.output, std::move(lists), most_missing);
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

ConvertReport write_file(const ConvertRequest& request, const Events& events, const Format& format,
                         Source& source, TemporaryOutput& output, ListsBeside* lists,
                         const KeySink& left_out) {
  say_notes(source.info(), events);
  say_what_is_lost(request, source.info(), events);
  output.work().begin("");
  Conversion conversion(request, events, format, source, output.work(),
                        division_of_file(request, output, source.info().schema));
  conversion.run();
  ConvertReport report = conversion.finish(wanted_manifest(request, source.info()));
  finish_file(request, events, output, report);
  CoclrLists::KeySet skipped;
  if (lists != nullptr || left_out) {
    conversion.for_each_skipped([&](const std::string& key) {
      if (lists != nullptr) skipped.insert(key);
      if (left_out) left_out(key);
    });
  }
  if (lists != nullptr) lists->write(output.work().path(), skipped);
  return report;
}

}  // namespace

void refuse_unfit_file(const ConvertRequest& request, const Format& format,
                       const SourceInfo& source) {
  if (is_archive_name(request.output) || is_tensor_name(request.output))
    refuse_images(source, request.output, !request.fields.empty());
  if (is_array_name(request.output))
    (void)only_array_field(source, request.output, !request.fields.empty());
  if (request.with_index && is_packed(request, source.schema)) {
    throw Error(Code::usage, "--with-index: a file of several tensors is written without an index")
        .at(request.output)
        .hint("leave it out; 'shale index' makes the index of the finished file");
  }
  check_schema_fits(format, source.schema);
  refuse_unfit_samples(request, format, source, kAnySize);
}

bool is_packed(const ConvertRequest& request, const Schema& schema) {
  return is_archive_name(request.output) ||
         (is_tensor_name(request.output) && schema.fields.size() > 1);
}

ShardSetWriter::Options division_of_file(const ConvertRequest& request,
                                         const TemporaryOutput& output, const Schema& schema) {
  if (is_packed(request, schema))
    return {.file_name = std::string(kArrayName), .keeps_suffixes = true};
  return {.file_name = output.place().indexed_file,
          .writes_index = request.with_index || request.verify};
}

void finish_file(const ConvertRequest& request, const Events& events, TemporaryOutput& output,
                 ConvertReport& report) {
  drop_shard_options(report.manifest);
  if (is_packed(request, report.manifest.schema))
    return finish_packed(request, events, output, report);
  const bool has_index = request.with_index || request.verify;
  if (has_index) write_file_manifest(output, report.manifest);
  if (request.verify) verify_file(request, output.path(), events, report);
  if (has_index && !request.with_index) output.drop_index();
  report.file_bytes = InputFile(output.path()).size();
}

ConvertReport convert_into_file(const ConvertRequest& request, const Events& events,
                                const KeySink& left_out) {
  const Format& format = *format_of_output(request.output);
  if (!request.is_dry_run) clear_left_output(request.output);
  refuse_taken_output(request.output, request.overwrite);
  refuse_nested({request.output}, inputs_of(request));
  ConvertRequest of_format = request;
  of_format.format = format.name;
  const bool is_coclr = request.layout == name_of(Dialect::coclr);
  if (is_coclr) of_format.files.frame_order = FrameOrder::bytewise;  // its readers' order
  std::optional<TemporaryOutput> output;
  if (!request.is_dry_run) output.emplace(request.output, request.overwrite);
  say_what_readers_want(of_format, events);
  std::unique_ptr<ListsBeside> lists;  // gone before the output is
  if (!request.split.is_empty())
    lists = plan_lists(of_format, events, format, output ? &*output : nullptr);
  const std::unique_ptr<Source> source =
      open_input(of_format, output ? output->work().path() : temporary_folder(), events);
  if (request.is_dry_run) refuse_for_pipe(*source, request.inputs.front(), "--dry-run");
  refuse_unfit_file(of_format, format, source->info());
  if (is_coclr && !of_format.files.groups_frames)
    events.say(
        "the frames keep the order of the input; CoCLR's own script sorts their names bytewise");
  if (output) {
    require_space(of_format, format, source->info(),
                  division_of_file(of_format, *output, source->info().schema), output->work(),
                  kSpaceHint, events);
  }
  ConvertReport report =
      output ? write_file(of_format, events, format, *source, *output, lists.get(), left_out)
             : plan_file(of_format, events, format, *source);
  report.is_one_file = true;
  if (lists) report.lists = lists->report();
  if (output && report.verification.findings == 0) {
    publish_with_lists(*output, lists.get());
    if (request.with_index) report.index = DatasetPaths::of_file(request.output, "").manifest;
  }
  return report;
}

}  // namespace shale
