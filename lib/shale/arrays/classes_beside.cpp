#include "shale/arrays/classes_beside.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "shale/arrays/pickled_columns.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"

namespace shale {
namespace {

bool is_pickle(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (!facts || !S_ISREG(facts->st_mode)) return false;
  const InputFile file(path);
  std::array<std::byte, 3> begin{};
  if (file.size() < begin.size()) return false;
  file.read_exact(0, begin);
  return may_be_pickle(file, begin);
}

// Of a list of strings; none for one with a name that is not UTF-8.
std::vector<std::string> names_in(const PickledColumn& column) {
  const std::uint64_t width = column.tensor.dtype.item_bytes();
  std::vector<std::string> names;
  for (std::uint64_t at = 0; at < column.elements.size(); at += width) {
    std::string name(as_text(Bytes(column.elements).subspan(at, width)));
    name.erase(std::find(name.begin(), name.end(), '\0'), name.end());
    if (name.empty() || !is_utf8(name)) return {};
    names.push_back(std::move(name));
  }
  return names;
}

PickledColumns columns_or_none(const std::string& path) try {
  return read_pickled_columns(InputFile(path));
} catch (const Error& error) {
  if (error.code() == Code::io) throw;
  return {};
}

}  // namespace

ClassesBeside classes_beside(const std::string& path, std::span<const std::string> fields) {
  ClassesBeside found;
  if (fields.empty() || !is_pickle(path)) return found;
  for (const char* const name : {"batches.meta", "meta"}) {
    found.path = join_path(folder_of_file(path), name);
    if (is_pickle(found.path)) break;
    found.path.clear();
  }
  if (found.path.empty()) return found;
  const PickledColumns beside = columns_or_none(found.path);
  for (const std::string& field : fields) {
    const std::string wanted = field.substr(0, field.size() - 1) + "_names";
    const auto of_names = std::ranges::find_if(beside.columns, [&](const PickledColumn& one) {
      return one.tensor.name == wanted && one.tensor.dtype.descr().starts_with("|S");
    });
    if (!field.ends_with("labels") || of_names == beside.columns.end()) continue;
    found.fields.push_back(field);
    found.names = names_in(*of_names);
  }
  if (found.fields.size() != 1) found.names.clear();
  return found;
}

std::string pickle_in(const std::string& folder) {
  constexpr int kMostLookedAt = 1000;
  int looked_at = 0;
  std::string largest;
  std::uint64_t most = 0;
  visit_names(folder, [&](const std::string& name) {
    const std::string path = join_path(folder, name);
    if (is_pickle(path)) {
      const std::uint64_t bytes = InputFile(path).size();
      if (std::pair(bytes, name) > std::pair(most, largest)) {
        most = bytes;
        largest = name;
      }
    }
    return ++looked_at < kMostLookedAt;
  });
  return largest;
}

}  // namespace shale
