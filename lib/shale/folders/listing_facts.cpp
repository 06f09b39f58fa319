#include "shale/folders/listing_facts.hpp"

#include <algorithm>
#include <filesystem>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/walk.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

// What tells one state of a file from another, or that there is none.
std::string stamp_text(const std::string& path) {
  if (path.empty()) return "none";
  std::error_code error;
  const std::string file =
      std::filesystem::is_directory(path, error) ? join_path(path, kManifestName) : path;
  const FileStamp stamp = stamp_of(file).value_or(FileStamp{});
  return fmt::format("{}, {} bytes, {}", std::filesystem::absolute(file, error).string(),
                     stamp.bytes, stamp.modified_ns);
}

// The same of a file, or of a folder of annotations by all that is in it.
std::string stamp_of_labels(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return stamp_text(path);
  std::uint64_t files = 0, sum = 0;
  walk_folder(path, {}, [&](const WalkedFile& file) {
    ++files;
    const std::string facts =
        fmt::format("{}\n{}\n{}\n{}", file.directory, file.name, file.bytes, file.modified_ns);
    sum += xxh3_128(as_bytes(facts)).low;
  });
  return fmt::format("{}, {} files, {:016x}", std::filesystem::absolute(path, error).string(),
                     files, sum);
}

std::string yes_or_no(bool claim) { return claim ? "yes" : "no"; }

}  // namespace

Error other_listing(const FolderRequest& request, const ListingHead& head) {
  const auto wanted = listing_facts(request);
  std::string what = wanted.size() == head.facts.size() ? "version" : "ext";
  for (std::size_t i = 0; i < std::min(wanted.size(), head.facts.size()); ++i) {
    if (wanted[i] == head.facts[i]) continue;
    what = wanted[i].first;
    break;
  }
  if (wanted == head.facts) what = "rows of metadata";
  return Error(Code::mismatch, "is the list of another input, or was made with other options: {}",
               what)
      .at(request.files.listing.stored)
      .hint("pass the name of a file that does not exist: it is made");
}

bool is_of_listing(const FolderRequest& request, const ListingHead& head) {
  return head.facts == listing_facts(request) &&
         std::ranges::all_of(head.metadata_files, [&](const auto& file) {
           return metadata_stamp(join_path(request.root, file.first)) == file.second;
         });
}

std::vector<std::pair<std::string, std::string>> listing_facts(const FolderRequest& request) {
  std::error_code error;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"folder", std::filesystem::weakly_canonical(request.root, error).string()},
      {"labels", stamp_of_labels(request.labels.path)},
      {"classes from", stamp_text(request.classes.from)},
      {"hidden", std::to_string(static_cast<int>(request.files.hidden))},
      {"allow empty", yes_or_no(request.files.allow_empty)},
      {"may mix labels", yes_or_no(request.may_mix_labels)},
      {"without labels", yes_or_no(request.without_labels)}};
  // Of listings without these there are some that an older shale wrote.
  if (request.tree && request.tree->is_archive())
    facts.emplace_back("archive", request.tree->fingerprint());
  if (!request.labels.label_column.empty() || !request.labels.key_column.empty())
    facts.emplace_back("columns", request.labels.label_column + "\t" + request.labels.key_column);
  if (!request.labels.pattern.empty()) facts.emplace_back("label from", request.labels.pattern);
  if (!request.labels.separator.empty())
    facts.emplace_back("label separator", request.labels.separator);
  if (!request.labels.strip_prefix.empty())
    facts.emplace_back("strip prefix", request.labels.strip_prefix);
  if (!request.needs_labels) facts.emplace_back("needs labels", "no");
  if (request.files.refuses_incomplete) facts.emplace_back("refuses incomplete", "yes");
  // Frames have no partners, whatever the default says.
  const PairRequest pairs = request.files.groups_frames ? PairRequest() : request.files.pairs;
  if (pairs.policy != PairPolicy::off)
    facts.emplace_back("pairs", std::to_string(static_cast<int>(pairs.policy)));
  if (!pairs.suffixes.empty()) facts.emplace_back("pairs of", pairs.suffixes);
  if (pairs.wants_metadata()) facts.emplace_back("metadata", "yes");
  for (const NamedFolder& folder : request.folders)
    facts.emplace_back("folder of " + folder.field + (folder.is_optional ? "?" : ""),
                       std::filesystem::weakly_canonical(folder.root, error).string());
  for (const NamedFolder& folder : request.folders) {
    if (folder.type) facts.emplace_back("type of " + folder.field, field_type_text(*folder.type));
  }
  if (const SoughtFiles sought(request.files.suffixes); !sought.text().empty()) {
    facts.emplace_back("ext", request.files.suffixes);
    const bool finds_arrays = request.files.finds_arrays && sought.hold_arrays();
    if (finds_arrays) facts.emplace_back("arrays", "found" + request.files.standing);
  }
  if (request.classes.order != ClassOrder::bytewise)
    facts.emplace_back("class order", std::to_string(static_cast<int>(request.classes.order)));
  if (request.files.takes_decodable) facts.emplace_back("decodable", "yes");
  if (!request.classes.names.empty())
    facts.emplace_back("class names", hash_of_classes(request.classes.names).hex());
  return facts;
}

}  // namespace shale
