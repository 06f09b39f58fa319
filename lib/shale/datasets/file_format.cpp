#include "shale/datasets/file_format.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/wire/stream_kind.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kProbeBytes = 4096;

std::string beginning_of(const InputFile& file) {
  std::string head(std::min(kProbeBytes, file.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  return head;
}

bool begins_as_tar(const InputFile& file) {
  std::vector<std::byte> head(std::min(kStreamKindBytes, file.size()));
  file.read_exact(0, head);
  return stream_kind_of(head) == StreamKind::tar;
}

constexpr std::string_view kFromMatlab =
    "save it in MATLAB with -v7.3, or: python3 -c \"import numpy, scipy.io; numpy.savez('x.npz', "
    "**{{k: v for k, v in scipy.io.loadmat('{}').items() if k[0] != '_'}})\" && shale info x.npz";
constexpr std::string_view kFolderOfImages =
    "pass the folder that it is in, whose images are the samples";
// Files by their first bytes, with a command that makes of {} what is read.
struct OtherFile {
  std::string_view begin, name, command, suffix = "";
  bool is_image = false;  // of a folder it is a sample
};
constexpr OtherFile kOtherFiles[] = {
    {std::string_view("7z\xbc\xaf\x27\x1c", 6), "a 7z archive",
     "unpack it, and convert the folder: 7z x '{}' -oFOLDER && shale convert FOLDER OUT ..."},
    {"Rar!\x1a\x07", "a RAR archive",
     "unpack it, and convert the folder: unrar x '{}' FOLDER/ && shale convert FOLDER OUT ..."},
    {"MATLAB 5.0 MAT-file", "a MATLAB 5 file", kFromMatlab},
    // Those of version 4 have no magic, and those of 7.3 are HDF5.
    {"", "a MATLAB file of before version 7.3", kFromMatlab, ".mat"},
    {"\xff\xff\xff\xff", "an Arrow file",
     "export it: python3 -c \"import datasets; datasets.Dataset.from_file('{}').to_parquet("
     "'x.parquet')\" && shale info x.parquet",
     ".arrow"},
    {"\xff\xd8\xff", "one image", kFolderOfImages, "", true},
    {"\x89PNG\r\n", "one image", kFolderOfImages, "", true},
};

const OtherFile* known_file(const std::string& path) {
  const std::string begin = beginning_of(InputFile(path));
  const auto* const found =
      std::ranges::find_if(kOtherFiles, [&](const OtherFile& one) {  // streams of Arrow lack magic
        return begin.starts_with(one.begin) && path.ends_with(one.suffix);
      });
  return found == std::end(kOtherFiles) ? nullptr : found;
}

Error not_supported(const OtherFile& file, const std::string& path) {
  return Error(Code::unsupported, "is {}, which is not supported as input", file.name)
      .at(path)
      .hint(fmt::format(fmt::runtime(file.command), printable(path)));
}

const Format* format_of_samples_in_tar() {
  const auto formats = all_formats();
  const auto found = std::ranges::find_if(formats, [](const Format* format) {
    return std::ranges::find(format->dialects, Dialect::webdataset) != format->dialects.end();
  });
  return found == formats.end() ? nullptr : *found;
}

}  // namespace

std::optional<std::string> file_of_path(const std::string& path) {
  const auto is_file = [](const std::optional<struct stat>& facts) {
    return facts && S_ISREG(facts->st_mode);
  };
  const std::optional<struct stat> facts = facts_behind(path);
  if (is_file(facts)) return path;
  if (!facts || !S_ISDIR(facts->st_mode)) return std::nullopt;
  std::string data = join_path(path, "data.mdb");
  return is_file(facts_behind(data)) ? std::optional(std::move(data)) : std::nullopt;
}

const Format* detect_file(const InputFile& file, const Parsing& parsing) {
  std::vector<std::byte> head(std::min(kProbeBytes, file.size()));
  file.read_exact(0, head);
  const Format* const found = detect_format({file.path(), head, file.size(), &file});
  if (found != nullptr) return found;
  // Any archive may be one of samples, and is if its index says so.
  const bool is_of_samples = parsing.dialect == Dialect::webdataset ||
                             (begins_as_tar(file) && is_indexed_archive(file.path(), ""));
  return is_of_samples ? format_of_samples_in_tar() : nullptr;
}

bool is_indexed_archive(const std::string& path, const std::string& index_folder) {
  return is_manifest(paths_of_index(path, index_folder).manifest);
}

bool is_archive_of_samples(const std::string& path) {
  const Format* const format = detect_file(InputFile(path));
  return format != nullptr && format == format_of_samples_in_tar();
}

Error empty_file(const std::string& path) {
  return Error(Code::unsupported, "is empty")
      .at(path)
      .hint("write it again, or restore it from an intact copy");
}

Error no_archive(const std::string& path) {
  if (InputFile(path).size() == 0) return empty_file(path);
  return Error(Code::unsupported, "does not start like a tar archive")
      .at(path)
      .hint(fmt::format(
          "restore it from an intact copy; if it is compressed, decompress it; 'shale "
          "convert {} OUT --to record --parse webdataset --on-error skip' takes what is "
          "whole of an archive of samples",
          shell_word(path)));
}

std::optional<Error> known_but_not_read(const std::string& path) {
  const OtherFile* const file = known_file(path);
  return file == nullptr ? std::nullopt : std::optional(not_supported(*file, path));
}

void refuse_known_files(const std::string& folder) {
  constexpr std::size_t kMostLookedAt = 1000;
  std::vector<std::string> names;
  visit_names(folder, [&](const std::string& name) {
    names.push_back(name);
    return names.size() < kMostLookedAt;
  });
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string path = join_path(folder, name);
    const std::optional<struct stat> facts = facts_behind(path);
    if (!facts || !S_ISREG(facts->st_mode)) continue;
    const OtherFile* const file = known_file(path);
    if (file != nullptr && !file->is_image) throw not_supported(*file, path);
  }
}

std::string hint_for_numbers(const std::string& path) {
  std::string begin = beginning_of(InputFile(path));
  if (begin.empty()) return {};
  // The last character may be cut.
  for (int cut = 0; cut < 4 && !begin.empty() && !is_utf8(begin); ++cut) begin.pop_back();
  if (is_utf8(begin) && begin.find('\0') == begin.npos) return {};
  return "if it holds numbers without a header, pass --raw with their type, and the length of a "
         "row: "
         "--raw uint16,400";
}

Error unrecognized(const std::string& path) {
  const auto facts = facts_behind(path);
  if (facts && !S_ISREG(facts->st_mode) && !S_ISDIR(facts->st_mode)) {
    try {
      const InputFile special(path);
    } catch (const Error& error) {
      return error;
    }
  }
  const std::string manifest = join_path(path, kManifestName);
  if (const auto other = facts_behind(manifest); other && !S_ISREG(other->st_mode)) {
    return Error(Code::mismatch, "is {}, where the manifest of a dataset should be",
                 S_ISDIR(other->st_mode) ? "a folder" : "not a regular file")
        .at(manifest)
        .hint("move it away, and restore dataset.json from an intact copy");
  }
  if (has_shards(path)) {
    return Error(Code::mismatch,
                 "holds shards, but no dataset.json: the copy is not complete, or the manifest is "
                 "lost")
        .at(path)
        .hint("copy dataset.json as well, or convert the source again");
  }
  if (path.ends_with(".tar") && facts && S_ISREG(facts->st_mode) && !begins_as_tar(InputFile(path)))
    return no_archive(path);
  const bool holds_arrays = path.ends_with(".npz");
  if (holds_arrays || path.ends_with(".zip") || path.ends_with(".tar")) {
    return Error(Code::unsupported,
                 "is an archive of {}: shale converts it, but reads no samples in place",
                 holds_arrays ? "arrays" : "files")
        .at(path)
        .hint(
            fmt::format("run 'shale convert {} OUT --to {}", printable(path),
                        holds_arrays ? "npy' (or hdf5, lmdb, record)" : "record' (or lmdb, hdf5)"));
  }
  if (std::optional<Error> error = several_datasets(path)) return *error;
  Error error(Code::unsupported,
              "is neither a shale dataset nor a file in a format that shale recognizes");
  error.at(path);
  if (facts && S_ISREG(facts->st_mode)) {
    if (std::optional<Error> known = known_but_not_read(path)) return *known;
    if (const std::string hint = hint_for_numbers(path); !hint.empty()) return error.hint(hint);
  }
  return error.hint(
      "'shale convert' turns a folder of images or arrays into a dataset; 'shale formats' lists "
      "the "
      "formats");
}

Error not_a_dataset(const std::string& path, Place place) {
  if (place == Place::absent) return absent(path);
  return place == Place::unfinished ? unfinished(path) : unrecognized(path);
}

const Format& format_of_file(const InputFile& file, const Parsing& parsing) {
  const Format* format = detect_file(file, parsing);
  if (format == nullptr) throw unrecognized(file.path());
  if (format->survey == nullptr) {
    throw Error(Code::unsupported, "{} files of other tools are not supported yet", format->name)
        .at(file.path())
        .hint("shards that 'shale convert' wrote are read by the directory they are in");
  }
  return *format;
}

bool takes_parsing(const Format& format, const Parsing& parsing) {
  const Dialect dialect = parsing.dialect.value_or(Dialect::plain);
  const bool has_dialect = dialect == Dialect::plain ||
                           std::ranges::find(format.dialects, dialect) != format.dialects.end();
  return has_dialect && (parsing.database.empty() || format.open_map != nullptr);
}

Survey survey_file(const Format& format, const InputFile& file, const Parsing& parsing,
                   const WalkProgress& progress, const SurveyUse& use) {
  check_dialect(format, parsing, file.path());
  const bool may_be_own = parsing.dialect.value_or(Dialect::own) == Dialect::own;
  if (may_be_own && parsing.database.empty() && format.recognize != nullptr) {
    if (std::optional<Schema> schema = format.recognize(file, progress)) {
      Survey survey;
      survey.layout = as_one_file(format.layout(*schema, OptionSet(format.options)));
      survey.schema = std::move(*schema);
      if (const auto label = label_of(survey.schema, ""); label && format.classes != nullptr)
        survey.classes = format.classes->read(file, survey.schema.fields[*label].name);
      return survey;
    }
  }
  Parsing wanted = parsing;
  if (may_be_own) wanted.dialect = std::nullopt;
  if (format.survey_packed != nullptr)
    return format.survey_packed({.file = file,
                                 .progress = progress,
                                 .memory_bytes = use.memory_bytes,
                                 .takes_damaged = use.takes_damaged,
                                 .takes_packed = use.takes_packed});
  const bool salvages = use.takes_damaged && format.salvage != nullptr;
  return (salvages ? format.salvage : format.survey)(file, wanted, progress);
}

}  // namespace shale
