#include "shale/datasets/file_set.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/file_pattern.hpp"
#include "shale/datasets/hub_folder.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/rebuild_hint.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// ---- lists

// The end of the name that is a file beside the list, if any: lists keep the folders of the machine
// that they were made on.
std::optional<std::string> moved_with_list(const fs::path& folder, const std::string& name) {
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    const std::size_t end = name.find_first_not_of('/', slash);
    if (end == std::string::npos) break;
    std::string path = (folder / name.substr(end)).string();
    if (facts_behind(path)) return path;
  }
  return std::nullopt;
}

// What a listed name stands for.
std::string path_of_name(const std::string& list, const std::string& name, std::size_t number) {
  const fs::path folder = fs::path(list).parent_path();
  const std::string beside = (folder / name).string();
  const std::optional<struct stat> there = facts_behind(beside), here = facts_behind(name);
  if (!there && !here) {
    if (std::optional<std::string> moved = moved_with_list(folder, name)) return *std::move(moved);
    throw Error(Code::not_found, "file {} of the list, '{}', does not exist", number,
                printable(name))
        .at(list)
        .hint(
            "names are relative to the folder of the list or to the current directory, or end "
            "with a file beside the list");
  }
  const bool is_one =
      !there || !here || (there->st_dev == here->st_dev && there->st_ino == here->st_ino);
  if (!is_one) {
    throw Error(Code::usage,
                "file {} of the list, '{}', is one file in the folder of the list and another in "
                "the current directory",
                number, printable(name))
        .at(list)
        .hint("run the command in the folder of the list, or list absolute paths");
  }
  return there ? beside : name;
}

std::optional<std::vector<SetMember>> files_of_list(const std::string& path) {
  const InputFile list(path);
  for (const Format* format : all_formats()) {
    if (format->list_files == nullptr) continue;
    std::optional<std::vector<std::string>> names = format->list_files(list);
    if (!names) continue;
    std::vector<SetMember> files;
    for (std::string& name : *names) {
      std::string found = path_of_name(path, name, files.size() + 1);
      files.push_back({std::move(name), std::move(found)});
    }
    return files;
  }
  return std::nullopt;
}

// The names in a list that is called for with "@", one per line.
std::vector<SetMember> files_of_names(const std::string& list) {
  constexpr std::uint64_t kMostListBytes = 64 << 20;
  const std::vector<std::byte> bytes = read_file(list, kMostListBytes);
  std::vector<SetMember> files;
  std::string_view left = as_text(bytes);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string name(trimmed(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
    if (name.empty() || name.starts_with('#')) continue;
    const std::string found = path_of_name(list, name, files.size() + 1);
    std::optional<std::string> file = file_of_path(found);
    if (!file) {
      throw Error(Code::unsupported, "file {} of the list, '{}', is a folder", files.size() + 1,
                  printable(name))
          .at(list)
          .hint("list the files in it");
    }
    files.push_back({name, *std::move(file)});
  }
  if (files.empty()) throw Error(Code::unsupported, "lists no file").at(list);
  return files;
}

// ---- folders

// "flowers-train.tfrecord-00000-of-00003", ".tfrecords": names that say it.
bool has_suffix_of(const Format& format, std::string_view name) {
  const auto is_in_name = [&](std::string_view suffix) {
    return name.ends_with(suffix) || name.find(std::string(suffix) + "-") != std::string_view::npos;
  };
  return std::ranges::any_of(format.suffixes, is_in_name) ||
         std::ranges::any_of(format.more_suffixes, is_in_name);
}

enum class Entry { file_of_set, text, other };
struct LookedAt {
  Entry what = Entry::other;
  const Format* format = nullptr;
};

// What other programs write beside the files of a set; tables of theirs may be a set themselves.
bool is_beside_files(std::string_view name) {
  return name.ends_with(".idx") || name.ends_with(".parquet");
}

// A name is believed here: the file is looked at when it is opened.
LookedAt look_at_entry(const std::string& path, std::string_view name) {
  for (const Format* format : all_formats()) {
    if (format->survey != nullptr && has_suffix_of(*format, name))
      return {Entry::file_of_set, format};
  }
  if (is_beside_files(name)) return {Entry::text, nullptr};
  const InputFile file(path);
  if (const Format* format = detect_file(file); format != nullptr && format->survey != nullptr)
    return {Entry::file_of_set, format};
  constexpr std::uint64_t kTextBytes = 4096;
  std::string head(std::min(kTextBytes, file.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  // The last character may be cut.
  for (int cut = 0; cut < 4 && !head.empty() && !is_utf8(head); ++cut) head.pop_back();
  const bool is_text = is_utf8(head) && head.find('\0') == std::string::npos;
  return {is_text ? Entry::text : Entry::other, nullptr};
}

// A name without its numbers: what the files of one set have in common.
std::string stem_of(std::string_view name) {
  std::string stem;
  for (const char c : name) {
    if (c >= '0' && c <= '9') {
      if (!stem.ends_with('*')) stem += '*';
    } else {
      stem += c;
    }
  }
  return stem;
}

// The word for a split that a name has as a word of its own; its parts are empty: none.
SplitWord split_in(std::string_view name) {
  const auto is_letter = [&](std::size_t i) {
    return i < name.size() && std::isalpha(static_cast<unsigned char>(name[i])) != 0;
  };
  for (const SplitWord& one : kSplitWords) {
    const std::size_t at = name.find(one.word);
    if (at != std::string_view::npos && !(at > 0 && is_letter(at - 1)) &&
        !is_letter(at + one.word.size()))
      return one;
  }
  return {};
}

// Files that are hardly parts of one table: splits, or arrays of several names.
void refuse_several_sets(const std::string& folder, const std::vector<SetMember>& files,
                         std::string_view a_file, bool are_arrays) {
  std::map<std::string, std::size_t> stems;
  for (const SetMember& file : files) ++stems[stem_of(file.name)];
  const bool are_splits = std::ranges::any_of(
      stems, [](const auto& stem) { return !split_in(stem.first).word.empty(); });
  if (stems.size() == 1 || !(are_splits || are_arrays)) return;
  constexpr std::size_t kShown = 5;
  std::string shown;
  std::size_t count = 0;
  for (const auto& [stem, number] : stems) {
    if (++count > kShown) break;
    shown += fmt::format("{}{} ({})", shown.empty() ? "" : ", ", printable(stem), number);
  }
  throw Error(Code::unsupported,
              "each of its files is {}, but they seem to be of several sets: {}{}", a_file, shown,
              stems.size() > kShown ? " ..." : "")
      .at(folder)
      .hint(fmt::format("name the files of one set, as in 'shale info \"{}\"'",
                        printable(join_path(folder, stems.begin()->first))));
}

// The file that an entry stands for, and what it is. One that cannot be looked at is another kind
// of input's to name.
std::pair<std::optional<std::string>, LookedAt> look_at_entry_of(const std::string& folder,
                                                                 const std::string& name) try {
  std::optional<std::string> file = file_of_path(join_path(folder, name));
  const LookedAt entry = file ? look_at_entry(*file, name) : LookedAt{};
  return {std::move(file), entry};
} catch (const Error& error) {
  if (error.code() != Code::io) throw;
  return {};
}

struct FilesOfFolder {
  std::vector<SetMember> files;  // in natural order
  const Format* format = nullptr;
};

// The error for an entry of a folder whose index says that it is a set. To be thrown.
Error is_in_the_way(const std::string& folder, const std::string& name) {
  const std::optional<struct stat> facts = facts_behind(join_path(folder, name));
  const std::string_view what = !facts                     ? "a link to nothing"
                                : !S_ISREG(facts->st_mode) ? "not a regular file"
                                                           : "not a file like the others";
  return Error(Code::unsupported, "is indexed as a set of files, but '{}' in it is {}",
               printable(name), what)
      .at(folder)
      .hint("move it to another folder; 'shale index' then looks at the files again");
}

// By a few of them: the first may be without a sample.
bool are_archives_of_samples(const std::vector<SetMember>& files) {
  const SetMember* const few[] = {&files.front(), &files[files.size() / 2], &files.back()};
  return std::ranges::any_of(
      few, [](const SetMember* file) { return is_archive_of_samples(file->path); });
}

// Empty: something there is no file of a set, or not of the same kind as the others. Errors:
// Code::unsupported, with its name, where there is an index of a set; folders that came later are
// not of it.
FilesOfFolder list_files_of(const std::string& folder) {
  FilesOfFolder all;
  if (has_shards(folder)) return {};  // shale's, without their manifest
  bool is_set = true;
  std::string odd;
  FilesOfFolder tables;
  const bool has_index = facts_behind(join_path(folder, kSetIndexFolder)).has_value();
  visit_names(folder, [&](const std::string& name) {
    if (name.starts_with('.') || is_about_a_file(name)) return true;
    const auto [file, entry] = look_at_entry_of(folder, name);
    if (entry.what == Entry::text) return true;
    if (has_index && entry.what == Entry::other && is_real_folder(join_path(folder, name)))
      return true;
    if (entry.what == Entry::file_of_set && is_beside_files(name)) {
      tables.format = entry.format;
      tables.files.push_back({name, *file});
      return true;
    }
    is_set = entry.what == Entry::file_of_set && (!all.format || all.format == entry.format);
    all.format = entry.format;
    if (is_set) all.files.push_back({name, *file});
    if (!is_set) odd = name;
    return is_set;
  });
  if (is_set && (all.files.empty() || all.format == tables.format)) {
    all.format = tables.format;
    std::ranges::move(tables.files, std::back_inserter(all.files));
  }
  if (!odd.empty() && has_index) throw is_in_the_way(folder, odd);
  if (!is_set) return {};
  std::ranges::sort(all.files, is_naturally_less, &SetMember::name);
  // The name of an archive does not say whether it holds samples or the files of a folder.
  const bool may_be_of_folders =
      all.format != nullptr &&
      std::ranges::find(all.format->dialects, Dialect::webdataset) != all.format->dialects.end();
  if (may_be_of_folders && !has_index && !are_archives_of_samples(all.files)) return {};
  return all;
}

// "toy/toy-train.tfrecord-*-of-*", if these are all files that it stands for; else one that names
// each.
std::string word_of_split(const std::string& folder, const std::vector<SetMember>& files) {
  std::string pattern = join_path(folder, stem_of(files.front().name));
  if (pattern.find_first_of("?[{") == std::string::npos && folder.find('*') == std::string::npos &&
      files.size() > 1) {
    const std::optional<std::vector<SetMember>> all = files_of_pattern(pattern);
    if (all && std::ranges::equal(*all, files, {}, &SetMember::path, &SetMember::path))
      return pattern;
  }
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const SetMember& file : files) paths.push_back(file.path);
  return word_of_files(paths);
}

// Those of a repository of the hub; none of what shale wrote, with a manifest or without.
std::vector<SetOfSplit> files_of_hub(const std::string& folder) {
  std::vector<SetOfSplit> splits;
  if (has_shards(folder) || !splits_in(folder).empty()) return splits;
  for (HubSplit& split : splits_of_hub(folder)) {
    SetOfSplit& one = splits.emplace_back(SetOfSplit{.split = split.name, .files = {}});
    for (std::string& name : split.files) {
      std::string path = join_path(folder, name);
      one.files.push_back({std::move(name), std::move(path)});
    }
  }
  return splits;
}

// With a word for each; train first.
std::vector<SetOfSplit> in_order(const std::string& folder, std::vector<SetOfSplit> splits) {
  for (SetOfSplit& split : splits) split.word = word_of_split(folder, split.files);
  std::ranges::sort(splits, [](const SetOfSplit& one, const SetOfSplit& other) {
    return std::pair(one.split != "train", one.split) <
           std::pair(other.split != "train", other.split);
  });
  return splits;
}

Error several_splits(const std::string& folder, const std::vector<SetOfSplit>& splits) {
  std::string shown;
  for (const SetOfSplit& split : splits) {
    shown += fmt::format("{}{} ({})", shown.empty() ? "" : ", ", split.split,
                         format_counted(split.files.size(), "file", "files"));
  }
  return Error(Code::unsupported, "holds the splits {}", shown)
      .at(folder)
      .hint(fmt::format("name the files of one, as in 'shale info \"{}\"'; 'shale convert' makes a "
                        "dataset of each",
                        printable(splits.front().word)));
}

std::optional<std::vector<SetMember>> files_of_folder(const std::string& path) {
  if (std::optional<Error> error = saved_as_arrow(path)) throw *std::move(error);
  std::vector<SetOfSplit> splits = files_of_hub(path);
  if (splits.size() == 1) return std::move(splits.front().files);
  if (!splits.empty()) throw several_splits(path, in_order(path, std::move(splits)));
  const std::string folder = folder_of_files(path);
  FilesOfFolder all = list_files_of(folder);
  if (all.files.empty()) return std::nullopt;
  refuse_several_sets(folder, all.files, all.format->a_file, all.format->tensors != nullptr);
  return std::move(all.files);
}

// One that may hold files of other tools.
bool is_plain_folder(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  return facts && S_ISDIR(facts->st_mode) && !file_of_path(path) &&
         !facts_behind(join_path(path, kManifestName)) &&
         !facts_behind(join_path(path, kWorkFolder));
}

bool has_set_index(const std::string& folder) {
  return stands(join_path(join_path(folder, kSetIndexFolder), kManifestName));
}

}  // namespace

std::optional<std::vector<SetMember>> files_of_set(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (!facts && path.starts_with('@')) return files_of_names(path.substr(1));
  if (!facts) return files_of_pattern(path);
  if (S_ISREG(facts->st_mode)) return files_of_list(path);
  return is_plain_folder(path) ? files_of_folder(path) : std::nullopt;
}

bool are_files_of_folder(std::vector<std::uint64_t> name_hashes, const std::string& folder) {
  std::ranges::sort(name_hashes);
  std::size_t found = 0;
  bool are_all = true;
  visit_names(folder, [&](const std::string& name) {
    const bool is_one = std::ranges::binary_search(name_hashes, xxh3_64(as_bytes(name)));
    found += is_one ? 1 : 0;
    return are_all = is_one || name.starts_with('.') || is_about_a_file(name) ||
                     look_at_entry_of(folder, name).second.what == Entry::text;
  });
  return are_all && found == name_hashes.size();
}

bool holds_set(const std::string& path) {
  return (is_plain_folder(path) && has_set_index(path)) || files_of_set(path).has_value();
}

std::optional<std::vector<SetMember>> files_of_any_kind(const std::string& path) {
  if (!is_plain_folder(path)) return files_of_set(path);
  std::vector<SetMember> files;
  visit_names(path, [&](const std::string& name) {
    if (name.starts_with('.') || is_about_a_file(name)) return true;
    std::string file = join_path(path, name);
    const std::optional<struct stat> facts = facts_behind(file);
    if (!facts || !S_ISREG(facts->st_mode)) {
      throw Error(Code::unsupported, "holds '{}', which is not a file", printable(name))
          .at(path)
          .hint(fmt::format("name the files by a pattern: '{}'",
                            printable(join_path(path, "*.bin"))));
    }
    files.push_back({name, std::move(file)});
    return true;
  });
  if (files.empty()) return std::nullopt;
  std::ranges::sort(files, is_naturally_less, &SetMember::name);
  refuse_several_sets(path, files, "numbers", true);
  return files;
}

std::vector<SetOfSplit> files_of_splits(const std::string& path, std::size_t least) {
  if (!is_plain_folder(path) || has_set_index(path)) return {};
  std::vector<SetOfSplit> splits = files_of_hub(path);
  if (!splits.empty() && splits.size() < least) return {};
  if (!splits.empty()) return in_order(path, std::move(splits));
  const std::string folder = folder_of_files(path);
  const FilesOfFolder all = list_files_of(folder);
  for (const SetMember& file : all.files) {
    const auto [word, split] = split_in(file.name);
    if (word.empty()) return {};
    const auto found = std::ranges::find(splits, split, &SetOfSplit::split);
    SetOfSplit& one =
        found == splits.end()
            ? splits.emplace_back(SetOfSplit{.split = std::string(split), .files = {}})
            : *found;
    // "test-1" and "eval-1" would be one split: they are not mixed.
    if (!one.files.empty() && split_in(one.files.front().name).word != word) return {};
    // Arrays of several names are hardly parts of one.
    if (all.format->tensors != nullptr && !one.files.empty() &&
        stem_of(one.files.front().name) != stem_of(file.name))
      return {};
    one.files.push_back(file);
  }
  return splits.size() < least ? std::vector<SetOfSplit>() : in_order(folder, std::move(splits));
}

std::optional<std::vector<SetMember>> files_of_words(const std::vector<std::string>& words) {
  std::vector<SetMember> files;
  for (const std::string& word : words) {
    std::optional<std::string> file = file_of_path(word);
    if (!file) return std::nullopt;
    const Format* const format = detect_file(InputFile(*file));
    if (format == nullptr || format->survey == nullptr) return std::nullopt;
    files.push_back({word, *std::move(file)});
  }
  return files;
}

std::string note_on_words(const std::vector<std::string>& words) {
  if (!std::ranges::is_sorted(words)) return {};
  const auto late = std::ranges::adjacent_find(words, [](const auto& one, const auto& next) {
    return is_naturally_less(next, one) && stem_of(one) == stem_of(next);
  });
  if (late == words.end()) return {};
  const std::string& word = *std::next(late);
  const auto before = std::ranges::find_if(words, [&](const auto& one) {
    return is_naturally_less(word, one) && stem_of(one) == stem_of(word);
  });
  return fmt::format(
      "{} comes before {}, in the order of the words; in that of their numbers, name the folder of "
      "the files, or their pattern in quotes",
      printable(*before), printable(word));
}

std::string note_on_missing_files(const std::vector<SetMember>& files) {
  constexpr std::string_view kOf = "-of-", kDigits = "0123456789";
  constexpr std::size_t kMostDigits = 6, kShown = 3;
  // "x-00002-of-00010.tfrecord": by "x-" and "-of-00010.tfrecord", the numbers as they are written.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> sets;
  for (const SetMember& file : files) {
    const std::size_t of = file.name.rfind(kOf);
    if (of == file.name.npos) continue;
    const std::size_t begin = file.name.find_last_not_of(kDigits, of - 1) + 1;
    if (begin == of || of - begin > kMostDigits) continue;
    sets[{file.name.substr(0, begin), file.name.substr(of)}].insert(
        file.name.substr(begin, of - begin));
  }
  std::string shown;
  std::uint64_t missing = 0;
  for (const auto& [around, numbers] : sets) {
    const auto& [before, behind] = around;
    std::uint64_t count = 0;
    const char* const text = behind.data() + kOf.size();
    const auto [end, error] = std::from_chars(text, behind.data() + behind.size(), count);
    if (error != std::errc() || end - text > static_cast<std::ptrdiff_t>(kMostDigits)) continue;
    const std::size_t width = numbers.begin()->size();
    const auto name_of = [&](std::uint64_t number) { return fmt::format("{:0{}}", number, width); };
    // Some writers count from 1.
    const std::uint64_t first = numbers.contains(name_of(count)) ? 1 : 0;
    for (std::uint64_t number = first; number < count + first; ++number) {
      if (numbers.contains(name_of(number)) || ++missing > kShown) continue;
      shown += fmt::format("{}{}", shown.empty() ? "" : ", ",
                           printable(fmt::format("{}{}{}", before, name_of(number), behind)));
    }
  }
  if (missing == 0) return {};
  return fmt::format("by the names of the others {} missing: {}{}",
                     missing == 1 ? "a file is" : fmt::format("{} files are", missing), shown,
                     missing > kShown ? " ..." : "");
}

}  // namespace shale
