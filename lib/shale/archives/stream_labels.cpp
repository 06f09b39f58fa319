#include "shale/archives/stream_labels.hpp"

#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

LabelListRequest list_request(const FolderRequest& request, const SoughtFiles& sought) {
  if (become_fields(request.labels)) {
    throw Error(Code::unsupported, "has labels that become fields, which a stream cannot be given")
        .at(request.labels.path)
        .hint("decompress the archive to a .tar file, which is read in place and takes them");
  }
  LabelListRequest list = label_list_request(request, sought);
  // Nobody knows yet. Names alone match the files of the root just as well.
  list.has_nested_files = true;
  return list;
}

FolderRequest with_root(FolderRequest request, std::string root) {
  request.root = std::move(root);
  return request;
}

std::string_view folder_of_member(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of_member(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What it is looked up by.
Hash128 hash_of_place(const LabelPlace& place) {
  return xxh3_128(as_bytes(fmt::format("{}/{}", place.folder, place.name)));
}

// Nullopt: labels are numbers.
std::optional<ClassTable> table_of(const FolderRequest& request, const LabelList& labels) {
  if (!request.classes.from.empty())
    return load_class_table(request.classes.from, request.all_memory_bytes);
  if (labels.are_numbers()) return std::nullopt;
  return ClassTable(labels.class_names(), request.labels.path, request.all_memory_bytes);
}

}  // namespace

StreamLabels::StreamLabels(const FolderRequest& request, const SoughtFiles& sought,
                           std::string root)
    : request_(with_root(request, std::move(root))),
      sought_(sought),
      labels_(list_request(request, sought)),
      table_(table_of(request_, labels_)),
      rows_(request.scratch_folder, request.memory_bytes / 4),
      found_(request.scratch_folder, request.memory_bytes / 4) {
  if (!request.files.allow_empty) labels_.refuse_none();
  index_rows();
}

void StreamLabels::index_rows() {
  Hasher128 digest;
  digest.update(bytes_of(static_cast<std::uint64_t>(labels_.match())));
  const LabelJoin of_row = join();
  while (const std::optional<LabelList::Row> row = labels_.next()) {
    request_.stop_if_asked();
    for (const std::string_view text : {row->place.folder, row->place.name, row->text}) {
      digest.update(bytes_of(std::uint64_t{text.size()}));
      digest.update(as_bytes(text));
    }
    const std::optional<std::int64_t> label = label_if_any(of_row, *row);
    rows_.add({hash_of_place(row->place), label.value_or(0), !label});
  }
  labels_.rewind();
  rows_.finish(request_.stop_if_asked);
  digest_ = digest.digest();
}

std::vector<std::string> StreamLabels::class_names() const {
  return table_ ? table_->names() : std::vector<std::string>();
}

LabelJoin StreamLabels::join() {
  return {.request = request_,
          .sought = sought_,
          .labels = labels_,
          .table = table_,
          .add = [](const WalkedFile&, std::optional<std::int64_t>) {},
          .unmatched = [](const LabelList::Row&) {}};
}

std::optional<std::int64_t> StreamLabels::label_of(std::string_view path, std::uint64_t bytes) {
  const std::string_view folder = folder_of_member(path), name = name_of_member(path);
  found_.add(folder, {.directory = folder, .name = name, .bytes = bytes});
  const std::string key = path_for(folder, name);
  const std::optional<std::int64_t> label = find(place_in(key));
  if (!label && request_.files.refuses_incomplete && request_.needs_labels)
    throw no_label(join(), {.directory = folder, .name = name, .bytes = bytes});
  return label;
}

// Ground truth is for the files in sorted order, which ILSVRC's have in their names; finish()
// proves it.
std::string StreamLabels::path_for(std::string_view folder, std::string_view name) const {
  std::uint64_t number = 0;
  if (labels_.match() == KeyMatch::position) {
    const std::optional<std::uint64_t> named = number_in_name(name);
    if (!named || *named == 0) {
      throw Error(Code::bad_content,
                  "has no number in its name, but ground truth is for all {}s in sorted order, "
                  "which a stream does not have",
                  sought_.one())
          .at(join_path(request_.root, join_path(folder, name)))
          .hint(
              "decompress the archive to a .tar file, which is read in place; or write path,label");
    }
    number = *named - 1;
  }
  return labels_.path_for(folder, name, number);
}

std::optional<std::int64_t> StreamLabels::find(const LabelPlace& place) {
  const Hash128 hash = hash_of_place(place);
  std::uint64_t at = rows_.find(hash);
  const std::optional<LabelOfPlace> row = rows_.next(at);
  if (!row || row->place != hash) return std::nullopt;
  return row->is_wrong ? label_in_list(place) : row->label;
}

// Throws the error of a row whose label cannot be.
std::int64_t StreamLabels::label_in_list(const LabelPlace& place) {
  labels_.rewind();
  while (const std::optional<LabelList::Row> row = labels_.next()) {
    if (row->place == place) return label_of_row(join(), *row);
  }
  throw Error(Code::bug, "a row of {} is gone", request_.labels.path);
}

void StreamLabels::finish(const std::function<void(const std::string& key)>& unmatched) {
  found_.finish();
  LabelJoin whole = join();
  whole.unmatched = [&](const LabelList::Row& row) { unmatched(labels_.key_of(row)); };
  join_labels(found_, whole);
}

std::vector<std::string> StreamLabels::notes() const { return labels_.notes(found_.are_nested()); }

}  // namespace shale
