#include "shale/report/proved_lists.hpp"

#include <string>
#include <vector>

#include "shale/base/path_text.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

// Neither keys nor reasons that shale writes are longer; what a forged list has may not be held.
constexpr std::size_t kMostShownBytes = 4096;

std::vector<std::string> cut_off(std::vector<std::string> fields) {
  for (std::string& field : fields)
    if (field.size() > kMostShownBytes) field.resize(kMostShownBytes);
  return fields;
}

}  // namespace

ProvedLists::ProvedLists(ReportedSet& set) : set_(set) {
  if (set.manifest().layout.is_of_one_file()) return;
  const DatasetPaths paths(set.request().dataset);
  for (const ManifestFile& file : set.manifest().files) {
    try {
      prove_list(paths, file, [&](std::uint64_t) { set.events().stop_if_asked(); });
      whole_.push_back(file.name);
    } catch (const Error& error) {
      set.meet(finding_of_damage(error));
      damaged_.push_back(file.name);
    }
  }
}

void ProvedLists::read(std::string_view list, const UseRow& use) const {
  for (const std::string& name : whole_) {
    if (!is_list_name(name, list)) continue;
    try {
      read_csv(join_path(set_.request().dataset, name),
               [&](std::uint64_t row, const std::vector<std::string>& fields) {
                 if (row % 4096 == 0) set_.events().stop_if_asked();
                 if (row > 1) use(cut_off(fields));
               });
    } catch (const Error& error) {
      set_.meet(finding_of_damage(error));
    }
  }
}

std::string ProvedLists::first_of(std::string_view list) const {
  for (const std::string& name : whole_)
    if (is_list_name(name, list)) return name;
  return {};
}

}  // namespace shale
