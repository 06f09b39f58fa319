#include "shale/ops/join_array.hpp"

#include <filesystem>

#include "shale/data/fixed_value.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/ops/array_output.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// The one format whose shard is one array.
constexpr std::string_view kArrayFormat = "npy";

void verify_array(const ConvertRequest& request, const FileSummary& written,
                  ConvertReport& report) {
  const FileSummary found = summarize_file(InputFile(request.output));
  report.was_verified = true;
  report.verification.bytes = found.bytes;
  if (found.hash == written.hash) return;
  Finding finding;
  finding.message = "the bytes read back differ from those written";
  finding.file = request.output;
  finding.found = "xxh3-128 " + found.hash.hex();
  finding.expected = written.hash.hex();
  report.verification.findings = 1;
  report.verification.first_findings.push_back(std::move(finding));
}

}  // namespace

ConvertReport join_into_array(const ConvertRequest& request, const Events& events) {
  if (!request.is_dry_run) clear_left_array(request.output);
  refuse_taken_output(request.output, request.overwrite);
  refuse_nested({request.output}, inputs_of(request));
  const std::string folder =
      request.is_dry_run ? temporary_folder() : folder_of_file(request.output);
  const std::unique_ptr<Source> source = open_input(request, folder, events);
  const SourceInfo& info = source->info();
  const Field& field = only_array_field(info, request.output, !request.fields.empty());
  const Format& format = format_named(kArrayFormat);
  const OptionSet options(format.options);

  ConvertReport report;
  report.is_one_array = true;
  report.is_plan = request.is_dry_run;
  report.notes = info.notes;
  report.manifest.generator = request.generator;
  report.manifest.format = kArrayFormat;
  report.manifest.layout = format.layout(info.schema, options);
  report.manifest.schema = info.schema;
  report.manifest.source = info.manifest;
  report.manifest.shard_count = 1;
  report.manifest.digest.samples = info.manifest.samples;
  report.manifest.payload_bytes = info.manifest.samples * fixed_bytes_of(field).value();
  report.file_bytes =
      format.create_sizer(info.schema, options)
          ->size_with(std::array{report.manifest.payload_bytes}, info.manifest.samples)[0];
  for (const std::string& note : info.notes) events.say(note);
  if (request.is_dry_run) return report;

  TemporaryArray temporary(request.output, request.overwrite);
  const std::uint64_t buffers = ShardSetWriter::buffer_bytes(request.memory_bytes);
  std::vector<OutputFile> files;
  files.emplace_back(temporary.path(), data_file_options(request.io, request.memory_bytes));
  const auto writer = format.create_shard(files, info.schema, options, nullptr);
  const Encoding encoding{format, options, report.manifest.layout, OnError::fail};
  DatasetDigest digest, read;
  encode_all(*source, encoding,
             {.jobs = request.jobs,
              .memory_bytes = request.memory_bytes - buffers -
                              std::max(list_memory(request.memory_bytes), info.memory_bytes),
              .rows_a_shard = std::nullopt},
             events, [&](const EncodedSample& sample) {
               digest.append(sample.record->digest);
               read.append(sample.read);
               (void)writer->append(*sample.record);
             });
  prove_input(info, read, request.inputs.front());
  (void)writer->close();
  const FileSummary written = files.front().finish();
  temporary.publish();
  report.manifest.digest = digest;
  if (request.verify) verify_array(request, written, report);
  return report;
}

}  // namespace shale
