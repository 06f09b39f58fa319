#include <optional>

#include <sys/stat.h>

#include "shale/annotations/annotation_folder.hpp"
#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/error.hpp"
#include "shale/data/json_text.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/json_document.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostHeadBytes = 1 << 20;

// By the first member that tells.
AnnotationForm form_of_document(JsonDocument& document) {
  while (document.position() < kMostHeadBytes && document.next_member()) {
    const std::string& name = document.name();
    const bool is_list = document.kind() == '[';
    const bool may_be_pairs = name == "labels" && (is_list || document.kind() == 'n');
    const bool may_be_coco =
        is_list && (name == "images" || name == "annotations" || name == "categories");
    if (!may_be_pairs && !may_be_coco) continue;
    const std::optional<std::string_view> first = document.next_element();
    if (may_be_coco && (!first || first->starts_with('{'))) return AnnotationForm::coco;
    if (!may_be_pairs) continue;
    if (!first || !first->starts_with('[')) return AnnotationForm::label_pairs;
    const std::optional<JsonValue> pair = parse_json(*first);
    const bool is_vector =
        pair && pair->elements.size() == 2 && pair->elements[1].type == JsonValue::Type::array;
    return is_vector ? AnnotationForm::label_vectors : AnnotationForm::label_pairs;
  }
  return AnnotationForm::none;
}

AnnotationForm form_of_folder(const std::string& path) {
  AnnotationForm form = AnnotationForm::none;
  const WalkOptions options{.wants_size = [](std::string_view) { return false; }};
  walk_folder(path, options, [&form](const WalkedFile& file) {
    if (ends_like(file.name, ".xml")) form = AnnotationForm::voc;
    if (form == AnnotationForm::none && ends_like(file.name, ".txt")) form = AnnotationForm::yolo;
  });
  return form;
}

}  // namespace

AnnotationForm annotation_form(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (facts && S_ISDIR(facts->st_mode)) return form_of_folder(path);
  if (!facts || !S_ISREG(facts->st_mode) || has_json_lines_suffix(path) || !begins_like_json(path))
    return AnnotationForm::none;
  try {
    JsonDocument document(path);
    return form_of_document(document);
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    return AnnotationForm::none;
  }
}

void read_label_pairs(const std::string& path, const std::function<void(LabelPair)>& use) {
  using Type = JsonValue::Type;
  JsonDocument document(path);
  bool has_list = false;
  while (document.next_member()) {
    if (document.name() != "labels") continue;
    has_list = document.kind() == '[';
    while (has_list) {
      const std::optional<std::string_view> element = document.next_element();
      if (!element) break;
      const std::optional<JsonValue> pair = parse_json(*element);
      const bool is_pair = pair && pair->type == Type::array && pair->elements.size() == 2 &&
                           pair->elements[0].type == Type::string;
      std::string label;
      bool is_label = is_pair;
      if (is_pair && pair->elements[1].type == Type::array) {
        for (const JsonValue& number : pair->elements[1].elements) {
          is_label = is_label && number.type == Type::number;
          label.append(label.empty() ? "[" : ",").append(number.text);
        }
        label.append(label.empty() ? "[]" : "]");
      } else if (is_pair) {
        is_label = pair->elements[1].type == Type::number;
        label = pair->elements[1].text;
      }
      if (!is_label) {
        throw Error(Code::bad_content, "element {} of 'labels' is not a path and a label",
                    document.elements())
            .at(path)
            .hint("write [\"00000/img00000000.png\", 6], or an array of numbers for the 6");
      }
      use({document.elements(), pair->elements[0].text, json_member("label", label)});
    }
  }
  if (has_list) return;
  throw Error(Code::bad_content, "has no labels: 'labels' is not an array")
      .at(path)
      .hint("convert the images without it");
}

}  // namespace shale
