#include "shale/shards/element_list.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/wire/npy_header.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16'384;
constexpr std::string_view kRebuild = "'shale index' rebuilds the list from its shard";

}  // namespace

ElementColumns::ElementColumns(bool has_crc32c)
    : has_crc32c_(has_crc32c), header_bytes_(header(0).size()) {}

std::vector<std::byte> ElementColumns::header(std::uint64_t rows) const {
  std::vector<std::pair<std::string, std::string>> columns = {{"offset", "<u8"}, {"length", "<u8"}};
  if (has_crc32c_) columns.emplace_back("crc32c", "<u4");
  return npy_header_bytes({.dtype = DType::packed(columns), .shape = {rows}});
}

void ElementColumns::encode(const FieldPlace& element, ByteWriter& into) const {
  into.write(element.offset);
  into.write(element.length);
  if (has_crc32c_) into.write(element.crc32c);
}

FieldPlace ElementColumns::decode(ByteReader& from) const {
  FieldPlace element;
  element.offset = from.read_u64();
  element.length = from.read_u64();
  if (has_crc32c_) element.crc32c = from.read_u32();
  return element;
}

ElementWriter::ElementWriter(OutputFile file, ElementColumns columns)
    : file_(std::move(file)), columns_(columns) {
  file_.append(columns_.header(0));
}

void ElementWriter::append(std::span<const FieldPlace> elements) {
  row_.clear();
  for (const FieldPlace& element : elements) columns_.encode(element, row_);
  file_.append(row_.bytes());
  rows_ += elements.size();
}

void ElementWriter::load_rebased() {
  first_loaded_ = rebased_;
  std::vector<std::byte> bytes(std::min(kRowsAtOnce, rows_ - rebased_) * columns_.row_bytes());
  file_.read_back(columns_.file_bytes(rebased_), bytes);
  ByteReader from(bytes, "element list");
  while (!from.at_end()) loaded_.push_back(columns_.decode(from));
}

void ElementWriter::store_rebased() {
  row_.clear();
  for (const FieldPlace& element : loaded_) columns_.encode(element, row_);
  file_.patch(columns_.file_bytes(first_loaded_), row_.bytes());
  loaded_.clear();
}

void ElementWriter::rebase_next(std::uint64_t count, std::uint64_t base) {
  if (count > rows_ - rebased_) {
    throw Error(Code::bug, "{} elements rebased behind {} of {}", count, rebased_, rows_);
  }
  for (; count > 0; --count) {
    if (loaded_.empty()) load_rebased();
    FieldPlace& element = loaded_[rebased_ - first_loaded_];
    if (element.offset != kMissing) element.offset += base;
    ++rebased_;
    if (rebased_ - first_loaded_ == loaded_.size()) store_rebased();
  }
}

FileSummary ElementWriter::finish() {
  file_.patch(0, columns_.header(rows_));
  return file_.finish();
}

ElementReader::ElementReader(const InputFile& file, ElementColumns columns)
    : file_(&file), columns_(columns) {
  const std::uint64_t header_bytes = columns_.file_bytes(0), row_bytes = columns_.row_bytes();
  const bool is_whole =
      file.size() >= header_bytes && (file.size() - header_bytes) % row_bytes == 0;
  if (!is_whole) {
    throw Error(Code::damaged, "element list is {} bytes long, which is not rows of {}",
                file.size(), row_bytes)
        .at(file.path())
        .hint(std::string(kRebuild));
  }
  rows_ = (file.size() - header_bytes) / row_bytes;
  const std::vector<std::byte> expected = columns_.header(rows_);
  std::vector<std::byte> found(header_bytes);
  file.read_exact(0, found);
  if (found == expected) return;
  throw Error(Code::damaged, "header is not that of a list of {} elements", rows_)
      .at(file.path(), 0)
      .hint(std::string(kRebuild));
}

std::vector<FieldPlace> ElementReader::read(std::uint64_t first, std::uint64_t count) const {
  if (first > rows_ || count > rows_ - first) {
    throw Error(Code::damaged, "the index places {} elements from {} on, but the list has {}",
                count, first, rows_)
        .at(file_->path())
        .hint(std::string(kRebuild));
  }
  std::vector<std::byte> bytes(count * columns_.row_bytes());
  file_->read_exact(columns_.file_bytes(first), bytes);
  ByteReader from(bytes, "element list");
  std::vector<FieldPlace> elements;
  elements.reserve(count);
  while (elements.size() < count) elements.push_back(columns_.decode(from));
  return elements;
}

}  // namespace shale
