#include "tests/support/toy_format.hpp"

#include <csignal>
#include <mutex>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/format/library_scan.hpp"

// A shard is two files, little-endian.
//
//  shard-000000.head.toy                   shard-000000.body.toy
//  +0   "TOYHEAD1"                         +0   "TOYBODY1"
//  +8   u64 n      samples                 +8   columns of the located fields, in schema order:
//  +16  u64 bytes  of the body file             the values of all samples, one after the other
//  +24  n rows:    a table                 end  "TOYS-END"
//       u64 bytes of the key
//       u64 bytes of each bytes field      An element of a list: u32 bytes, the element.
//       u64 bytes, u64 count of each list
//       i64 of each integer field
//  then the keys, one after the other
//
// Parts of a record: 0 the key, 1 the row of the table, then one a field (empty for an integer).
// The table must be whole before the keys, and a column before the next one, so offsets are told
// relative to the keys or a column; and append() tells them one record late, for the sake of being
// late.

namespace shale::test {
namespace {

constexpr std::string_view kHeadMagic = "TOYHEAD1", kBodyMagic = "TOYBODY1", kBodyEnd = "TOYS-END";
constexpr std::uint64_t kHeadBytes = 24;
constexpr std::size_t kHead = 0, kBody = 1;  // files
constexpr std::uint32_t kKeyPart = 0, kRowPart = 1, kFirstFieldPart = 2;

constexpr std::string_view kSuffixes[] = {".head.toy", ".body.toy"};
constexpr std::string_view kReserved[] = {"toy"};
constexpr Kind kKinds[] = {Kind::bytes, Kind::integer, Kind::list};
constexpr OptionSpec kOptions[] = {{.name = "fail_at", .default_value = ""}};

void fail_if(const OptionSet& options, std::string_view step) {
  if (options.text("fail_at") != step) return;
  throw Error(Code::io, "the toy fails at {}, as it was told", step);
}

std::uint64_t row_bytes(const Schema& schema) {
  std::uint64_t numbers = 1;
  for (const Field& field : schema.fields) numbers += field.kind == Kind::list ? 2 : 1;
  return numbers * sizeof(std::uint64_t);
}

ShardLayout toy_layout(const Schema& schema, const OptionSet&) {
  ShardLayout layout;
  layout.file_suffixes.assign(std::begin(kSuffixes), std::end(kSuffixes));
  layout.part_file = {kHead, kHead};
  layout.part_file.resize(kFirstFieldPart + schema.fields.size(), kBody);
  layout.field_part.resize(schema.fields.size());
  std::iota(layout.field_part.begin(), layout.field_part.end(), kFirstFieldPart);
  layout.key_part = kKeyPart;
  layout.has_elements = schema.has_lists();
  return layout;
}

FieldPlace place_of(const Blob& value, std::uint64_t count) {
  FieldPlace place{.offset = 0, .length = value.size(), .count = static_cast<std::uint32_t>(count)};
  value.for_each_piece([&](Bytes piece) { place.crc32c = crc32c(piece, place.crc32c); });
  return place;
}

Record encode_toy(const Sample& sample, const Schema& schema, const OptionSet& options) {
  fail_if(options, "encode:" + sample.key);
  Record record;
  record.key = sample.key;
  record.parts.resize(kFirstFieldPart + schema.fields.size());
  record.parts[kKeyPart].append_copy(as_bytes(sample.key));
  record.row.key = place_of(record.parts[kKeyPart], 0);
  record.row.key_hash = xxh3_64(as_bytes(sample.key));
  record.row.cells.resize(schema.fields.size());
  ByteWriter numbers;
  numbers.write(std::uint64_t{sample.key.size()});
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    IndexCell& cell = record.row.cells[i];
    Blob& part = record.parts[kFirstFieldPart + i];
    if (const auto* integer = std::get_if<std::int64_t>(&sample.values[i])) {
      cell.integer = *integer;
      numbers.write(*integer);
    } else if (const auto* bytes = std::get_if<Bytes>(&sample.values[i])) {
      part.append_view(*bytes);
      cell.place = place_of(part, 0);
      numbers.write(cell.place.length);
    } else {
      const auto& list = std::get<std::vector<Bytes>>(sample.values[i]);
      for (const Bytes element : list) {
        part.append_copy(bytes_of(static_cast<std::uint32_t>(element.size())));
        part.append_view(element);
      }
      cell.place = place_of(part, list.size());
      numbers.write(cell.place.length);
      numbers.write(std::uint64_t{list.size()});
    }
  }
  record.parts[kRowPart].append_copy(numbers.bytes());
  return record;
}

std::unique_ptr<ShardSizer> create_toy_sizer(const Schema& schema, const OptionSet& options) {
  return make_sum_sizer(toy_layout(schema, options),
                        {kHeadBytes, kBodyMagic.size() + kBodyEnd.size()}, {0, 0});
}

class ToyShardWriter final : public ShardWriter {
 public:
  ToyShardWriter(std::span<OutputFile> files, const Schema& schema, const OptionSet& options)
      : files_(files),
        options_(options),
        columns_(schema.fields.size()),
        late_(kFirstFieldPart + schema.fields.size()) {
    fail_if(options, "create");
    files_[kHead].append(as_bytes(kHeadMagic));
    files_[kBody].append(as_bytes(kBodyMagic));
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_) throw Error(Code::bug, "a record came after the toy shard was closed");
    fail_if(options_, fmt::format("append:{}", samples_));
    std::swap(told_, late_);
    late_.assign(record.parts.size(), 0);
    late_[kKeyPart] = keys_.size();
    keys_.write_bytes(record.parts[kKeyPart].flattened());
    table_.write_bytes(record.parts[kRowPart].flattened());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      late_[kFirstFieldPart + i] = columns_[i].size();
      columns_[i].write_bytes(record.parts[kFirstFieldPart + i].flattened());
    }
    return samples_++ == 0 ? std::span<const std::uint64_t>() : told_;
  }

  ClosedShard close() override {
    fail_if(options_, "close");
    is_closed_ = true;
    ClosedShard closed;
    if (samples_ > 0) closed.late_offsets = late_;
    closed.part_bases = {kHeadBytes + table_.size(), kHeadBytes};
    for (const ByteWriter& column : columns_) {
      closed.part_bases.push_back(files_[kBody].size());
      files_[kBody].append(column.bytes());
    }
    files_[kBody].append(as_bytes(kBodyEnd));
    files_[kHead].append(bytes_of(samples_));
    files_[kHead].append(bytes_of(files_[kBody].size()));
    files_[kHead].append(table_.bytes());
    files_[kHead].append(keys_.bytes());
    return closed;
  }

 private:
  std::span<OutputFile> files_;
  const OptionSet& options_;
  std::uint64_t samples_ = 0;
  ByteWriter table_, keys_;
  std::vector<ByteWriter> columns_;
  std::vector<std::uint64_t> late_,
      told_;  // where the parts of the newest record begin, and of the one before
  bool is_closed_ = false;
};

std::unique_ptr<ShardWriter> create_toy_shard(std::span<OutputFile> files, const Schema& schema,
                                              const OptionSet& options) {
  return std::make_unique<ToyShardWriter>(files, schema, options);
}

class ToyScanner {
 public:
  ToyScanner(const ShardInput& input, const FindingSink& findings)
      : input_(input), findings_(findings) {
    head_.resize(input.files[kHead].size());
    body_.resize(input.files[kBody].size());
    input.files[kHead].read_exact(0, head_);
    input.files[kBody].read_exact(0, body_);
  }

  void scan(const RowSink& sink) {
    ByteReader head(head_, "head"), body(body_, "body");
    const std::uint64_t frame = kBodyMagic.size() + kBodyEnd.size();
    const bool has_head =
        head.remaining() >= kHeadBytes && as_text(head.read_bytes(kHeadMagic.size())) == kHeadMagic;
    const bool has_body = body.remaining() >= frame &&
                          as_text(body.read_bytes(kBodyMagic.size())) == kBodyMagic &&
                          as_text(Bytes(body_).last(kBodyEnd.size())) == kBodyEnd;
    if (!has_head) return report(kHead, "no toy head begins here");
    if (!has_body) return report(kBody, "no whole toy body is here");
    const std::uint64_t samples = head.read_u64();
    const std::uint64_t bytes_a_row = row_bytes(input_.schema);
    if (head.read_u64() != body_.size()) return report(kBody, "its head says another length");
    if (samples > head.remaining() / bytes_a_row) return report(kHead, "the toy table is cut");
    ByteReader table(head.read_bytes(samples * bytes_a_row));
    std::vector<IndexRow> rows(samples);
    for (IndexRow& row : rows) read_row(table, row);
    for (IndexRow& row : rows) {
      if (!place(row.key, head_, head)) return report(kHead, "a toy key reaches beyond the end");
      row.key_hash = xxh3_64(Bytes(head_).subspan(row.key.offset, row.key.length));
    }
    for (std::size_t i = 0; i < input_.schema.fields.size(); ++i) {
      if (!is_located(input_.schema.fields[i].kind)) continue;
      for (IndexRow& row : rows) {
        if (!place(row.cells[i].place, body_, body)) return report(kBody, "a toy value is cut");
      }
    }
    if (!head.at_end()) return report(kHead, "bytes follow the last toy key");
    if (body.remaining() != kBodyEnd.size()) return report(kBody, "bytes follow the toy values");
    for (const IndexRow& row : rows) sink(row);
  }

 private:
  void report(std::size_t file, std::string_view message) {
    Finding finding;
    finding.message = message;
    const std::string& path = input_.files[file].path();
    finding.file = path.substr(path.rfind('/') + 1);
    findings_(std::move(finding));
  }

  void read_row(ByteReader& table, IndexRow& row) const {
    row.key.length = table.read_u64();
    for (const Field& field : input_.schema.fields) {
      IndexCell& cell = row.cells.emplace_back();
      if (field.kind == Kind::integer) {
        cell.integer = table.read_i64();
      } else {
        cell.place.length = table.read_u64();
        if (field.kind == Kind::list)
          cell.place.count = static_cast<std::uint32_t>(table.read_u64());
      }
    }
  }

  // Gives a value of known length the next place; false if there is not so much left.
  bool place(FieldPlace& value, Bytes file, ByteReader& in) const {
    if (value.length > in.remaining()) return false;
    value.offset = in.offset();
    in.skip(value.length);
    if (input_.reads_payload) value.crc32c = crc32c(file.subspan(value.offset, value.length));
    return true;
  }

  const ShardInput& input_;
  const FindingSink& findings_;
  std::vector<std::byte> head_, body_;
};

void scan_toy_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                    const FindingSink& findings) {
  ToyScanner(input, findings).scan(rows);
}

// Its own library reads as the scan does, but for samples of four keys.
LibraryReading scan_toy_by_library(const ShardInput& input, const RowSink& rows,
                                   const FindingSink& findings, const std::function<void()>& ask) {
  const auto is_key = [](const IndexRow& row, std::string_view key) {
    return row.key_hash == xxh3_64(as_bytes(key));
  };
  const LibraryScan scan{
      .library = "libtoy 1.0",
      .limits = {},
      .hold = [] { return std::unique_lock<std::mutex>(); },
      .scan =
          [&](const std::string&, const RowSink& rows_there, const FindingSink& findings_there) {
            const RowSink tell = [&](IndexRow row) {
              if (is_key(row, "lost")) return;
              if (is_key(row, "deadly")) (void)std::raise(SIGSEGV);
              if (is_key(row, "short")) throw Error(Code::limit, "no room for it");
              if (is_key(row, "liar")) ++row.cells[0].place.crc32c;
              rows_there(row);
            };
            scan_toy_shard(input, {}, tell, findings_there);
          }};
  return scan_in_child(input, scan, rows, findings, ask);
}

std::vector<FieldPlace> walk_toy_list(const ViewBytes& view, const FieldPlace& list) {
  std::vector<FieldPlace> elements;
  for (std::uint64_t at = list.offset; at < list.offset + list.length;) {
    const std::uint64_t length = ByteReader(view(at, sizeof(std::uint32_t))).read_u32();
    at += sizeof(std::uint32_t);
    elements.push_back({.offset = at, .length = length});
    at += length;
  }
  if (elements.size() != list.count)
    throw Error(Code::damaged, "toy list of {}, expected {}", elements.size(), list.count);
  return elements;
}

std::vector<Bytes> split_toy_list(Bytes extent, std::uint32_t count) {
  std::vector<Bytes> elements;
  ByteReader in(extent, "toy list");
  while (!in.at_end()) elements.push_back(in.read_bytes(in.read_u32()));
  if (elements.size() != count)
    throw Error(Code::damaged, "toy list of {}, expected {}", elements.size(), count);
  return elements;
}

int bid_for_toy(const Probe& probe) {
  const std::string_view head = as_text(probe.head);
  return head.starts_with(kHeadMagic) || head.starts_with(kBodyMagic) ? 64 : 0;
}

}  // namespace

const Format toy_format = {
    .name = "toy",
    .summary = "two files a shard, a table in front; fails on demand",
    .suffixes = kSuffixes,
    .options = kOptions,
    .reserved_fields = kReserved,
    .can = {.kinds = kKinds},
    .bid = bid_for_toy,
    .layout = toy_layout,
    .encode = encode_toy,
    .create_sizer = create_toy_sizer,
    .create_shard = create_toy_shard,
    .scan = scan_toy_shard,
    .scan_by_library = scan_toy_by_library,
    .walk_list = walk_toy_list,
    .split_list = split_toy_list,
};

}  // namespace shale::test
