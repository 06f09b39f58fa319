#include "shale/folders/list_source.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/folders/input_list.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_rows.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/json_lines.hpp"
#include "shale/wire/stream_kind.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostOfListedLine = 1 << 20;
constexpr std::string_view kLinesHint = "write the path of one file per line";
constexpr std::string_view kListBegin = "\xef\xbb\xbf";  // a byte order mark

class ListReader {
 public:
  ListReader(const std::string& name, char end, const std::function<void(const ListedLine&)>& use)
      : name_(name), end_(end), use_(use) {}

  void take(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find(end_);
      const std::string_view piece = text.substr(0, end);
      if (line_.size() + piece.size() > kMostOfListedLine) throw too_long();
      line_.append(piece);
      if (end == std::string_view::npos) return;
      finish_line();
      text.remove_prefix(end + 1);
    }
  }

  // The last line needs no end.
  void finish() {
    if (!line_.empty()) finish_line();
  }

 private:
  void finish_line() {
    ++number_;
    std::string_view line = line_;
    if (number_ == 1 && line.starts_with(kListBegin)) line.remove_prefix(kListBegin.size());
    if (end_ == '\n') {
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.find('\0') != std::string_view::npos)
        throw at_line("has a NUL byte")
            .hint("end every path with NUL, or every path with a line end");
    }
    if (!trimmed(line).empty()) use_line(line);
    line_.clear();
  }

  void use_line(std::string_view line) {
    ListedLine listed{.number = number_, .path = line};
    const std::size_t tab = line.rfind('\t');
    if (tab != std::string_view::npos) {
      listed.path = line.substr(0, tab);
      listed.label = trimmed(line.substr(tab + 1));
    }
    while (listed.path.starts_with("./")) listed.path.remove_prefix(2);
    if (listed.path.empty()) throw at_line("has no path").hint("write path<TAB>label");
    if (tab != std::string_view::npos && listed.label.empty())
      throw at_line("has a tab, but no label behind it")
          .hint("write path<TAB>label, or a path alone");
    use_(listed);
  }

  [[nodiscard]] Error at_line(std::string_view fact) const {
    return Error(Code::bad_content, "line {} {}", number_, fact).at(name_);
  }

  [[nodiscard]] Error too_long() const {
    return line_too_long(name_, number_ + 1, kMostOfListedLine).hint(kLinesHint);
  }

  const std::string& name_;
  char end_;
  const std::function<void(const ListedLine&)>& use_;
  std::string line_;
  std::uint64_t number_ = 0;
};

// A line of the list, in its order.
struct ListRow {
  std::uint64_t position = 0, bytes = 0, line = 0;
  std::int64_t modified_ns = 0;
  std::string_view path, label;
  static auto columns(auto& row) {
    return std::tie(row.position, row.bytes, row.line, row.modified_ns, row.path, row.label);
  }
};

// Paths are sorted, to find those that come twice.
struct ListPath {
  std::string path;
  std::uint64_t line = 0;
  static auto columns(auto& row) { return std::tie(row.path, row.line); }
};

class FileList final : public InputList {
 public:
  FileList(std::string path, const FolderRequest& request)
      : path_(std::move(path)),
        request_(request),
        name_(request.root),
        sought_(request.files.suffixes, request.files.takes_decodable),
        lines_(std::in_place, request.scratch_folder, request.memory_bytes / 2),
        ignored_(request.scratch_folder, request.memory_bytes / 8) {
    info_.manifest.kind = kFileList;
    info_.suffixes = sought_.text();
    info_.keys_are_unique = true;
    info_.modified_ns = 1;  // known, even of an empty list: stdin itself has no time to ask for
    read_list();
    choose_labels();
    info_.schema.fields = {{.name = sought_.field(), .kind = Kind::bytes}};
    if (has_labels()) info_.schema.fields.push_back({.name = "label", .kind = Kind::integer});
    if (sought_.are_images()) info_.image_fields = {0};
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] ListedSample next() override {
    ListedSample sample;
    if (const std::optional<ListRow> line = lines_->next()) {
      sample.push_back({.path = std::string(line->path),
                        .bytes = line->bytes,
                        .modified_ns = line->modified_ns,
                        .label = label_of(*line),
                        .has_label = !line->label.empty(),
                        .row = std::to_string(line->line)});
    }
    return sample;
  }

  void rewind() override { lines_->rewind(); }
  void close() override { lines_.reset(); }

  [[nodiscard]] PendingSample pending(ListedSample listed) const override {
    ListedFile& file = listed.front();
    PendingSample sample;
    sample.key = std::move(file.path);
    sample.bytes = file.bytes;
    sample.files = {{.path = sample.key, .bytes = file.bytes, .modified_ns = file.modified_ns}};
    sample.cells.resize(info_.schema.fields.size());
    sample.cells[0].place = {.offset = 0, .length = file.bytes};
    if (!has_labels()) return sample;
    sample.cells[1].integer = file.label;
    if (file.has_label) return sample;
    sample.lacks = fmt::format("label in line {} of {}", file.row, name_);
    sample.lacks_row = true;
    return sample;
  }

  void list_ignored(const ReasonSink& sink) override {
    ignored_.rewind();
    while (const std::optional<IgnoredEntry> next = ignored_.next())
      sink(next->entry, next->reason);
  }

 private:
  // Where nobody takes them all have some.
  [[nodiscard]] bool has_labels() const { return labelled_ > 0 || !request_.needs_labels; }

  void read_list() {
    SortedTable<ListPath> paths(request_.scratch_folder, request_.memory_bytes / 4);
    read_listed_files(path_, name_, request_.stop_if_asked, [&](const ListedLine& line) {
      request_.stop_if_asked();
      paths.add({std::string(line.path), line.number});
      if (!sought_.are_images() && !sought_.takes(line.path)) {
        ++info_.ignored;
        return ignored_.add({line.path, "not a suffix of --ext"});
      }
      add(line);
    });
    lines_->finish();
    ignored_.finish();
    paths.finish();
    paths.for_each_repeated(&ListPath::path, [&](const ListPath& one, const ListPath& other) {
      throw Error(Code::bad_content, "lines {} and {} name the same file, '{}'", one.line,
                  other.line, printable(other.path))
          .at(name_)
          .hint("remove one of the two lines");
    });
    if (lines_->count() > 0 || request_.files.allow_empty) return;
    throw Error(Code::bad_content, "lists no {}", sought_.described())
        .at(name_)
        .hint("pass paths, one per line, or --allow-empty for a dataset without samples");
  }

  void add(const ListedLine& line) {
    const std::string path(line.path);
    const std::optional<struct stat> facts = facts_behind(path);
    if (!facts) {
      throw Error(Code::not_found, "does not exist; line {} of {} names it", line.number, name_)
          .at(path)
          .hint(line.number > 1
                    ? "relative paths start at the current directory: run shale where "
                      "the list was made"
                    : "stdin does not begin like an archive, so it is read as a list of "
                      "files; relative paths start at the current directory");
    }
    if (!S_ISREG(facts->st_mode)) {
      throw Error(Code::bad_content, "is not a regular file; line {} of {} names it", line.number,
                  name_)
          .at(path)
          .hint("list files only, as 'find DIR -type f' does");
    }
    const std::int64_t modified_ns =
        std::int64_t{facts->st_mtim.tv_sec} * 1'000'000'000 + facts->st_mtim.tv_nsec;
    info_.modified_ns = std::max(info_.modified_ns, modified_ns);
    if (!line.label.empty()) note_label(line);
    if (line.label.empty() && unlabelled_line_ == 0) unlabelled_line_ = line.number;
    lines_->add({.position = lines_->count(),
                 .bytes = static_cast<std::uint64_t>(facts->st_size),
                 .line = line.number,
                 .modified_ns = modified_ns,
                 .path = path,
                 .label = line.label});
  }

  void note_label(const ListedLine& line) {
    ++labelled_;
    kinds_.note(line.number, line.label);
    // All integers may turn out to be names behind a name, with a class table: it is given then.
    const bool is_number = parse_integer_label(line.label) && !request_.may_mix_labels;
    if (is_number || request_.classes.is_given()) return;
    if (names_.insert(std::string(line.label)).second) allowance_.take(line.label);
  }

  void choose_labels() {
    if (!request_.needs_labels) return;
    if (!has_labels()) {
      if (!request_.classes.is_given() || lines_->count() == 0) return;
      throw Error(Code::bad_content, "has no labels, but --classes-from is given")
          .at(name_)
          .hint("write path<TAB>label in every line, or leave out the option");
    }
    const bool has_table = request_.classes.is_given();
    if (!has_table && !request_.may_mix_labels) kinds_.refuse_mixed(name_, "line");
    if (request_.files.refuses_incomplete && unlabelled_line_ > 0) {
      throw Error(Code::bad_content, "line {} has no label, but others have", unlabelled_line_)
          .at(name_)
          .hint("write path<TAB>label in every line");
    }
    if (!has_table && kinds_.are_numbers()) {
      kinds_.refuse_two_forms(name_, "line");
      if (std::string note = kinds_.note_on_zeros(name_); !note.empty())
        info_.notes.push_back(std::move(note));
      return;
    }
    const std::vector<std::string> names(names_.begin(), names_.end());
    names_.clear();
    table_ = given_table(request_.classes, request_.all_memory_bytes);
    if (!has_table) table_.emplace(names, name_, request_.all_memory_bytes);
    if (has_table && request_.classes.adds) add_classes();
    info_.classes = table_->names();
  }

  // Behind those of the dataset that is appended to, sorted.
  void add_classes() {
    std::set<std::string> names;
    while (const std::optional<ListRow> line = lines_->next()) {
      if (!line->label.empty()) names.emplace(line->label);
    }
    lines_->rewind();
    table_ = table_->extended({names.begin(), names.end()}, name_, request_.all_memory_bytes);
  }

  [[nodiscard]] std::int64_t label_of(const ListRow& line) const {
    if (line.label.empty()) return 0;
    if (!table_ || (kinds_.are_numbers() && !kinds_.have_zeros_in_front())) {
      const std::int64_t number = parse_integer_label(line.label).value_or(0);
      const bool is_of_table =
          !table_ || (number >= 0 && static_cast<std::uint64_t>(number) < table_->names().size());
      if (is_of_table) return number;
      throw Error(Code::bad_content, "line {}: label {} is not one of the class table's {}",
                  line.line, number, format_counted(table_->names().size(), "label", "labels"))
          .at(name_)
          .because("the class table comes from " + request_.classes.table_from())
          .hint("write class names instead of numbers, or only numbers of its classes");
    }
    if (const std::optional<std::int64_t> label = table_->label_of(line.label)) return *label;
    throw not_in_class_table(line.label, fmt::format("{}: line {}", name_, line.line),
                             request_.classes.table_from(), request_.classes.extends_set);
  }

  std::string path_;
  FolderRequest request_;
  std::string name_;
  SoughtFiles sought_;
  SourceInfo info_;
  std::optional<SortedTable<ListRow>> lines_;  // until close()
  SortedTable<IgnoredEntry> ignored_;
  LabelKinds kinds_;
  std::set<std::string> names_;
  ClassAllowance allowance_{request_.all_memory_bytes, name_};
  std::optional<ClassTable> table_;
  std::uint64_t labelled_ = 0, unlabelled_line_ = 0;
};

// What is not a list may never end, such as /dev/zero: it is not copied until the disk is full.
class EndlessLine {
 public:
  void refuse(std::string_view text) {
    for (const char letter : text) {
      const bool is_end = letter == '\n' || letter == '\0';
      lines_ += is_end ? 1 : 0;
      bytes_ = is_end == has_content_ ? 1 : bytes_ + 1;
      has_content_ = !is_end;
    }
    constexpr std::uint64_t kMostEmptyLines = 64 << 20;
    if (bytes_ <= (has_content_ ? kMostOfListedLine : kMostEmptyLines)) return;
    if (has_content_) throw line_too_long("stdin", lines_ + 1, kMostOfListedLine).hint(kLinesHint);
    throw Error(Code::bad_content,
                "is not a list of files: it has more than {} empty lines in a row", kMostEmptyLines)
        .at("stdin")
        .hint(kLinesHint);
  }

 private:
  std::uint64_t lines_ = 0, bytes_ = 0;  // of this line, or of the empty ones before it
  bool has_content_ = false;
};

}  // namespace

void StdinCopy::hold(std::unique_ptr<InputStream> opened) {
  const std::scoped_lock lock(mutex_);
  opened_ = std::move(opened);
}

std::unique_ptr<InputStream> StdinCopy::take_opened() {
  const std::scoped_lock lock(mutex_);
  return std::move(opened_);
}

bool StdinCopy::is_whole() const {
  const std::scoped_lock lock(mutex_);
  return is_whole_;
}

void StdinCopy::keep(InputStream& input, const std::string& folder) {
  const std::scoped_lock lock(mutex_);
  file_.emplace(folder);
  std::vector<std::byte> buffer(1 << 16);
  std::uint64_t offset = 0;
  EndlessLine endless;
  while (const std::uint64_t count = input.read(buffer)) {
    endless.refuse(as_text(Bytes(buffer).first(count)));
    write_fully(file_->descriptor(), Bytes(buffer).first(count), offset, file_->path());
    offset += count;
  }
  is_whole_ = true;
}

std::string StdinCopy::path() const {
  const std::scoped_lock lock(mutex_);
  return file_->link();
}

void read_listed_files(const std::string& path, const std::string& name,
                       const std::function<void()>& stop_if_asked,
                       const std::function<void(const ListedLine&)>& use) {
  InputStream stream(path, stop_if_asked);
  const std::string_view head = as_text(stream.peek(kMostOfListedLine + 1));
  const bool has_nul = head.find('\0') != std::string_view::npos;
  if (has_nul && (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))) {
    throw Error(Code::bad_content, "is UTF-16, expected paths as they are in the file system")
        .at(name)
        .hint("convert the list with iconv -f UTF-16 -t UTF-8");
  }
  ListReader reader(name, has_nul ? '\0' : '\n', use);
  std::vector<std::byte> buffer(1 << 16);
  while (const std::uint64_t count = stream.read(buffer)) {
    stop_if_asked();
    reader.take(as_text(Bytes(buffer).first(count)));
  }
  reader.finish();
}

bool keep_if_list(StdinCopy& copy, InputStream& input) {
  if (may_be_archive(stream_kind_of(input.peek(kStreamKindBytes)))) return false;
  copy.keep(input, temporary_folder());
  return true;
}

std::unique_ptr<OrderableSource> open_list(const std::string& path, const FolderRequest& request) {
  return make_list_source(std::make_unique<FileList>(path, request),
                          {.name = request.root,
                           .scratch_folder = request.scratch_folder,
                           .memory_bytes = request.memory_bytes / 2,
                           .stop_if_asked = request.stop_if_asked});
}

}  // namespace shale
