#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "shale/annotations/annotation_folder.hpp"
#include "shale/annotations/annotation_rows.hpp"
#include "shale/annotations/yolo_names.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"

// A file for each image, a line for each box (docs.ultralytics.com, "YOLO detection dataset
// format"): the class from 0, x and y of the middle, width, height, all as shares of the image.
//   0 0.481719 0.634028 0.690625 0.713278

namespace shale {
namespace {

constexpr std::size_t kWords = 5;

class YoloReader {
 public:
  YoloReader(const AnnotationRequest& request, const std::function<void(const AnnotationRow&)>& use)
      : request_(request), use_(use) {
    fields_ = request.fields;
    if (fields_.empty()) fields_ = {std::string(kBoxes), std::string(kCategories)};
    for (const std::string& field : fields_) {
      if (field != kBoxes && field != kCategories)
        throw Error(Code::bad_content, "has no column '{}', but boxes and categories",
                    printable(field))
            .at(request.path)
            .hint("pass --label-column with one of these, or leave it out");
      types_.push_back(type_of_annotation(field));
    }
  }

  AnnotationsRead read() {
    if (std::optional<YoloNames> found = find_yolo_names(request_.path)) {
      read_.notes.push_back(fmt::format("the classes of {} are those of {}",
                                        printable(request_.path), printable(found->from)));
      read_.classes = std::move(found->names);
      names_from_ = std::move(found->from);
    }
    for_each_annotation_file(request_, ".txt", [this](const AnnotationFile& file) {
      if (!is_list_of_names(file.key + ".txt")) take(file);
    });
    if (outside_ > 0)
      read_.notes.push_back(
          fmt::format("{} in {} {} outside of 0 to 1, where shares of the image lie",
                      format_counted(outside_, "box", "boxes"), printable(request_.path),
                      outside_ == 1 ? "is" : "are"));
    if (std::ranges::find(fields_, kCategories) == fields_.end()) read_.classes.clear();
    read_.is_complete = true;
    return std::move(read_);
  }

 private:
  [[nodiscard]] static Error at(const AnnotationFile& file, std::uint64_t line,
                                std::string_view fact) {
    return Error(Code::bad_content, "box in line {} {}", line, fact)
        .at(file.path)
        .hint("a line is a box: class x y width height, the last four as shares of the image");
  }

  void take(const AnnotationFile& file) {
    std::string boxes = "[", categories = "[";
    std::string_view left = file.text;
    for (std::uint64_t line = 1; !left.empty(); ++line) {
      const std::string_view text = left.substr(0, left.find('\n'));
      left.remove_prefix(std::min(text.size() + 1, left.size()));
      if (trimmed(text).empty()) continue;
      const std::vector<double> numbers = numbers_of(file, line, text);
      if (boxes.size() > 1) boxes += ',', categories += ',';
      boxes += fmt::format("[{},{},{},{}]", numbers[1], numbers[2], numbers[3], numbers[4]);
      categories += fmt::to_string(class_of(file, line, numbers[0]));
    }
    cells_.clear();
    for (const std::string& field : fields_)
      cells_.push_back({.name = field,
                        .kind = JsonMember::Kind::nested,
                        .text = (field == kBoxes ? boxes : categories) + "]"});
    use_({file.number, file.key, cells_, types_});
  }

  [[nodiscard]] std::vector<double> numbers_of(const AnnotationFile& file, std::uint64_t line,
                                               std::string_view text) {
    std::vector<double> numbers;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
      const std::string_view word = text.substr(0, text.find_first_of(" \t"));
      double number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number))
        throw at(file, line, fmt::format("has '{}', expected a number", printable(word)));
      numbers.push_back(number);
      text.remove_prefix(word.size());
    }
    if (numbers.size() != kWords) throw other_count(file, line, numbers.size());
    outside_ += std::all_of(numbers.begin() + 1, numbers.end(),
                            [](double number) { return number >= 0 && number <= 1; })
                    ? 0
                    : 1;
    return numbers;
  }

  [[nodiscard]] static Error other_count(const AnnotationFile& file, std::uint64_t line,
                                         std::size_t count) {
    const std::string fact =
        fmt::format("has {}, expected {}", format_counted(count, "number", "numbers"), kWords);
    if (count < kWords + 1) return at(file, line, fact);
    return Error(Code::unsupported,
                 "box in line {} {}: polygons, key points and scores are not read", line, fact)
        .at(file.path)
        .hint(
            "instead of --labels, image=IMAGES text=LABELS --partners any joins the files as they "
            "are");
  }

  [[nodiscard]] std::int64_t class_of(const AnnotationFile& file, std::uint64_t line,
                                      double number) const {
    constexpr int kMost = 1 << 30;
    if (number != std::floor(number) || number < 0 || number > kMost)
      throw at(file, line,
               fmt::format("has the class {}, expected an integer from 0 to {}", number, kMost));
    const auto label = static_cast<std::int64_t>(number);
    if (names_from_.empty() || static_cast<std::uint64_t>(label) < read_.classes.size())
      return label;
    throw at(file, line,
             fmt::format("has the class {}, but {} has {}", label, printable(names_from_),
                         format_counted(read_.classes.size(), "name", "names")));
  }

  const AnnotationRequest& request_;
  const std::function<void(const AnnotationRow&)>& use_;
  std::vector<std::string> fields_;
  std::vector<Field> types_;
  std::string names_from_;
  std::vector<JsonMember> cells_;
  std::uint64_t outside_ = 0;
  AnnotationsRead read_;
};

}  // namespace

AnnotationsRead read_yolo(const AnnotationRequest& request,
                          const std::function<void(const AnnotationRow&)>& use) {
  return YoloReader(request, use).read();
}

}  // namespace shale
