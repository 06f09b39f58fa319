#include "shale/ops/array_output.hpp"

#include <filesystem>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/shards/naming.hpp"

namespace shale {

namespace fs = std::filesystem;

std::string folder_of_file(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

namespace {

Error already_exists(const std::string& output) {
  return Error(Code::exists, "already exists")
      .at(output)
      .hint("choose another output, or pass --overwrite to replace it");
}

}  // namespace

void refuse_taken_output(const std::string& output, bool overwrite) {
  std::error_code error;
  // A link that leads nowhere has the name, too.
  if (!fs::exists(fs::symlink_status(output, error))) return;
  if (fs::is_directory(output, error)) {
    throw Error(Code::exists, "is a directory, an array is one file")
        .at(output)
        .hint("a set of shards goes into a directory whose name does not end in .npy");
  }
  if (!overwrite) throw already_exists(output);
}

const Field& only_array_field(const SourceInfo& info, const std::string& output, bool are_chosen) {
  const Schema& schema = info.schema;
  if (info.holds_images && !are_chosen) {
    throw Error(Code::unsupported, "images differ in size, and make no array")
        .at(output)
        .hint("write shards: choose an output directory and pass --to");
  }
  if (schema.fields.size() != 1) {
    std::string names;
    for (const Field& field : schema.fields)
      names += (names.empty() ? "" : ", ") + printable(field.name);
    throw Error(Code::usage, "one array holds one field, the input has {}", schema.fields.size())
        .at(output)
        .hint("pass --fields with one of them: " + names);
  }
  const Field& field = schema.fields.front();
  if (fixed_bytes_of(field)) return field;
  throw Error(Code::unsupported, "field '{}' is of kind {}, whose values differ in size: no array",
              printable(field.name), name_of(field.kind))
      .at(output);
}

TemporaryArray::TemporaryArray(const std::string& output, bool overwrite)
    : output_(output),
      overwrite_(overwrite),
      work_(WorkFolder::of_file(output)),
      path_(join_path(work_.path(), fs::path(output).filename().string())) {
  work_.clear();
}

TemporaryArray::~TemporaryArray() { work_.remove(); }

void TemporaryArray::publish() {
  if (overwrite_) {
    rename_file(path_, output_);
  } else if (!rename_to_free_name(path_, output_)) {
    throw already_exists(output_);
  }
  sync_directory(folder_of_file(output_));
}

}  // namespace shale
