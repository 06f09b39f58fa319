#include "shale/datasets/index_change.hpp"

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {

std::optional<std::string> change_since_index(const InputFile& file, const Manifest& manifest,
                                              const std::optional<ManifestShard>& only_shard,
                                              const std::function<void()>& stop_if_asked) {
  if (!only_shard || only_shard->files.size() != 1) return "the index describes no file";
  if (const std::uint64_t then = only_shard->files[0].bytes; then != file.size())
    return fmt::format("it had {} bytes, now {}", then, file.size());
  const std::optional<FileFingerprint>& then = manifest.source.file;
  if (!then) return "the index was made by shale before 0.2.0, and has no fingerprint of the file";
  const std::optional<std::string> difference =
      first_difference(*then, fingerprint_of(file, stop_if_asked));
  if (!difference) return std::nullopt;
  return fmt::format("it has the same size, but {}", *difference);
}

std::optional<std::string> change_of_indexed(const InputFile& file, const Manifest& manifest,
                                             const std::optional<ManifestShard>& only_shard,
                                             const std::function<void()>& stop_if_asked) {
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  if (only_shard && only_shard->files.size() == 1 && only_shard->files[0].name != name) {
    throw Error(Code::mismatch, "the index beside it is that of '{}'",
                printable(only_shard->files[0].name))
        .at(file.path())
        .hint(fmt::format("move {0}.{1}, {0}{2} and {0}{3} away: it is read without them, and "
                          "'shale index' makes others",
                          printable(name), kManifestName, kIndexSuffix, kBlocksSuffix));
  }
  return change_since_index(file, manifest, only_shard, stop_if_asked);
}

Error changed_file(const std::string& file, std::string_view change) {
  Error error(Code::damaged, "has changed since it was indexed: {}", change);
  return error.at(file);
}

Error stale_index(const std::string& file, const std::string& index_folder,
                  const Manifest& manifest, std::string_view change) {
  return changed_file(file, change)
      .hint(fmt::format("run '{}' to index it again",
                        index_command(file, index_folder, parsing_of(manifest.layout),
                                      manifest.layout.has_checksums)));
}

std::string note_on_change(const std::string& file, const std::string& index_folder,
                           const Manifest& manifest, std::string_view change) {
  return fmt::format(
      "{} has changed since it was indexed: {}; if that is intended, run '{}' to index it again",
      printable(file), change,
      index_command(file, index_folder, parsing_of(manifest.layout),
                    manifest.layout.has_checksums));
}

std::string note_on_unpacked(const std::string& file, const Parsing& parsing) {
  return fmt::format(
      "its values were read, but are compressed or in pieces, so no index has checksums of them: "
      "'shale convert {} OUT --to record{}' converts it",
      shell_word(file), options_of(parsing));
}

std::string note_on_packed(const std::string& file, const Schema& schema,
                           const ShardLayout& layout) {
  bool is_packed = false;
  for (std::size_t i = 0; layout.has_values && i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const bool is_media =
        field.kind == Kind::bytes || (field.kind == Kind::list && field.elements == Kind::bytes);
    is_packed = is_packed || (is_media && layout.field_part[i] == 1);
  }
  return is_packed ? note_on_unpacked(file) : std::string();
}

std::string index_command(const std::string& file, const std::string& index_folder,
                          const Parsing& parsing, bool with_checksums) {
  // A kept stream, by NamelessFile::link(), has no name to index it under.
  const bool has_name = !file.starts_with("/proc/self/fd/");
  std::string command = "shale index " + (has_name ? printable(file) : "FILE");
  if (!index_folder.empty()) command += " --index-dir " + printable(index_folder);
  command += options_of(parsing);
  if (with_checksums) command += " --crc";
  return command;
}

}  // namespace shale
