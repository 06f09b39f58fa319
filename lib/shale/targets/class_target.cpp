#include "shale/targets/class_target.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/layout.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/labels/class_order.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/file_output.hpp"
#include "shale/targets/run_state.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMovesName = "moves", kReplaces = "replaces", kOnlyNew = "only new";
constexpr std::uint64_t kMostNameBytes = 255;

std::size_t label_in(const Schema& schema) {
  return schema.fields[0].kind == Kind::integer ? 0 : 1;
}

std::string name_of_input(const std::string& input) {
  fs::path path = fs::absolute(input).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

// By label. Errors: Code::bad_content.
std::vector<std::string> directories_of(const ConvertRequest& request,
                                        const std::vector<std::string>& classes) {
  const std::string& input = request.inputs.front();
  const auto unfit = [&](const std::string& name, const std::string& why) {
    return Error(Code::bad_content, "class '{}' cannot be a directory of layout {}: {}",
                 printable(name), request.layout, why)
        .at(input)
        .hint("rename the class");
  };
  std::vector<std::string> directories;
  std::set<std::string_view> taken;
  directories.reserve(classes.size());  // so that views of them last
  for (const std::string& name : classes) {
    directories.push_back(layout_of(request)->class_directory(name, name_of_input(input)));
    if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      throw unfit(name, "no file can have that name");
    if (directories.back().size() > kMostNameBytes)
      throw unfit(name, fmt::format("its name would have {} bytes, and may have {}",
                                    directories.back().size(), kMostNameBytes));
    if (!taken.insert(directories.back()).second)
      throw unfit(name, "another class has " + printable(directories.back()));
  }
  return directories;
}

// What --overwrite replaces: a directory with nothing in it but the files of the layout.
void refuse_taken_directory(const std::string& directory, const Layout& layout, bool overwrite) {
  if (!stands(directory)) return;
  if (!overwrite) throw already_exists(directory);
  if (!is_real_folder(directory)) throw not_ours(directory);
  visit_names(directory, [&](const std::string& name) {
    const std::string path = join_path(directory, name);
    const std::optional<struct stat> facts = facts_at(path);
    const bool has_name = name == layout.data_name || name == layout.lock_name;
    if (!has_name || !facts || !S_ISREG(facts->st_mode)) throw not_ours(path);
    return true;
  });
}

struct Moves {
  bool replaces = false;
  std::vector<std::string> directories;  // shard by shard
};

// Each entry ends in NUL: the names of classes hold any other byte.
void write_moves(const WorkFolder& work, const Moves& moves) {
  std::string text(moves.replaces ? kReplaces : kOnlyNew);
  text += '\0';
  for (const std::string& directory : moves.directories) text.append(directory).append(1, '\0');
  const std::string path = join_path(work.path(), kMovesName), part = path + ".part";
  OutputFile file(part, {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
  file.append(as_bytes(text));
  (void)file.finish();
  rename_file(part, path);
  sync_directory(work.path());
}

std::optional<Moves> read_moves(const WorkFolder& work) {
  const std::string path = join_path(work.path(), kMovesName);
  if (!stands(path)) return std::nullopt;
  const InputFile file(path);
  std::string text(file.size(), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(text)));
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    entries.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (entries.empty()) throw Error(Code::damaged, "has no entries").at(path);
  Moves moves{.replaces = entries[0] == kReplaces, .directories = {}};
  moves.directories.assign(entries.begin() + 1, entries.end());
  for (const std::string& directory : moves.directories) {
    if (!directory.empty() && directory != "." && directory != ".." &&
        directory.find('/') == std::string::npos)
      continue;
    throw Error(Code::damaged, "has an entry that is not a class").at(path);
  }
  return moves;
}

// Each step may have been done before.
void carry_out(const Moves& moves, const ConvertRequest& request, const WorkFolder& work) {
  const std::string& output = request.output;
  const Layout& layout = *layout_of(request);
  const std::string suffix(format_named(request.format).suffixes.front());
  for (std::size_t i = 0; i < moves.directories.size(); ++i) {
    const std::string from = join_path(work.path(), shard_name(i) + suffix),
                      directory = join_path(output, moves.directories[i]),
                      to = join_path(directory, layout.data_name);
    if (!stands(from)) continue;
    if (!make_directory(directory)) refuse_taken_directory(directory, layout, true);
    if (moves.replaces) {
      rename_file(from, to);
    } else if (!rename_to_free_name(from, to)) {
      throw already_exists(to);
    }
    sync_directory(directory);
  }
  sync_directory(output);
}

// Of the shards in the work folder, in their order.
std::vector<std::int64_t> labels_of(const WorkFolder& work) {
  std::vector<std::int64_t> labels;
  work.for_each_state([&](const ManifestShard&, std::string_view state) {
    labels.push_back(state_from_line(state).label.value_or(-1));
  });
  return labels;
}

void complete_report(ConvertReport& report, const ConvertRequest& request, const WorkFolder& work,
                     const std::vector<std::string>& directories) {
  drop_shard_options(report.manifest);
  report.file_bytes = 0;
  work.for_each_shard([&](const ManifestShard& shard) {
    for (const ManifestFile& file : shard.files) report.file_bytes += file.bytes;
  });
  if (!directories.empty()) report.first_file = join_path(request.output, directories.front());
}

void read_skipped(const WorkFolder& work, ConvertReport& report) {
  constexpr std::size_t kMostShown = 1000;
  const std::string list = join_path(work.path(), list_name(kSkippedName, 0));
  if (report.skipped == 0 || !stands(list)) return;
  read_csv(list, [&](std::uint64_t row, CsvRow fields) {
    if (row > 1 && fields.size() == 3 && report.first_skipped.size() < kMostShown)
      report.first_skipped.push_back(
          {std::string(fields[0]), std::string(fields[1]), std::string(fields[2])});
  });
}

// What a run of this command, which was killed while it moved its classes, would have said.
ConvertReport report_of(const ConvertRequest& request, const WorkFolder& work, Manifest manifest) {
  ConvertReport report;
  report.was_complete = true;
  work.for_each_state([&](const ManifestShard& shard, std::string_view line) {
    const RunState state = state_from_line(line);
    manifest.digest.append(shard.digest);
    manifest.payload_bytes += shard.payload_bytes;
    ++manifest.shard_count;
    manifest.images = state.images;
    report.skipped = state.skipped;
  });
  read_skipped(work, report);
  report.manifest = std::move(manifest);
  complete_report(report, request, work, read_moves(work).value_or(Moves{}).directories);
  return report;
}

}  // namespace

void ClassTarget::look(const Events& events) {
  if (work_ && was_moving_) {
    left_.journal = work_->previous_run();  // its shards are in their places
  } else if (work_) {
    left_ = find_unfinished_run(*work_, events);
  }
  const Place place = look_at(request_.output);
  if (place == Place::other_file) refuse_strange_output(request_.output, place);
  if (place == Place::dataset) {
    throw Error(Code::exists, "holds a shale dataset, which is not replaced by other files")
        .at(request_.output)
        .hint("choose another output, or remove the dataset yourself");
  }
  if (place == Place::other_folder && !request_.overwrite) {
    // Of a run that was killed when all was in its place: an empty work folder.
    if (!work_ && !is_only_planned_) WorkFolder::clear_left(request_.output);
    throw already_exists(request_.output);
  }
  if (left_.fault && !request_.overwrite) throw Error(*left_.fault);
}

void ClassTarget::take() {
  work_.emplace(request_.output);
  const std::optional<Moves> moves = read_moves(*work_);
  was_moving_ = moves.has_value();
  if (moves) carry_out(*moves, request_, *work_);
}

// One that was killed when all of its samples were there is finished by now.
std::optional<ConvertReport> ClassTarget::completed(RunInput& input, const Events& /*events*/) {
  if (!was_moving_) return std::nullopt;
  if (is_head_of(left_, input.head)) {
    ConvertReport report = report_of(request_, *work_, std::move(input.wanted));
    input.source.reset();
    work_->drop_journal();
    return report;
  }
  left_ = {};  // it was of another command, and there is nothing left of it to go on with
  if (!request_.overwrite) throw already_exists(request_.output);
  return std::nullopt;
}

void ClassTarget::refuse_taken(const SourceInfo& source, const std::string& head) const {
  (void)format().layout(source.schema, format_options_of(request_, format()));  // or refuses it
  if (source.classes.empty()) {
    throw Error(Code::unsupported,
                "layout {} has a directory per class, but the input has no names of classes",
                request_.layout)
        .at(request_.inputs.front())
        .hint("convert a folder of class folders, or a dataset that was made from one");
  }
  for (const std::string& directory : directories_of(request_, source.classes))
    refuse_taken_directory(join_path(request_.output, directory), *layout_of(request_),
                           request_.overwrite);
  if (work_) refuse_other_run(request_, left_, head);
}

void ClassTarget::plan(ConvertPlan& plan) const {
  drop_shard_options(plan.manifest);
  plan.file_bytes = plan.data_bytes;
  plan.manifest.shard_count = plan.manifest.classes.size();
}

void ClassTarget::say_about(const SourceInfo& source, const Events& events) const {
  for (const std::string& note : source.notes) events.say(note);
}

// Of a folder by the listing in the work folder.
std::unique_ptr<Source> ClassTarget::in_order(std::unique_ptr<Source> source,
                                              const Events& events) {
  const std::size_t label = label_in(source->info().schema);
  source.reset();
  ConvertRequest again = request_;
  if (work_->holds_listing()) again.files.listing.stored = work_->listing_path();
  return make_class_ordered_source(
      [again, scratch = work_->path(), &events] { return open_input(again, scratch, events); },
      label, events);
}

ShardSetWriter::Options ClassTarget::division(const Schema& schema) const {
  return {.limit_bytes = kAnySize, .writes_index = false, .divided_by = label_in(schema)};
}

void ClassTarget::complete(Conversion* /*conversion*/, ConvertReport& /*report*/,
                           const Events& /*events*/) {}

void ClassTarget::place(ConvertReport& report) {
  const std::vector<std::string> directories = directories_of(request_, report.manifest.classes);
  Moves moves{.replaces = request_.overwrite, .directories = {}};
  for (const std::int64_t label : labels_of(*work_))
    moves.directories.push_back(directories.at(static_cast<std::size_t>(label)));
  complete_report(report, request_, *work_, moves.directories);
  write_moves(*work_, moves);
  carry_out(moves, request_, *work_);
  work_->drop_journal();  // before the list of moves goes: nobody may look for its shards
  work_->remove();
}

}  // namespace shale
