#include "shale/data/manifest.hpp"

#include <algorithm>
#include <charconv>

namespace shale {

std::vector<const ManifestFile*> ManifestShard::lists() const {
  std::vector<const ManifestFile*> lists;
  for (const ManifestFile* list : {&index, &elements, &values, &blocks}) {
    if (!list->name.empty()) lists.push_back(list);
  }
  return lists;
}

std::string option_of(const Manifest& manifest, std::string_view name) {
  const auto option =
      std::ranges::find(manifest.options, name, &std::pair<std::string, std::string>::first);
  return option == manifest.options.end() ? std::string() : option->second;
}

std::string image_fields_text(const std::vector<std::size_t>& fields) {
  std::string text;
  if (fields.size() == 1 && fields.front() == 0) return text;
  for (const std::size_t field : fields)
    text.append(text.empty() ? "" : ",").append(std::to_string(field));
  return text;
}

std::vector<std::size_t> reported_image_fields(const Manifest& manifest) {
  if (!manifest.images || manifest.schema.fields.empty()) return {};
  const auto option = std::ranges::find(manifest.options, kImageFieldsOption,
                                        &std::pair<std::string, std::string>::first);
  if (option == manifest.options.end()) return {0};
  std::vector<std::size_t> fields;
  const std::string& text = option->second;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
    std::size_t field = 0;
    at = std::from_chars(at, text.data() + text.size(), field).ptr;
    // Whatever a manifest claims, a position is that of a field, and they ascend.
    if (field < manifest.schema.fields.size() && (fields.empty() || fields.back() < field))
      fields.push_back(field);
  }
  return fields;
}

std::vector<std::size_t> image_fields_of(const Manifest& manifest) {
  std::vector<std::size_t> fields = reported_image_fields(manifest);
  std::erase_if(fields, [&](std::size_t field) {
    const Kind kind = manifest.schema.fields[field].kind;
    return kind != Kind::bytes && kind != Kind::list;
  });
  return fields;
}

std::uint64_t ManifestShard::list_bytes() const {
  return index.bytes + elements.bytes + blocks.bytes;
}

}  // namespace shale
