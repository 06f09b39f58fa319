#include "shale/folders/joined_folders.hpp"

#include <algorithm>
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

void add_samples(const FolderRequest& request, const PairPatterns& patterns,
                 SortedTable<FolderRow>& files, FilePairs& pairs) {
  while (const std::optional<FolderRow> row = files.next()) {
    request.stop_if_asked();
    const std::string_view name = row->name, shared = pair_name_of(name);
    // Of a folder alone, numbers in the middle do not tell two names apart.
    const std::size_t dot = std::min(name.rfind('.'), name.size()),
                      tells = request.folders.empty() ? dot : shared.size();
    if (patterns.empty())
      pairs.add_sample(row->folder, shared, name.substr(tells));
    else
      pairs.add_sample("", patterns.star_of(0, row->folder, name), "");
  }
  files.rewind();
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
  const PairPatterns patterns(request.files.pairs.suffixes);
  while (const std::optional<FolderRow> row = files.next()) {
    request.stop_if_asked();
    const std::string path = join_path(row->folder, row->name);
    const std::vector<ListedPartner> partners = pairs.next();
    for (const std::size_t i : arrays) {
      const std::string& root = fields[i].root.empty() ? request.root : fields[i].root;
      if (!partners[i].suffix) continue;
      const std::string file = patterns.empty() ? partner_path(root, path, *partners[i].suffix)
                                                : join_path(root, patterns.partner_of(i + 1, path));
      headers.add(i, fields[i].name, {file, partners[i].bytes, tree.place_of(partners[i].offset)});
    }
  }
  headers.finish();
  for (const std::size_t i : arrays) pairs.set_array(i, headers.type_of(i));
  return headers.notes();
}

bool add_partner_file(const PairPatterns& patterns, FilePairs& pairs, std::string_view folder,
                      const WalkedFile& file) {
  if (!patterns.empty()) {
    const std::optional<std::size_t> pattern = patterns.which(folder, file.name);
    if (pattern.value_or(0) == 0) return false;
    // Its whole path is what lists of ignored entries have.
    const std::string path = join_path(folder, file.name);
    WalkedFile whole = file;
    whole.name = path;
    pairs.add_file("", patterns.star_of(*pattern, folder, file.name),
                   patterns.all()[*pattern].field, whole);
    return true;
  }
  const std::string_view shared = pair_name_of(file.name);
  if (shared.empty() || shared.size() + 1 >= file.name.size()) return false;
  pairs.add_file(folder, shared, pair_suffix_of(file.name), file);
  return true;
}

bool may_hold_arrays(const PairField& field, const PairRequest& request) {
  const std::string_view pattern = field.pattern;
  if (!pattern.empty())
    return field.kind == Kind::bytes && is_array_suffix(pattern.substr(pattern.rfind('.') + 1));
  return request.suffixes.empty() && request.policy != PairPolicy::bytes &&
         is_array_suffix(field.suffix);
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
