#include "shale/annotations/annotation_folder.hpp"

#include <algorithm>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostFileBytes = 16 << 20;

struct PathInFolder {
  std::string_view path;
  static auto columns(auto& row) { return std::tie(row.path); }
};

}  // namespace

bool ends_like(std::string_view name, std::string_view suffix) {
  const auto lower = [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  };
  return name.size() > suffix.size() &&
         std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, {}, lower);
}

void for_each_annotation_file(const AnnotationRequest& request, std::string_view suffix,
                              const std::function<void(const AnnotationFile&)>& use) {
  SortedTable<PathInFolder> paths(request.scratch_folder, request.memory_bytes);
  const WalkOptions options{.wants_size = [](std::string_view) { return false; }};
  walk_folder(request.path, options, [&](const WalkedFile& file) {
    request.stop_if_asked();
    if (ends_like(file.name, suffix)) paths.add({join_path(file.directory, file.name)});
  });
  paths.finish();
  AnnotationFile file;
  while (const std::optional<PathInFolder> next = paths.next()) {
    request.stop_if_asked();
    ++file.number;
    file.path = join_path(request.path, next->path);
    file.key = next->path.substr(0, next->path.size() - suffix.size());
    const std::vector<std::byte> bytes = read_file(file.path, kMostFileBytes);
    file.text = without_byte_order_mark(as_text(bytes));
    use(file);
  }
}

Field type_of_annotation(std::string_view field) {
  const bool are_boxes = field == kBoxes;
  Field type{.name = std::string(field),
             .kind = Kind::tensor,
             .dtype = DType::parse(are_boxes || field == "area" ? "<f8" : "<i8"),
             .shape = {kFreeSide}};
  if (are_boxes) type.shape.push_back(4);
  return type;
}

}  // namespace shale
