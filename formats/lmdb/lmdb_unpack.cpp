#include "formats/lmdb/lmdb_unpack.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/layouts/first_values.hpp"
#include "shale/layouts/float_datum.hpp"
#include "shale/layouts/json_value.hpp"
#include "shale/layouts/keyed_samples.hpp"
#include "shale/layouts/list_packing.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/layouts/value_layout.hpp"
#include "shale/layouts/value_packing.hpp"

#include "formats/lmdb/lmdb_databases.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_writer.hpp"

namespace shale {

using layouts::ValuePacking;

namespace {

constexpr std::uint64_t kUnpackBufferBytes = 1 << 20, kWindowBytes = 256 * 1024;
constexpr std::uint64_t kMostNumberBytes = 64;  // of an entry that is not a sample

class ValueUnpacking {
 public:
  ValueUnpacking(const UnpackRequest& request, const ValuePacking& packing)
      : request_(request),
        packing_(packing),
        window_(request.file, kWindowBytes),
        view_(window_.views()),
        decoder_(view_, request.memory_bytes / 4),
        lists_(are_pickles()),
        out_(request.into.duplicate(), request.into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kUnpackBufferBytes, .buffers = 1}),
        pages_(out_, order_of_keys(request)) {}

  // False, and nothing done: the fields of all values lie in them already.
  bool run() {
    if (request_.progress) request_.progress(0, request_.file.size());
    // What the lists hold is known when all of them have been seen.
    if (is_json()) {
      walk(&ValueUnpacking::learn);
    } else if (packing_.contents != ValuePacking::Contents::datums) {
      learn_lists();
    }
    if (!has_lists_ && !packing_.is_any()) return false;
    walk(&ValueUnpacking::take);
    pages_.leave_empty_state();
    (void)pages_.close();
    (void)out_.finish();
    return true;
  }

  // Of what was made of pickles with lists of numbers; nullopt: it is in the other file.
  [[nodiscard]] std::optional<Survey> survey() {
    if (!has_lists_ || !are_pickles()) return std::nullopt;
    return std::move(lists_).survey();
  }
  [[nodiscard]] bool has_lists() const { return has_lists_; }

 private:
  [[nodiscard]] static std::uint16_t order_of_keys(const UnpackRequest& request) {
    return lmdb::meta_of_database(request.file, request.parsing.database, [](const Finding&) {})
        .main_tree.flags;
  }
  [[nodiscard]] bool is_json() const { return packing_.contents == ValuePacking::Contents::json; }

  [[nodiscard]] bool are_pickles() const {
    return packing_.contents == ValuePacking::Contents::pickles ||
           packing_.contents == ValuePacking::Contents::pickled_lists;
  }

  void learn_lists() try {
    walk(&ValueUnpacking::learn);
    has_lists_ = lists_.has_any();
  } catch (const Error& error) {
    // Of values of another form: there are no lists that can be arrays.
    if (!is_about_bytes(error)) throw;
  }

  void walk(void (ValueUnpacking::*use)(const lmdb::TreeEntry& entry)) {
    const FindingSink findings = [this](const Finding& finding) {
      throw is_damaged(request_.file.path(), finding);
    };
    const lmdb::MetaPage meta =
        lmdb::meta_of_database(request_.file, request_.parsing.database, findings);
    lmdb::refuse_sorted_duplicates(meta, request_.file);
    WalkPace pace(request_.progress, request_.file.size());
    (void)lmdb::walk_trees(
        request_.file, meta, {.reads_overflow_headers = true, .pace = &pace},
        [&](const lmdb::TreeEntry& entry) {
          try {
            (this->*use)(entry);
          } catch (Error& error) {
            error.at(request_.file.path(), entry.value_offset).for_sample(as_text(entry.key));
            throw;
          }
        },
        findings);
  }

  [[nodiscard]] bool is_sample(const lmdb::TreeEntry& entry) const {
    return !layouts::describes_file(
        as_text(entry.key), {view_, entry.value_offset, entry.value_bytes, request_.file.path()});
  }

  // Decompressed; as it is, if it is short, or describes the file.
  Bytes content_of(const lmdb::TreeEntry& entry) {
    const auto as_it_is = [&] {
      return entry.value_bytes == 0 ? Bytes() : view_(entry.value_offset, entry.value_bytes);
    };
    if (!packing_.is_compressed()) {
      if (entry.value_bytes > request_.memory_bytes / 4) throw too_large_value(entry.value_bytes);
      return as_it_is();
    }
    const std::uint64_t head_bytes = std::min<std::uint64_t>(entry.value_bytes, 4);
    const Packing found =
        layouts::packing_by_mark(head_bytes == 0 ? Bytes() : view_(entry.value_offset, head_bytes));
    const bool is_short = entry.value_bytes <= kMostNumberBytes;
    if (packing_.is_block ? !is_short || is_sample(entry) : found == packing_.packing)
      return decoder_.decode(packing_, entry.value_offset, entry.value_bytes);
    if (!is_short && is_sample(entry))
      throw Error(Code::unsupported, "is not compressed with {}, as the first value is",
                  name_of(packing_.packing));
    return as_it_is();
  }

  // Of a sample: a list is made a map, whose field it is.
  Bytes value_of(const lmdb::TreeEntry& entry) {
    const Bytes content = content_of(entry);
    if (!packing_.is_of_lists()) return content;
    map_of_list_ = layouts::with_list_as_field(packing_, content);
    return as_bytes(map_of_list_);
  }

  void learn(const lmdb::TreeEntry& entry) {
    if (!is_sample(entry)) return;
    const Bytes content = value_of(entry);
    if (is_json()) return json_.learn(as_text(content));
    lists_.learn(content);
  }

  void take(const lmdb::TreeEntry& entry) {
    const bool is_datum = packing_.contents == ValuePacking::Contents::datums;
    if (!is_sample(entry)) return add(entry, content_of(entry));
    const Bytes content = value_of(entry);
    if (!is_json() && !is_datum && !has_lists_) return add(entry, content);
    const std::string packed = is_json()  ? json_.pack(as_text(content))
                               : is_datum ? layouts::pack_float_datum(content)
                                          : lists_.pack(as_text(entry.key), content);
    add(entry, as_bytes(packed));
  }

  void add(const lmdb::TreeEntry& entry, Bytes value) {
    Blob blob;
    blob.append_view(value);
    (void)pages_.add(entry.key, blob);
  }

  const UnpackRequest& request_;
  ValuePacking packing_;
  WindowReader window_;
  ViewBytes view_;
  layouts::ValueDecoder decoder_;
  layouts::JsonPacking json_;
  layouts::ListPacking lists_;
  bool has_lists_ = false;   // of numbers, which are to be arrays
  std::string map_of_list_;  // of the sample that is taken
  OutputFile out_;
  lmdb::LmdbPageWriter pages_;
};

}  // namespace

Error too_large_value(std::uint64_t bytes) {
  return Error(Code::limit, "has {}, more than a quarter of the memory", format_size(bytes))
      .hint("pass a larger --memory");
}

namespace {

// Of a damaged file; nullopt: it is not.
std::optional<UnpackReport> unpack_whole_entries(const UnpackRequest& request) {
  const bool are_joined = request.parsing.database.find(',') != std::string::npos;
  const NamelessFile whole(temporary_folder());
  std::optional<LostRanges> lost = save_whole_entries(request, are_joined ? request.into : whole);
  if (!lost || lost->empty()) return std::nullopt;
  std::optional<UnpackReport> report;
  if (are_joined) {
    report.emplace().lost = *std::move(lost);
    return report;
  }
  Parsing parsing = request.parsing;
  parsing.database.clear();
  const InputFile saved(whole.link());
  if (!lmdb::have_one_tree(saved))
    report = unpack_lmdb_file({.file = saved,
                               .into = request.into,
                               .memory_bytes = request.memory_bytes,
                               .parsing = parsing,
                               .progress = request.progress,
                               .fields = request.fields});
  if (!report) {
    if (::ftruncate(request.into.descriptor(), 0) != 0)
      throw Error(Code::io, "cannot truncate it").at(request.into.path()).because_errno(errno);
    (void)save_whole_entries(request, request.into);
    report.emplace();
  }
  if (std::string note = request.parsing.dialect || lmdb::has_sorted_duplicates(saved, {})
                             ? ""
                             : layouts::note_on_lost_keys(lmdb::keyed_file(saved));
      !note.empty())
    report->notes.push_back(std::move(note));
  report->lost = *std::move(lost);
  return report;
}

// How the values of a file are packed; nullopt: their fields lie in them as they are.
std::optional<ValuePacking> packing_to_unpack(const UnpackRequest& request) {
  using Contents = ValuePacking::Contents;
  ValuePacking packing = layouts::packing_of_values(
      request.file, lmdb::opener_of(request.file, request.parsing.database));
  // A layout that was asked for has fields of its own.
  const bool is_asked_for = request.parsing.dialect.has_value();
  if (packing.contents == Contents::datums && is_asked_for) return std::nullopt;
  if (packing.is_of_lists() && !packing.is_compressed()) {
    // So has one that is known: of pickled lists, lists in them may be arrays.
    const bool is_known =
        is_asked_for ||
        survey_lmdb_file(request.file, request.parsing, {}).layout.dialect != Dialect::plain;
    if (is_known)
      packing.contents = packing.contents == Contents::lists ? Contents::other : Contents::pickles;
  }
  if (packing.contents == Contents::other) return std::nullopt;
  return packing;
}

std::optional<UnpackReport> unpack_database(const UnpackRequest& request) {
  if (request.takes_damaged) {
    if (auto report = unpack_whole_entries(request)) return report;
  }
  if (request.parsing.database.find(',') != std::string::npos) return std::nullopt;
  const std::optional<ValuePacking> wanted = packing_to_unpack(request);
  if (!wanted) return std::nullopt;
  const ValuePacking& packing = *wanted;
  const auto stays_whole = [&](std::string_view reason) {
    std::string note = fmt::format("the values are {}, but are taken whole{}{}",
                                   packing.what_values_are(), reason.empty() ? "" : "; ", reason);
    return UnpackReport{.stays_whole = true, .notes = {std::move(note)}};
  };
  bool has_lists = false;
  try {
    ValueUnpacking unpacking(request, packing);
    if (!unpacking.run()) return std::nullopt;
    has_lists = unpacking.has_lists();
    if (std::optional<Survey> own = unpacking.survey())
      return UnpackReport{.is_own = true,
                          .notes = std::move(own->notes),
                          .left_out = std::move(own->left_out),
                          .schema = std::move(own->schema)};
    Parsing parsing = has_lists ? Parsing() : request.parsing;
    parsing.database.clear();
    const InputFile made(request.into.link());
    Survey found = survey_lmdb_file(made, parsing, request.progress);
    if (found.layout.dialect == Dialect::plain) {
      if (!packing.is_any()) return std::nullopt;
      const bool are_pickles = packing.contents == ValuePacking::Contents::pickles ||
                               packing.contents == ValuePacking::Contents::pickled_lists;
      parsing.dialect = are_pickles ? Dialect::pickle : Dialect::msgpack;
      (void)survey_lmdb_file(made, parsing, request.progress);  // throws the reason
      return stays_whole("");
    }
    return UnpackReport{.is_own = has_lists,
                        .notes = std::move(found.notes),
                        .left_out = std::move(found.left_out)};
  } catch (const Error& error) {
    // Of values that are not all alike nothing is known: they are as they are.
    const bool is_wanted = request.parsing.dialect && packing.is_any();
    if (is_wanted || error.code() != Code::unsupported) throw;
    if (!packing.is_any()) return std::nullopt;
    constexpr std::string_view kOfMaps = "msgpack: ";  // which the user has not seen
    std::string_view fact = error.message();
    if (fact.starts_with(kOfMaps)) fact.remove_prefix(kOfMaps.size());
    return stays_whole(error.sample()
                           ? fmt::format("sample '{}': {}{}", printable(error.sample()->key),
                                         fact.starts_with("is ") ? "the value " : "", fact)
                           : std::string(fact));
  }
}

}  // namespace

std::optional<UnpackReport> unpack_lmdb_file(const UnpackRequest& asked) {
  if (!asked.parsing.database.empty()) return unpack_database(asked);
  UnpackRequest request = asked;
  request.parsing.database = lmdb::only_database(asked.file);
  std::optional<UnpackReport> report = unpack_database(request);
  if (report && !request.parsing.database.empty())
    report->notes.push_back(lmdb::note_of_only_database(request.parsing.database));
  return report;
}

}  // namespace shale
