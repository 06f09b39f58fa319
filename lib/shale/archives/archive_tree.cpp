#include "shale/archives/archive_tree.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "shale/archives/archive_set.hpp"
#include "shale/archives/tar_members.hpp"
#include "shale/archives/zip_members.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/labels/split_names.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

constexpr int kMostLinks = 40;  // on the way to one file, as Linux has it

std::string with_slashes(std::string path) {
  std::replace(path.begin(), path.end(), '\0', '/');
  return path;
}

std::string joined(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!path.empty()) path += '\0';
  return path.append(name);
}

std::string folder_above(const std::string& path) {
  const std::size_t end = path.rfind('\0');
  return end == std::string::npos ? std::string() : path.substr(0, end);
}

// What a path of the archive is, all links followed.
struct Node {
  enum class Kind { file, folder, special };
  Kind kind = Kind::special;
  std::string path;  // of a folder
  std::uint64_t offset = 0, bytes = 0;
};

class ArchiveTree final : public FileTree {
 public:
  /// `may_be_splits`: archives are folders in the folders that are named after splits, too.
  ArchiveTree(const FolderRequest& request, const ArchivePath& path, bool may_be_splits)
      : limits_({.root = shown_archives(path, request.root),
                 .scratch_folder = request.scratch_folder,
                 .memory_bytes = request.memory_bytes / 2,
                 .on_damage = request.on_damage,
                 .stop_if_asked = request.stop_if_asked}),
        archives_(path.archives),
        root_(path_in_archive(path.folder)),
        folders_of_archives_({root_}) {
    if (archives_.all().size() > 1 && (are_splits() || are_classes(request)))
      archives_.make_folders();
    if (!may_be_splits) return;
    for (const std::string_view name : kSplitNames)
      folders_of_archives_.push_back(joined(root_, name));
  }

  /// Reads the headers until a folder that is not named after a split is met: false if there is
  /// one.
  bool list_splits(bool keeps_hidden) {
    return fill_table([&](const Member& member) {
      std::string_view path = member.path;
      if (!root_.empty()) {
        if (!path.starts_with(root_) || path.size() <= root_.size()) return true;
        path.remove_prefix(root_.size());
        if (path.front() != '\0') return true;
        path.remove_prefix(1);
      }
      const std::string_view name = path.substr(0, path.find('\0'));
      const bool is_passed_over = is_hidden_name(name) && !keeps_hidden;
      return is_passed_over || !split_of_folder(name).empty() ||
             (name.size() == path.size() && !is_folder(member));
    });
  }

  WalkCounts walk(const std::string& folder, const WalkOptions& options,
                  const std::function<void(const WalkedFile&)>& visit) override {
    Walk walk{.options = options, .visit = visit, .counts = {}, .directory = {}, .levels = {}};
    enter(walk, folder_at(folder));
    while (!walk.levels.empty()) {
      Level& level = walk.levels.back();
      walk.directory.resize(level.directory_length);
      if (level.pending.empty()) {
        walk.levels.pop_back();
        continue;
      }
      auto [name, path] = std::move(level.pending.back());
      level.pending.pop_back();
      if (!walk.directory.empty()) walk.directory += '/';
      walk.directory += name;
      enter(walk, path);
    }
    return walk.counts;
  }

  std::vector<FolderEntry> list(const std::string& folder,
                                const std::function<bool(const FolderEntry&)>& keeps) override {
    std::vector<FolderEntry> entries;
    const std::string path = folder_at(folder);
    for_each_child(path, [&](std::string_view name, const Member* member) {
      const Node node = node_of(joined(path, name), member);
      FolderEntry entry{std::string(name), node.kind == Node::Kind::folder, node.offset};
      if (!keeps || keeps(entry)) entries.push_back(std::move(entry));
    });
    return entries;  // the table is in order
  }

  std::string fingerprint() const override { return archives_.fingerprint(); }

  ArchivedFile place_of(std::uint64_t offset) override {
    const ArchiveSet::One& one = archives_.at(offset);
    ArchivedFile place{.archive = one.file, .offset = offset - one.base};
    if (one.kind == ArchiveKind::tar) return place;
    const PackedMember& packed = packed_at(offset);
    place.packed_bytes = packed.packed_bytes;
    place.crc32 = packed.crc32;
    if (!packed.damage.empty()) place.offset = one.file->file().size();  // nothing is read there
    return place;
  }

  std::string damage_of(std::uint64_t offset) override {
    return archives_.at(offset).kind == ArchiveKind::zip ? packed_at(offset).damage : std::string();
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (!has_end_marks_)
      notes.emplace_back(
          "the archive, or one in it, has no mark of its end: if it was truncated between two "
          "members, there were more");
    if (back_slashes_ > 0)
      notes.push_back(fmt::format(
          "{} no slash, but back-slashes, as programs on Windows write them: they are read as "
          "slashes",
          format_counted(back_slashes_, "name in the archive has", "names in the archive have")));
    if (archives_.all().size() > 1)
      notes.push_back(fmt::format("{} archives are one input{}", archives_.all().size(),
                                  archives_.all().front().folder.empty()
                                      ? ", as if all were unpacked into one folder"
                                      : ": each is a folder, named after it"));
    return notes;
  }

 private:
  struct Limits {
    std::string root;  // as the user gave it
    std::string scratch_folder;
    std::uint64_t memory_bytes;
    OnDamage on_damage;
    std::function<void()> stop_if_asked;
  };
  struct Level {
    std::size_t directory_length;
    std::string path;
    std::vector<std::pair<std::string, std::string>> pending;  // name, path
  };
  struct Walk {
    const WalkOptions& options;
    const std::function<void(const WalkedFile&)>& visit;
    WalkCounts counts;
    std::string directory;  // relative to where it began
    std::vector<Level> levels;
  };

  MemberTable& table() {
    if (!table_) (void)fill_table({});
    return *table_;
  }

  // Of a file in a zip archive; the same one is asked for again and again.
  [[nodiscard]] const PackedMember& packed_at(std::uint64_t offset) {
    if (last_packed_ && last_packed_->address == offset) return *last_packed_;
    (void)table();
    std::uint64_t at = packed_->find(offset);
    last_packed_ = packed_->next(at);
    if (last_packed_ && last_packed_->address == offset) return *last_packed_;
    const ArchiveSet::One& one = archives_.at(offset);
    throw Error(Code::bug, "no file of the archive begins there").at(one.path(), offset - one.base);
  }

  // False if `wants_more` ended it; there is no table then.
  bool fill_table(const std::function<bool(const Member&)>& wants_more) {
    MemberTable table(limits_.scratch_folder, limits_.memory_bytes / 4);
    std::optional<PackedTable> packed;
    if (archives_.holds_zip()) packed.emplace(limits_.scratch_folder, limits_.memory_bytes / 4);
    has_end_marks_ = true;
    back_slashes_ = 0;
    for (const ArchiveSet::One& one : archives_.all()) {
      const MemberListing listing = listing_of(one, wants_more);
      const ListedMembers listed = one.kind == ArchiveKind::tar ? list_tar(listing, table)
                                                                : list_zip(listing, table, *packed);
      one.file->refuse_changes();
      if (!listed.is_complete) return false;
      has_end_marks_ = has_end_marks_ && listed.has_end_marks;
      back_slashes_ += listed.back_slashes;
    }
    table.finish(limits_.stop_if_asked);
    table_.emplace(std::move(table));
    if (packed) packed->finish(limits_.stop_if_asked);
    packed_ = std::move(packed);
    return true;
  }

  [[nodiscard]] MemberListing listing_of(const ArchiveSet::One& one,
                                         std::function<bool(const Member&)> wants_more) const {
    return {.archive = one,
            .folders_of_archives = folders_of_archives_,
            .memory_bytes = limits_.memory_bytes / 4,
            .stop_if_asked = limits_.stop_if_asked,
            .scratch_folder = limits_.scratch_folder,
            .on_damage = limits_.on_damage,
            .wants_more = std::move(wants_more)};
  }

  [[nodiscard]] bool are_splits() const {
    return std::ranges::all_of(archives_.all(), [](const ArchiveSet::One& one) {
      const std::string name = one.file->file().name();
      return is_split_name(std::string_view(name).substr(0, name.rfind('.')));
    });
  }

  // As the archives in ILSVRC2012_img_train.tar: by what the first one begins with.
  [[nodiscard]] bool are_classes(const FolderRequest& request) const {
    constexpr std::size_t kMostLookedAt = 100;
    if (request.labels.is_given() || request.without_labels || !request.needs_labels ||
        !root_.empty())
      return false;
    const SoughtFiles sought(request.files.suffixes);
    std::size_t samples = 0;
    bool are_samples = true;
    const auto look_at = [&](const Member& member) {
      if (is_hidden_name(member.path.substr(0, member.path.find('\0')))) return true;
      are_samples = member.type == MemberType::file &&
                    member.path.find('\0') == std::string::npos && sought.takes(member.path);
      return are_samples && ++samples < kMostLookedAt;
    };
    MemberTable table(limits_.scratch_folder, limits_.memory_bytes / 4);
    PackedTable packed(limits_.scratch_folder, limits_.memory_bytes / 4);
    const ArchiveSet::One& first = archives_.all().front();
    if (first.kind == ArchiveKind::tar)
      (void)list_tar(listing_of(first, look_at), table);
    else
      (void)list_zip(listing_of(first, look_at), table, packed);
    return are_samples && samples > 0;
  }

  std::string folder_at(const std::string& folder) {
    std::optional<std::string> found = folder_if_any(folder);
    if (!found && !root_.empty()) {
      // x.tar/train may be the train.tar that x.tar holds.
      const std::string above = folder_above(root_);
      if (std::ranges::find(folders_of_archives_, above) == folders_of_archives_.end()) {
        folders_of_archives_.push_back(above);
        table_.reset();
        found = folder_if_any(folder);
      }
    }
    if (found) return *std::move(found);
    throw no_folder_of_archive(join_path(limits_.root, folder));
  }

  // With all links on the way followed, those of its last part, too.
  std::optional<std::string> folder_if_any(const std::string& folder) {
    int links = 0;
    const std::string path = root_.empty() ? folder : join_path(with_slashes(root_), folder);
    if (path.empty()) return std::string();
    std::optional<Node> node = go("", path, path, links);
    if (!node || node->kind != Node::Kind::folder) return std::nullopt;
    return std::move(node->path);
  }

  // Mirrors io/walk: what it does with an entry of a folder, this does with a member.
  void enter(Walk& walk, const std::string& path) {
    for (const Level& ancestor : walk.levels) {
      if (ancestor.path != path) continue;
      ++walk.counts.cut_loops;
      return;
    }
    if (!walk.levels.empty()) ++walk.counts.directories;
    Level level{walk.directory.size(), path, {}};
    for_each_child(path, [&](std::string_view name, const Member* member) {
      meet(walk, joined(path, name), name, member, level);
    });
    walk.levels.push_back(std::move(level));
  }

  void meet(Walk& walk, const std::string& path, std::string_view name, const Member* member,
            Level& level) {
    const auto pass_over = [&](PassedOver reason) {
      if (walk.options.pass_over) walk.options.pass_over(walk.directory, name, reason);
    };
    if (is_hidden_name(name) && !walk.options.keep_hidden) {
      ++walk.counts.hidden;
      return pass_over(PassedOver::hidden);
    }
    Node node = node_of(path, member);
    if (node.kind == Node::Kind::file) {
      ++walk.counts.files;
      const bool is_sized = !walk.options.wants_size || walk.options.wants_size(name);
      walk.visit({.directory = walk.directory,
                  .name = name,
                  .bytes = is_sized ? node.bytes : 0,
                  .modified_ns = is_sized ? archives_.at(node.offset).file->modified_ns() : 0,
                  .offset = node.offset});
    } else if (node.kind == Node::Kind::folder) {
      level.pending.emplace_back(name, std::move(node.path));
    } else {
      ++walk.counts.other;
      pass_over(PassedOver::special);
    }
  }

  // Calls use(name, member) on each entry of a folder, in order; null: a folder that has no member
  // of its own.
  template <class Use>
  void for_each_child(const std::string& folder, Use use) {
    const std::string prefix = folder.empty() ? "" : folder + '\0';
    std::uint64_t behind = table().find(prefix);
    const std::optional<Member> itself =
        folder.empty() ? std::nullopt : member_at(folder, ~std::uint64_t{0});
    std::optional<Member> member = table_->next(behind);
    while (member && member->path.starts_with(prefix)) {
      limits_.stop_if_asked();
      if (itself) refuse_file_with_files(*itself, *member);
      const std::string_view rest = std::string_view(member->path).substr(prefix.size());
      const std::string name(rest.substr(0, rest.find('\0')));
      if (name.size() < rest.size()) {
        use(name, nullptr);
        behind = table_->find(prefix + name + '\1');
        member = table_->next(behind);
        continue;
      }
      std::optional<Member> following = last_of(*member, behind);
      const std::string below = member->path + '\0';
      const bool has_below = following && following->path.starts_with(below);
      if (has_below) refuse_file_with_files(*member, *following);
      use(name, &*member);
      // Whoever is called may have read elsewhere in the table.
      if (has_below) {
        behind = table_->find(prefix + name + '\1');
        following = table_->next(behind);
      }
      member = std::move(following);
    }
  }

  // Of all members of one path the last one becomes `member`; returns the one behind them, and
  // moves `place` behind that.
  std::optional<Member> last_of(Member& member, std::uint64_t& place) {
    for (;;) {
      std::optional<Member> next = table().next(place);
      if (!next || next->path != member.path) return next;
      const ArchiveSet::One &one = archives_.at(member.offset), &other = archives_.at(next->offset);
      if (&one != &other && !(is_folder(member) && is_folder(*next))) {
        throw Error(Code::bad_content, "is in two of the archives: {}, and {}",
                    printable(one.path()), printable(other.path()))
            .at(shown(member.path))
            .hint(
                "convert each archive by itself; or unpack them, each into a folder of its own, "
                "and convert the folder that holds these");
      }
      if (member.is_inner != next->is_inner && !is_folder(member)) {
        throw Error(Code::bad_content, "is in the archive in a folder and in an archive in it")
            .at(shown(member.path))
            .hint("unpack the archive, and convert the folder");
      }
      const bool was_folder = is_folder(member), is_now = is_folder(*next);
      const bool is_of_archive =
          member.type == MemberType::archive || next->type == MemberType::archive;
      if (was_folder != is_now || is_of_archive) {
        throw Error(Code::bad_content, "{}",
                    member.type == MemberType::archive && next->type == MemberType::archive
                        ? "archive is there twice"
                        : "is in the archive both as a folder and as something else")
            .at(shown(member.path))
            .hint("unpack the archive, and convert the folder");
      }
      member = std::move(*next);
    }
  }

  static bool is_folder(const Member& member) {
    return member.type == MemberType::folder || member.type == MemberType::archive;
  }

  void refuse_file_with_files(const Member& member, const Member& below) const {
    const bool is_other = member.type == MemberType::archive && !below.is_inner;
    if (is_folder(member) && !is_other) return;
    throw Error(Code::bad_content, "is in the archive {}, but so is {}",
                is_other ? "as an archive" : "as a file or link",
                printable(with_slashes(below.path)))
        .at(shown(member.path))
        .hint("unpack the archive, and convert the folder");
  }

  [[nodiscard]] std::string shown(const std::string& path) const {
    return join_path(archives_.all().size() > 1 ? limits_.root : archives_.all().front().path(),
                     with_slashes(path));
  }

  Node node_of(const std::string& path, const Member* member) {
    int links = 0;
    if (member == nullptr) return {.kind = Node::Kind::folder, .path = path};
    return node_of(path, *member, links);
  }

  // `path` differs from the member's own where a hard link leads to it.
  Node node_of(const std::string& path, const Member& member, int& links) {
    switch (member.type) {
      case MemberType::file:
        return {
            .kind = Node::Kind::file, .path = {}, .offset = member.offset, .bytes = member.bytes};
      case MemberType::folder:
      case MemberType::archive:
        return {.kind = Node::Kind::folder, .path = path};
      case MemberType::special:
        return {.kind = Node::Kind::special, .path = {}};
      case MemberType::symbolic_link:
        return follow(folder_above(path), member.target, path, links);
      case MemberType::hard_link:
        break;
    }
    // To what was there when it was unpacked.
    const std::optional<Member> target = member_at(member.target, member.number);
    if (!target || is_folder(*target)) {
      throw Error(Code::bad_content,
                  "hard link to {}, which is not a file before it in the archive",
                  printable(with_slashes(member.target)))
          .at(shown(path))
          .hint("make the archive again with what the link leads to, or leave the link out");
    }
    return node_of(path, *target, links);
  }

  // The member of a path with the highest number below `before`; nullopt: there is none.
  std::optional<Member> member_at(const std::string& path, std::uint64_t before) {
    std::uint64_t place = table().find(path);
    std::optional<Member> found;
    for (;;) {
      std::optional<Member> member = table_->next(place);
      if (!member || member->path != path || member->number >= before) return found;
      found = std::move(member);
    }
  }

  [[nodiscard]] bool has_files_below(const std::string& path) {
    std::uint64_t place = table().find(path + '\0');
    const std::optional<Member> member = table_->next(place);
    return member && member->path.starts_with(path + '\0');
  }

  [[nodiscard]] Error bad_link(const std::string& link, const std::string& target,
                               std::string_view fact) const {
    return Error(Code::bad_content, "symbolic link to {}, which {}", printable(target), fact)
        .at(shown(link))
        .hint(
            "unpack the archive where the link leads somewhere and convert the folder, or make the "
            "archive again without links: 'tar --dereference', or 'zip' without -y");
  }

  // To what a link in `folder` leads.
  Node follow(const std::string& folder, const std::string& target, const std::string& link,
              int& links) {
    if (++links > kMostLinks) throw bad_link(link, target, "leads round in circles");
    if (std::optional<Node> node = go(folder, target, link, links)) return std::move(*node);
    throw bad_link(link, target, "is not in the archive");
  }

  // What is there at the end of `way`, with slashes, from `folder`; nullopt: nothing. `link`: of
  // whom an error speaks.
  std::optional<Node> go(std::string folder, const std::string& way, const std::string& link,
                         int& links) {
    if (way.starts_with('/')) throw bad_link(link, way, "leads out of the archive");
    std::string_view left = way;
    while (!left.empty()) {
      const std::string_view part = left.substr(0, left.find('/'));
      left.remove_prefix(std::min(part.size() + 1, left.size()));
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        if (folder.empty()) throw bad_link(link, way, "leads out of the archive");
        folder = folder_above(folder);
        continue;
      }
      const std::string path = joined(folder, part);
      const std::optional<Member> member = member_at(path, ~std::uint64_t{0});
      if (!member && !has_files_below(path)) return std::nullopt;
      Node node =
          member ? node_of(path, *member, links) : Node{.kind = Node::Kind::folder, .path = path};
      if (node.kind == Node::Kind::folder) {
        folder = std::move(node.path);
      } else if (left.empty()) {
        return node;
      } else {
        return std::nullopt;  // a file has nothing in it
      }
    }
    return Node{.kind = Node::Kind::folder, .path = std::move(folder)};
  }

  Limits limits_;
  ArchiveSet archives_;
  std::string root_;
  std::vector<std::string> folders_of_archives_;
  std::optional<MemberTable> table_;
  std::optional<PackedTable> packed_;  // of zip archives
  std::optional<PackedMember> last_packed_;
  bool has_end_marks_ = true;
  std::uint64_t back_slashes_ = 0;
};

}  // namespace

std::shared_ptr<FileTree> open_archive_tree(const FolderRequest& request, const ArchivePath& path) {
  return std::make_shared<ArchiveTree>(request, path, false);
}

std::shared_ptr<FileTree> open_tree_of_splits(const FolderRequest& request,
                                              const ArchivePath& path) {
  auto tree = std::make_shared<ArchiveTree>(request, path, true);
  return tree->list_splits(request.files.hidden == HiddenPolicy::keep) ? tree : nullptr;
}

std::shared_ptr<FileTree> open_tree_of_archive(const FolderRequest& request) {
  const std::optional<ArchivePath> path = archive_of_path(request.root, TarsAs::files);
  return path ? open_archive_tree(request, *path) : nullptr;
}

}  // namespace shale
