#include "shale/folders/label_join.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/labels/composed_text.hpp"
#include "shale/labels/label_pattern.hpp"

namespace shale {
namespace {

Error other_count(const LabelJoin& join, std::uint64_t files) {
  return Error(Code::bad_content, "has {}, but {} has {}",
               format_counted(join.labels.rows(), "row", "rows"), printable(join.request.root),
               join.sought.counted(files))
      .at(join.request.labels.path)
      .hint("ground truth is for all files in sorted order: restore those that are missing");
}

// A number beside a table of names: it must be one of the table's, and not the name of another.
Error wrong_number(const LabelJoin& join, const LabelList::Row& row) {
  const ClassTable& table = *join.table;
  const std::optional<std::int64_t> named = table.label_of(row.text);
  return Error(Code::bad_content, "label {} {}", row.number,
               named ? fmt::format("is also the name of class {} of the class table", *named)
                     : fmt::format("is not one of the class table's {}, 0 to {}",
                                   format_counted(table.names().size(), "label", "labels"),
                                   table.names().size() - 1))
      .at(join.request.labels.path)
      .because("the class table comes from " + join.request.classes.from)
      .hint("write class names instead of numbers, or only numbers of its classes");
}

}  // namespace

LabelListRequest label_list_request(const FolderRequest& request, const SoughtFiles& sought) {
  return {.file = request.labels,
          .scratch_folder = request.scratch_folder,
          .memory_bytes = request.memory_bytes / 4,
          .all_memory_bytes = request.all_memory_bytes,
          .has_class_table = !request.classes.from.empty() || request.may_mix_labels,
          .is_sample = [&sought](std::string_view name) { return sought.takes(name); },
          .stop_if_asked = request.stop_if_asked};
}

Error no_label(const LabelJoin& join, const WalkedFile& file) {
  return Error(Code::bad_content, "{} has no label in {}", join.sought.one(),
               join.request.labels.path)
      .at(join_path(join.request.root, join_path(file.directory, file.name)))
      .hint(fmt::format("add a row for it, or move the {} out of the folder", join.sought.one()));
}

std::optional<std::int64_t> label_if_any(const LabelJoin& join, const LabelList::Row& row) {
  if (!join.table) return row.number;
  const std::optional<std::int64_t> named = join.table->label_of(row.text);
  if (!join.labels.are_numbers()) return named;
  const auto classes = static_cast<std::int64_t>(join.table->names().size());
  const bool is_in_table = row.number >= 0 && row.number < classes;
  if (!is_in_table || named.value_or(row.number) != row.number) return std::nullopt;
  return row.number;
}

std::int64_t label_of_row(const LabelJoin& join, const LabelList::Row& row) {
  if (const std::optional<std::int64_t> label = label_if_any(join, row)) return *label;
  if (join.labels.are_numbers()) throw wrong_number(join, row);
  throw unknown_class(join.request, row.text, join.request.labels.path);
}

void FoundFiles::add(std::string_view folder, const WalkedFile& file) {
  are_nested_ = are_nested_ || !folder.empty();
  have_back_slashes_ = have_back_slashes_ || folder.find('\\') != std::string_view::npos ||
                       file.name.find('\\') != std::string_view::npos;
  have_marks_ =
      have_marks_ || composed_text(folder) != folder || composed_text(file.name) != file.name;
  ++count_;
  files_->add({.folder = folder,
               .name = file.name,
               .bytes = file.bytes,
               .modified_ns = file.modified_ns,
               .offset = file.offset});
}

void FoundFiles::for_each(const std::function<void(const WalkedFile& file)>& use) {
  files_->rewind();
  while (const std::optional<FoundRow> found = files_->next())
    use({.directory = found->folder,
         .name = found->name,
         .bytes = found->bytes,
         .modified_ns = found->modified_ns,
         .offset = found->offset});
}

void FoundFiles::rewind() {
  files_ ? files_->rewind() : placed_->rewind();
  number_ = 0;
}

void FoundFiles::order_by(const LabelList& labels, const std::function<void()>& stop_if_asked) {
  if ((labels.match() == KeyMatch::path && !have_marks_) || placed_) return;
  SortedTable<PlacedRow> placed(scratch_folder_, memory_bytes_);
  while (const std::optional<FoundRow> found = files_->next()) {
    stop_if_asked();
    const std::string path = labels.path_for(found->folder, found->name, number_);
    placed.add({.place = place_in(path), .found = *found, .number = number_});
    ++number_;
  }
  placed.finish();
  files_.reset();
  placed_.emplace(std::move(placed));
}

std::optional<FoundFiles::File> FoundFiles::next() {
  PlacedRow row;
  if (placed_) {
    const std::optional<PlacedRow> next = placed_->next();
    if (!next) return std::nullopt;
    row = *next;
  } else {
    const std::optional<FoundRow> next = files_->next();
    if (!next) return std::nullopt;
    row = {.place = {next->folder, next->name}, .found = *next, .number = number_++};
  }
  return File{.place = row.place,
              .file = {.directory = row.found.folder,
                       .name = row.found.name,
                       .bytes = row.found.bytes,
                       .modified_ns = row.found.modified_ns,
                       .offset = row.found.offset},
              .number = row.number};
}

namespace {

// Rows without file and files without row, where only zeros in front of a number tell them apart:
// spreadsheets drop these. The first of each are compared.
class LostZeros {
 public:
  void note_row(const LabelList& labels, const LabelList::Row& row) {
    if (labels.match() != KeyMatch::position) note(rows_, row.place, row.place);
  }
  void note_file(const LabelList& labels, const FoundFiles::File& found) {
    if (labels.match() != KeyMatch::position && found.place.name.starts_with('0'))
      note(files_, found.place, {found.file.directory, found.file.name});
  }
  void refuse(const std::string& labels_file) const {
    for (const auto& [place, file] : files_) {
      const auto row = rows_.find(place);
      if (row == rows_.end()) continue;
      throw Error(Code::bad_content,
                  "key '{}' is not the name of a file, but '{}' is one and has no row",
                  printable(row->second), printable(file))
          .at(labels_file)
          .hint(
              "spreadsheets and pandas drop leading zeros: write the keys as text, exactly as the "
              "files are named");
    }
  }

 private:
  using Names = std::map<std::pair<std::string, std::string>, std::string>;

  static void note(Names& names, LabelPlace place, const LabelPlace& shown) {
    constexpr std::size_t kMost = 1000;
    if (names.size() == kMost) return;
    const std::size_t digits = place.name.find_first_not_of("0123456789");
    const std::size_t zeros = place.name.find_first_not_of('0');
    if (place.name.empty() || digits == 0) return;
    place.name.remove_prefix(std::min(zeros, std::min(digits, place.name.size()) - 1));
    names.emplace(std::pair(place.folder, place.name), shown.path());
  }

  Names rows_, files_;  // by their places without these zeros
};

// The path of the first file that a key ends with, or that differs in case only; empty: there is
// none.
std::string file_like(FoundFiles& found, const std::string& key) {
  const auto is_same = [](char a, char b) {
    return a == b || (a >= 'A' && (a ^ b) == 0x20 && ((a | 0x20) >= 'a' && (a | 0x20) <= 'z'));
  };
  found.rewind();
  while (const std::optional<FoundFiles::File> next = found.next()) {
    std::string path = join_path(next->file.directory, next->file.name);
    if (path.size() == key.size() && std::ranges::equal(path, key, is_same)) return path;
    if (path.size() < key.size() && key.ends_with(path) && key[key.size() - path.size() - 1] == '/')
      return path;
  }
  return {};
}

// Each file with its row, each file without one, and each row without file, in the order of places.
class RowWalk {
 public:
  RowWalk(FoundFiles& found, const LabelJoin& join,
          std::function<void(const FoundFiles::File&, const LabelList::Row*)> use)
      : found_(found), join_(join), use_(std::move(use)) {}

  void run(const std::function<void(const LabelList::Row&)>& unmatched) {
    if (found_.count() > 0) join_.labels.refuse_none();
    found_.order_by(join_.labels, join_.request.stop_if_asked);
    found_.rewind();
    join_.labels.rewind();
    row_ = join_.labels.next();
    while (const std::optional<FoundFiles::File> next = found_.next()) {
      join_.request.stop_if_asked();
      while (row_ && row_->place < next->place) pass_row(unmatched);
      use_file(*next);
    }
    while (row_) pass_row(unmatched);
    zeros_.refuse(join_.request.labels.path);
    if (matched_ > 0 && left_header_) throw join_.labels.likely_header();
    if (matched_ == 0 && first_unmatched_ && found_.count() > 0)
      throw join_.labels.unmatched(*first_unmatched_, join_.request.root,
                                   file_like(found_, *first_unmatched_));
  }

 private:
  void pass_row(const std::function<void(const LabelList::Row&)>& unmatched) {
    if (!std::exchange(is_taken_, false)) {
      const bool is_header = join_.labels.may_be_header(*row_);
      if (join_.request.files.refuses_incomplete) {
        if (is_header) throw join_.labels.likely_header();
        zeros_.refuse(join_.request.labels.path);
        throw join_.labels.unmatched(row_->place.path(), join_.request.root);
      }
      left_header_ = left_header_ || is_header;
      if (!first_unmatched_) first_unmatched_ = row_->place.path();
      zeros_.note_row(join_.labels, *row_);
      if (unmatched) unmatched(*row_);
    }
    row_ = join_.labels.next();
  }

  void use_file(const FoundFiles::File& found) {
    if (!row_ || row_->place != found.place) {
      if (join_.request.files.refuses_incomplete && join_.request.needs_labels)
        throw no_label(join_, found.file);
      zeros_.note_file(join_.labels, found);
      return use_(found, nullptr);
    }
    std::string path = join_path(found.file.directory, found.file.name);
    if (is_taken_ && path == last_path_) return;  // of a stream, which is refused for it elsewhere
    if (is_taken_) {
      throw Error(Code::bad_content, "key '{}' names two files, {} and {}",
                  printable(join_.labels.key_of(*row_)), printable(last_path_), printable(path))
          .at(join_.request.labels.path)
          .hint("write paths with suffixes, relative to the converted folder");
    }
    use_(found, &*row_);
    last_path_ = std::move(path);
    is_taken_ = true;
    ++matched_;
  }

  FoundFiles& found_;
  const LabelJoin& join_;
  std::function<void(const FoundFiles::File&, const LabelList::Row*)> use_;
  std::optional<LabelList::Row> row_;
  std::optional<std::string> first_unmatched_;
  LostZeros zeros_;
  std::string last_path_;
  std::uint64_t matched_ = 0;
  bool is_taken_ = false;  // the row has a file already
  bool left_header_ = false;
};

}  // namespace

void join_labels(FoundFiles& found, const LabelJoin& join) {
  if (join.labels.are_numbers())
    refuse_idle_order(join.request.classes.order, join.request.labels.path);
  const bool is_positional = join.labels.match() == KeyMatch::position;
  if (is_positional && join.labels.rows() != found.count()) throw other_count(join, found.count());
  RowWalk(found, join, [&](const FoundFiles::File& next, const LabelList::Row* row) {
    // ILSVRC's images have their numbers in their names: row i is of the image with number i.
    const std::optional<std::uint64_t> named = number_in_name(next.file.name);
    if (row != nullptr && is_positional && named && *named != next.number + 1) {
      throw Error(Code::bad_content, "is the {} number {} in sorted order, but its name has {}",
                  join.sought.one(), next.number + 1, *named)
          .at(join_path(join.request.root, join_path(next.file.directory, next.file.name)))
          .hint(
              "ground truth is for all files in sorted order: restore those that are missing, or "
              "write path,label instead");
    }
    join.add(next.file, row == nullptr ? std::nullopt : std::optional(label_of_row(join, *row)));
  }).run(join.unmatched);
}

std::vector<std::string> names_of_files(FoundFiles& found, const LabelJoin& join) {
  if (join.labels.match() == KeyMatch::position) return join.labels.class_names();
  ClassAllowance allowance(join.request.all_memory_bytes, join.request.labels.path);
  std::set<std::string, std::less<>> names;
  RowWalk(found, join, [&](const FoundFiles::File&, const LabelList::Row* row) {
    if (row == nullptr || join.labels.are_numbers() || names.contains(row->text)) return;
    names.emplace(row->text);
    allowance.take(row->text);
  }).run(nullptr);
  return {names.begin(), names.end()};
}

ClassTable table_with(const FolderRequest& request, const std::vector<std::string>& classes,
                      const std::string& where) {
  const std::uint64_t memory = request.all_memory_bytes;
  std::optional<ClassTable> given = given_table(request.classes, memory);
  if (!given) return table_in_order(classes, request.classes.order, where, memory);
  return request.classes.adds ? given->extended(classes, where, memory) : *given;
}

std::vector<std::string> label_by_name(
    const FolderRequest& request, FoundFiles& found,
    const std::function<void(const WalkedFile&, std::optional<std::int64_t>)>& add) {
  const LabelPattern pattern(request.labels.pattern);
  const std::string where = "--label-from";
  const auto label_in = [&](const WalkedFile& file) {
    return pattern.label_in(join_path(file.directory, file.name));
  };
  ClassAllowance allowance(request.all_memory_bytes, where);
  LabelKinds kinds;
  std::set<std::string> names;
  std::uint64_t number = 0;
  found.for_each([&](const WalkedFile& file) {
    request.stop_if_asked();
    const std::optional<std::string> label = label_in(file);
    if (!label) return;
    kinds.note(++number, *label);
    if (names.insert(*label).second) allowance.take(*label);
  });
  if (number == 0 && found.count() > 0) {
    found.rewind();
    const std::optional<FoundFiles::File> first = found.next();
    throw Error(Code::bad_content, "no file has a name as --label-from '{}' says, such as '{}'",
                printable(request.labels.pattern),
                printable(join_path(first->file.directory, first->file.name)))
        .at(request.root)
        .hint("{label} is the class and {*} anything else, as in '{label}_{*}.jpg'");
  }
  const bool has_table = request.classes.is_given() || request.may_mix_labels;
  if (!has_table) kinds.refuse_mixed(request.root, "file");
  const bool are_numbers = kinds.are_numbers() && !has_table;
  if (are_numbers) {
    kinds.refuse_two_forms(request.root, "file");
    refuse_idle_order(request.classes.order, request.root);
  }
  std::optional<ClassTable> table;
  if (!are_numbers) table = table_with(request, {names.begin(), names.end()}, where);
  found.for_each([&](const WalkedFile& file) {
    const std::optional<std::string> label = label_in(file);
    if (!label) return add(file, std::nullopt);
    const std::optional<std::int64_t> given =
        table ? table->label_of(*label) : parse_integer_label(*label);
    if (!given) throw unknown_class(request, *label, join_path(file.directory, file.name));
    add(file, given);
  });
  return table ? table->names() : std::vector<std::string>();
}

Error unknown_class(const FolderRequest& request, std::string_view name, std::string_view where) {
  return not_in_class_table(name, where, request.classes.table_from(), request.classes.extends_set);
}

}  // namespace shale
