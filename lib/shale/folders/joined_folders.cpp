#include "shale/folders/joined_folders.hpp"

#include <set>
#include <span>
#include <string>

#include "shale/arrays/array_headers.hpp"
#include "shale/base/path_text.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/input_list.hpp"

namespace shale {
namespace {

// How a file of a folder that is joined is called in lists: "mask=cat/1.png".
std::string joined_entry(std::string_view field, std::string_view folder, std::string_view name) {
  return std::string(field).append("=").append(join_path(folder, name));
}

}  // namespace

std::string_view text_of(PassedOver reason) {
  return reason == PassedOver::hidden ? "hidden" : "not a regular file";
}

void add_joined_folders(const FolderRequest& request, FilePairs& pairs,
                        const ReasonSink& pass_over) {
  for (const NamedFolder& one : std::span(request.folders).subspan(1)) {
    const WalkOptions options{
        .keep_hidden = request.files.hidden == HiddenPolicy::keep,
        .wants_size = {},
        .pass_over =
            [&](std::string_view folder, std::string_view name, PassedOver reason) {
              pass_over(joined_entry(one.field, folder, name), text_of(reason));
            },
        .enters = one.enters};
    walk_folder(one.root, options, [&](const WalkedFile& file) {
      request.stop_if_asked();
      pairs.add_file(file.directory, pair_name_of(file.name), one.field, file);
    });
  }
}

void match_joined_folders(const FolderRequest& request, FilePairs& pairs,
                          const ReasonSink& pass_over) {
  pairs.match_folders(
      [&](const FilePairs::Surplus& file) {
        pass_over(joined_entry(file.suffix, file.folder, file.file), kNoSample);
      },
      request.folders);
}

std::vector<std::string> find_partner_arrays(
    const FolderRequest& request, FilePairs& pairs, SortedTable<FolderRow>& files, FileTree& tree,
    const std::function<bool(std::size_t)>& may_hold_arrays) {
  const std::vector<PairField>& fields = pairs.fields();
  std::set<std::size_t> arrays;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (may_hold_arrays(i)) arrays.insert(i);
  }
  if (arrays.empty()) return {};
  ArrayHeaders headers;
  while (const std::optional<FolderRow> row = files.next()) {
    request.stop_if_asked();
    const std::string path = join_path(row->folder, row->name);
    const std::vector<ListedPartner> partners = pairs.next();
    for (const std::size_t i : arrays) {
      const std::string& root = fields[i].root.empty() ? request.root : fields[i].root;
      if (partners[i].suffix)
        headers.add(i, fields[i].name,
                    {partner_path(root, path, *partners[i].suffix), partners[i].bytes,
                     tree.place_of(partners[i].offset)});
    }
  }
  headers.finish();
  for (const std::size_t i : arrays) pairs.set_array(i, headers.type_of(i));
  return headers.notes();
}

void refuse_hidden_images(const FolderRequest& request, FileTree& tree, const SoughtFiles& sought,
                          const std::string& name) {
  // What other programs keep there is no class, whatever it holds.
  constexpr std::string_view kNeverClasses[] = {"__MACOSX", ".ipynb_checkpoints"};
  if (request.files.hidden != HiddenPolicy::unset) return;
  if (std::ranges::find(kNeverClasses, name) != std::end(kNeverClasses)) return;
  std::uint64_t files = 0;
  tree.walk(name, {.keep_hidden = true, .wants_size = [](std::string_view) { return false; }},
            [&](const WalkedFile& file) {
              request.stop_if_asked();
              files += sought.takes(file.name) ? 1 : 0;
            });
  if (files == 0) return;
  throw SoughtFiles::in_hidden_class(sought.counted(files), join_path(request.root, name));
}

}  // namespace shale
