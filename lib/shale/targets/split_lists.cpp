#include "shale/targets/split_lists.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/json_text.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

// As RFC 4180 has it; a reader of lines would stop at a line end.
std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string text = "\"";
  for (const char byte : field) text.append(byte == '"' ? 2 : 1, byte);
  return text + '"';
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code < 0x20 || code == 0x7f;
  });
}

// What of a name no list can hold; empty: nothing.
std::string_view fault_of(std::string_view name) {
  if (!is_utf8(name)) return "is not UTF-8";
  if (has_control_character(name)) return "has a control character";
  return "";
}

std::string_view fault_of_class(std::string_view name) {
  if (const std::string_view fault = fault_of(name); !fault.empty()) return fault;
  if (name.find(',') != std::string_view::npos) return "has a comma";
  return trimmed(name) == name ? "" : "begins or ends with a blank";
}

}  // namespace

SplitLists::SplitLists(const Layout& layout, const SplitRequest& split, Source& whole,
                       std::uint64_t seed, const std::string& scratch_folder,
                       std::uint64_t memory_bytes, const Events& events)
    : layout_(layout),
      readers_(*layout.lists),
      request_(split),
      events_(events),
      classes_(whole.info().classes),
      split_(split, whole, seed, scratch_folder, memory_bytes, events) {
  const auto count = [&](std::string_view name) {
    return std::ranges::count(request_.parts, name, &SplitPart::name);
  };
  if (request_.parts.size() != 2 || count("train") != 1 || count("val") + count("test") != 1) {
    std::string names;
    for (const SplitPart& part : request_.parts) names += (names.empty() ? "" : ", ") + part.name;
    throw Error(Code::usage, "--split into {}, but the readers of layout {} know two lists", names,
                layout_.name)
        .hint("split into train and test; val is another name of test");
  }
  if (classes_.empty()) {
    throw Error(Code::bad_content, "the input has no class names, which --split needs")
        .hint("convert the folder of frames with --group frames");
  }
  for (const std::string& name : classes_) {
    const std::string_view fault = fault_of_class(name);
    if (!fault.empty()) throw unreadable("class", name, fault);
  }
  files_.push_back({.name = std::string(readers_.classes_name)});
  for (const SplitPart& part : request_.parts)
    files_.push_back(
        {.name = std::string(part.name == "train" ? readers_.train_name : readers_.other_name)});
  if (!readers_.numbers_name.empty())
    files_.push_back({.name = std::string(readers_.numbers_name)});
  while (const std::optional<SampleSplit::Entry> video = split_.next()) {
    refuse_unreadable(*video);
    unlisted_ += video->part == SampleSplit::kNoPart ? 1 : 0;
  }
  files_ = described({}, [](std::size_t /*file*/, std::string_view /*row*/) {});
}

Error SplitLists::unreadable(std::string_view what, std::string_view name,
                             std::string_view fault) const {
  return Error(Code::bad_content, "the name of the {} {}, and {}'s readers would not find it", what,
               fault, readers_.program)
      .for_sample(name)
      .hint("rename its folder");
}

void SplitLists::refuse_unreadable(const SampleSplit::Entry& video) const {
  const std::string_view fault = fault_of(video.key);
  if (!fault.empty()) throw unreadable("video", video.key, fault);
  const std::size_t slash = video.key.find('/');
  const bool has_two_names = slash != std::string::npos && slash + 1 < video.key.size() &&
                             video.key.find('/', slash + 1) == std::string::npos;
  const bool is_known =
      video.label >= 0 && static_cast<std::uint64_t>(video.label) < classes_.size();
  const std::string name = is_known ? classes_[static_cast<std::size_t>(video.label)] : "";
  if (has_two_names && is_known && video.key.compare(0, slash, name) == 0) return;
  throw Error(Code::bad_content,
              "the key of a video is its class and its name, Class/video; its class here is '{}'",
              printable(name))
      .for_sample(video.key, video.row)
      .hint(fmt::format("{}'s lists name videos so: give each one a folder ROOT/<class>/<video>/",
                        readers_.program));
}

void SplitLists::refuse_missing_class(const std::vector<std::uint64_t>& counts,
                                      bool are_skipped) const {
  if (!readers_.wants_each_class) return;
  for (std::size_t label = 0; label < classes_.size(); ++label) {
    for (std::size_t part = 0; part < request_.parts.size(); ++part) {
      if (counts[part * classes_.size() + label] > 0) continue;
      throw Error(Code::bad_content, "class '{}' has no video in {}{}", printable(classes_[label]),
                  files_[file_of(part)].name, are_skipped ? ": all of them were skipped" : "")
          .because(fmt::format("{}'s readers want each class of {} in both lists", readers_.program,
                               readers_.classes_name))
          .hint(are_skipped ? "replace the videos that were skipped, or leave the class out"
                : request_.has_files()
                    ? "name a video of the class in each file, or leave the class out of the input"
                    : "give the class more videos, or leave it out of the input");
    }
  }
}

std::string SplitLists::row_of(const SampleSplit::Entry& video) const {
  return fmt::format("{},{}\n", quoted(video.key + std::string(readers_.behind_key)),
                     video.elements);
}

void SplitLists::for_each_row(const KeySet& skipped, const RowSink& use) {
  for (const std::string& name : classes_) use(0, name + "\n");
  std::vector<std::uint64_t> counts(request_.parts.size() * classes_.size());
  const bool has_sources = !readers_.numbers_name.empty();
  std::uint64_t listed = 0;
  split_.rewind();
  while (const std::optional<SampleSplit::Entry> video = split_.next()) {
    events_.stop_if_asked();
    if (video->part == SampleSplit::kNoPart || skipped.contains(video->key)) continue;
    ++counts[video->part * classes_.size() + static_cast<std::size_t>(video->label)];
    use(file_of(video->part), row_of(*video));
    if (has_sources) {
      use(files_.size() - 1,
          fmt::format("{}{}: {}", listed == 0 ? "{" : ",\n ", json_quoted(video->key), listed));
    }
    ++listed;
  }
  if (has_sources) use(files_.size() - 1, listed == 0 ? "{}\n" : "}\n");
  refuse_missing_class(counts, !skipped.empty());
}

// What the files hold without these videos; `use` gets their rows.
std::vector<SplitLists::File> SplitLists::described(const KeySet& skipped, const RowSink& use) {
  std::vector<File> files;
  for (const File& file : files_) files.push_back({.name = file.name});
  std::vector<Hasher128> hashers(files.size());
  for_each_row(skipped, [&](std::size_t file, std::string_view row) {
    hashers[file].update(as_bytes(row));
    files[file].bytes += row.size();
    ++files[file].rows;
    use(file, row);
  });
  for (std::size_t i = 0; i < files.size(); ++i) files[i].hash = hashers[i].digest();
  if (!readers_.numbers_name.empty()) --files.back().rows;  // the brace that ends it
  return files;
}

std::vector<SplitLists::File> SplitLists::write(const std::string& folder, const KeySet& skipped) {
  constexpr OutputFile::Options kSmall{
      .io = IoMode::buffered, .buffer_bytes = 64 * 1024, .buffers = 1};
  std::vector<OutputFile> outputs;
  for (const File& file : files_) {
    const std::string path = join_path(folder, file.name);
    (void)remove_file(path);  // what a kill left
    outputs.emplace_back(path, kSmall);
  }
  std::vector<File> written = described(skipped, [&](std::size_t file, std::string_view row) {
    outputs[file].append(as_bytes(row));
  });
  for (OutputFile& output : outputs) (void)output.finish();
  sync_directory(folder);
  return written;
}

void SplitLists::for_each_sample(std::size_t part,
                                 const std::function<void(std::uint64_t row)>& use) {
  split_.rewind();
  while (const std::optional<SampleSplit::Entry> video = split_.next()) {
    if (video->part == part) use(video->row);
  }
}

void say_unlisted(std::uint64_t videos, std::string_view place, const Events& events) {
  if (videos == 0) return;
  events.say(fmt::format("{} in no list of --split: {}",
                         format_counted(videos, "video is", "videos are"), place));
}

}  // namespace shale
