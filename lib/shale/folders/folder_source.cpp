#include "shale/folders/folder_source.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/folder_fields.hpp"
#include "shale/folders/folder_row.hpp"
#include "shale/folders/input_list.hpp"
#include "shale/folders/joined_folders.hpp"
#include "shale/folders/label_join.hpp"
#include "shale/folders/listing_facts.hpp"
#include "shale/folders/metadata_use.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/folders/untaken_pictures.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/walk.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_list.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/manifest/stored_listing.hpp"

// The list of files is one table of rows. A listing that was stored stands for it.

namespace shale {
namespace {

constexpr std::uint64_t kLeastSortMemory = 1 << 20;

class FolderList final : public InputList {
 public:
  explicit FolderList(const FolderRequest& request)
      : request_(request),
        tree_(request.tree ? request.tree : open_folder_tree(request.root)),
        sought_(request.files.suffixes, request.files.takes_decodable),
        patterns_(request.files.pairs.suffixes),
        files_(std::in_place, request.scratch_folder, request.memory_bytes / 2),
        ignored_(request.scratch_folder, std::max(kLeastSortMemory, request.memory_bytes / 8)) {
    info_.suffixes = sought_.text();
    info_.keys_are_unique = true;
    if (tree_->is_archive()) info_.on_damage = request_.on_damage;
    if (!open_stored_listing()) walk();
    if (listing_ || has_untaken_)
      list_ignored([this](auto, auto reason) { add_untaken(info_.left_out, reason); });
    std::ranges::move(notes_on_untaken(info_.left_out), std::back_inserter(info_.notes));
    make_schema();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::string fingerprinted() const override {
    return info_.manifest.kind + text_of_fields(metadata_fields_);
  }

  [[nodiscard]] bool has_rows() const override { return has_metadata_; }

  [[nodiscard]] ListedSample next() override {
    std::optional<ListedFile> file = next_listed();
    ListedSample sample;
    if (file) sample.push_back(std::move(*file));
    return sample;
  }

  void rewind() override {
    listing_ ? listing_->rewind() : files_->rewind();
    if (pairs_) pairs_->rewind();
    if (metadata_) metadata_->rewind();
  }

  void close() override {
    files_.reset();
    pairs_.reset();
    metadata_.reset();
  }

  [[nodiscard]] PendingSample pending(ListedSample sample) const override {
    return pending_sample(std::move(sample.front()),
                          {.root = request_.root,
                           .labels = request_.labels,
                           .pairs = info_.pairs,
                           .patterns = patterns_,
                           .fields = info_.schema.fields,
                           .arrays = arrays_,
                           .has_labels = has_labels_,
                           .own_fields = std::max<std::size_t>(1, own_.size()),
                           .has_named_arrays = !own_.empty() && sought_.hold_named_arrays(),
                           .archives = tree_->is_archive() ? tree_.get() : nullptr,
                           .folders = request_.folders,
                           .metadata = has_metadata_ ? &metadata_fields_ : nullptr});
  }

  void list_ignored(const ReasonSink& sink) override {
    if (listing_) return listing_->for_each_ignored(sink);
    ignored_.rewind();
    while (const auto next = ignored_.next()) sink(next->entry, next->reason);
  }

 private:
  // False if there is none, or it was made of something else: the folder has to be walked.
  bool open_stored_listing() {
    if (request_.files.listing.stored.empty()) return false;
    listing_.emplace(request_.files.listing.stored, request_.all_memory_bytes / 4,
                     request_.stop_if_asked);
    const ListingHead& head = listing_->head();
    if (!is_of_listing(request_, head)) {
      if (request_.files.listing.is_needed) throw other_listing(request_, head);
      listing_.reset();
      return false;
    }
    info_.manifest.kind = head.kind;
    info_.classes = head.classes;
    info_.notes = head.notes;
    info_.modified_ns = head.modified_ns;
    info_.ignored = listing_->ignored();
    if (request_.folders.empty())
      info_.pairs = head.pairs;
    else
      request_.folders = with_recorded_types(std::move(request_.folders), head.pairs);
    info_.left_out = head.left_out;
    own_ = own_arrays_of(head.arrays);
    image_folders_ = head.image_folders;
    has_labels_ = head.has_labels;
    has_metadata_ = !head.metadata_files.empty() || !head.metadata.empty();
    metadata_fields_ = head.metadata;
    if (!head.metadata_files.empty())
      info_.metadata = head.has_metadata_labels ? kMetadataWithLabels : kMetadataFields;
    return true;
  }

  void walk() {
    // Before anything is read: what changes in the meantime then has another stamp later.
    ListingHead head;
    head.facts = listing_facts(request_);
    if (request_.files.pairs.wants_metadata() && !tree_->is_archive())
      metadata_.emplace(metadata_request(request_, sought_.field()));
    if (request_.files.pairs.policy != PairPolicy::off || !request_.files.pairs.suffixes.empty() ||
        !request_.folders.empty())
      pairs_.emplace(request_.scratch_folder, request_.memory_bytes / 4, request_.stop_if_asked);
    const bool is_flat = patterns_.have_folders() && !request_.labels.is_given();
    has_labels_ = !(is_flat && request_.needs_labels);
    request_.without_labels || is_flat ? list_unlabelled_files()
    : !request_.labels.is_given()      ? list_class_folders()
                                       : list_labelled_files();
    if (leaves_metadata_) info_.notes.emplace_back(kMetadataInArchive);
    for (std::string& note : tree_->notes()) info_.notes.push_back(std::move(note));
    if (metadata_ && !has_metadata_) match_metadata();
    if (!request_.files.groups_frames && info_.metadata != kMetadataWithLabels &&
        folders_inside_.are_likely_classes())
      info_.notes.push_back(folders_inside_.note_for(request_.root));
    if (unknown_class_ && info_.metadata != kMetadataWithLabels) throw Error(*unknown_class_);
    own_ = find_own_arrays(request_, sought_, *files_, *tree_, info_);
    if (pairs_) match_partners();
    const bool may_be_flat = has_metadata_ || pairs_ || !own_.empty() || request_.files.may_be_flat;
    if (!has_labels_ && !may_be_flat && loose_files_ > 0) throw no_class_folders();
    ignored_.finish();
    if (!request_.files.listing.written.empty()) store_listing(std::move(head));
  }

  void store_listing(ListingHead head) {
    head.kind = info_.manifest.kind;
    head.classes = info_.classes;
    head.notes = info_.notes;
    head.modified_ns = info_.modified_ns;
    head.pairs = request_.folders.empty() ? info_.pairs : names_text(request_.folders);
    head.image_folders = image_folders_;
    head.arrays = own_arrays_text(own_);
    head.has_labels = has_labels_;
    head.metadata = metadata_fields_;
    head.left_out = info_.left_out;
    head.has_metadata_labels = info_.metadata == kMetadataWithLabels;
    if (metadata_ && request_.labels.path.empty()) head.metadata_files = metadata_->stamps();
    // What a kill left of an earlier one.
    (void)remove_file(request_.files.listing.written);
    ListingWriter listing(request_.files.listing.written, head);
    while (const std::optional<ListedFile> file = next_listed()) {
      request_.stop_if_asked();
      listing.add(*file);
    }
    list_ignored([&](std::string_view entry, std::string_view reason) {
      request_.stop_if_asked();
      listing.add_ignored(entry, reason);
    });
    listing.finish();
    rewind();
  }

  std::optional<ListedFile> next_listed() {
    if (listing_) return listing_->next();
    const std::optional<FolderRow> row = files_->next();
    if (!row) return std::nullopt;
    ListedFile file = listed_file(*row);
    if (pairs_) file.partners = pairs_->next();
    if (metadata_) metadata_->next(file);
    return file;
  }

  void ignore(std::string_view entry, std::string_view reason) {
    ++info_.ignored;
    ignored_.add({entry, reason});
    has_untaken_ = has_untaken_ || is_untaken(reason);
  }

  bool is_sample(std::string_view folder, std::string_view name, std::uint64_t offset) const {
    if (!patterns_.empty() && patterns_.which(folder, name) != 0U) return false;
    if (!sought_.takes_by_content(name)) return sought_.takes(name);
    if (!tree_->damage_of(offset).empty()) return true;
    return begins_like_image(join_path(request_.root, join_path(folder, name)),
                             tree_->place_of(offset), request_.files.takes_decodable);
  }

  // What has no suffix of a sample. `offset`: in the archive, if it lies in one.
  void ignore_other(std::string_view folder, std::string_view name, std::uint64_t offset,
                    std::string_view otherwise = {}) {
    if (otherwise.empty())
      otherwise = sought_.are_images() ? "not the suffix of an image" : "not a suffix of --ext";
    const std::string entry = join_path(folder, name), path = join_path(request_.root, entry);
    if (!sought_.are_images()) return ignore(entry, otherwise);
    ignore(entry, untaken_pictures_.reason_for(path, otherwise, tree_->place_of(offset)));
  }

  // One image of class rank `rank`, in `folder` relative to the root.
  void add(std::uint32_t rank, std::string_view folder, const WalkedFile& file,
           std::optional<std::int64_t> label) {
    files_->add({.rank = rank,
                 .folder = folder,
                 .name = file.name,
                 .bytes = file.bytes,
                 .modified_ns = file.modified_ns,
                 .label = label.value_or(0),
                 .offset = file.offset,
                 .has_label = label.has_value()});
  }

  // False: it is a file like others.
  bool add_metadata(std::string_view folder, std::string_view name) {
    if (!is_metadata_name(name) || sought_.takes(name)) return false;
    if (metadata_) metadata_->add_file(folder, name);
    leaves_metadata_ = leaves_metadata_ || (request_.files.pairs.wants_metadata() && !metadata_);
    return metadata_.has_value();
  }

  // After the list of samples.
  void match_metadata() {
    metadata_->read([this](std::string_view folder, std::string_view name) {
      ignore(join_path(folder, name), "no column file_name");
    });
    notes_on_metadata_ = metadata_->notes();
    info_.notes.insert(info_.notes.end(), notes_on_metadata_.begin(), notes_on_metadata_.end());
    if (!metadata_->has_files() || is_left_to_labels(request_, *metadata_, info_.notes))
      return metadata_.reset();
    match_rows(KeyMatch::path, "a row without file");
    info_.metadata = metadata_->has_labels() ? kMetadataWithLabels : kMetadataFields;
    info_.modified_ns = std::max(info_.modified_ns, metadata_->modified_ns());
    if (request_.files.pairs.policy == PairPolicy::automatic)
      info_.notes.push_back(note_on_metadata(*metadata_, sought_.one()));
    take_classes_of_rows();
  }

  // Rows of --labels that become fields.
  void match_label_fields(const FoundFiles& found) {
    MetadataRows::Request rows = metadata_request(request_, sought_.field());
    rows.root.clear();
    metadata_.emplace(std::move(rows));
    metadata_->read_labels(
        request_.labels, [this](std::string_view name) { return sought_.takes(name); },
        found.may_be_of_windows());
    info_.left_out.add(metadata_->left_out());
    match_rows(metadata_->match_of_labels(found.are_nested()), "a label without file");
    info_.notes.insert(info_.notes.end(), metadata_->notes().begin(), metadata_->notes().end());
    if (metadata_->unused() > 0)
      info_.notes.push_back(
          note_on_unmatched(metadata_->unused(), request_.labels.path, sought_.one(), false));
    if (request_.labels.has_vector()) info_.classes = request_.labels.columns();
    take_classes_of_rows();
  }

  void match_rows(KeyMatch match, std::string_view reason) {
    while (const std::optional<FolderRow> row = files_->next()) {
      request_.stop_if_asked();
      metadata_->add_sample(key_of_file(match, row->folder, row->name));
    }
    files_->rewind();
    std::string note = metadata_->match([&](const std::string& row) { ignore(row, reason); });
    if (!note.empty()) info_.notes.push_back(std::move(note));
    has_metadata_ = true;
    metadata_fields_ = metadata_->fields();
  }

  void take_classes_of_rows() {
    if (metadata_->has_labels()) has_labels_ = true;
    if (!metadata_->has_labels() && !metadata_->has_lists_of_names()) return;
    std::optional<ClassTable> table = table_of_metadata(
        request_, *metadata_,
        [](const FolderRequest& train) { return open_folder(train)->info().classes; });
    info_.classes = table ? table->names() : std::vector<std::string>();
    metadata_->use_table(std::move(table));
  }

  void add_partner(std::string_view folder, const WalkedFile& file) {
    const bool may_be_one = pairs_ && request_.folders.empty();
    if (!may_be_one || !add_partner_file(patterns_, *pairs_, folder, file))
      ignore_other(folder, file.name, file.offset);
  }

  // After the list of samples, in its order.
  void match_partners() {
    if (!request_.folders.empty()) return match_folders();
    if (!pairs_->has_files() && request_.files.pairs.suffixes.empty()) return pairs_.reset();
    add_samples(request_, patterns_, *files_, *pairs_);
    const auto unused = [&](const FilePairs::Surplus& file) {
      const bool may_be_field = request_.files.pairs.policy == PairPolicy::automatic;
      std::string reason;
      if (std::ranges::count(pairs_->fields(), file.suffix, &PairField::suffix) > 0)
        reason = kNoSample;
      if (may_be_field && file.has_name_of_a_sample) reason = reason_of_partner(file.suffix);
      if (reason == kNoSample) return ignore(join_path(file.folder, file.file), reason);
      ignore_other(file.folder, file.file, file.offset, reason);
    };
    if (request_.files.pairs.suffixes.empty())
      pairs_->match_all(unused, request_.files.pairs.policy, request_.root);
    else
      pairs_->match_fields(unused, pair_fields_of(request_.files.pairs.suffixes), request_.root);
    find_arrays([this](std::size_t i) {
      return may_hold_arrays(pairs_->fields()[i], request_.files.pairs);
    });
    pairs_->widen(request_.files.pairs.standing);
    info_.modified_ns = std::max(info_.modified_ns, pairs_->modified_ns());
    info_.pairs = patterns_.sample_word() + suffixes_text(pairs_->fields());
    partial_pairs_ = pairs_->partial();
    if (!partial_pairs_.empty() && (has_labels_ || !pairs_->fields().empty()))
      info_.notes.push_back(note_on_partial_pairs(partial_pairs_, sought_.one()));
    if (pairs_->incomplete() > 0 && !patterns_.empty())
      info_.notes.push_back(patterns_.note_on_incomplete(pairs_->incomplete()));
    if (pairs_->fields().empty()) return pairs_.reset();
    if (request_.files.pairs.policy == PairPolicy::automatic)
      info_.notes.push_back(note_on_pairs(pairs_->fields(), sought_.one()));
  }

  void match_folders() {
    const ReasonSink pass_over = [this](auto entry, auto reason) { ignore(entry, reason); };
    add_joined_folders(request_, *pairs_, pass_over);
    add_samples(request_, patterns_, *files_, *pairs_);
    match_joined_folders(request_, *pairs_, pass_over);
    info_.modified_ns = std::max(info_.modified_ns, pairs_->modified_ns());
    image_folders_ = pairs_->image_folders();
    std::vector<NamedFolder>& folders = request_.folders;
    find_arrays([&](std::size_t i) { return !folders[i + 1].type && pairs_->has_only_arrays(i); });
    pairs_->widen(request_.files.pairs.standing);
    for (std::size_t i = 1; i < folders.size(); ++i) {
      if (!folders[i].type) folders[i].type = pairs_->fields()[i - 1].as_field();
    }
  }

  void find_arrays(const std::function<bool(std::size_t)>& may_hold_arrays) {
    std::ranges::move(find_partner_arrays(request_, *pairs_, *files_, *tree_, may_hold_arrays),
                      std::back_inserter(info_.notes));
    rewind();
  }

  void make_schema() {
    info_.folders = names_text(request_.folders);
    if (!own_.empty()) info_.suffixes = sought_.text() + "|" + own_arrays_text(own_);
    arrays_ = make_folder_fields({.request = request_,
                                  .sought = sought_,
                                  .own = own_,
                                  .metadata = metadata_fields_,
                                  .pairs = info_.pairs,
                                  .image_folders = image_folders_,
                                  .has_labels = has_labels_},
                                 info_);
  }

  [[nodiscard]] WalkOptions walk_options() const {
    const bool wants_all = pairs_ && request_.folders.empty();
    return {.keep_hidden = request_.files.hidden == HiddenPolicy::keep,
            .wants_size = [sought = sought_, wants_all](std::string_view name) {
              return wants_all || sought.takes(name);
            }};
  }

  // Walks `folder` (relative to the root): use(folder, file) on each image; the rest is counted.
  template <class Use>
  void walk_files(const std::string& folder, Use use) {
    const auto folder_of = [&folder](std::string_view directory) {
      return directory.empty() ? folder : join_path(folder, directory);
    };
    WalkOptions options = walk_options();
    options.pass_over = [&](std::string_view directory, std::string_view name, PassedOver reason) {
      const bool is_missing = reason == PassedOver::special && sought_.takes(name);
      ignore(join_path(folder_of(directory), name),
             is_missing ? reason_of_special(name) : text_of(reason));
    };
    options.enters = request_.enters;
    const WalkCounts counts = tree_->walk(folder, options, [&](const WalkedFile& file) {
      request_.stop_if_asked();
      if (add_metadata(folder_of(file.directory), file.name)) return;
      const std::string inside = folder_of(file.directory);
      if (!is_sample(inside, file.name, file.offset)) {
        other_file_ = file.name;
        return add_partner(inside, file);
      }
      info_.modified_ns = std::max(info_.modified_ns, file.modified_ns);
      use(inside, file);
    });
    cut_loops_ += counts.cut_loops;
  }

  void ignore_loose(const FolderEntry& entry) {
    if (is_hidden_name(entry.name)) return ignore(entry.name, "hidden");
    const bool is_taken = is_sample("", entry.name, entry.offset);
    if (!is_taken && loose_archives_.add(entry.name)) return;
    if (!is_taken) return ignore_other("", entry.name, entry.offset, "beside the class folders");
    ignore(entry.name, reason_of_loose(entry.name));
    ++loose_files_;
  }

  void list_class_folders() {
    info_.manifest.kind = sought_.are_images() ? kImageFolder : kClassFolders;
    std::vector<std::string> classes;
    // Files beside the class folders go to the list of ignored entries, however many there are.
    const auto keeps = [&](const FolderEntry& entry) {
      if (!entry.is_directory && !add_metadata("", entry.name)) ignore_loose(entry);
      return entry.is_directory;
    };
    for (const FolderEntry& entry : tree_->list("", keeps)) {
      if (!is_hidden_name(entry.name) || request_.files.hidden == HiddenPolicy::keep) {
        classes.push_back(entry.name);
      } else {
        ignore(entry.name, "hidden");
        refuse_hidden_images(request_, *tree_, sought_, entry.name);
      }
    }
    const bool needs_classes = request_.needs_labels || request_.files.groups_frames;
    const bool may_be_flat = metadata_ || pairs_ || request_.files.may_be_flat ||
                             !recorded_arrays(request_.files.suffixes).empty();
    if (loose_files_ > 0 && (!needs_classes || (classes.empty() && may_be_flat)))
      return list_flat_files();
    if (classes.empty() && loose_files_ > 0) throw no_class_folders();
    if (classes.empty() && !request_.files.allow_empty) throw sought_.none_in(request_.root);
    if (!classes.empty() && std::all_of(classes.begin(), classes.end(), is_split_name))
      throw holds_splits(request_.root, classes, tree_->is_archive());
    const auto ignore_archive = [&](const auto& name, auto reason) { ignore(name, reason); };
    loose_archives_.settle(classes, tree_->is_archive(), ignore_archive, info_.notes);
    const ClassTable table = table_with(request_, classes, request_.root);
    std::ranges::move(notes_on_classes(classes, table, request_.classes.order),
                      std::back_inserter(info_.notes));
    info_.classes = table.names();
    tree_->expect_walks(classes, walk_options());
    for (std::size_t rank = 0; rank < classes.size(); ++rank) {
      const std::optional<std::int64_t> label = table.label_of(classes[rank]);
      if (!label) {
        unknown_class_ =
            unknown_class(request_, classes[rank], join_path(request_.root, classes[rank]));
        if (!metadata_) throw Error(*unknown_class_);
      }
      const std::uint64_t before = files_->count();
      other_file_.clear();
      walk_files(classes[rank], [&](const std::string& folder, const WalkedFile& file) {
        if (classes.size() == 1) folders_inside_.note(folder);
        add(static_cast<std::uint32_t>(rank), folder, file, label.value_or(0));
      });
      if (files_->count() == before && !request_.files.allow_empty)
        throw sought_.none_in_class(classes[rank], join_path(request_.root, classes[rank]),
                                    loose_files_, other_file_);
    }
    finish_list();
  }

  [[nodiscard]] Error no_class_folders() const {
    return no_classes(sought_, loose_files_, request_.root, partial_pairs_)
        .because(fmt::format("{}", fmt::join(notes_on_metadata_, "; ")));
  }

  void list_unlabelled_files() {
    info_.manifest.kind = kFlatFolder;
    walk_files("", [&](const auto& folder, const auto& file) { add(0, folder, file, 0); });
    finish_list();
  }

  // Files whose labels nobody takes, or that have none: others belong to them, or it is refused.
  void list_flat_files() {
    ignored_ = {request_.scratch_folder, std::max(kLeastSortMemory, request_.memory_bytes / 8)};
    info_.ignored = 0;
    has_labels_ = !request_.needs_labels;
    if (has_labels_) loose_files_ = 0;
    list_unlabelled_files();
  }

  void list_labelled_files() {
    info_.manifest.kind = kFlatFolder;
    FoundFiles found(request_.scratch_folder, request_.memory_bytes / 4);
    walk_files("", [&](const auto& folder, const auto& file) { found.add(folder, file); });
    found.finish();
    if (found.count() == 0 && !request_.files.allow_empty) throw sought_.none_in(request_.root);
    const bool is_given = !request_.classes.from.empty();
    if (!request_.labels.pattern.empty()) return list_files_labelled_by_name(found);
    LabelListRequest list = label_list_request(request_, sought_);
    if (become_fields(request_.labels)) return list_for_fields(found);
    list.has_nested_files = found.are_nested();
    list.may_be_windows = found.may_be_of_windows();
    list.may_be_reals = !list.has_class_table;
    list.needs_names = false;
    list.memory_bytes = request_.all_memory_bytes / 4;  // until the first sample is read
    LabelList labels(list);
    if (labels.are_reals()) return list_for_fields(found);
    info_.left_out.add(labels.left_out());
    std::ranges::copy(labels.notes(), std::back_inserter(info_.notes));
    if (labels.has_marks() != found.have_marks())
      info_.notes.push_back(note_on_marks(request_.labels.path, found.have_marks()));
    std::optional<ClassTable> table;
    std::uint64_t unmatched = 0, of_other_classes = 0;
    std::string entry, prefix = request_.labels.name() + ": ";
    const LabelJoin join{
        .request = request_,
        .sought = sought_,
        .labels = labels,
        .table = table,
        .add = [&](const WalkedFile& file,
                   std::optional<std::int64_t> label) { add(0, file.directory, file, label); },
        .unmatched =
            [&](const LabelList::Row& row) {
              ++unmatched;
              of_other_classes += table && !table->label_of(row.text) ? 1 : 0;
              ignore(labels.append_key(entry = prefix, row), "a label without file");
            }};
    const bool makes_table = (!is_given || request_.classes.adds) && !labels.are_numbers();
    std::vector<std::string> names;
    if (makes_table || labels.has_likely_header()) names = names_of_files(found, join);
    if (is_given || makes_table) table = table_with(request_, names, request_.labels.path);
    if (table) info_.classes = table->names();
    join_labels(found, join);
    if (unmatched > 0)
      info_.notes.push_back(note_on_unmatched(unmatched, request_.labels.path, sought_.one(),
                                              makes_table && of_other_classes > 0));
    finish_list();
  }

  void list_files_labelled_by_name(FoundFiles& found) {
    info_.classes = label_by_name(request_, found, [this](const WalkedFile& file, auto label) {
      add(0, file.directory, file, label);
    });
    finish_list();
  }

  // Labels that are fields, not classes.
  void list_for_fields(FoundFiles& found) {
    found.for_each([this](const WalkedFile& file) { add(0, file.directory, file, 0); });
    has_labels_ = false;
    finish_list();
    if (metadata_) match_metadata();
    match_label_fields(found);
  }

  void finish_list() {
    files_->finish();
    if (files_->count() == 0 && !request_.files.allow_empty) throw sought_.none_in(request_.root);
    if (loose_files_ > 0 && has_labels_)
      info_.notes.push_back(note_on_loose_files(sought_, loose_files_));
    if (cut_loops_ > 0) info_.notes.push_back(note_on_cut_loops(cut_loops_));
  }

  FolderRequest request_;
  std::shared_ptr<FileTree> tree_;
  SoughtFiles sought_;
  PairPatterns patterns_;
  SourceInfo info_;
  std::optional<SortedTable<FolderRow>> files_;  // until close()
  SortedTable<IgnoredEntry> ignored_;
  UntakenPictures untaken_pictures_;
  std::optional<ListingReader> listing_;  // instead of both
  std::optional<FilePairs> pairs_;        // beside files_, in their order
  std::optional<MetadataRows> metadata_;  // beside files_, in their order
  std::vector<Field> metadata_fields_, own_;
  std::vector<std::shared_ptr<const Field>> arrays_;  // before those of the metadata
  std::optional<Error> unknown_class_;                // a class folder that is none of the classes
  bool has_metadata_ = false, leaves_metadata_ = false, has_labels_ = true, has_untaken_ = false;
  std::string partial_pairs_, image_folders_;
  std::vector<std::string> notes_on_metadata_;
  LooseArchives loose_archives_;
  std::uint64_t loose_files_ = 0, cut_loops_ = 0;
  std::string other_file_;        // the last one in a folder that is not a sample
  FoldersInside folders_inside_;  // of the only class
};

}  // namespace

std::unique_ptr<OrderableSource> open_folder(const FolderRequest& request) {
  return make_list_source(std::make_unique<FolderList>(request),
                          {.name = request.root,
                           .scratch_folder = request.scratch_folder,
                           .memory_bytes = request.memory_bytes / 2,
                           .stop_if_asked = request.stop_if_asked});
}

}  // namespace shale
