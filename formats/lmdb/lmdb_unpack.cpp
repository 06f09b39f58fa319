#include "formats/lmdb/lmdb_unpack.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/output_file.hpp"
#include "shale/layouts/json_value.hpp"
#include "shale/layouts/list_packing.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/layouts/value_layout.hpp"

#include "formats/lmdb/lmdb_databases.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_writer.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kUnpackBufferBytes = 1 << 20, kWindowBytes = 256 * 1024;
constexpr std::uint64_t kMostNumberBytes = 64;  // of an entry that is not a sample

// By its first bytes: RFC 1952, 1950, 8878, and the frame format of LZ4.
Packing packing_by_mark(Bytes head) {
  if (head.size() < 4) return Packing::none;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head[i]); };
  if (byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8) return Packing::gzip;
  if (as_text(head).starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
  if (as_text(head).starts_with("\x04\x22\x4d\x18")) return Packing::lz4;
  const bool is_zlib =
      (byte(0) & 0x0fU) == 8 && (byte(0) * 256 + byte(1)) % 31 == 0 && (byte(1) & 0x20U) == 0;
  return is_zlib ? Packing::zlib : Packing::none;
}

// Decompresses values, one after the other.
class ValueDecoder {
 public:
  ValueDecoder(const ViewBytes& view, std::uint64_t most_bytes)
      : view_(view), most_bytes_(most_bytes) {}

  // Valid until the next call. Errors: Code::damaged for what is not compressed so, or ends early;
  // Code::limit.
  Bytes decode(const ValuePacking& how, std::uint64_t begin, std::uint64_t length) {
    if (how.is_block) return decode_block(begin, length);
    const Packing packing = how.packing;
    Decoder decoder(packing, most_bytes_);
    std::uint64_t at = begin;
    std::size_t filled = 0;
    while (true) {
      const std::uint64_t count = std::min(kWindowBytes, begin + length - at);
      if (filled == value_.size()) grow();
      const Bytes piece = count == 0 ? Bytes() : view_(at, count);
      const Decoder::Progress step = decoder.decode(piece, std::span(value_).subspan(filled));
      at += step.taken;
      filled += step.given;
      if (step.taken > 0 || step.given > 0) continue;
      if (count == 0 && decoder.may_end()) return Bytes(value_).first(filled);
      throw Error(Code::damaged, "compressed data ends early");
    }
  }

 private:
  [[nodiscard]] Error too_large() const {
    return Error(Code::limit, "takes more than {} when it is decompressed, a quarter of the memory",
                 format_size(most_bytes_))
        .hint("pass a larger --memory");
  }

  Bytes decode_block(std::uint64_t begin, std::uint64_t length) {
    if (length > most_bytes_) throw too_large();
    auto content = unpack_lz4_block(view_(begin, length), most_bytes_);
    if (!content) throw Error(Code::damaged, "is not a block of LZ4 behind its size");
    value_ = std::move(*content);
    return value_;
  }

  void grow() {
    if (value_.size() >= most_bytes_) throw too_large();
    value_.resize(std::min(most_bytes_, std::max<std::uint64_t>(value_.size() * 2, 64 << 10)));
  }

  const ViewBytes& view_;
  std::uint64_t most_bytes_;
  std::vector<std::byte> value_;
};

// The first bytes of a value as it is below its compression.
ValuePacking::Contents contents_by_mark(Bytes head) {
  using Contents = ValuePacking::Contents;
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return head.subspan(offset, length);
  };
  if (layouts::begins_like_json(as_text(head))) return Contents::json;
  if (layouts::looks_like_map(view, 0, head.size())) return Contents::maps;
  const bool is_pickle = head.size() >= 2 && head[0] == std::byte{0x80} &&
                         head[1] >= std::byte{2} && head[1] <= std::byte{5};
  return is_pickle ? Contents::pickles : Contents::other;
}

class ValueUnpacking {
 public:
  ValueUnpacking(const UnpackRequest& request, const ValuePacking& packing)
      : request_(request),
        packing_(packing),
        window_(request.file, kWindowBytes),
        view_(window_.views()),
        decoder_(view_, request.memory_bytes / 4),
        lists_(packing.contents == ValuePacking::Contents::pickles),
        out_(request.into.duplicate(), request.into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kUnpackBufferBytes, .buffers = 1}),
        pages_(out_) {}

  // False, and nothing done: the fields of all values lie in them already.
  bool run() {
    if (request_.progress) request_.progress(0, request_.file.size());
    // What the lists hold is known when all of them have been seen.
    if (is_json()) {
      walk(&ValueUnpacking::learn);
    } else {
      learn_lists();
    }
    if (!is_json() && !has_lists_ && !packing_.is_compressed()) return false;
    walk(&ValueUnpacking::take);
    pages_.leave_empty_state();
    (void)pages_.close();
    (void)out_.finish();
    return true;
  }

  // Of what was made of pickles with lists of numbers; nullopt: it is in the other file.
  [[nodiscard]] std::optional<Survey> survey() {
    if (!has_lists_ || packing_.contents != ValuePacking::Contents::pickles) return std::nullopt;
    return std::move(lists_).survey();
  }
  [[nodiscard]] bool has_lists() const { return has_lists_; }

 private:
  [[nodiscard]] bool is_json() const { return packing_.contents == ValuePacking::Contents::json; }

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
      if (entry.value_bytes > request_.memory_bytes / 4) throw too_large(entry.value_bytes);
      return as_it_is();
    }
    const std::uint64_t head_bytes = std::min<std::uint64_t>(entry.value_bytes, 4);
    const Packing found =
        packing_by_mark(head_bytes == 0 ? Bytes() : view_(entry.value_offset, head_bytes));
    const bool is_short = entry.value_bytes <= kMostNumberBytes;
    if (packing_.is_block ? !is_short || is_sample(entry) : found == packing_.packing)
      return decoder_.decode(packing_, entry.value_offset, entry.value_bytes);
    if (!is_short && is_sample(entry))
      throw Error(Code::unsupported, "is not compressed with {}, as the first value is",
                  name_of(packing_.packing));
    return as_it_is();
  }

  [[nodiscard]] Error too_large(std::uint64_t bytes) const {
    return Error(Code::limit, "has {}, more than a quarter of the memory", format_size(bytes))
        .hint("pass a larger --memory");
  }

  void learn(const lmdb::TreeEntry& entry) {
    if (!is_sample(entry)) return;
    const Bytes content = content_of(entry);
    if (is_json()) return json_.learn(as_text(content));
    lists_.learn(content);
  }

  void take(const lmdb::TreeEntry& entry) {
    const Bytes content = content_of(entry);
    if ((!is_json() && !has_lists_) || !is_sample(entry)) return add(entry, content);
    const std::string packed =
        is_json() ? json_.pack(as_text(content)) : lists_.pack(as_text(entry.key), content);
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
  ValueDecoder decoder_;
  layouts::JsonPacking json_;
  layouts::ListPacking lists_;
  bool has_lists_ = false;  // of numbers, which are to be arrays
  OutputFile out_;
  lmdb::LmdbPageWriter pages_;
};

// Of a value that is not compressed, or only by the first bytes of what it is compressed from.
ValuePacking packing_of(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  using Contents = ValuePacking::Contents;
  constexpr std::uint64_t kMostContent = 8 << 20, kHeadBytes = 64;
  const std::uint64_t head_bytes = std::min(length, kHeadBytes);
  const Contents as_it_is = contents_by_mark(head_bytes == 0 ? Bytes() : view(begin, head_bytes));
  if (as_it_is == Contents::json) {
    const bool is_json = length <= kMostContent && parse_json(as_text(view(begin, length)));
    return {.contents = is_json ? as_it_is : Contents::other};
  }
  if (head_bytes < 4) return {};
  ValuePacking found{.packing = packing_by_mark(view(begin, head_bytes))};
  if (found.packing == Packing::none) {
    if (length > kMostContent) return {.contents = as_it_is};
    const auto content = unpack_lz4_block(view(begin, length), kMostContent);
    found.contents = content ? contents_by_mark(*content) : Contents::other;
    found.is_block = found.contents != Contents::other;
    if (!found.is_block) found.contents = as_it_is;
    return found;
  }
  // Only what it is compressed from tells whether that is of use.
  std::array<std::byte, kHeadBytes> beginning{};
  Decoder decoder(found.packing, kMostContent);
  const std::uint64_t count = std::min(length, kWindowBytes);
  const Decoder::Progress begun = decoder.decode(view(begin, count), beginning);
  found.contents = contents_by_mark(Bytes(beginning).first(begun.given));
  return found;
}

}  // namespace

std::string ValuePacking::what_values_are() const {
  const std::string_view what = contents == Contents::pickles ? "pickles"
                                : contents == Contents::maps  ? "msgpack maps"
                                                              : "JSON";
  if (!is_compressed()) return std::string(what);
  return fmt::format("{} that {} compressed with {}", what,
                     contents == Contents::json ? "is" : "are",
                     name_of(is_block ? Packing::lz4 : packing));
}

ValuePacking packing_of_values(const InputFile& file, std::string_view database) {
  try {
    const auto map = lmdb::open_database(file, database);
    const auto cursor = map->cursor();
    WindowReader window(file, kWindowBytes);
    const ViewBytes view = window.views();
    for (bool is_there = cursor->first(); is_there; is_there = cursor->next()) {
      const std::optional<KeyMapEntry> entry = cursor->current();
      if (!entry || entry->is_database) return {};
      const bool is_sample = !layouts::describes_file(
          as_text(entry->key), {view, entry->value_offset, entry->value_bytes, file.path()});
      if (is_sample) return packing_of(view, entry->value_offset, entry->value_bytes);
    }
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
  }
  return {};
}

std::optional<UnpackReport> unpack_lmdb_file(const UnpackRequest& request) {
  const ValuePacking packing = packing_of_values(request.file, request.parsing.database);
  if (packing.contents == ValuePacking::Contents::other) return std::nullopt;
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
      const bool are_pickles = packing.contents == ValuePacking::Contents::pickles;
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

}  // namespace shale
