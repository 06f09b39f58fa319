#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "shale/annotations/annotation_folder.hpp"
#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/json_text.hpp"
#include "shale/manifest/json_document.hpp"

// A file for each image (host.robots.ox.ac.uk/pascal/VOC, "annotation"):
//   <annotation>
//     <filename>2007_000027.jpg</filename> ...
//     <object>
//       <name>person</name> <difficult>0</difficult> <truncated>0</truncated> ...
//       <bndbox> <xmin>174</xmin> <ymin>101</ymin> <xmax>349</xmax> <ymax>351</ymax> </bndbox>
//     </object> ...
// The image is that of the file's own name: <filename> is often that of before it was renamed.

namespace shale {
namespace {

constexpr std::array<const char*, 4> kSides = {"xmin", "ymin", "xmax", "ymax"};

class VocReader {
 public:
  VocReader(const AnnotationRequest& request, const std::function<void(const AnnotationRow&)>& use)
      : request_(request), use_(use), fields_(request.fields) {
    if (fields_.empty())
      fields_ = {std::string(kBoxes), std::string(kCategories), "difficult", "truncated"};
    std::stable_partition(fields_.begin(), fields_.end(), is_known);
    for (const std::string& field : fields_) {
      if (is_known(field)) types_.push_back(type_of_annotation(field));
    }
  }

  AnnotationsRead read() {
    for_each_annotation_file(request_, ".xml", [this](const AnnotationFile& file) { take(file); });
    for (const std::string& name : others_)
      read_.left_out.add({.kind = "column", .name = name, .reason = "not_a_label", .samples = {}});
    if (!others_.empty()) {
      std::vector<std::string_view> takeable;
      std::ranges::set_difference(others_, nested_, std::back_inserter(takeable));
      std::string note =
          fmt::format("of the objects in {} these are left out: {}", printable(request_.path),
                      printable(fmt::format("{}", fmt::join(others_, ", "))));
      if (!takeable.empty())
        note += fmt::format(
            "; --label-column with those that are wanted takes them: "
            "boxes,categories,difficult,truncated,{}",
            printable(fmt::format("{}", fmt::join(takeable, ","))));
      read_.notes.push_back(std::move(note));
    }
    read_.sorts_classes = true;
    return std::move(read_);
  }

 private:
  static bool is_known(const std::string& field) {
    return field == kBoxes || field == kCategories || field == "difficult" || field == "truncated";
  }

  void take(const AnnotationFile& file) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(
        file.text.data(), file.text.size(), pugi::parse_default | pugi::parse_declaration);
    if (!parsed) {
      throw Error(Code::bad_content, "is not XML: {}", parsed.description())
          .at(file.path, static_cast<std::uint64_t>(parsed.offset))
          .hint("the file is probably truncated: write it again, or remove it with its image");
    }
    refuse_other_encoding(file, document.first_child().attribute("encoding").value());
    const pugi::xml_node annotation = document.child("annotation");
    if (annotation.next_sibling()) {
      throw Error(Code::bad_content, "has more behind the end of its element 'annotation'")
          .at(file.path)
          .hint("the file was probably written twice: write it again with one element");
    }
    if (!annotation) {
      throw Error(Code::bad_content, "is XML, but has no element 'annotation'")
          .at(file.path)
          .hint("annotations are those of Pascal VOC; move other files out of the folder");
    }
    cells_.clear();
    for (const std::string& field : fields_)
      cells_.push_back({.name = field, .kind = JsonMember::Kind::nested, .text = "["});
    std::size_t number = 0;
    for (const pugi::xml_node object : annotation.children("object")) take(file, object, ++number);
    for (JsonMember& cell : cells_) cell.text += ']';
    use_({file.number, file.key, cells_, types_});
  }

  // What pugixml does not decode it takes for UTF-8, which GBK may be by chance.
  static void refuse_other_encoding(const AnnotationFile& file, std::string_view encoding) {
    constexpr std::array<std::string_view, 6> kRead = {"utf-", "utf8",       "ascii",
                                                       "us-",  "iso-8859-1", "latin1"};
    std::string lower(encoding);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_read =
        encoding.empty() || std::ranges::any_of(kRead, [&lower](std::string_view one) {
          return one.back() == '-' ? lower.starts_with(one) : lower == one;
        });
    const bool is_plain =
        std::ranges::all_of(file.text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (is_read || is_plain) return;
    throw Error(Code::unsupported, "is in the encoding '{}', which is not read",
                printable(encoding))
        .at(file.path)
        .hint("write it in UTF-8, and say so in its first line: iconv converts it");
  }

  [[nodiscard]] static Error at(const AnnotationFile& file, std::size_t number,
                                std::string_view fact) {
    return Error(Code::bad_content, "object {} {}", number, fact)
        .at(file.path)
        .hint("correct it, or remove it");
  }

  void take(const AnnotationFile& file, const pugi::xml_node& object, std::size_t number) {
    for (JsonMember& cell : cells_) {
      if (cell.text.size() > 1) cell.text += ',';
      if (cell.name == kBoxes) {
        cell.text += box_of(file, object, number);
      } else if (cell.name == kCategories) {
        cell.text += class_of(file, object, number);
      } else {
        cell.text += value_of(file, object, cell.name, number);
      }
    }
    for (const pugi::xml_node& member : object.children()) {
      const std::string_view name = member.name();
      const std::string_view text = trimmed(member.text().get());
      const bool is_nothing = text.empty() || text == "0" || text == "Unspecified";
      const bool has_parts = member.first_child().type() == pugi::node_element;
      const bool is_taken = name == "name" || name == "bndbox" || is_known(std::string(name));
      const bool is_one = member.type() == pugi::node_element && (has_parts || !is_nothing);
      constexpr std::size_t kMostNames = 64;
      if (!is_taken && is_one && request_.fields.empty() && others_.size() < kMostNames) {
        others_.emplace(name);
        if (has_parts) nested_.emplace(name);
      }
    }
  }

  // The element of this name, of which there is one at most; also an empty one.
  [[nodiscard]] static pugi::xml_node only_child(const AnnotationFile& file, std::size_t number,
                                                 const pugi::xml_node& parent, const char* name) {
    const pugi::xml_node child = parent.child(name);
    if (child.next_sibling(name))
      throw at(file, number, fmt::format("has more than one '{}'", printable(name)));
    const pugi::xml_node first = child.first_child();
    if (first.type() != pugi::node_element && first.next_sibling())
      throw at(file, number, fmt::format("has a '{}' of several pieces", printable(name)));
    return child;
  }

  [[nodiscard]] static std::string box_of(const AnnotationFile& file, const pugi::xml_node& object,
                                          std::size_t number) {
    const pugi::xml_node sides = only_child(file, number, object, "bndbox");
    std::string box;
    for (const char* side : kSides) {
      const std::string_view text = trimmed(only_child(file, number, sides, side).text().get());
      const bool is_number =
          !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
      if (!is_number || json_fault(text))
        throw at(file, number, fmt::format("has no number '{}' in its 'bndbox'", side));
      box.append(box.empty() ? "[" : ",").append(text);
    }
    return box + "]";
  }

  [[nodiscard]] std::string class_of(const AnnotationFile& file, const pugi::xml_node& object,
                                     std::size_t number) {
    const pugi::xml_node member = only_child(file, number, object, "name");
    const std::string name(trimmed(member.text().get()));
    if (name.empty()) throw at(file, number, "has no 'name'");
    if (!is_utf8(name)) throw at(file, number, "has a 'name' that is not UTF-8");
    const auto [found, is_new] = class_of_.try_emplace(name, read_.classes.size());
    if (is_new) read_.classes.push_back(name);
    return fmt::to_string(found->second);
  }

  [[nodiscard]] static std::string value_of(const AnnotationFile& file,
                                            const pugi::xml_node& object, const std::string& field,
                                            std::size_t number) {
    const pugi::xml_node member = only_child(file, number, object, field.c_str());
    const std::string_view text = trimmed(member.text().get());
    if (is_known(field) && text.empty()) return "0";
    if (member.first_child().type() == pugi::node_element) {
      throw Error(Code::bad_content, "object {} has parts in its '{}'", number, printable(field))
          .at(file.path)
          .hint("leave it out of --label-column: only values without parts are taken");
    }
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    const bool is_integer = error == std::errc() && end == text.data() + text.size();
    if (is_integer) return fmt::to_string(integer);
    if (is_known(field))
      throw at(file, number, fmt::format("has a '{}' that is not an integer", field));
    const std::optional<std::string> quoted = quoted_json(text);
    if (!quoted) throw at(file, number, fmt::format("has a '{}' that is not UTF-8", field));
    return *quoted;
  }

  const AnnotationRequest& request_;
  const std::function<void(const AnnotationRow&)>& use_;
  std::vector<std::string> fields_;
  std::vector<Field> types_;
  std::map<std::string, std::size_t> class_of_;
  std::set<std::string> others_, nested_;  // names of what is left out; those that have parts
  std::vector<JsonMember> cells_;
  AnnotationsRead read_;
};

}  // namespace

AnnotationsRead read_voc(const AnnotationRequest& request,
                         const std::function<void(const AnnotationRow&)>& use) {
  return VocReader(request, use).read();
}

}  // namespace shale
