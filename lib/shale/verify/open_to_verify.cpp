#include "shale/verify/open_to_verify.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/lost_samples.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/tars_of_samples.hpp"
#include "shale/verify/verify_files.hpp"

namespace shale {
namespace {

bool read_shards(const VerifyRequest& request, OpenedDataset& dataset, VerifyLog& log) {
  try {
    dataset.shards = open_shard_list(dataset.paths, request.memory_bytes);
    dataset.manifest = dataset.shards.manifest();
    verify_totals(dataset, request.depth, log);
  } catch (const Error& error) {
    log.add_damage(error, "");
    log.note("without its manifest nothing else of the dataset can be verified");
    return false;
  }
  return true;
}

// What was opened with takes_damaged: how much of it is whole, and where it is not.
void add_lost(const OpenedDataset& dataset, VerifyLog& log) {
  log.report().samples = dataset.manifest.digest.samples;
  for (const LostSamples& lost : dataset.lost) {
    log.report().samples += lost.range.samples;
    log.add(finding_of_lost(lost));
  }
  for (const std::string& note : dataset.notes) log.note(note);
}

// No samples can be located in it: what it is unpacked into shows what of it is whole.
void check_unpacked(const VerifyRequest& request, const std::string& file, VerifyLog& log) try {
  DatasetRequest opening = opening_of(request);
  opening.path = file;
  opening.takes_damaged = true;
  const OpenedDataset dataset = open_dataset(opening, log.events());
  log.report().proves_container = format_of(dataset.manifest).can.self_checksummed;
  add_lost(dataset, log);
  if (dataset.lost.empty()) log.note(note_on_unpacked(file, request.parsing));
} catch (const Error& error) {
  log.add_damage(error, "");
}

Parsing unindexed_parsing(const VerifyRequest& request) {
  return request.parsing.is_given() ? request.parsing : Parsing(Dialect::plain);
}

void refuse_part_of_unpacked(const VerifyRequest& request, const std::string& file) {
  if (!request.part) return;
  throw Error(Code::unsupported, "has compressed values, of which there are no lists of blocks")
      .at(file)
      .hint("leave out --sample: the whole file is read then");
}

// A file of another tool whose index is missing, or of an earlier state: its structure is all
// there is to check.
void check_unindexed(const VerifyRequest& request, const std::string& file,
                     const Manifest& manifest, const std::optional<std::string>& change,
                     VerifyLog& log) {
  std::vector<InputFile> files;
  files.emplace_back(file);
  const Format* const found = detect_file(files[0], request.parsing);
  // It is not even a file of that kind any more.
  if (change && found == nullptr) {
    log.add_damage(stale_index(file, request.index_folder, manifest, *change), "");
    return log.note(note_on_change(file, request.index_folder, manifest, *change));
  }
  const Format& format = format_of_file(files[0], request.parsing);
  const WalkProgress progress = log.events().of_walk();
  log.events().stop_if_asked();
  VerifyReport& report = log.report();
  report.shards = 1;
  report.proves_payload = false;
  try {
    Survey survey = survey_file(format, files[0], request.parsing, progress,
                                {.takes_packed = true, .memory_bytes = request.memory_bytes});
    for (std::string& note : survey.notes) log.note(std::move(note));
    ShardLayout unindexed = survey.layout;
    unindexed.has_checksums = false;
    const bool compares_own = compares_container(request, format, unindexed, files[0]);
    format.scan(
        {files, survey.schema, survey.layout, compares_own || request.depth == VerifyDepth::deep,
         survey.samples, survey.bases, progress, nullptr, [](Bytes) { return std::uint64_t{0}; },
         request.memory_bytes},
        OptionSet(format.options), [&](const IndexRow&) { ++report.samples; },
        [&](Finding finding) { log.add(std::move(finding)); });
    report.samples += survey.samples;  // those that have no index row
    report.proves_container = compares_own;
    if (compares_own) report.bytes += files[0].size();
    if (auto note = note_on_packed(file, survey.schema, survey.layout); !note.empty()) {
      refuse_part_of_unpacked(request, file);
      return log.note(std::move(note));
    }
  } catch (const Error& error) {
    const bool may_unpack = !change && format.unpack != nullptr;
    if (may_unpack && error.code() == Code::unsupported) {
      refuse_part_of_unpacked(request, file);
      return check_unpacked(request, file, log);
    }
    if (!change || !is_about_bytes(error) || error.code() == Code::damaged)
      log.add_damage(error, "");
  }
  if (change) {
    if (log.findings() == 0)
      log.add_damage(stale_index(file, request.index_folder, manifest, *change), "");
    return log.note(note_on_change(file, request.index_folder, manifest, *change));
  }
  log.note(
      fmt::format("only its structure {}; run '{}' to make an index with checksums",
                  report.proves_container ? "and the checksums in the file were checked"
                                          : "was checked: payload bytes cannot be verified",
                  index_command(file, request.index_folder, unindexed_parsing(request), true)));
}

// False: the file is not what was indexed, and nothing more is to be checked.
bool check_state_of_file(const VerifyRequest& request, const std::string& file, bool is_indexed,
                         const OpenedDataset& dataset, VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  const ShardList& shards = dataset.shards;
  const auto command = [&] {
    return index_command(file, request.index_folder, parsing_of(manifest.layout), true);
  };
  const std::optional<std::string> change =
      is_indexed ? change_of_indexed(InputFile(file), manifest, shards.only()) : std::nullopt;
  // Blocks and checksums name what differs of a file of the same size.
  const bool can_tell = change && manifest.layout.has_checksums && shards.size() == 1 &&
                        shards[0].files.size() == 1 &&
                        shards[0].files[0].bytes == InputFile(file).size() &&
                        request.depth != VerifyDepth::quick;
  if (can_tell) {
    log.note(note_on_change(file, request.index_folder, manifest, *change));
  } else if (!is_indexed || change) {
    check_unindexed(request, file, manifest, change, log);
    return false;
  }
  if (!manifest.layout.has_checksums) {
    log.report().proves_payload = false;
    log.note(fmt::format("{}; run '{}' to add them", no_checksums({}).message(), command()));
  }
  return true;
}

// Opening a set ends at its first damaged file: here is what is damaged of all of them.
void check_damaged_set(DatasetRequest opening, const Error& first, VerifyLog& log) {
  opening.takes_damaged = true;
  try {
    const OpenedDataset dataset = open_dataset(opening, log.events());
    if (!dataset.lost.empty()) return add_lost(dataset, log);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
  }
  log.add_damage(first, "");
}

// The files of a set, each with its index if it has one.
std::optional<OpenedDataset> open_set_to_verify(const VerifyRequest& request, VerifyLog& log) {
  DatasetRequest opening = opening_of(request);
  opening.trusts_sizes = true;
  try {
    OpenedDataset dataset = open_dataset(opening, log.events());
    // Else blocks and checksums name what differs.
    const bool is_proved =
        dataset.manifest.layout.has_checksums && request.depth != VerifyDepth::quick;
    if (!is_proved && is_manifest(dataset.paths.manifest))
      refuse_changed_members(opening, dataset, log.events());
    for (std::string& note : dataset.notes) log.note(std::move(note));
    verify_totals(dataset, request.depth, log);
    if (dataset.manifest.layout.has_checksums) return dataset;
    log.report().proves_payload = false;
    if (dataset.is_unpacked) return dataset;
    log.note(fmt::format(
        "only the structure of the files is checked: not all of them have an index with "
        "checksums; run '{}' to add them",
        index_command(request.dataset, request.index_folder, unindexed_parsing(request), true)));
    return dataset;
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    check_damaged_set(opening, error, log);
    return std::nullopt;
  }
}

}  // namespace

DatasetRequest opening_of(const VerifyRequest& request) {
  return {.path = request.dataset,
          .index_folder = request.index_folder,
          .parsing = request.parsing,
          .generator = request.generator,
          .memory_bytes = request.memory_bytes,
          .unpacking = Unpacking::if_refused};
}

bool compares_container(const VerifyRequest& request, const Format& format,
                        const ShardLayout& layout, const InputFile& file) {
  return request.depth != VerifyDepth::quick && !layout.has_checksums &&
         proves_itself(format, file);
}

std::optional<OpenedDataset> open_to_verify(const VerifyRequest& request, VerifyLog& log) {
  const bool is_compressed = !request.against.empty() && are_compressed_samples(request.dataset);
  if (is_compressed || holds_set(request.dataset)) return open_set_to_verify(request, log);
  const Place place = look_at(request.dataset);
  const std::optional<std::string> file =
      place == Place::dataset ? std::nullopt : file_of_path(request.dataset);
  if (place != Place::dataset && !file) throw not_a_dataset(request.dataset, place);
  // The index folder may be that of a source, which is read as the manifest says.
  const bool has_source = std::any_of(request.against.begin(), request.against.end(), file_of_path);
  if (!file)
    refuse_file_options(request.dataset, kOwnDataset, has_source ? "" : request.index_folder,
                        request.parsing);
  OpenedDataset dataset;
  dataset.paths =
      file ? paths_of_index(*file, request.index_folder) : DatasetPaths(request.dataset);
  const bool is_indexed = !file || is_manifest(dataset.paths.manifest);
  if (!is_indexed && request.depth == VerifyDepth::deep && is_archive_of_samples(*file))
    return open_set_to_verify(request, log);
  if (is_indexed && !read_shards(request, dataset, log)) return std::nullopt;
  if (!file) refuse_set_index(dataset.manifest, request.dataset);
  const bool is_as_wanted = is_indexed && (!request.parsing.is_given() ||
                                           is_parsed_so(dataset.manifest.layout, request.parsing));
  if (file && !check_state_of_file(request, *file, is_as_wanted, dataset, log)) return std::nullopt;
  return dataset;
}

}  // namespace shale
