#include "shale/archives/stream_classes.hpp"

#include <charconv>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

ClassTable given_table(const FolderRequest& request) {
  if (!request.classes.names.empty())
    return {request.classes.names, request.classes.names_from, request.all_memory_bytes};
  if (request.classes.from.empty()) return {};
  return load_class_table(request.classes.from, request.all_memory_bytes);
}

// "0", "17": as they are counted, so that no two names are one number.
std::optional<std::int64_t> number_of_class(std::string_view name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_plain =
      name == "0" || (!name.empty() && name.front() >= '1' && name.front() <= '9');
  if (!is_plain || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

StreamClasses::StreamClasses(const FolderRequest& request, std::string root)
    : root_(std::move(root)),
      table_from_(request.classes.names.empty() ? request.classes.from
                                                : request.classes.names_from),
      has_table_(!table_from_.empty()),
      extends_set_(request.classes.extends_set),
      takes_unknown_(request.takes_unknown_classes),
      table_(given_table(request)),
      allowance_(request.all_memory_bytes, root_),
      last_(classes_.end()) {}

std::int64_t StreamClasses::meet(std::string_view name, Place place) {
  if (last_ == classes_.end() || last_->first != name) last_ = classes_.find(name);
  if (last_ == classes_.end()) {
    const Facts facts{.label = label_of(name)};
    allowance_.take(name);
    last_ = classes_.emplace(name, facts).first;
  }
  Facts& facts = last_->second;
  if (place != Place::in_archive) {
    const bool is_archive = place == Place::archive;
    if (facts.is_archive || (is_archive && facts.is_folder)) {
      throw Error(Code::bad_content, "{}",
                  facts.is_archive && is_archive
                      ? "archive is there twice"
                      : "is in the archive both as a folder and as an archive")
          .at(join_path(root_, name))
          .hint("unpack the archive with tar, and convert the folder");
    }
    (is_archive ? facts.is_archive : facts.is_folder) = true;
  }
  return facts.label;
}

void StreamClasses::note_file() { last_->second.has_files = true; }

const std::string* StreamClasses::first_empty() const {
  for (const auto& [name, facts] : classes_) {
    if (!facts.has_files) return &name;
  }
  return nullptr;
}

std::int64_t StreamClasses::label_of(std::string_view name) const {
  const std::optional<std::int64_t> label =
      has_table_ ? table_.label_of(name) : number_of_class(name);
  if (label || takes_unknown_) return label.value_or(-1);
  const std::string where = join_path(root_, name);
  if (is_split_name(name)) {
    throw Error(Code::bad_content, "is a split, not a class")
        .at(where)
        .hint(fmt::format("name the folder, '{}', to convert what is in it", printable(where)));
  }
  if (has_table_) {
    throw not_in_class_table(
        name, where, table_from_, extends_set_,
        fmt::format("make the table from the split that has all classes; or, if this is the folder "
                    "that the classes are in, name it: '{}'",
                    printable(where)));
  }
  throw Error(Code::usage, "a stream gives class '{}' no number before all classes are known",
              printable(name))
      .at(where)
      .hint(
          "pass --classes-from with a file that has a class name per line; or decompress the "
          "archive to a .tar file, which is read in place");
}

}  // namespace shale
