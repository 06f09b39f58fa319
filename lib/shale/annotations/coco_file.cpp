#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/annotations/annotation_folder.hpp"
#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/json_text.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/manifest/json_document.hpp"
#include "shale/manifest/json_list.hpp"

// One JSON object (cocodataset.org, "Data format"):
//   images       [{"id": 1, "file_name": "a.jpg", ...}, ...]
//   annotations  [{"image_id": 1, "category_id": 3, "bbox": [x, y, width, height], ...}, ...]
//   categories   [{"id": 3, "name": "cat"}, ...]
// in any order, and each array in any order too. What an annotation has besides is copied as it is
// written. Images and annotations meet on disk, by the image's id as it is written.

namespace shale {
namespace {

// A member of an annotation, and the field that it becomes.
struct KnownMember {
  std::string_view member, field;
};
constexpr std::array<KnownMember, 5> kKnown = {{{"bbox", kBoxes},
                                                {"category_id", kCategories},
                                                {"area", "area"},
                                                {"iscrowd", "iscrowd"},
                                                {"caption", "captions"}}};
constexpr std::string_view kImageId = "image_id";

std::string_view field_of_member(std::string_view member) {
  const auto* const known = std::ranges::find(kKnown, member, &KnownMember::member);
  return known == kKnown.end() ? member : known->field;
}

Field type_of(std::string_view field) {
  if (field != "captions") return type_of_annotation(field);
  return {.name = std::string(field), .kind = Kind::list, .elements = Kind::text};
}

struct CocoImage {
  std::string_view id;
  std::uint64_t number = 0;
  std::string_view key, group;
  static auto columns(auto& row) { return std::tie(row.id, row.number, row.key, row.group); }
};

// Its values lie one after the other, NUL behind each, in the order of the reader's columns.
struct CocoAnnotation {
  std::string_view image;
  std::uint64_t number = 0;
  std::string_view values;
  static auto columns(auto& row) { return std::tie(row.image, row.number, row.values); }
};

struct CocoCategory {
  std::string id, name;
};

bool is_nothing(std::string_view value) {
  return value == "null" || value == "[]" || value == "{}" || value == "\"\"";
}

// 2 before 10; what is not a number, as it is written.
bool is_earlier(const CocoCategory& a, const CocoCategory& b) {
  const auto number = [](const std::string& id) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    return error == std::errc() && end == id.data() + id.size() ? std::optional(value)
                                                                : std::nullopt;
  };
  const auto left = number(a.id), right = number(b.id);
  return left && right ? *left < *right : a.id < b.id;
}

class CocoReader {
 public:
  CocoReader(const AnnotationRequest& request, const std::function<void(const AnnotationRow&)>& use)
      : request_(request),
        use_(use),
        images_(request.scratch_folder, request.memory_bytes / 2),
        annotations_(request.scratch_folder, request.memory_bytes / 2) {
    for (const std::string& field : request.fields) {
      if (field == kImageId) continue;
      const auto* const known = std::ranges::find(kKnown, field, &KnownMember::field);
      columns_.push_back(known == kKnown.end() ? field : std::string(known->member));
    }
    if (request.fields.empty()) {
      for (const KnownMember& known : kKnown) columns_.emplace_back(known.member);
    }
    counts_.assign(columns_.size(), 0);
  }

  AnnotationsRead read() {
    JsonDocument document(request_.path);
    while (document.next_member()) {
      const std::string name = document.name();
      const bool is_known = name == "images" || name == "annotations" || name == "categories";
      if (!is_known || document.kind() != '[') continue;
      if (!seen_.insert(name).second) {
        throw Error(Code::bad_content, "has two arrays '{}'", name)
            .at(request_.path)
            .hint("COCO's files have one of each: remove one, or join the two");
      }
      while (const std::optional<std::string_view> element = document.next_element()) {
        request_.stop_if_asked();
        if (name == "images") {
          take_image(*element, document.elements());
        } else if (name == "annotations") {
          take_annotation(*element, document.elements());
        } else {
          take_category(*element, document.elements());
        }
      }
    }
    for (const std::string_view name : {"images", "annotations"}) {
      if (seen_.contains(name)) continue;
      throw Error(Code::bad_content, "has no array '{}'", name)
          .at(request_.path)
          .hint("COCO's files have 'images', 'annotations' and 'categories'");
    }
    images_.finish();
    annotations_.finish();
    order_categories();
    choose_fields();
    choose_group();
    join();
    tell();
    return std::move(read_);
  }

 private:
  [[nodiscard]] Error at(std::string_view array, std::uint64_t number,
                         std::string_view fact) const {
    return Error(Code::bad_content, "element {} of '{}' {}", number, array, fact)
        .at(request_.path)
        .hint("correct it, or remove it");
  }

  [[nodiscard]] Error no_object(std::string_view array, std::uint64_t number) const {
    return at(array, number, "is not a JSON object");
  }

  void take_image(std::string_view element, std::uint64_t number) {
    std::string_view id, group = "null";
    std::optional<std::string> name;
    const bool is_one = for_each_member(element, [&](auto member, auto value) {
      if (member == "id") id = value;
      if (member == "file_name") name = decoded_json_string(value);
      if (member == request_.group) group = value;
      if (number == 1)
        members_of_images_.append(members_of_images_.empty() ? "" : ", ").append(member);
    });
    if (!is_one) throw no_object("images", number);
    if (!name) throw at("images", number, "has no string 'file_name'");
    images_have_group_ = images_have_group_ || group != "null";
    images_.add({checked_id(id, "id", "images", number), number, *name, group});
  }

  void take_category(std::string_view element, std::uint64_t number) {
    CocoCategory category;
    std::optional<std::string> name;
    const bool is_one = for_each_member(element, [&](auto member, auto value) {
      if (member == "id") category.id = value;
      if (member == "name") name = decoded_json_string(value);
    });
    if (!is_one) throw no_object("categories", number);
    if (!name || name->empty()) throw at("categories", number, "has no string 'name'");
    category.id = checked_id(category.id, "id", "categories", number);
    category.name = std::move(*name);
    if (!ids_of_categories_.insert(category.id).second)
      throw at("categories", number,
               fmt::format("has the id {} of one before", printable(category.id)));
    categories_.push_back(std::move(category));
  }

  void take_annotation(std::string_view element, std::uint64_t number) {
    values_.assign(columns_.size(), {});
    std::string_view image;
    const bool is_one = for_each_member(element, [&](std::string_view member, auto value) {
      if (member == kImageId) image = value;
      const auto column = std::ranges::find(columns_, member);
      if (column == columns_.end()) return note_other(member, value);
      if (value.find('\0') != std::string_view::npos)
        throw at("annotations", number,
                 fmt::format("has a NUL byte in its '{}'", printable(member)));
      if (value != "null") values_[static_cast<std::size_t>(column - columns_.begin())] = value;
    });
    if (!is_one) throw no_object("annotations", number);
    entry_.clear();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!values_[i].empty()) ++counts_[i];
      entry_.append(values_[i]).append(1, '\0');
    }
    const std::string_view id = checked_id(image, kImageId, "annotations", number);
    try {
      annotations_.add({id, number, entry_});
    } catch (const Error& error) {
      if (error.code() != Code::limit) throw;
      throw Error(Code::limit, "element {} of 'annotations' is too large: {}", number,
                  error.message())
          .at(request_.path)
          .hint("raise --memory, or leave its largest member out of --label-column");
    }
  }

  // Integers as they are written, and strings.
  [[nodiscard]] std::string_view checked_id(std::string_view id, std::string_view member,
                                            std::string_view array, std::uint64_t number) const {
    const bool is_string = id.starts_with('"') && decoded_json_string(id).has_value();
    const bool is_number =
        !id.empty() &&
        id.find_first_not_of("0123456789", id.starts_with('-') ? 1 : 0) == std::string_view::npos;
    if (is_string || is_number) return id;
    throw at(array, number, fmt::format("has no integer '{}'", member));
  }

  // What is not taken, unless it is nothing, or the user has said what he wants.
  void note_other(std::string_view member, std::string_view value) {
    constexpr std::size_t kMostNames = 64;
    if (member == "id" || member == kImageId || is_nothing(value)) return;
    const auto found = others_.find(member);
    if (found == others_.end() && others_.size() < kMostNames)
      others_.emplace(std::string(member), 1);
    else if (found != others_.end())
      ++found->second;
  }

  void order_categories() {
    std::ranges::stable_sort(categories_, is_earlier);
    for (const CocoCategory& category : categories_) {
      const auto found = std::ranges::find(read_.classes, category.name);
      if (found == read_.classes.end()) {
        read_.classes.push_back(category.name);
      } else {
        read_.notes.push_back(
            fmt::format("two categories of {} are called '{}': they are one class",
                        printable(request_.path), printable(category.name)));
      }
      const auto at = std::ranges::find(read_.classes, category.name) - read_.classes.begin();
      class_of_.emplace(category.id, fmt::to_string(at));
    }
  }

  [[nodiscard]] std::uint64_t count_of(std::string_view member) const {
    const auto column = std::ranges::find(columns_, member);
    return column == columns_.end() ? 0
                                    : counts_[static_cast<std::size_t>(column - columns_.begin())];
  }

  void choose_fields() {
    std::vector<bool> is_taken(columns_.size(), true);
    const bool has_boxes = count_of("bbox") > 0 || count_of("category_id") > 0 ||
                           (!categories_.empty() && count_of("caption") == 0);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool is_of_boxes = columns_[i] == "bbox" || columns_[i] == "category_id";
      if (request_.fields.empty()) is_taken[i] = counts_[i] > 0 || (is_of_boxes && has_boxes);
      if (request_.fields.empty() || counts_[i] > 0 || annotations_.count() == 0) continue;
      throw Error(Code::bad_content, "no annotation has a '{}'", printable(columns_[i]))
          .at(request_.path)
          .hint("they have " + names_of_members());
    }
    if (request_.fields.empty() && annotations_.count() > 0 &&
        std::ranges::none_of(is_taken, std::identity())) {
      throw Error(Code::bad_content, "no annotation has a box, a category or a caption")
          .at(request_.path)
          .hint("pass --label-column with what they have: " + names_of_members());
    }
    // Those of known types first.
    for (const bool are_known : {true, false}) {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const bool is_known = field_of_member(columns_[i]) != columns_[i] ||
                              std::ranges::count(kKnown, columns_[i], &KnownMember::member) > 0;
        if (!is_taken[i] || is_known != are_known) continue;
        taken_.push_back(i);
        if (is_known) types_.push_back(type_of(field_of_member(columns_[i])));
      }
    }
  }

  void choose_group() {
    const auto is_group = [this](std::size_t i) {
      return field_of_member(columns_[i]) == request_.group;
    };
    const std::string& group = request_.group;
    if (group.empty() || group == kImageId || std::ranges::any_of(taken_, is_group)) return;
    adds_group_ = true;
    if (images_have_group_ || images_.count() == 0) return;
    throw Error(Code::bad_content, "--split-group: no image has a '{}'", printable(group))
        .at(request_.path)
        .hint("they have " + printable(members_of_images_));
  }

  [[nodiscard]] std::string names_of_members() const {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (counts_[i] > 0) names.push_back(field_of_member(columns_[i]));
    }
    for (const auto& [name, count] : others_) names.push_back(field_of_member(name));
    return printable(fmt::format("{}", fmt::join(names, ",")));
  }

  // Both tables in the order of the ids.
  void join() {
    std::string last;
    bool is_first = true;
    while (const CocoImage* const image = images_.row()) {
      request_.stop_if_asked();
      if (!std::exchange(is_first, false) && last == image->id)
        throw at("images", image->number, fmt::format("has the id {} of another", printable(last)));
      last = image->id;
      while (annotations_.row() != nullptr && annotations_.row()->image < image->id) pass_unknown();
      begin_cells(*image);
      while (annotations_.row() != nullptr && annotations_.row()->image == image->id) {
        add_to_cells(*annotations_.row());
        annotations_.step();
      }
      end_cells(*image);
      images_.step();
    }
    while (annotations_.row() != nullptr) pass_unknown();
  }

  void pass_unknown() {
    ++unknown_;
    annotations_.step();
  }

  void begin_cells(const CocoImage& image) {
    cells_.resize(taken_.size());
    numbers_.clear();
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      cells_[i].name = field_of_member(columns_[taken_[i]]);
      cells_[i].kind = JsonMember::Kind::nested;
      cells_[i].text = "[";
    }
    const bool wants_id = request_.fields.empty() || request_.group == kImageId ||
                          std::ranges::count(request_.fields, kImageId) > 0;
    if (wants_id) cells_.push_back(json_member(kImageId, image.id));
    if (adds_group_) cells_.push_back(json_member(request_.group, image.group));
  }

  void add_to_cells(const CocoAnnotation& annotation) {
    values_.clear();
    for (std::string_view left = annotation.values; !left.empty();) {
      values_.push_back(left.substr(0, left.find('\0')));
      left.remove_prefix(values_.back().size() + 1);
    }
    numbers_.push_back(annotation.number);
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      std::string& text = cells_[i].text;
      if (text.size() > 1) text += ',';
      text += value_of(columns_[taken_[i]], values_[taken_[i]], annotation.number);
    }
  }

  // A value as an element of the image's array.
  [[nodiscard]] std::string value_of(std::string_view member, std::string_view value,
                                     std::uint64_t number) const {
    if (member == "category_id") {
      const auto found = class_of_.find(value);
      if (found != class_of_.end()) return found->second;
      throw at("annotations", number,
               value.empty() ? std::string("has no 'category_id'")
                             : fmt::format("has the category_id {}, which no category has",
                                           printable(value)));
    }
    if (!value.empty()) {
      // Tools write both.
      if (member == "iscrowd" && (value == "true" || value == "false"))
        return value == "true" ? "1" : "0";
      return std::string(value);
    }
    if (member == "iscrowd") return "0";
    if (member == "bbox" || member == "caption" || member == "area")
      throw at("annotations", number, fmt::format("has no '{}', which others have", member));
    return "null";
  }

  void end_cells(const CocoImage& image) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      std::string& text = cells_[i].text;
      text += ']';
      if (i < types_.size()) check_cell(types_[i], text);
      if (i >= types_.size() && json_fault(text))
        throw at("annotations", numbers_.front(),
                 fmt::format("or one of the same image has a '{}' that is not JSON",
                             printable(cells_[i].name)));
    }
    use_({image.number, image.key, cells_, types_});
  }

  void check_cell(const Field& type, const std::string& text) const {
    const std::optional<std::uint64_t> wrong = wrong_element(type, text);
    if (!wrong) return;
    const auto* const known = std::ranges::find(kKnown, type.name, &KnownMember::field);
    throw at("annotations", numbers_[static_cast<std::size_t>(*wrong)],
             fmt::format("has a '{}' that is not {}", known->member,
                         type.name == kBoxes       ? "four numbers"
                         : type.kind == Kind::list ? "a string"
                         : type.name == "area"     ? "a number"
                                                   : "an integer"));
  }

  // The first element that is not of the type; nullopt: all are.
  [[nodiscard]] static std::optional<std::uint64_t> wrong_element(const Field& type,
                                                                  const std::string& text) {
    const auto fits = [&](std::string_view array) {
      const std::optional<JsonList> list = parse_json_list(array);
      if (!list) return false;
      if (list->sides[0] == 0) return true;
      if (type.kind == Kind::list) return list->has_texts();
      const bool is_real = type.dtype.descr() == "<f8";
      return list->has_numbers() && list->sides.size() == type.shape.size() &&
             (type.shape.size() == 1 || list->sides[1] == type.shape[1]) &&
             (is_real ? list->is_exact : !list->has_reals);
    };
    if (fits(text)) return std::nullopt;
    std::uint64_t number = 0;
    for (std::string_view left = std::string_view(text).substr(1); left != "]"; ++number) {
      JsonValueEnd end;
      const std::string_view one = left.substr(0, end.take(left));
      if (!fits(fmt::format("[{}]", one))) return number;
      left.remove_prefix(std::max<std::size_t>(one.size(), 1));
      if (left.starts_with(',')) left.remove_prefix(1);
    }
    return 0;
  }

  void tell() {
    const bool has_categories = std::ranges::any_of(
        taken_, [this](std::size_t column) { return columns_[column] == "category_id"; });
    if (!has_categories) read_.classes.clear();
    if (!request_.fields.empty()) others_.clear();
    for (const auto& [name, count] : others_)
      read_.left_out.add({.kind = "column", .name = name, .reason = "not_a_label", .samples = {}});
    if (!others_.empty()) {
      std::vector<std::string_view> names;
      for (const auto& [name, count] : others_) names.push_back(name);
      read_.notes.push_back(
          fmt::format("of the annotations in {} these are left out: {}; --labels FILE "
                      "--label-column with those "
                      "that are wanted takes them: {}",
                      printable(request_.path),
                      printable(fmt::format("{}", fmt::join(names, ", "))), names_of_members()));
    }
    if (unknown_ > 0) {
      read_.notes.push_back(fmt::format("{} in {} {} of images that it does not list: left out",
                                        format_counted(unknown_, "annotation", "annotations"),
                                        printable(request_.path), unknown_ == 1 ? "is" : "are"));
    }
  }

  const AnnotationRequest& request_;
  const std::function<void(const AnnotationRow&)>& use_;
  SortedTable<CocoImage> images_;
  SortedTable<CocoAnnotation> annotations_;
  std::vector<CocoCategory> categories_;
  std::set<std::string> ids_of_categories_;
  std::set<std::string, std::less<>> seen_;
  std::map<std::string, std::string, std::less<>> class_of_;  // by id: its number, as text
  std::map<std::string, std::uint64_t, std::less<>> others_;  // members that are left out
  std::vector<std::string> columns_;   // members of annotations that are kept
  std::vector<std::uint64_t> counts_;  // annotations that have them
  std::vector<std::size_t> taken_;     // of columns_, in the order of the cells
  std::vector<Field> types_;
  std::vector<std::string_view> values_;
  std::vector<std::uint64_t> numbers_;  // of the annotations in the cells
  std::vector<JsonMember> cells_;
  std::string entry_, members_of_images_;  // of the first image
  bool images_have_group_ = false, adds_group_ = false;
  std::uint64_t unknown_ = 0;
  AnnotationsRead read_;
};

}  // namespace

AnnotationsRead read_coco(const AnnotationRequest& request,
                          const std::function<void(const AnnotationRow&)>& use) {
  return CocoReader(request, use).read();
}

}  // namespace shale
