#include "shale/shards/record_spool.hpp"

#include <utility>

#include "shale/base/error.hpp"

// One record in the spool: u64 bytes of what follows up to the parts, u64 key length, key, index
// row, u64 number of elements, each as a row of their list, u64 payload bytes, u64 number of parts,
// u64 size of each; then the parts, one after the other.

namespace shale {
namespace {

const ElementColumns kSpooledElements(true);

}  // namespace

RecordSpool::RecordSpool(const std::string& work_folder, IndexColumns columns)
    : scratch_(work_folder), columns_(std::move(columns)) {}

void RecordSpool::add(const Record& record) {
  ByteWriter head;
  head.write(std::uint64_t{record.key.size()});
  head.write_text(record.key);
  columns_.encode(record.row, head);
  head.write(std::uint64_t{record.row.elements.size()});
  for (const FieldPlace& element : record.row.elements) kSpooledElements.encode(element, head);
  head.write(record.payload_bytes);
  head.write(std::uint64_t{record.parts.size()});
  for (const Blob& part : record.parts) head.write(part.size());
  scratch_.append(bytes_of(head.size()));
  scratch_.append(head.bytes());
  for (const Blob& part : record.parts) {
    part.for_each_piece([&](Bytes piece) { scratch_.append(piece); });
  }
  ++count_;
}

void RecordSpool::drain(const std::function<void(const Record&)>& use) {
  std::uint64_t offset = 0;
  const auto take = [&](std::uint64_t length) {
    std::vector<std::byte> bytes(length);
    scratch_.read_exact(offset, bytes);
    offset += length;
    return bytes;
  };
  for (std::uint64_t i = 0; i < count_; ++i) {
    const std::vector<std::byte> length = take(sizeof(std::uint64_t));
    const std::vector<std::byte> head_bytes = take(ByteReader(length).read_u64());
    ByteReader head(head_bytes, "spool");
    Record record;
    record.key = as_text(head.read_bytes(head.read_u64()));
    record.row = columns_.decode(head.read_bytes(columns_.row_bytes()));
    for (std::uint64_t left = head.read_u64(); left > 0; --left)
      record.row.elements.push_back(kSpooledElements.decode(head));
    record.payload_bytes = head.read_u64();
    record.parts.resize(head.read_u64());
    std::vector<std::vector<std::byte>> parts;
    for (Blob& part : record.parts) {
      parts.push_back(take(head.read_u64()));
      part.append_view(parts.back());
    }
    use(record);
  }
  scratch_.clear();
  count_ = 0;
}

}  // namespace shale
