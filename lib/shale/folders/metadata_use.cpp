#include "shale/folders/metadata_use.hpp"

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/field_type.hpp"
#include "shale/labels/label_rows.hpp"

namespace shale {
namespace {

FolderRequest request_of_train(const FolderRequest& request) {
  FolderRequest train = request;
  train.root = request.classes.names_from;
  train.classes.names.clear();
  train.classes.names_from.clear();
  train.tree = nullptr;
  train.files.listing.stored.clear();
  train.files.listing.written.clear();
  train.memory_bytes = request.memory_bytes / 2;
  return train;
}

}  // namespace

std::optional<ClassTable> table_of_metadata(
    const FolderRequest& request, const MetadataRows& metadata,
    const std::function<std::vector<std::string>(const FolderRequest&)>& classes_of) {
  const std::uint64_t memory = request.all_memory_bytes;
  if (!request.classes.from.empty()) {
    ClassTable given = load_class_table(request.classes.from, memory);
    return request.classes.adds && !metadata.has_numbers()
               ? given.extended(metadata.class_names(), metadata.first_path(), memory)
               : given;
  }
  if (metadata.has_numbers()) return std::nullopt;
  const std::string& first = request.classes.names_from;  // of several splits
  if (first.empty() || first == request.root)
    return ClassTable(metadata.class_names(), metadata.first_path(), memory);
  if (request.root.starts_with(first + "/")) {
    throw Error(Code::bad_content,
                "has labels that are names, and there is no split train that says which there are")
        .at(metadata.first_path())
        .hint("list the names of all splits in a file, and pass it with --classes-from");
  }
  return ClassTable(classes_of(request_of_train(request)), first, memory);
}

bool is_left_to_labels(const FolderRequest& request, const MetadataRows& metadata,
                       std::vector<std::string>& notes) {
  if (request.labels.path.empty()) return false;
  if (!metadata.is_one_of_them(request.labels.path)) {
    throw Error(Code::usage, "has rows with the names of files, and so has {}, given by --labels",
                printable(request.labels.path))
        .at(metadata.first_path())
        .hint("leave out --labels, or pass --pairs off to leave out the metadata");
  }
  notes.push_back(fmt::format("of {} only the labels are taken, as --labels says",
                              printable(request.labels.path)));
  return true;
}

MetadataRows::Request metadata_request(const FolderRequest& request,
                                       const std::string& sample_field) {
  return {.root = request.root,
          .scratch_folder = request.scratch_folder,
          .memory_bytes = request.memory_bytes / 4,
          .all_memory_bytes = request.all_memory_bytes,
          .has_class_table = !request.classes.from.empty() || request.may_mix_labels,
          .extends_set = request.classes.extends_set,
          .sample_field = sample_field,
          .separator = request.labels.separator,
          .stop_if_asked = request.stop_if_asked};
}

Error is_field_already(const Field& column, const std::string& root) {
  return Error(Code::bad_content,
               "a column of its metadata and the files beside the images both become the field "
               "'{}'",
               printable(column.name))
      .at(root)
      .hint("rename the column, or the files");
}

std::string text_of_fields(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields)
    text.append(1, '\n').append(field.name).append(1, ':').append(field_type_text(field));
  return text;
}

std::string note_on_metadata(const MetadataRows& metadata, std::string_view one) {
  std::string fields;
  for (const Field& field : metadata.fields())
    fields.append(fields.empty() ? "" : ", ").append(printable(field.name));
  if (metadata.has_labels()) fields.append(fields.empty() ? "label" : ", label");
  return fmt::format(
      "the columns of {} become fields of each {}'s sample: {}; pass --pairs off to leave them out",
      metadata.stamps().size() == 1 ? printable(metadata.first_path())
                                    : "metadata.csv or metadata.jsonl",
      one, fields.empty() ? "none" : fields);
}

}  // namespace shale
