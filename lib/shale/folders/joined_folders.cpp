#include "shale/folders/joined_folders.hpp"

#include <span>
#include <string>

#include "shale/base/path_text.hpp"

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

}  // namespace shale
