#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/layouts/keyed_samples.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/layouts/value_layout.hpp"

#include "formats/lmdb/lmdb_databases.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_node.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_unpack.hpp"
#include "formats/lmdb/lmdb_writer.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kSavingBufferBytes = 1 << 20;

// How the values of a key that has several are ordered.
std::uint16_t order_of_values(std::uint16_t flags) {
  if ((flags & lmdb::kIntegerDup) != 0) return lmdb::kIntegerKey;
  return (flags & lmdb::kReverseDup) != 0 ? lmdb::kReverseKey : 0;
}

struct Partner {
  std::string name;
  std::shared_ptr<const KeyMap> map;
};

class EntrySaving {
 public:
  EntrySaving(const UnpackRequest& request, const NamelessFile& into,
              std::vector<Partner> partners = {})
      : request_(request),
        partners_(std::move(partners)),
        out_(into.duplicate(), into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kSavingBufferBytes, .buffers = 1}) {}

  std::optional<LostRanges> run() {
    const std::vector<std::string> names = layouts::database_names(request_.parsing.database);
    names.size() > 1 ? save_joined(names) : save_one();
    // Of values none of which is of the form that was asked for, the survey says more.
    if (!can_save_ || (saved_ == 0 && without_fields_ == lost_.size())) return std::nullopt;
    if (saved_ == 0) {
      throw Error(Code::damaged, "none of its entries is whole{}",
                  lost_.empty() ? "" : ": " + lost_.front().why)
          .at(request_.file.path());
    }
    (void)out_.finish();
    for (LostRange& range : lost_) range.before = std::min(range.before, saved_);
    std::ranges::stable_sort(lost_, {}, &LostRange::before);
    return std::move(lost_);
  }

  /// Of several databases: those that have lost entries, but for the first.
  [[nodiscard]] const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  // An entry, or all of the values of its key.
  struct Waiting {
    std::vector<std::byte> key, value;  // the last value
    std::uint64_t offset = 0, values = 0;
    bool is_lost = false;
    std::optional<lmdb::LmdbPageWriter> tree = {};  // of several values
  };

  void save_one() {
    const lmdb::MetaPage meta = meta_of(request_.parsing.database);
    is_own_ = flags_ == 0 && lmdb::have_one_tree(request_.file);
    lmdb::LmdbPageWriter pages(out_, flags_);
    save(meta, pages);
    if (!is_own_) {
      pages.leave_empty_state();
    } else if (std::optional<std::string> note = lmdb::note_in(request_.file)) {
      pages.leave_note(*std::move(note));
    }
    (void)pages.close();
  }

  // The entries of the first one are the samples: it comes last, so that they are what is counted.
  void save_joined(const std::vector<std::string>& names) {
    lmdb::LmdbPageWriter pages(out_);
    std::map<std::string, lmdb::TreeRecord> trees;
    for (std::size_t i = names.size(); i-- > 0;) {
      are_samples_ = i == 0;
      saved_ = 0;
      const lmdb::MetaPage meta = meta_of(names[i]);
      lmdb::refuse_sorted_duplicates(meta, request_.file);
      lmdb::LmdbPageWriter tree(out_, flags_, lmdb::LmdbPageWriter::Place::node);
      const std::size_t lost_before = lost_.size();
      save(meta, tree);
      if (!are_samples_ && lost_.size() > lost_before) damaged_.push_back(names[i]);
      trees.insert_or_assign(names[i], tree.close_tree());
    }
    for (const auto& [name, tree] : trees) pages.add_tree(as_bytes(name), tree, lmdb::kSubData);
    pages.leave_empty_state();
    (void)pages.close();
  }

  // What is wrong with the meta pages is told once.
  lmdb::MetaPage meta_of(std::string_view database) {
    const lmdb::MetaPage meta = lmdb::meta_of_database(
        request_.file, database, are_samples_ ? findings_ : [](const Finding&) {});
    flags_ = static_cast<std::uint16_t>(meta.main_tree.flags & ~lmdb::kDupFixed);
    return meta;
  }

  void save(const lmdb::MetaPage& meta, lmdb::LmdbPageWriter& pages) {
    page_bytes_ = meta.page_bytes;
    last_key_.reset();
    WalkPace pace(request_.progress, request_.file.size());
    (void)lmdb::walk_trees(
        request_.file, meta, {.reads_overflow_headers = true, .pace = &pace},
        [&](const lmdb::TreeEntry& entry) { take(entry, pages); }, findings_);
    finish_waiting(pages);
  }

  // What is wrong with a page is told before its entries are, what is wrong with a value before its
  // entry is, and that values of a key are lost after all others of it.
  void lose(const Finding& finding) {
    LostRange range{.offset = finding.offset.value_or(0), .before = saved_, .why = finding.message};
    if (finding.sample) {
      range.key = finding.sample->key;
      if (waiting_ && as_text(waiting_->key) == range.key) waiting_->is_lost = true;
    } else if (page_bytes_ > 0) {
      const std::uint64_t page = range.offset / page_bytes_;
      bad_pages_.insert(page);
      range.offset = page * page_bytes_;
      range.length = std::min(page_bytes_,
                              request_.file.size() - std::min(range.offset, request_.file.size()));
      // One for all that is wrong with it.
      if (!lost_.empty() && lost_.back().key.empty() && lost_.back().offset == range.offset) return;
    }
    lost_.push_back(std::move(range));
  }

  void take(const lmdb::TreeEntry& entry, lmdb::LmdbPageWriter& pages) {
    if ((entry.flags & lmdb::kSubData) != 0) can_save_ = false;
    const int order = last_key_ ? lmdb::compare_keys(*last_key_, entry.key, flags_) : -1;
    const bool is_next_value = order == 0 && (flags_ & lmdb::kDupSort) != 0 && waiting_;
    const bool is_bad = !can_save_ || entry.value_offset == kMissing ||
                        bad_pages_.contains(entry.page_offset / page_bytes_) ||
                        (order >= 0 && !is_next_value);
    if (is_bad || is_without_fields(entry)) {
      if (is_next_value) waiting_->is_lost = true;
      lost_key_.assign(entry.key.begin(), entry.key.end());
      return;
    }
    if (!is_next_value) {
      finish_waiting(pages);
      last_key_.emplace(entry.key.begin(), entry.key.end());
      waiting_.emplace(Waiting{.key = *last_key_, .value = {}, .offset = entry.key_offset});
      waiting_->is_lost = (flags_ & lmdb::kDupSort) != 0 && lost_key_ == *last_key_;
    }
    if (entry.value_bytes > request_.memory_bytes / 4) {
      throw too_large_value(entry.value_bytes)
          .at(request_.file.path(), entry.value_offset)
          .for_sample(as_text(entry.key));
    }
    value_.resize(entry.value_bytes);
    request_.file.read_exact(entry.value_offset, value_);
    add_value(*waiting_);
  }

  void add_value(Waiting& key) {
    const std::uint16_t order = order_of_values(flags_);
    if (key.values > 0 && lmdb::compare_keys(key.value, value_, order) >= 0) key.is_lost = true;
    if (key.is_lost) return;
    if (key.values == 1) {
      key.tree.emplace(out_, order, lmdb::LmdbPageWriter::Place::node);
      (void)key.tree->add(key.value, {});
    }
    if (key.tree) (void)key.tree->add(value_, {});
    key.value.swap(value_);
    ++key.values;
  }

  void finish_waiting(lmdb::LmdbPageWriter& pages) {
    if (!waiting_) return;
    Waiting key = *std::exchange(waiting_, std::nullopt);
    std::string why = key.is_lost ? "not all of the values of its key are whole" : "";
    for (const Partner& partner : partners_) {
      if (!are_samples_ || !why.empty() || partner.map->find(key.key)) continue;
      why = fmt::format("its entry in '{}' is lost, or was never there", printable(partner.name));
    }
    if (!why.empty()) {
      const bool is_told = !lost_.empty() && lost_.back().key == as_text(key.key);
      if (is_told) return;
      lost_.push_back({.offset = key.offset,
                       .before = saved_,
                       .why = std::move(why),
                       .key = std::string(as_text(key.key))});
      return;
    }
    if (key.tree) {
      pages.add_tree(key.key, key.tree->close_tree(), lmdb::kDupData | lmdb::kSubData);
    } else {
      Blob blob;
      blob.append_view(key.value);
      // Of shale's own files keys count the rows; the samples' keys are in the values.
      const std::string number = fmt::format("{:08}", saved_);
      (void)pages.add(is_own_ ? as_bytes(number) : Bytes(key.key), blob);
    }
    saved_ += key.values;
  }

  // A value that is not of the form that was asked for, which would refuse the whole file.
  bool is_without_fields(const lmdb::TreeEntry& entry) {
    const Dialect dialect = request_.parsing.dialect.value_or(Dialect::plain);
    if (dialect != Dialect::msgpack && dialect != Dialect::pickle) return false;
    const layouts::StoredValue value{view_, entry.value_offset, entry.value_bytes,
                                     request_.file.path()};
    if (layouts::describes_file(as_text(entry.key), value)) return false;
    try {
      if (dialect == Dialect::pickle)
        (void)layouts::facts_of(Dialect::pickle).parse(value);
      else
        (void)layouts::parse_map_of_fields(view_, value.begin, value.length, value.where);
      return false;
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      lost_.push_back({.offset = value.begin,
                       .length = value.length,
                       .before = saved_,
                       .why = "the value cannot be split into fields: " + error.message(),
                       .key = std::string(as_text(entry.key))});
      ++without_fields_;
      return true;
    }
  }

  const UnpackRequest& request_;
  std::vector<Partner> partners_;
  WindowReader window_{request_.file};
  const ViewBytes view_ = window_.views();
  const FindingSink findings_ = [this](const Finding& finding) { lose(finding); };
  OutputFile out_;
  std::uint64_t page_bytes_ = 0, saved_ = 0, without_fields_ = 0;
  std::uint16_t flags_ = 0;
  bool can_save_ = true, is_own_ = false, are_samples_ = true;
  std::set<std::uint64_t> bad_pages_;
  std::optional<std::vector<std::byte>> last_key_;
  std::optional<Waiting> waiting_;
  std::vector<std::byte> lost_key_, value_;
  std::vector<std::string> damaged_;
  LostRanges lost_;
};

}  // namespace

std::optional<LostRanges> save_whole_entries(const UnpackRequest& request,
                                             const NamelessFile& into) {
  if (request.parsing.database.find(',') == std::string::npos)
    return EntrySaving(request, into).run();
  // What a partner has lost is known when all of it has been seen.
  const NamelessFile all(temporary_folder());
  EntrySaving first(request, all);
  std::optional<LostRanges> lost = first.run();
  if (!lost || lost->empty()) return lost;
  const InputFile saved(all.link());
  std::vector<Partner> partners;
  for (const std::string& name : first.damaged())
    partners.push_back({name, lmdb::open_database(saved, name)});
  return EntrySaving(request, into, std::move(partners)).run();
}

}  // namespace shale
