#include "shale/datasets/file_format.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kProbeBytes = 4096;

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

const Format* detect_file(const InputFile& file) {
  std::vector<std::byte> head(std::min(kProbeBytes, file.size()));
  file.read_exact(0, head);
  return detect_format({file.path(), head, file.size()});
}

Error unrecognized(const std::string& path) {
  if (const auto facts = facts_behind(path);
      facts && !S_ISREG(facts->st_mode) && !S_ISDIR(facts->st_mode)) {
    try {
      const InputFile special(path);
    } catch (const Error& error) {
      return error;
    }
  }
  const std::string manifest = join_path(path, kManifestName);
  if (const auto facts = facts_behind(manifest); facts && !S_ISREG(facts->st_mode)) {
    return Error(Code::mismatch, "is {}, where the manifest of a dataset should be",
                 S_ISDIR(facts->st_mode) ? "a folder" : "not a regular file")
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
  return Error(Code::unsupported,
               "is neither a shale dataset nor a file in a format that shale recognizes")
      .at(path)
      .hint(
          "'shale convert' turns a folder of images or arrays into a dataset; 'shale formats' "
          "lists the formats");
}

const Format& format_of_file(const InputFile& file) {
  const Format* format = detect_file(file);
  if (format == nullptr) throw unrecognized(file.path());
  if (format->survey == nullptr) {
    throw Error(Code::unsupported, "{} files of other tools are not supported yet", format->name)
        .at(file.path())
        .hint("shards that 'shale convert' wrote are read by the directory they are in");
  }
  return *format;
}

Survey survey_file(const Format& format, const InputFile& file, const Parsing& parsing,
                   const WalkProgress& progress, bool takes_damaged) {
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
  const bool salvages = takes_damaged && format.salvage != nullptr;
  return (salvages ? format.salvage : format.survey)(file, wanted, progress);
}

}  // namespace shale
