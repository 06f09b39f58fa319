#include "shale/format/library_scan.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

// What the child sends is one stream, whose messages may end anywhere, of
//   u8 1, row        key, u64 hash of the key, u64 offset and u64 length of the record, cells
//   u8 2, u32 length, finding
// A place is u64 offset, u64 length, u32 crc32c, u32 count; a cell a place, i64 and f64; a string
// u32 length and bytes.
enum class Part : std::uint8_t { row = 1, finding = 2 };
constexpr std::uint64_t kPlaceBytes = 24, kCellBytes = kPlaceBytes + 17,
                        kRowBytes = kPlaceBytes + 24;
constexpr std::size_t kMessageBytes = 64 * 1024, kMostTextBytes = 4096, kMostFindingBytes = 65'536;

void write_place(ByteWriter& out, const FieldPlace& place) {
  out.write(place.offset);
  out.write(place.length);
  out.write(place.crc32c);
  out.write(place.count);
}

FieldPlace read_place(ByteReader& in) {
  FieldPlace place;
  place.offset = in.read_u64();
  place.length = in.read_u64();
  place.crc32c = in.read_u32();
  place.count = in.read_u32();
  return place;
}

void write_row(ByteWriter& out, const IndexRow& row) {
  write_place(out, row.key);
  out.write(row.key_hash);
  out.write(row.record_offset);
  out.write(row.record_length);
  for (const IndexCell& cell : row.cells) {
    write_place(out, cell.place);
    out.write(cell.integer);
    out.write(cell.real);
    out.write(std::uint8_t{cell.lacks_number});
  }
  for (const std::uint64_t side : row.sides) out.write(side);
}

void read_row(ByteReader& in, IndexRow& row) {
  row.key = read_place(in);
  row.key_hash = in.read_u64();
  row.record_offset = in.read_u64();
  row.record_length = in.read_u64();
  for (IndexCell& cell : row.cells) {
    cell.place = read_place(in);
    cell.integer = in.read_i64();
    cell.real = in.read_f64();
    cell.lacks_number = in.read_u8() != 0;
  }
  for (std::uint64_t& side : row.sides) side = in.read_u64();
}

void write_text(ByteWriter& out, std::string_view text) {
  text = text.substr(0, kMostTextBytes);
  out.write(static_cast<std::uint32_t>(text.size()));
  out.write_text(text);
}

std::string read_text(ByteReader& in) {
  const std::uint32_t length = in.read_u32();
  return std::string(as_text(in.read_bytes(length)));
}

void write_number(ByteWriter& out, std::optional<std::uint64_t> number) {
  out.write(static_cast<std::uint8_t>(number ? 1 : 0));
  out.write(number.value_or(0));
}

std::optional<std::uint64_t> read_number(ByteReader& in) {
  const bool is_there = in.read_u8() != 0;
  const std::uint64_t number = in.read_u64();
  return is_there ? std::optional(number) : std::nullopt;
}

void write_finding(ByteWriter& out, const Finding& finding) {
  for (const auto* text :
       {&finding.message, &finding.file, &finding.field, &finding.expected, &finding.found})
    write_text(out, *text);
  for (const auto& number : {finding.offset, finding.length, finding.row})
    write_number(out, number);
  out.write(static_cast<std::uint8_t>(finding.sample ? 1 : 0));
  write_text(out, finding.sample ? finding.sample->key : "");
}

Finding read_finding(Bytes bytes) {
  ByteReader in(bytes, "a finding of the child");
  Finding finding;
  for (auto* text :
       {&finding.message, &finding.file, &finding.field, &finding.expected, &finding.found})
    *text = read_text(in);
  for (auto* number : {&finding.offset, &finding.length, &finding.row}) *number = read_number(in);
  const bool has_sample = in.read_u8() != 0;
  std::string key = read_text(in);
  if (has_sample) finding.sample = SampleId{std::move(key), std::nullopt};
  return finding;
}

// In the child.
class Sender {
 public:
  explicit Sender(const SendMessage& send) : send_(send) {}

  void send(const IndexRow& row) {
    out_.write(static_cast<std::uint8_t>(Part::row));
    write_row(out_, row);
    flush(kMessageBytes);
  }
  void send(const Finding& finding) {
    ByteWriter content;
    write_finding(content, finding);
    out_.write(static_cast<std::uint8_t>(Part::finding));
    out_.write(static_cast<std::uint32_t>(content.size()));
    out_.write_bytes(content.bytes());
    flush(kMessageBytes);
  }
  /// Sends what has gathered, if it is so much.
  void flush(std::size_t least) {
    if (out_.size() < least) return;
    for (Bytes left = out_.bytes(); !left.empty();) {
      const std::size_t piece = std::min(left.size(), kMessageBytes);
      send_(left.first(piece));
      left = left.subspan(piece);
    }
    out_.clear();
  }

 private:
  const SendMessage& send_;
  ByteWriter out_;
};

// In the parent. The child's memory was the file's to corrupt: nothing that it sends is trusted.
class Receiver {
 public:
  Receiver(const Schema& schema, const RowSink& rows, const FindingSink& findings)
      : rows_(rows),
        findings_(findings),
        row_bytes_(kRowBytes + schema.fields.size() * kCellBytes +
                   schema.ragged_axes() * sizeof(std::uint64_t)) {
    row_.cells.resize(schema.fields.size());
    row_.sides.resize(schema.ragged_axes());
  }

  void take(Bytes message) {
    stream_.insert(stream_.end(), message.begin(), message.end());
    std::size_t done = 0;
    while (const std::size_t bytes = take_part(Bytes(stream_).subspan(done))) done += bytes;
    stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(done));
  }

 private:
  // How many bytes the first part has; 0 if it is not whole yet.
  std::size_t take_part(Bytes stream) {
    constexpr std::size_t kFindingHeader = 1 + sizeof(std::uint32_t);
    if (stream.empty()) return 0;
    ByteReader in(stream, "a message of the child");
    const auto part = static_cast<Part>(in.read_u8());
    if (part == Part::row) {
      if (in.remaining() < row_bytes_) return 0;
      read_row(in, row_);
      rows_(row_);
      return 1 + row_bytes_;
    }
    if (stream.size() < kFindingHeader) return 0;
    const std::uint32_t length = in.read_u32();
    if (part != Part::finding || length > kMostFindingBytes)
      throw Error(Code::damaged, "an invalid message");
    if (in.remaining() < length) return 0;
    findings_(read_finding(in.read_bytes(length)));
    return kFindingHeader + length;
  }

  const RowSink& rows_;
  const FindingSink& findings_;
  std::size_t row_bytes_;
  std::vector<std::byte> stream_;
  IndexRow row_;
};

std::string reason_of(const Error& error) {
  return error.message() + (error.cause().empty() ? "" : ": " + error.cause());
}

}  // namespace

LibraryReading scan_in_child(const ShardInput& input, const LibraryScan& scan, const RowSink& rows,
                             const FindingSink& findings, const std::function<void()>& ask) {
  const InputFile& file = input.files[0];
  const std::string path = "/proc/self/fd/" + std::to_string(file.descriptor());
  const auto in_the_child = [&](const SendMessage& send) {
    const int again = retried(path, [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
    if (again < 0)
      throw Error(Code::unsupported, "cannot open the file again").because_errno(errno);
    ::close(again);
    Sender sender(send);
    scan.scan(
        path, [&](const IndexRow& row) { sender.send(row); },
        [&](const Finding& finding) { sender.send(finding); });
    sender.flush(1);
  };
  // Of what is thrown below: what the caller throws is not the library's.
  bool is_callers = false;
  const auto by_caller = [&](const auto& act) {
    is_callers = true;
    act();
    is_callers = false;
  };
  const RowSink take_row = [&](const IndexRow& row) { by_caller([&] { rows(row); }); };
  const FindingSink take_finding = [&](Finding finding) {
    by_caller([&] { findings(std::move(finding)); });
  };
  Receiver receiver(input.schema, take_row, take_finding);
  LibraryReading reading{.library = scan.library, .obstacle = {}};
  std::vector<int> descriptors;
  for (const InputFile& each : input.files) descriptors.push_back(each.descriptor());
  std::optional<LimitedChild> child;
  try {
    const std::unique_lock<std::mutex> held = scan.hold();
    child.emplace(
        ChildWork{scan.library, file.path(), std::move(descriptors), scan.limits, in_the_child});
  } catch (const Error& error) {
    reading.obstacle = reason_of(error);
    return reading;
  }
  try {
    child->listen([&](Bytes message) { receiver.take(message); },
                  [&] {
                    by_caller([&] {
                      if (ask) ask();
                    });
                  });
  } catch (const Error& error) {
    if (is_callers) throw;
    if (error.code() == Code::limit || error.code() == Code::unsupported) {
      reading.obstacle = reason_of(error);
    } else if (error.code() == Code::damaged) {
      Finding finding;
      finding.message = reason_of(error);
      finding.file = file.name();
      finding.offset = error.offset();
      findings(std::move(finding));
    } else {
      throw;
    }
  }
  return reading;
}

}  // namespace shale
