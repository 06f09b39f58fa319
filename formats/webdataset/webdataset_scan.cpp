#include "formats/webdataset/webdataset_scan.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/format/value_checksum.hpp"
#include "shale/image/probe.hpp"
#include "shale/wire/npy_header.hpp"
#include "shale/wire/tar_writer.hpp"

#include "formats/webdataset/webdataset_foreign.hpp"
#include "formats/webdataset/webdataset_names.hpp"
#include "formats/webdataset/webdataset_writer.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPayloadRun = 256 * 1024, kHeadersRun = 32 * 1024;
constexpr std::uint64_t kMostNumberBytes = 32;

bool are_zeros(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// The key that a member has, if it is the first of a sample.
struct StoredKey {
  std::string_view text;
  std::uint64_t offset = 0;
};
std::optional<StoredKey> key_in(const WrittenTarFile& member) {
  const std::vector<PaxRecord>& records = member.file.records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].key == kKeyRecord) return StoredKey{records[i].value, member.values[i]};
  }
  if (member.file.target.empty()) return std::nullopt;
  return StoredKey{member.file.target, member.target};
}

std::string_view record_in(const TarFile& file, std::string_view key) {
  const auto found = std::ranges::find(file.records, key, &PaxRecord::key);
  return found == file.records.end() ? std::string_view() : found->value;
}

class WebdatasetScanner {
 public:
  WebdatasetScanner(const ShardInput& input, const ScanRows& part, const RowSink& rows,
                    const FindingSink& findings)
      : file_(input.files[0]),
        schema_(input.schema),
        names_(input.schema),
        reads_payload_(input.reads_payload),
        draft_(file_, findings),
        pace_(input.progress, file_.size()),
        window_(file_, reads_payload_ ? kPayloadRun : kHeadersRun),
        view_(part.view ? part.view : window_.views()),
        rows_(rows),
        at_(part.begin) {
    std::size_t axes = 0;
    for (const Field& field : schema_.fields) {
      first_side_.push_back(axes);
      if (field.is_ragged()) axes += field.shape.size();
    }
  }

  // Returns how far it got: to the first sample that begins at or behind the end of the part, or to
  // the end of the file.
  ScanPoint scan(const ScanRows& part) {
    draft_.at_row(at_.row);
    while (at_.offset < part.end.offset) {
      pace_.step_to(at_.offset);
      const std::optional<WrittenTarFile> member = next_member();
      if (!member) return at_;
      scan_sample(*member);
      rows_(row_);
      ++at_.row;
      draft_.at_row(at_.row);
    }
    return at_;
  }

 private:
  // Nullopt at the end of the archive, and at what is not a member.
  std::optional<WrittenTarFile> next_member() {
    const std::uint64_t size = file_.size(), begin = at_.offset;
    const bool is_end =
        begin < size && size - begin >= kTarBlockBytes && are_zeros(view_(begin, kTarBlockBytes));
    if (is_end) {
      check_end();
      return std::nullopt;
    }
    if (ahead_ && ahead_->header == begin) return std::exchange(ahead_, std::nullopt);
    try {
      return read_tar_headers(view_, begin, size);
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      draft_.begin(fmt::format("{}; the {} bytes from here to the end are unaccounted for",
                               error.message(), size - std::min(size, begin)),
                   error.offset());
      draft_.send();
      return std::nullopt;
    }
  }

  void check_end() {
    const std::uint64_t size = file_.size(), expected = tar_file_bytes(at_.offset);
    if (size != expected) {
      draft_.report(at_.offset, "the archive does not end where shale ends it",
                    fmt::format("{} bytes", size), fmt::to_string(expected));
    } else if (!are_zeros(view_(at_.offset, size - at_.offset))) {
      draft_.report(at_.offset, "what ends the archive is not all zeros");
    } else {
      at_.offset = size;
    }
  }

  void scan_sample(WrittenTarFile member) {
    row_ = {};
    row_.cells.resize(schema_.fields.size());
    row_.sides.resize(schema_.ragged_axes());
    row_.record_offset = member.header;
    is_found_.assign(schema_.fields.size(), false);
    last_field_.reset();
    is_nothing_ = false;
    begin_sample(member);
    for (bool is_first = true;; is_first = false) {
      take_member(member, is_first);
      at_.offset = member.end();
      pace_.step_to(at_.offset);
      if (!continues_sample()) break;
      member = *std::exchange(ahead_, std::nullopt);
    }
    row_.record_length = at_.offset - row_.record_offset;
    check_complete();
  }

  // The next member is sound, and not the first of a sample.
  bool continues_sample() {
    ahead_.reset();
    try {
      ahead_ = read_tar_headers(view_, at_.offset, file_.size());
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      return false;  // next_member() says why
    }
    return !key_in(*ahead_);
  }

  void begin_sample(const WrittenTarFile& member) {
    const std::optional<StoredKey> key = key_in(member);
    prefix_.clear();
    if (!key) {
      draft_.report(member.header, "a member without a key where a sample begins");
      return;
    }
    draft_.at_key(key->text);
    row_.key_hash = xxh3_64(as_bytes(key->text));
    row_.key = {.offset = key->offset, .length = key->text.size()};
    if (reads_payload_) row_.key.crc32c = crc32c(as_bytes(key->text));
    if (fits_target(key->text) == member.file.target.empty())
      draft_.report(member.header, "the key is not where shale writes one of its length");
    for (const bool keeps_suffix : {false, true}) {
      std::string prefix = member_key(key->text, keeps_suffix) + ".";
      if (prefix_.empty() && member.file.path.starts_with(prefix)) prefix_ = std::move(prefix);
    }
    if (prefix_.empty())
      draft_.report(member.header, "the name of a member does not fit the key", member.file.path,
                    member_key(key->text, false) + ".*");
  }

  void take_member(const WrittenTarFile& member, bool is_first) {
    check_padding(member);
    check_records(member, is_first);
    const std::string_view path = member.file.path;
    if (prefix_.empty()) return;
    if (!path.starts_with(prefix_))
      return draft_.report(member.header, "the name of a member does not fit the key",
                           member.file.path, prefix_ + "*");
    const std::string_view extension = path.substr(prefix_.size());
    if (extension == kNothingExtension && is_first) {
      is_nothing_ = true;
      if (member.file.bytes > 0)
        draft_.report(member.header, "the member of a sample without values is not empty");
      return;
    }
    const std::optional<FieldMember> found = names_.find(extension);
    if (!found)
      return draft_.report(member.header, "a member that the schema has no field for",
                           std::string(extension));
    take_value(member, *found, std::string(extension));
  }

  void check_padding(const WrittenTarFile& member) {
    const std::uint64_t end = member.data + member.file.bytes;
    if (!are_zeros(view_(end, tar_padding(member.file.bytes))))
      draft_.report(end, "the padding of a member is not all zeros");
  }

  // Those of a key and a NaN, and no others.
  void check_records(const WrittenTarFile& member, bool is_first) {
    std::vector<PaxRecord> expected;
    const std::optional<StoredKey> key = key_in(member);
    if (is_first && key && !fits_target(key->text))
      expected.push_back({std::string(kKeyRecord), std::string(key->text)});
    if (const std::string_view bits = record_in(member.file, kRealRecord); !bits.empty())
      expected.push_back({std::string(kRealRecord), std::string(bits)});
    if (member.file.records != expected)
      draft_.report(member.header, "a PAX header has records that shale does not write");
  }

  void take_value(const WrittenTarFile& member, const FieldMember& found,
                  const std::string& extension) {
    const Field& field = schema_.fields[found.field];
    const auto report = [&](std::uint64_t offset, std::string what, std::string is = {},
                            std::string expected = {}) {
      draft_.begin(std::move(what), offset).field = field.name;
      draft_.send(std::move(is), std::move(expected));
    };
    const bool is_next_element = found.element && *found.element > 0 &&
                                 last_field_ == found.field && *found.element == list_count_ &&
                                 list_count_ < kMaxElements;
    if (is_next_element) {
      ++list_count_;
    } else {
      if (is_found_[found.field])
        return report(member.header, "a field has more than one member", extension);
      if (found.element && *found.element > 0)
        return report(member.header, "an element of a list is not where it belongs", extension);
      if (last_field_ && last_extension_ >= extension)
        report(member.header, "members are not sorted by their extensions", extension);
      is_found_[found.field] = true;
      last_extension_ = extension;
      list_count_ = 1;
    }
    last_field_ = found.field;
    if (!record_in(member.file, kRealRecord).empty() && field.kind != Kind::real)
      report(member.header, "a PAX header has records that shale does not write");
    if (reads_payload_ && !found.by_content.empty()) {
      const Bytes head = view_(member.data, std::min(member.file.bytes, kImageHeadBytes));
      const std::string_view expected = extension_of_content(head);
      if (found.by_content != expected)
        report(member.header, "the extension does not fit the content",
               std::string(found.by_content), std::string(expected));
    }
    fill_cell(member, found, report);
  }

  template <class Report>
  void fill_cell(const WrittenTarFile& member, const FieldMember& found, const Report& report) {
    const Field& field = schema_.fields[found.field];
    IndexCell& cell = row_.cells[found.field];
    const std::uint64_t bytes = member.file.bytes;
    FieldPlace place{.offset = member.data, .length = bytes};
    switch (field.kind) {
      case Kind::integer:
      case Kind::real:
        if (!read_number(member, field, cell))
          report(member.data, "a number is not as shale writes it");
        return;
      case Kind::tensor:
        if (!take_npy_header(member, found.field, place))
          return report(member.data, "the .npy header is not that of the field");
        break;
      case Kind::list:
        if (found.is_empty_list) {
          if (bytes > 0) report(member.header, "the member of an empty list is not empty");
          place.length = 0;
          break;
        }
        return extend_list(member, cell.place);
      case Kind::bytes:
      case Kind::text:
        break;
    }
    if (reads_payload_) place.crc32c = crc32c_of_place(place, kPayloadRun, pace_, view_);
    cell.place = place;
  }

  void extend_list(const WrittenTarFile& member, FieldPlace& list) {
    if (list_count_ == 1) list.offset = member.header;
    list.length = member.end() - list.offset;
    list.count = static_cast<std::uint32_t>(list_count_);
    if (!reads_payload_) return;
    const FieldPlace whole{.offset = member.header, .length = member.end() - member.header};
    list.crc32c = crc32c_combine(list.crc32c, crc32c_of_place(whole, kPayloadRun, pace_, view_),
                                 whole.length);
  }

  bool read_number(const WrittenTarFile& member, const Field& field, IndexCell& cell) {
    if (member.file.bytes > kMostNumberBytes) return false;
    const std::string text(as_text(view_(member.data, member.file.bytes)));
    const char* const end = text.data() + text.size();
    if (field.kind == Kind::integer) {
      std::from_chars(text.data(), end, cell.integer);
      return text == integer_text(cell.integer);
    }
    const std::string_view bits = record_in(member.file, kRealRecord);
    std::uint64_t stored = 0;
    if (!bits.empty()) {
      std::from_chars(bits.data(), bits.data() + bits.size(), stored, 16);
      cell.real = std::bit_cast<double>(stored);
    } else if (text == "NaN") {
      cell.real = std::bit_cast<double>(std::uint64_t{0x7ff8'0000'0000'0000});
    } else {
      std::from_chars(text.data(), end, cell.real);  // "Infinity", too
    }
    return text == real_text(cell.real) && bits == bits_of_nan(cell.real);
  }

  // Moves the place behind the header.
  bool take_npy_header(const WrittenTarFile& member, std::size_t number, FieldPlace& place) {
    const Field& field = schema_.fields[number];
    const std::uint64_t bytes = member.file.bytes;
    try {
      const std::uint64_t length =
          npy_header_length(view_(member.data, std::min(bytes, kNpyPrefixBytes)), file_.path());
      if (length > bytes) return false;
      const Bytes stored = view_(member.data, length);
      const NpyHeader header = parse_npy_header(stored, file_.path());
      const std::vector<std::byte> expected =
          npy_header_bytes({.dtype = field.dtype, .shape = header.shape});
      if (!std::ranges::equal(stored, expected)) return false;
      if (!field.takes_tensor(header.shape, bytes - length)) return false;
      place = {.offset = member.data + length, .length = bytes - length};
      if (field.is_ragged())
        std::ranges::copy(header.shape,
                          row_.sides.begin() + static_cast<std::ptrdiff_t>(first_side_[number]));
      return true;
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      return false;
    }
  }

  void check_complete() {
    bool has_any = false;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      has_any |= is_found_[i];
      if (!is_found_[i] && !is_located(field.kind)) row_.cells[i].lacks_number = field.is_optional;
      if (is_found_[i] || field.is_optional || prefix_.empty()) continue;
      draft_.begin("the sample has no member for a field", row_.record_offset).field = field.name;
      draft_.send();
    }
    if (is_nothing_ == has_any && !prefix_.empty())
      draft_.report(row_.record_offset,
                    has_any ? "a sample with values has the member of one without"
                            : "a sample without values lacks the member that says so");
  }

  const InputFile& file_;
  const Schema& schema_;
  const MemberNames names_;
  bool reads_payload_;
  FindingDraft draft_;
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_;
  const RowSink& rows_;
  ScanPoint at_;
  std::vector<std::size_t> first_side_;  // per field

  std::optional<WrittenTarFile> ahead_;  // that was read already

  // Of the sample at hand.
  IndexRow row_;
  std::string prefix_;  // of its names; empty: it has no sound key
  std::vector<bool> is_found_;
  bool is_nothing_ = false;
  std::optional<std::size_t> last_field_;
  std::string last_extension_;  // of the last field's first member
  std::uint64_t list_count_ = 0;
};

ScanRows whole_shard() { return {.begin = {}, .end = {kMissing, kMissing}}; }

}  // namespace

void scan_webdataset_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                           const FindingSink& findings) {
  if (input.layout.dialect != Dialect::own) return scan_foreign_webdataset(input, rows, findings);
  const ScanRows all = whole_shard();
  if (input.files[0].size() == 0) {
    FindingDraft draft(input.files[0], findings);
    return draft.report(0, "the archive has no end", "0 bytes",
                        fmt::format("{} or more", kTarRecordBytes));
  }
  (void)WebdatasetScanner(input, all, rows, findings).scan(all);
}

SplitScan split_webdataset_scan(const ShardInput& input) {
  return {.samples = input.samples,
          .scan =
              [](const ShardInput& shard, const ScanRows& part, const RowSink& rows) {
                bool is_sound = true;
                const FindingSink note = [&](const Finding&) { is_sound = false; };
                return WebdatasetScanner(shard, part, rows, note).scan(part) == part.end &&
                       is_sound;
              },
          .is_complete = [] { return true; }};
}

std::vector<FieldPlace> walk_webdataset_list(const ViewBytes& view, const FieldPlace& list) {
  const std::uint64_t end = list.offset + list.length;
  std::vector<FieldPlace> elements;
  std::uint64_t found = 0;
  for (std::uint64_t at = list.offset; at < end; ++found) {
    const WrittenTarFile member = read_tar_headers(view, at, end);
    if (found < list.count)
      elements.push_back({.offset = member.data, .length = member.file.bytes});
    at = member.end();
  }
  if (found != list.count) throw wrong_element_count(found, list.count);
  return elements;
}

std::vector<Bytes> split_webdataset_list(Bytes extent, std::uint32_t count) {
  const ViewBytes view = [extent](std::uint64_t offset, std::uint64_t length) {
    return extent.subspan(offset, length);
  };
  std::vector<Bytes> elements;
  for (const FieldPlace& place :
       walk_webdataset_list(view, {.offset = 0, .length = extent.size(), .count = count}))
    elements.push_back(extent.subspan(place.offset, place.length));
  return elements;
}

}  // namespace shale
