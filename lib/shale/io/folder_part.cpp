#include "shale/io/folder_part.hpp"

#include <utility>

#include "shale/base/error.hpp"
#include "shale/io/open_folder.hpp"

namespace shale {
namespace {

// A part: what is held of a folder at a time, and how long a stop may have to wait.
constexpr std::size_t kMostEntries = 512, kMostNameBytes = 32 * 1024;

bool is_hidden_name(std::string_view name) { return name.front() == '.'; }

void add_entry(FolderPart& part, const dirent& told, const FolderQuestion& question) {
  const std::string_view name = told.d_name;
  FolderPart::Entry entry{.name_begin = static_cast<std::uint32_t>(part.names.size()),
                          .name_bytes = static_cast<std::uint32_t>(name.size()),
                          .type = type_of(told)};
  if (question.keep_hidden || !is_hidden_name(name)) {
    entry.is_sized = !question.wants_size || question.wants_size(name);
    entry.needs_stat = needs_stat(told) || (entry.type == S_IFREG && entry.is_sized);
  }
  part.names.append(name).append(1, '\0');
  part.entries.push_back(entry);
}

void ask_about_entry(FolderPart& part, FolderPart::Entry& entry, const OpenFolder& folder) {
  const struct stat facts = folder.facts_of(part.names.c_str() + entry.name_begin);
  entry.type = facts.st_mode & S_IFMT;
  if (entry.type != S_IFREG || !entry.is_sized) return;
  entry.bytes = static_cast<std::uint64_t>(facts.st_size);
  entry.modified_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

void add_names(FolderPart& part, std::shared_ptr<OpenFolder> folder,
               const FolderQuestion& question) {
  while (part.entries.size() < kMostEntries && part.names.size() < kMostNameBytes) {
    const dirent* const told = folder->next();
    if (told == nullptr) return;
    add_entry(part, *told, question);
  }
  part.rest = std::move(folder);
}

}  // namespace

FolderPart begin_folder(const std::string& path, bool is_root,
                        const FolderQuestion& question) noexcept {
  FolderPart part;
  try {
    const auto folder = std::make_shared<OpenFolder>(path, is_root);
    const struct stat facts = folder->facts();
    part.is_open = true;
    part.device = facts.st_dev;
    part.inode = facts.st_ino;
    try {
      add_names(part, folder, question);
    } catch (...) {
      part.error = std::current_exception();
    }
    ask_about(part, *folder);
  } catch (...) {
    part.error = std::current_exception();
  }
  return part;
}

FolderPart next_names(std::shared_ptr<OpenFolder> folder, const FolderQuestion& question) noexcept {
  FolderPart part;
  try {
    add_names(part, std::move(folder), question);
  } catch (...) {
    part.error = std::current_exception();
  }
  return part;
}

void ask_about(FolderPart& part, const OpenFolder& folder) noexcept {
  for (std::size_t i = 0; i < part.entries.size(); ++i) {
    if (!part.entries[i].needs_stat) continue;
    try {
      ask_about_entry(part, part.entries[i], folder);
    } catch (...) {
      part.error = std::current_exception();
      part.rest = nullptr;
      part.entries.resize(i);
      return;
    }
  }
}

}  // namespace shale
