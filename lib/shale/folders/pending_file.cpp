#include "shale/folders/pending_file.hpp"

#include <utility>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/folders/file_pairs.hpp"
#include "shale/folders/metadata_rows.hpp"

namespace shale {
namespace {

std::string partner_path(const std::string& root, std::string_view path, std::string_view suffix) {
  const std::size_t name = path.rfind('/') + 1;  // 0 without a slash
  std::string partner(path.substr(0, name));
  return join_path(root, partner.append(pair_name_of(path.substr(name))).append(suffix));
}

// In words. No paths: what is left out is listed in the dataset, wherever its input was.
std::string partner_name(const ListedFolder& folder, std::size_t partner) {
  if (folder.folders.empty()) return "partner ." + suffixes_in(folder.pairs)[partner];
  return fmt::format("partner of '{}'", printable(folder.folders[partner + 1].field));
}

}  // namespace

PendingSample pending_sample(ListedFile file, const ListedFolder& folder) {
  PendingSample sample;
  sample.bytes = file.bytes;
  sample.archive = folder.archive;
  // The time of an archive is compared as a whole.
  const bool compares_times = folder.compares_times && !folder.archive;
  sample.cells.resize(folder.fields);
  sample.cells[0].place = {.offset = file.offset, .length = file.bytes};
  const std::size_t first = folder.has_labels ? 2 : 1;
  if (folder.has_labels) sample.cells[1].integer = file.label;
  sample.files.reserve(1 + file.partners.size());
  sample.files.push_back({.path = join_path(folder.root, file.path),
                          .bytes = file.bytes,
                          .modified_ns = compares_times ? file.modified_ns : 0,
                          .offset = file.offset});
  if (!file.has_label) {
    sample.lacks = folder.metadata != nullptr ? "complete row in metadata.csv or metadata.jsonl"
                                              : "row in " + folder.labels_file;
    sample.lacks_row = true;
  }
  const std::size_t of_metadata = folder.metadata != nullptr ? folder.metadata->size() : 0;
  if (first + file.partners.size() + of_metadata > folder.fields)
    throw Error(Code::damaged, "a listed file has more partners than there are fields")
        .at(file.path);
  for (std::size_t i = 0; i < file.partners.size(); ++i) {
    const ListedPartner& partner = file.partners[i];
    sample.bytes += partner.bytes;
    sample.cells[first + i].place = {.offset = partner.offset, .length = partner.bytes};
    if (!partner.suffix) {
      if (sample.lacks.empty()) sample.lacks = partner_name(folder, i);
      continue;
    }
    const std::string& root = folder.folders.empty() ? folder.root : folder.folders[i + 1].root;
    sample.files.push_back({.path = partner_path(root, file.path, *partner.suffix),
                            .bytes = partner.bytes,
                            .modified_ns = compares_times ? partner.modified_ns : 0,
                            .field = first + i,
                            .offset = partner.offset});
  }
  if (of_metadata > 0 && file.has_label) take_metadata_row(file.row, *folder.metadata, sample);
  sample.key = std::move(file.path);
  return sample;
}

}  // namespace shale
