#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/left_out.hpp"
#include "shale/data/schema.hpp"
#include "shale/manifest/json_lines.hpp"

// What tools of annotation write, as rows: one for each image, with a cell for each field.

namespace shale {

/// What is at a path, by its content.
enum class AnnotationForm : std::uint8_t {
  none,
  coco,           ///< instances_val2017.json, captions_val2017.json and their like
  label_pairs,    ///< StyleGAN's dataset.json: {"labels": [["00000/img.png", 6], ...]}
  label_vectors,  ///< the same with an array for each image
  voc,            ///< a folder of XML files, one for each image
  yolo,           ///< a folder of text files, one for each image that has boxes
};

/// `path` may be anything, also what does not exist: that is none. Reads a MiB at most, but for
/// what lies in front of the first array.
[[nodiscard]] AnnotationForm annotation_form(const std::string& path);

/// The field of class numbers, which `AnnotationsRead::classes` has the names of, and that of
/// boxes.
inline constexpr std::string_view kCategories = "categories", kBoxes = "boxes";

struct AnnotationRow {
  std::uint64_t number = 0;  ///< of the image in its file, from 1
  std::string_view key;
  std::span<const JsonMember> cells;  ///< arrays as JSON
  /// What the first cells become, in all rows alike; of others it follows from their values.
  std::span<const Field> types;
};

struct AnnotationRequest {
  std::string path;
  /// The fields that are wanted, also those that are not taken unless they are; empty: as the form
  /// has it.
  std::vector<std::string> fields = {};
  std::string group = {};  ///< of coco: a member of the images that becomes a field, too
  std::string scratch_folder = {};
  std::uint64_t memory_bytes = 8 << 20;
  std::function<void()> stop_if_asked = [] {};
};

struct AnnotationsRead {
  std::vector<std::string> classes = {};  ///< by the numbers in the field kCategories
  bool sorts_classes = false;             ///< their labels are those of the sorted names
  bool is_complete = false;               ///< an image without row has nothing
  LeftOutList left_out = {};              ///< what annotations have besides the fields
  std::vector<std::string> notes = {};
};

/// Reads what is of the form coco. Memory: the given budget, one annotation, and the classes.
/// Errors: Code::bad_content, by the number of the annotation or the image, for what is not as the
/// form has it; same as JsonDocument.
[[nodiscard]] AnnotationsRead read_coco(const AnnotationRequest& request,
                                        const std::function<void(const AnnotationRow&)>& use);

/// Reads the XML files below a folder, as Pascal VOC has them. Keys are their paths without suffix;
/// a box is xmin, ymin, xmax, ymax. Memory: the given budget, a file, and the classes. Errors:
/// Code::bad_content, by the file and the number of the object, for what is not as the form has it;
/// same as walk_folder.
[[nodiscard]] AnnotationsRead read_voc(const AnnotationRequest& request,
                                       const std::function<void(const AnnotationRow&)>& use);

/// Reads the text files below a folder, as Darknet and Ultralytics have them: "class x y width
/// height" for each box, in shares of the image. Keys as above. The names of classes are those of
/// classes.txt (obj.names, data.yaml) in the folder or the one above; none: numbers alone. Errors:
/// Code::bad_content, by the file and its line, for another number of words, a number that is none
/// and a class without name; Code::unsupported for polygons; same as walk_folder.
[[nodiscard]] AnnotationsRead read_yolo(const AnnotationRequest& request,
                                        const std::function<void(const AnnotationRow&)>& use);

/// An image of StyleGAN's list.
struct LabelPair {
  std::uint64_t number = 0;  ///< from 1
  std::string key;
  JsonMember label;  ///< a number, or an array of numbers
};
/// Reads what is of the form label_pairs or label_vectors. Errors: Code::bad_content for a list
/// that is null, and, by its number, for an element that is not a pair of a path and a label; same
/// as JsonDocument.
void read_label_pairs(const std::string& path, const std::function<void(LabelPair)>& use);

}  // namespace shale
