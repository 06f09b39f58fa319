#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/io/output_file.hpp"
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

class EntrySaving {
 public:
  EntrySaving(const UnpackRequest& request, const NamelessFile& into)
      : request_(request),
        out_(into.duplicate(), into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kSavingBufferBytes, .buffers = 1}),
        pages_(out_) {}

  std::optional<LostRanges> run() {
    const FindingSink findings = [this](const Finding& finding) { lose(finding); };
    const lmdb::MetaPage meta =
        lmdb::meta_of_database(request_.file, request_.parsing.database, findings);
    page_bytes_ = meta.page_bytes;
    can_save_ = meta.main_tree.flags == 0;
    WalkPace pace(request_.progress, request_.file.size());
    (void)lmdb::walk_trees(
        request_.file, meta, {.reads_overflow_headers = true, .pace = &pace},
        [this](const lmdb::TreeEntry& entry) { take(entry); }, findings);
    // Of values none of which is of the form that was asked for, the survey says more.
    if (!can_save_ || (saved_ == 0 && without_fields_ == lost_.size())) return std::nullopt;
    if (saved_ == 0) {
      throw Error(Code::damaged, "none of its entries is whole{}",
                  lost_.empty() ? "" : ": " + lost_.front().why)
          .at(request_.file.path());
    }
    if (!is_own_) {
      pages_.leave_empty_state();
    } else if (std::optional<std::string> note = lmdb::note_in(request_.file)) {
      pages_.leave_note(*std::move(note));
    }
    (void)pages_.close();
    (void)out_.finish();
    return std::move(lost_);
  }

 private:
  // What is wrong with a page is told before its entries are, what is wrong with a value before its
  // entry is.
  void lose(const Finding& finding) {
    LostRange range{.offset = finding.offset.value_or(0), .before = saved_, .why = finding.message};
    if (finding.sample) {
      range.key = finding.sample->key;
    } else if (page_bytes_ > 0) {
      bad_page_ = range.offset / page_bytes_;
      range.offset = *bad_page_ * page_bytes_;
      range.length = std::min(page_bytes_,
                              request_.file.size() - std::min(range.offset, request_.file.size()));
      // One for all that is wrong with it.
      if (!lost_.empty() && lost_.back().key.empty() && lost_.back().offset == range.offset) return;
    }
    lost_.push_back(std::move(range));
  }

  void take(const lmdb::TreeEntry& entry) {
    if ((entry.flags & lmdb::kSubData) != 0) can_save_ = false;
    const bool is_bad = !can_save_ || entry.value_offset == kMissing ||
                        bad_page_ == entry.page_offset / page_bytes_ ||
                        (saved_ > 0 && lmdb::compare_keys(last_key_, entry.key, 0) >= 0);
    if (is_bad || is_without_fields(entry)) return;
    last_key_.assign(entry.key.begin(), entry.key.end());
    if (entry.value_bytes > request_.memory_bytes / 4) {
      throw too_large_value(entry.value_bytes)
          .at(request_.file.path(), entry.value_offset)
          .for_sample(as_text(entry.key));
    }
    value_.resize(entry.value_bytes);
    request_.file.read_exact(entry.value_offset, value_);
    Blob blob;
    blob.append_view(value_);
    // Of shale's own files keys count the rows; the samples' keys are in the values.
    const std::string number = fmt::format("{:08}", saved_);
    (void)pages_.add(is_own_ ? as_bytes(number) : entry.key, blob);
    ++saved_;
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
  WindowReader window_{request_.file};
  const ViewBytes view_ = window_.views();
  const bool is_own_ = lmdb::have_one_tree(request_.file);
  OutputFile out_;
  lmdb::LmdbPageWriter pages_;
  std::uint64_t page_bytes_ = 0, saved_ = 0, without_fields_ = 0;
  bool can_save_ = true;
  std::optional<std::uint64_t> bad_page_;
  std::vector<std::byte> last_key_, value_;
  LostRanges lost_;
};

}  // namespace

std::optional<LostRanges> save_whole_entries(const UnpackRequest& request,
                                             const NamelessFile& into) {
  return EntrySaving(request, into).run();
}

}  // namespace shale
