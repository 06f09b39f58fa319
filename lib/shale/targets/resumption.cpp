#include "shale/targets/resumption.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOverwrites = "overwrite";
// Of indexes that are hashed before a run goes on: half a second or so.
constexpr std::uint64_t kMostProvedBytes = 512 << 20;

// Without what only says how the run was begun.
Identity comparable(std::string_view head) {
  Identity identity = identity_from_line(head);
  std::erase_if(identity, [](const auto& entry) { return entry.first == kOverwrites; });
  return identity;
}

void require_written(const std::string& folder, const ManifestFile& file) {
  if (file.name.empty()) return;
  const std::string path = join_path(folder, file.name);
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (!error && bytes == file.bytes) return;
  throw Error(Code::damaged, "{}, but the journal of the unfinished run says {} bytes",
              error ? "is missing" : fmt::format("has {} bytes", bytes), file.bytes)
      .at(path)
      .hint("pass --overwrite to discard that run and start again");
}

void check_written_shards(const WorkFolder& work, const Events& events) {
  std::uint64_t left = 0;  // bytes of indexes, this one's and those behind it
  work.for_each_shard([&](const ManifestShard& shard) {
    events.stop_if_asked();
    for (const ManifestFile& file : shard.files) require_written(work.path(), file);
    for (const ManifestFile* list : shard.lists()) require_written(work.path(), *list);
    left += shard.index.bytes;
  });
  work.for_each_shard([&](const ManifestShard& shard) {
    if (left <= kMostProvedBytes && !shard.index.name.empty()) {
      events.stop_if_asked();
      const InputFile index(join_path(work.path(), shard.index.name));
      if (summarize_file(index).hash != shard.index.hash) {
        throw Error(Code::damaged, "is not as it was when the shard was written")
            .at(index.path())
            .hint("pass --overwrite to discard that run and start again");
      }
    }
    left -= shard.index.bytes;
  });
}

bool is_as_written(const std::string& folder, const ManifestFile& file) {
  if (file.name.empty()) return true;
  const std::string path = join_path(folder, file.name);
  if (!stands(path)) return false;
  const InputFile opened(path);
  if (opened.size() != file.bytes) return false;
  // Pages that the kernel could not write are clean, and right, for as long as they are there.
  opened.drop_cache(0, file.bytes);
  return summarize_file(opened).hash == file.hash;
}

bool is_as_written(const std::string& folder, const ManifestShard& shard) {
  const std::vector<const ManifestFile*> lists = shard.lists();
  const auto is_whole = [&](const ManifestFile& file) { return is_as_written(folder, file); };
  return std::ranges::all_of(shard.files, is_whole) &&
         std::ranges::all_of(lists, [&](const ManifestFile* list) { return is_whole(*list); });
}

// Of lines of the tail those whose shards are there, up to the first that is not.
void keep_whole(std::vector<std::string>& tail, const WorkFolder& work, const Events& events) {
  for (auto line = tail.begin(); line != tail.end(); ++line) {
    events.stop_if_asked();
    if (is_as_written(work.path(), WorkFolder::parse_line(*line).shard)) continue;
    tail.erase(line, tail.end());
    return;
  }
}

RunState state_of_lists(const WorkFolder& work, std::string_view line, std::uint64_t run) {
  RunState state = state_from_line(line);
  require_rows(join_path(work.path(), list_name(kSkippedName, run)), state.skipped_list);
  require_rows(join_path(work.path(), list_name(kImagesName, run)), state.images_list);
  return state;
}

// When the last shard was closed: of the tail, which goes if the lists do not fit it.
RunState last_state(UnfinishedRun& left, const WorkFolder& work, std::uint64_t run) {
  if (!left.journal.tail.empty()) try {
      return state_of_lists(work, WorkFolder::parse_line(left.journal.tail.back()).state, run);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      left.journal.tail.clear();
    }
  return left.journal.lines == 0 ? RunState{} : state_of_lists(work, work.last_state(), run);
}

std::string modified_text(std::int64_t ns) {
  return fmt::format("modified {}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

}  // namespace

// A file that is read as a whole is sampled for its fingerprint: its size and time say more. A
// folder's files have theirs in the listing, and a dataset of shale's proves itself.
void add_stamp(Identity& identity, const std::string& input) {
  const std::string path = path_in_word(input);
  if (path.starts_with("/proc/self/fd/")) return;  // a kept stream, by NamelessFile::link()
  std::error_code error;
  const std::optional<ArchivePath> archive = archive_of_path(path);
  std::optional<std::string> file = fs::is_regular_file(path, error) ? path : file_of_path(path);
  if (archive) {
    file.reset();
    if (archive->archives.size() == 1) file = archive->archives.front();
  } else if (std::optional<StreamPath> stream = stream_of_path(path)) {
    if (!fs::is_regular_file(stream->file, error)) return;  // read once: its bytes say what it is
    file = std::move(stream->file);
  }
  std::vector<std::string> files = archive ? archive->archives : std::vector<std::string>();
  if (!archive) {
    for (const SetMember& one : files_of_set(path).value_or(std::vector<SetMember>()))
      files.push_back(one.path);
  }
  if (file) {
    const FileStamp stamp = stamp_of(*file).value_or(FileStamp{});
    identity.emplace_back(
        fmt::format("input file {}", printable(fs::path(*file).filename().string())),
        fmt::format("{} bytes, {}", stamp.bytes, modified_text(stamp.modified_ns)));
  }
  if (files.empty() || (archive && file)) return;
  std::uint64_t bytes = 0;
  std::string stamps;
  for (const std::string& one : files) {
    const FileStamp of_one = stamp_of(one).value_or(FileStamp{});
    bytes += of_one.bytes;
    stamps += fmt::format("{} {}\n", of_one.bytes, of_one.modified_ns);
  }
  identity.emplace_back("listed files", fmt::format("{} bytes, sizes and times {}", bytes,
                                                    xxh3_128(as_bytes(stamps)).hex()));
}

UnfinishedRun find_unfinished_run(const WorkFolder& work, const Events& events, std::uint64_t run) {
  UnfinishedRun left;
  try {
    left.journal = work.previous_run();
    if (!left.journal.holds_lines()) return left;
    check_written_shards(work, events);
    keep_whole(left.journal.tail, work, events);
    left.state = last_state(left, work, run);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    left.fault = error;
  }
  return left;
}

std::string journal_head(const ConvertRequest& request, const Manifest& wanted,
                         const SourceInfo& source) {
  Identity identity;
  identity.emplace_back(kOverwrites, request.overwrite ? "yes" : "no");
  identity.emplace_back("version", request.generator);
  // Those of image work are next to its rules.
  identity.emplace_back("codecs", "none");
  for (auto& entry : identity_of(wanted)) identity.push_back(std::move(entry));
  for (const std::string& input : request.inputs) add_stamp(identity, input);
  // Their sizes are in the fingerprint; a list on stdin has no listing that would hold their times.
  if (wanted.source.kind == kFileList)
    identity.emplace_back("newest listed file", modified_text(source.modified_ns));
  return identity_line(identity);
}

bool asks_to_continue(const ConvertRequest& request, const UnfinishedRun& left) {
  if (left.fault || left.journal.head.empty()) return false;
  if (!request.overwrite) return true;
  const Identity was = identity_from_line(left.journal.head);
  return !was.empty() && was.front() == Identity::value_type(kOverwrites, "yes");
}

bool is_head_of(const UnfinishedRun& left, const std::string& head) {
  return !first_difference(comparable(left.journal.head), comparable(head));
}

void refuse_other_run(const ConvertRequest& request, const UnfinishedRun& left,
                      const std::string& head) {
  if (request.overwrite) return;
  if (left.fault) throw Error(*left.fault);
  if (!left.is_worth_keeping()) return;
  const std::optional<std::string> difference =
      first_difference(comparable(left.journal.head), comparable(head));
  if (!difference) return;
  throw Error(Code::exists, "holds an unfinished run of another command: {}", *difference)
      .at(request.output)
      .hint("run that command again to finish it, or pass --overwrite to discard it");
}

std::optional<RunState> resumption_of(const ConvertRequest& request, const UnfinishedRun& left,
                                      const std::string& head) {
  if (!asks_to_continue(request, left) || !is_head_of(left, head)) return std::nullopt;
  return left.state;
}

}  // namespace shale
