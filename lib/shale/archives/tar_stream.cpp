#include "shale/archives/tar_stream.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "shale/archives/stream_labels.hpp"
#include "shale/archives/stream_members.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/folders/input_list.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/folders/untaken_pictures.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/shards/shard_set_writer.hpp"

namespace shale {
namespace {

// What a sample costs over and above its payload while it is in flight.
constexpr std::uint64_t kOverheadOfSample = 16 << 10;
// A sample has more than a quarter of the memory beside this.
constexpr std::uint64_t kBesideSamples = 16 << 20;

// "a/.b" of "a/.b/c/d.png": the first part that is hidden, with what is above it; nullopt: there is
// none.
std::optional<std::string_view> hidden_part(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (is_hidden_name(path.substr(begin, end - begin))) return path.substr(0, end);
    begin = end + 1;
  }
  return std::nullopt;
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

// The class folders of a stream, as they come: labels by a table that was there before, or by
// their names, if these are numbers.
class StreamClasses {
 public:
  // `root`: the stream and the folder in it, for errors.
  StreamClasses(const FolderRequest& request, std::string root);

  // By label; empty where names are numbers.
  [[nodiscard]] const std::vector<std::string>& names() const { return table_.names(); }
  // Where in the archive a class was met: a folder, or what is in it; an archive in the archive,
  // or what is in that.
  enum class Place { folder, archive, in_archive };
  // The label of the class whose folder has that name. Errors: Code::bad_content, by name, for one
  // that the table lacks, for a split, for one that is there as an archive and once more;
  // Code::usage for one whose name is not a number, where there is no table.
  std::int64_t meet(std::string_view name, Place place);
  // There is a file of the class that was met last.
  void note_file();
  // The first folder without files; nullptr: there is none.
  [[nodiscard]] const std::string* first_empty() const;

 private:
  struct Facts {
    std::int64_t label = 0;
    bool is_archive = false, is_folder = false, has_files = false;
  };
  using Classes = std::map<std::string, Facts, std::less<>>;

  [[nodiscard]] std::int64_t label_of(std::string_view name) const;

  std::string root_, table_from_;
  bool has_table_, extends_set_, takes_unknown_;
  ClassTable table_;
  ClassAllowance allowance_;
  Classes classes_;
  Classes::iterator last_;
};

StreamClasses::StreamClasses(const FolderRequest& request, std::string root)
    : root_(std::move(root)),
      table_from_(request.classes.table_from()),
      has_table_(!table_from_.empty()),
      extends_set_(request.classes.extends_set),
      takes_unknown_(request.takes_unknown_classes),
      table_(given_table(request.classes, request.all_memory_bytes).value_or(ClassTable())),
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

// A file by the hash of its folder and its name before the first dot: others belong to a sample of
// the same. `suffix`: of another.
struct StreamName {
  std::uint64_t hash = 0;
  bool is_other = false;
  std::string_view suffix;
  static auto columns(auto& row) { return std::tie(row.hash, row.is_other, row.suffix); }
};

class TarStreamSource final : public Source {
 public:
  TarStreamSource(const StreamPath& path, OpenedStream stream, const FolderRequest& request)
      : request_(request),
        sought_(request.files.suffixes, request.files.takes_decodable),
        members_(std::move(stream.bytes), path.folder),
        root_(path.folder.empty() ? members_.name() : join_path(members_.name(), path.folder)),
        classes_(request, root_),
        ignored_(request.scratch_folder, request.memory_bytes / 8),
        names_(request.scratch_folder, request.memory_bytes / 8) {
    if (!request.labels.path.empty()) labels_.emplace(request, sought_, root_);
    is_flat_ = labels_ || request.without_labels || !request.needs_labels;
    info_.schema.fields = {{.name = sought_.field(), .kind = Kind::bytes},
                           {.name = "label", .kind = Kind::integer}};
    if (sought_.are_images()) info_.image_fields = {0};
    info_.suffixes = sought_.text();
    info_.is_stream = true;
    info_.manifest.kind = is_flat_               ? kFlatFolder
                          : sought_.are_images() ? kImageFolder
                                                 : kClassFolders;
    info_.classes = labels_ ? labels_->class_names() : classes_.names();
    // Until those of the samples are known: another file of labels is another run.
    if (labels_) info_.labels = labels_->digest();
    if (labels_) info_.left_out.add(labels_->left_out());
    totals_.emplace(info_.manifest.kind);
    // One sample waits outside of the pipeline, and what fills a batch that has no room yet.
    const std::uint64_t held = request.memory_bytes + stream.memory_bytes;
    const std::uint64_t all = request.all_memory_bytes;
    const std::uint64_t others = held + ShardSetWriter::buffer_bytes(all);
    const std::uint64_t left = all - std::min(all, others);
    most_sample_bytes_ = left / 2 - std::min(left / 2, left / 8 + kOverheadOfSample);
    info_.memory_bytes = held + left / 2;
    if (request.most_sample_bytes > 0) most_sample_bytes_ = request.most_sample_bytes;
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    const std::optional<Found> found = next_sample();
    if (!found) return std::nullopt;
    PendingSample sample;
    sample.key = found->member.path;
    sample.bytes = found->member.bytes;
    sample.cells.resize(2);
    sample.cells[0].place.length = sample.bytes;
    sample.cells[1].integer = found->label.value_or(0);
    if (!found->label) {
      sample.lacks = "row in " + request_.labels.name();
      sample.lacks_row = true;
    }
    std::string payload(sample.bytes, '\0');
    members_.read_data(std::as_writable_bytes(std::span(payload)));
    sample.known.push_back({.field = 0, .bytes = std::move(payload)});
    sample.behind = members_.point();
    return sample;
  }

  void skip(std::uint64_t samples) override {
    for (std::uint64_t skipped = 0; skipped < samples; ++skipped) {
      if (next_sample()) {
        members_.skip_data();
        continue;
      }
      throw Error(Code::mismatch, "the stream ends after {}, but the unfinished run read {} of it",
                  format_counted(skipped, "sample", "samples"), samples)
          .at(members_.name())
          .hint("send the same stream again, or pass --overwrite to start again with this one");
    }
  }

  [[nodiscard]] std::optional<StreamPoint> point() const override { return members_.point(); }

  void list_ignored(const ReasonSink& sink) override { for_each_ignored(sink); }

 private:
  struct Found {
    StreamMember member;
    std::optional<std::int64_t> label;  // nullopt: the file of labels has none
  };

  // Its data have not been read yet.
  std::optional<Found> next_sample() {
    if (has_ended_) return std::nullopt;
    while (std::optional<StreamMember> member = members_.next()) {
      request_.stop_if_asked();
      if (!is_sample(*member)) continue;
      const std::optional<std::int64_t> label = labels_
                                                    ? labels_->label_of(member->path, member->bytes)
                                                : is_flat_ ? 0
                                                           : meet_class(*member);
      if (!is_flat_) classes_.note_file();
      if (member->bytes > most_sample_bytes_) throw too_large(*member);
      totals_->add_file(member->path, member->bytes);
      (void)totals_->end_sample(label);
      ++samples_;
      return Found{std::move(*member), label};
    }
    end();
    return std::nullopt;
  }

  // What is not one is counted.
  bool is_sample(const StreamMember& member) {
    const std::string_view path = member.path;
    const bool is_of_root = path.find('/') == std::string_view::npos;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (request_.files.hidden != HiddenPolicy::keep) {
      if (const std::optional<std::string_view> hidden = hidden_part(path)) {
        // A folder at the top whose name begins with a dot, with a file that would be a sample.
        const bool is_class = !is_flat_ && hidden->size() < path.size() &&
                              hidden->find('/') == std::string_view::npos;
        const bool may_be_class = *hidden != "__MACOSX" && *hidden != ".ipynb_checkpoints";
        if (is_class && may_be_class && request_.files.hidden == HiddenPolicy::unset &&
            sought_.takes(name) && member.type != TarMember::Type::folder)
          throw SoughtFiles::in_hidden_class(sought_.described(), join_path(root_, *hidden));
        return ignore(*hidden, "hidden");
      }
    }
    if (member.type == TarMember::Type::folder) {
      if (!is_flat_) meet_class(member);
      return false;
    }
    // What a symbolic link leads to may be a folder: its name says nothing.
    if (member.type == TarMember::Type::symbolic_link)
      throw link_in_stream(join_path(root_, member.path), member.target);
    if (is_of_root && !is_flat_) {
      if (!sought_.takes(name))
        return ignore(path, reason_for_other(member, "beside the class folders"));
      ++loose_files_;
      return ignore(path, reason_of_loose(name));
    }
    if (!is_flat_) meet_class(member);
    if (member.type == TarMember::Type::special) {
      return ignore(path, sought_.takes(name) ? reason_of_special(name) : "not a regular file");
    }
    const bool is_taken = sought_.takes(name);
    const std::string reason = is_taken ? std::string() : reason_for_other(member, other_suffix());
    if (is_taken || reason == other_suffix()) note_partner(path, is_taken);
    if (!is_taken) return ignore(path, reason);
    if (member.type == TarMember::Type::hard_link)
      throw link_in_stream(join_path(root_, member.path), member.target);
    return true;
  }

  // False: it is not a sample.
  bool ignore(std::string_view entry, std::string_view reason) {
    ignored_.add({entry, reason});
    return false;
  }

  [[nodiscard]] std::string_view other_suffix() const {
    return sought_.are_images() ? "not the suffix of an image" : "not a suffix of --ext";
  }

  [[nodiscard]] std::string reason_for_other(const StreamMember& member,
                                             std::string_view otherwise) {
    if (!sought_.are_images() || member.type != TarMember::Type::file)
      return std::string(otherwise);
    return untaken_pictures_.reason_for(member.path, otherwise, [&](std::span<std::byte> head) {
      head = head.first(std::min<std::uint64_t>(head.size(), member.bytes));
      members_.read_data(head);
      return head.size();
    });
  }

  void note_partner(std::string_view path, bool is_sample) {
    if (request_.files.pairs.policy != PairPolicy::automatic) return;
    const std::size_t begin = path.rfind('/') + 1;  // 0 without a slash
    const std::string_view name = path.substr(begin), shared = pair_name_of(name);
    names_.add({.hash = xxh3_64(as_bytes(path.substr(0, begin + shared.size()))),
                .is_other = !is_sample,
                .suffix = is_sample ? std::string_view() : name});
  }

  // Samples come first of those of their name.
  void count_partners() {
    names_.finish();
    std::optional<std::uint64_t> of_sample;
    while (const std::optional<StreamName> name = names_.next()) {
      if (!name->is_other) of_sample = name->hash;
      if (!name->is_other || of_sample != name->hash) continue;
      add_untaken(info_.left_out, reason_of_partner(name->suffix));
      ++partners_;
    }
  }

  std::int64_t meet_class(const StreamMember& member) {
    const std::string_view path = member.path;
    const auto place = member.is_archive ? StreamClasses::Place::archive
                       : member.is_inner ? StreamClasses::Place::in_archive
                                         : StreamClasses::Place::folder;
    return classes_.meet(path.substr(0, path.find('/')), place);
  }

  [[nodiscard]] Error too_large(const StreamMember& member) const {
    return Error(Code::limit, "{} has {}, but --memory leaves {} for one sample of a stream",
                 sought_.one(), format_counted(member.bytes, "byte", "bytes"), most_sample_bytes_)
        .at(members_.name(), member.header)
        .for_sample(member.path)
        .hint(enough_memory_hint(4 * member.bytes + kBesideSamples) +
              ", or leave it out of the archive");
  }

  // Of a hidden folder again and again, which counts once.
  template <class Use>
  void for_each_ignored(Use use) {
    ignored_.rewind();
    std::string entry, reason;
    while (const std::optional<IgnoredEntry> next = ignored_.next()) {
      if (next->entry == entry && next->reason == reason) continue;
      entry = next->entry;
      reason = next->reason;
      use(entry, reason);
    }
  }

  void end() {
    has_ended_ = true;
    if (samples_ == 0 && loose_files_ > 0) {
      throw sought_.none_in_classes(loose_files_, root_)
          .hint("pass --labels FILE (CSV: path,label), or move them into one folder per class");
    }
    if (!request_.files.allow_empty) {
      if (const std::string* name = classes_.first_empty())
        throw sought_.none_in_class(*name, join_path(root_, *name));
      if (samples_ == 0) throw sought_.none_in(root_);
    }
    if (labels_) finish_labels();
    ignored_.finish();
    totals_->give_totals(info_);
    info_.labels = totals_->labels();
    for_each_ignored([this](std::string_view, std::string_view reason) {
      ++info_.ignored;
      add_untaken(info_.left_out, reason);
    });
    count_partners();
    add_notes();
  }

  void finish_labels() {
    std::uint64_t unmatched = 0;
    labels_->finish([&](const std::string& key) {
      ++unmatched;
      ignored_.add({fmt::format("{}: {}", request_.labels.name(), key), "a label without file"});
    });
    info_.notes = labels_->notes();
    if (unmatched == 0) return;
    info_.notes.push_back(fmt::format("{} of {} without {}: ignored",
                                      format_counted(unmatched, "row", "rows"),
                                      printable(request_.labels.path), sought_.one()));
  }

  void add_notes() {
    if (!members_.has_end_marks()) {
      info_.notes.emplace_back(
          "the archive, or one in it, has no mark of its end: if it was truncated between two "
          "members, there were more");
    }
    if (partners_ > 0) {
      info_.notes.push_back(fmt::format(
          "{} {} before the first dot: a stream leaves such files out, unless --pairs off says "
          "that they are not wanted; from a .tar file, which is read in place, they become fields "
          "of the samples",
          format_counted(partners_, "file has the name of", "files have the names of"),
          sought_.are_images() ? "an image" : "a sample"));
    }
    if (loose_files_ > 0) {
      info_.notes.push_back(fmt::format(
          "{} left out, as torchvision does",
          format_counted(loose_files_, fmt::format("{} beside the class folders is", sought_.one()),
                         fmt::format("{}s beside the class folders are", sought_.one()))));
    }
    if (totals_->are_sorted()) {
      info_.notes.emplace_back(
          "samples are sorted by label, as they are in the stream: a sequential reader would see "
          "one class at a time; 'shale convert --shuffle' of the result writes a shuffled order");
    }
  }

  FolderRequest request_;
  SoughtFiles sought_;
  StreamMembers members_;
  std::string root_;
  StreamClasses classes_;
  std::optional<StreamLabels> labels_;
  SortedTable<IgnoredEntry> ignored_;
  SourceInfo info_;
  std::optional<SourceTotals> totals_;
  SortedTable<StreamName> names_;
  UntakenPictures untaken_pictures_;
  std::uint64_t most_sample_bytes_ = 0, samples_ = 0, loose_files_ = 0, partners_ = 0;
  bool is_flat_ = false, has_ended_ = false;
};

}  // namespace

std::unique_ptr<Source> open_tar_stream(const StreamPath& path, OpenedStream stream,
                                        const FolderRequest& request) {
  return std::make_unique<TarStreamSource>(path, std::move(stream), request);
}

Error not_for_stream(std::string_view input, std::string_view option) {
  return Error(Code::usage, "{} is not for a stream, which is read once, in its own order", option)
      .at(input)
      .hint(
          "leave out the option; or write the archive to a .tar file, decompressed, which is read "
          "in place and takes it");
}

void refuse_for_pipe(const Source& source, const std::string& input, std::string_view option) {
  if (!source.info().is_stream) return;
  const std::optional<StreamPath> path = stream_of_path(input);
  const std::optional<struct stat> facts =
      path && !is_stdin(*path) ? facts_behind(path->file) : std::nullopt;
  if (!facts || !S_ISREG(facts->st_mode)) throw not_for_stream(input, option);
}

void refuse_for_stream(const Source& source, std::string_view input, std::string_view option) {
  if (source.info().is_stream) throw not_for_stream(input, option);
}

}  // namespace shale
