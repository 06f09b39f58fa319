#include "shale/labels/metadata_file.hpp"

#include <algorithm>
#include <set>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

// Of a row: where in its file, and what it is.
class MetadataReader {
 public:
  MetadataReader(const std::string& path, const std::function<void(const MetadataRow&)>& use)
      : path_(path), use_(use), is_json_(has_json_lines_suffix(path)) {}

  bool read() try {
    if (is_json_) {
      read_json_lines(path_, [this](std::uint64_t line, const std::vector<JsonMember>& members) {
        use_members(line, members);
      });
    } else {
      read_csv(path_, [this](std::uint64_t row, CsvRow fields) {
        row == 1 ? take_header(fields) : use_fields(row, fields);
      });
    }
    return is_metadata_;
  } catch (const Error&) {
    if (is_known_ && !is_metadata_) return false;
    throw;
  }

 private:
  [[nodiscard]] Error at_row(std::uint64_t row, std::string_view fact) const {
    return Error(Code::bad_content, "{} {} {}", is_json_ ? "line" : "row", row, fact).at(path_);
  }

  void take_header(CsvRow fields) {
    is_known_ = true;
    is_metadata_ = std::ranges::any_of(
        fields, [](std::string_view name) { return trimmed(name) == kFileNameColumn; });
    if (!is_metadata_) return;
    std::set<std::string_view> names;
    cells_.reserve(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string_view name = trimmed(fields[i]);
      if (name.empty())
        throw at_row(1, fmt::format("has no name for column {}", i + 1))
            .hint("name the column, or remove it; pandas writes it without index=False");
      if (!names.insert(name).second)
        throw at_row(1, fmt::format("has two columns '{}'", printable(name)))
            .hint("remove or rename one of the two");
      if (name == kFileNameColumn) {
        file_name_ = i;
      } else {
        cells_.push_back({.name = std::string(name), .kind = JsonMember::Kind::text, .text = {}});
      }
    }
  }

  void use_fields(std::uint64_t row, CsvRow fields) {
    if (!is_metadata_) return;
    if (fields.size() != cells_.size() + 1)
      throw at_row(row,
                   fmt::format("has {}, expected {} as in row 1",
                               format_counted(fields.size(), "field", "fields"), cells_.size() + 1))
          .hint("quote values that contain a comma or a line end");
    for (std::size_t i = 0, cell = 0; i < fields.size(); ++i) {
      if (i != file_name_) cells_[cell++].text = fields[i];
    }
    use_({row, path_of(row, fields[file_name_]), cells_});
  }

  void use_members(std::uint64_t line, const std::vector<JsonMember>& members) {
    const auto found = std::ranges::find(members, kFileNameColumn, &JsonMember::name);
    if (!is_known_) is_metadata_ = found != members.end();
    is_known_ = true;
    if (!is_metadata_) return;
    if (found == members.end())
      throw at_row(line, "has no 'file_name'").hint("name the file in every line");
    if (found->kind != JsonMember::Kind::text)
      throw at_row(line,
                   fmt::format("has a file_name that is {}, not a string", name_of(found->kind)))
          .hint("write the path of the file as a string");
    cells_.clear();
    cells_.reserve(members.size());
    for (const JsonMember& member : members) {
      if (member.name.empty())
        throw at_row(line, "has a member without name").hint("name it, or remove it");
      if (member.name != kFileNameColumn) cells_.push_back(member);
    }
    use_({line, path_of(line, found->text), cells_});
  }

  [[nodiscard]] std::string path_of(std::uint64_t row, std::string_view file_name) const {
    const auto refused = [&](std::string_view fact) {
      return at_row(row, fmt::format("has the file_name '{}', {}", printable(file_name), fact))
          .hint("write the path of a file relative to the folder of this file, and below it");
    };
    if (file_name.starts_with('/')) throw refused("which is absolute");
    if (file_name.find('\0') != std::string_view::npos) throw refused("which has a NUL byte");
    std::string path;
    for (std::string_view left = file_name; !left.empty();) {
      const std::string_view part = left.substr(0, left.find('/'));
      left.remove_prefix(std::min(part.size() + 1, left.size()));
      if (part == "..") throw refused("which leads out of its folder");
      if (part.empty() || part == ".") continue;
      path.append(path.empty() ? "" : "/").append(part);
    }
    if (path.empty()) throw refused("which names no file");
    return path;
  }

  const std::string& path_;
  const std::function<void(const MetadataRow&)>& use_;
  const bool is_json_;
  bool is_known_ = false, is_metadata_ = false;
  std::size_t file_name_ = 0;
  std::vector<JsonMember> cells_;
};

}  // namespace

bool is_metadata_name(std::string_view name) {
  return name == "metadata.csv" || name == "metadata.jsonl";
}

bool read_metadata_file(const std::string& path,
                        const std::function<void(const MetadataRow&)>& use) {
  return MetadataReader(path, use).read();
}

}  // namespace shale
