#include "formats/lmdb/lmdb_unpack.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/output_file.hpp"

#include "formats/lmdb/lmdb_databases.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_writer.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kUnpackBufferBytes = 1 << 20, kWindowBytes = 256 * 1024;
constexpr std::uint64_t kMostNumberBytes = 64;  // of an entry that is not a sample

// By its first bytes: RFC 1952, 1950, 8878.
Packing packing_by_mark(Bytes head) {
  if (head.size() < 4) return Packing::none;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head[i]); };
  if (byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8) return Packing::gzip;
  if (as_text(head).starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
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
  Bytes decode(Packing packing, std::uint64_t begin, std::uint64_t length) {
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
  void grow() {
    if (value_.size() >= most_bytes_) {
      throw Error(Code::limit,
                  "takes more than {} when it is decompressed, a quarter of the memory",
                  format_size(most_bytes_))
          .hint("pass a larger --memory");
    }
    value_.resize(std::min(most_bytes_, std::max<std::uint64_t>(value_.size() * 2, 64 << 10)));
  }

  const ViewBytes& view_;
  std::uint64_t most_bytes_;
  std::vector<std::byte> value_;
};

class ValueUnpacking {
 public:
  ValueUnpacking(const UnpackRequest& request, Packing packing)
      : request_(request),
        packing_(packing),
        window_(request.file, kWindowBytes),
        view_(window_.views()),
        decoder_(view_, request.memory_bytes / 4),
        out_(request.into.duplicate(), request.into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kUnpackBufferBytes, .buffers = 1}),
        pages_(out_) {}

  void run() {
    if (request_.progress) request_.progress(0, request_.file.size());
    const FindingSink findings = [this](const Finding& finding) {
      throw is_damaged(request_.file.path(), finding);
    };
    const lmdb::MetaPage meta =
        lmdb::meta_of_database(request_.file, request_.parsing.database, findings);
    lmdb::refuse_sorted_duplicates(meta, request_.file);
    WalkPace pace(request_.progress, request_.file.size());
    (void)lmdb::walk_trees(
        request_.file, meta, {.reads_overflow_headers = true, .pace = &pace},
        [this](const lmdb::TreeEntry& entry) { take(entry); }, findings);
    pages_.leave_empty_state();
    (void)pages_.close();
    (void)out_.finish();
  }

 private:
  void take(const lmdb::TreeEntry& entry) try {
    const std::uint64_t head_bytes = std::min<std::uint64_t>(entry.value_bytes, 4);
    const Packing packing =
        packing_by_mark(head_bytes == 0 ? Bytes() : view_(entry.value_offset, head_bytes));
    if (packing == packing_)
      return add(entry, decoder_.decode(packing, entry.value_offset, entry.value_bytes));
    if (entry.value_bytes > kMostNumberBytes)
      throw Error(Code::unsupported, "is not compressed with {}, as the first value is",
                  name_of(packing_));
    add(entry, entry.value_bytes == 0 ? Bytes() : view_(entry.value_offset, entry.value_bytes));
  } catch (Error& error) {
    error.at(request_.file.path(), entry.value_offset).for_sample(as_text(entry.key));
    throw;
  }

  void add(const lmdb::TreeEntry& entry, Bytes value) {
    Blob blob;
    blob.append_view(value);
    (void)pages_.add(entry.key, blob);
  }

  const UnpackRequest& request_;
  Packing packing_;
  WindowReader window_;
  ViewBytes view_;
  ValueDecoder decoder_;
  OutputFile out_;
  lmdb::LmdbPageWriter pages_;
};

}  // namespace

Packing packing_of_values(const InputFile& file, std::string_view database) {
  try {
    const auto map = lmdb::open_database(file, database);
    const auto cursor = map->cursor();
    std::array<std::byte, 4> head{};
    for (bool is_there = cursor->first(); is_there; is_there = cursor->next()) {
      const std::optional<KeyMapEntry> entry = cursor->current();
      if (!entry || entry->is_database) return Packing::none;
      if (entry->value_bytes <= kMostNumberBytes / 4) continue;  // a count, perhaps
      file.read_exact(entry->value_offset, head);
      const Packing packing = packing_by_mark(head);
      if (packing == Packing::none) return packing;
      // Only what it is compressed from tells whether that is of use.
      WindowReader window(file, kWindowBytes);
      const ViewBytes view = window.views();
      std::array<std::byte, 2> beginning{};
      Decoder decoder(packing, 8 << 20);
      const std::uint64_t count = std::min(entry->value_bytes, kWindowBytes);
      const Decoder::Progress begun = decoder.decode(view(entry->value_offset, count), beginning);
      const bool is_pickle = begun.given == 2 && beginning[0] == std::byte{0x80} &&
                             beginning[1] >= std::byte{2} && beginning[1] <= std::byte{5};
      return is_pickle ? packing : Packing::none;
    }
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
  }
  return Packing::none;
}

std::optional<UnpackReport> unpack_lmdb_file(const UnpackRequest& request) {
  const Packing packing = packing_of_values(request.file, request.parsing.database);
  if (packing == Packing::none) return std::nullopt;
  try {
    ValueUnpacking(request, packing).run();
  } catch (const Error& error) {
    // Of values that are not all alike nothing is known: they are as they are.
    if (request.parsing.dialect || error.code() != Code::unsupported) throw;
    return std::nullopt;
  }
  Parsing parsing = request.parsing;
  parsing.database.clear();
  const Survey found = survey_lmdb_file(InputFile(request.into.link()), parsing, request.progress);
  if (found.layout.dialect == Dialect::plain) return std::nullopt;
  return UnpackReport{.notes = found.notes, .left_out = found.left_out};
}

}  // namespace shale
