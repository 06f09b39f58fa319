#include "formats/lmdb/lmdb_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/schema_text.hpp"

#include "formats/lmdb/lmdb_node.hpp"

namespace shale::lmdb {
namespace {

constexpr std::uint64_t kLeastMapBytes = 1 << 20;

std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

std::uint16_t low_bits(std::uint64_t value) { return static_cast<std::uint16_t>(value); }

void write_tree(ByteWriter& out, std::uint32_t pad, const TreeRecord& tree) {
  out.write(pad);
  out.write(tree.flags);
  out.write(static_cast<std::uint16_t>(tree.depth));
  out.write(tree.branch_pages);
  out.write(tree.leaf_pages);
  out.write(tree.overflow_pages);
  out.write(tree.entries);
  out.write(tree.root);
}

}  // namespace

// --- NodePage ---

void NodePage::clear() {
  nodes_ = 0;
  upper_ = kPageBytes;
  bytes_.fill(std::byte{0});
}

std::uint16_t NodePage::node_offset(std::size_t node) const {
  std::uint16_t offset;
  std::memcpy(&offset, bytes_.data() + kPageHeaderBytes + node * kPointerBytes, sizeof offset);
  return offset;
}

Bytes NodePage::key(std::size_t node) const {
  const std::uint64_t begin = node_offset(node);
  std::uint16_t length;
  std::memcpy(&length, bytes_.data() + begin + 6, sizeof length);
  return Bytes(bytes_).subspan(begin + kNodeHeaderBytes, length);
}

std::uint64_t NodePage::child(std::size_t node) const {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes_.data() + node_offset(node), 6);
  return number;
}

void NodePage::put(std::uint64_t offset, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
}

std::uint64_t NodePage::add_node(std::uint64_t node_bytes, std::uint16_t low, std::uint16_t high,
                                 std::uint16_t flags, Bytes key) {
  upper_ -= node_bytes;
  put(lower(), bytes_of(low_bits(upper_)));
  ++nodes_;
  const std::uint16_t header[] = {low, high, flags, low_bits(key.size())};
  put(upper_, std::as_bytes(std::span(header)));
  put(upper_ + kNodeHeaderBytes, key);
  return upper_ + kNodeHeaderBytes + key.size();
}

std::uint64_t NodePage::add_leaf_node(Bytes key, std::uint64_t stored_bytes,
                                      std::uint32_t value_bytes, std::uint16_t flags) {
  return add_node(even(kNodeHeaderBytes + key.size() + stored_bytes), low_bits(value_bytes),
                  low_bits(value_bytes >> 16), flags, key);
}

void NodePage::add_branch_node(Bytes key, std::uint64_t child) {
  (void)add_node(branch_node_bytes(key.size()), low_bits(child), low_bits(child >> 16),
                 low_bits(child >> 32), key);
}

void NodePage::remove_last_branch_node() {
  const std::uint64_t node_bytes = branch_node_bytes(key(nodes_ - 1).size());
  const auto wipe = [this](std::uint64_t begin, std::uint64_t bytes) {
    std::memset(bytes_.data() + begin, 0, bytes);
  };
  wipe(upper_, node_bytes);
  upper_ += node_bytes;
  --nodes_;
  wipe(lower(), kPointerBytes);
}

Bytes NodePage::finish(std::uint64_t number) {
  put(0, bytes_of(number));
  const std::uint16_t header[] = {0, kind_, low_bits(lower()), low_bits(upper_)};
  put(sizeof number, std::as_bytes(std::span(header)));
  return bytes_;
}

// --- LmdbPageWriter ---

LmdbPageWriter::LmdbPageWriter(OutputFile& file, std::uint16_t flags, Place place)
    : file_(file), place_(place) {
  written_.flags = flags;
  if (place == Place::file) file_.append_zeros(kMetaPages * kPageBytes);  // written by close()
  begin_ = file_.size();
}

void LmdbPageWriter::check_entry(Bytes key, std::uint64_t value_bytes) const {
  if (is_closed_) throw Error(Code::bug, "entry added to a closed LMDB file").at(file_.path());
  // A value may be empty.
  if ((key.empty() && place_ == Place::file) || key.size() > kMaxKeyBytes) {
    throw Error(Code::limit, "an LMDB key of {} bytes, expected 1 to {}", key.size(), kMaxKeyBytes)
        .at(file_.path());
  }
  check_value(value_bytes);
  if (written_.entries > 0 && compare_keys(last_key_, key, written_.flags) >= 0) {
    throw Error(Code::bug, "an LMDB key is not larger than the one before it").at(file_.path());
  }
}

void LmdbPageWriter::check_value(std::uint64_t value_bytes) const {
  if (value_bytes <= kMaxValueBytes) return;
  throw Error(Code::limit, "an LMDB value of {} bytes, expected at most {}", value_bytes,
              kMaxValueBytes)
      .at(file_.path());
}

std::span<const std::uint64_t> LmdbPageWriter::add(Bytes key, const Blob& value) {
  check_entry(key, value.size());
  released_.clear();
  make_room(leaf_node_bytes(key.size(), value.size()));
  if (is_big(key.size(), value.size())) {
    add_big(key, value);
  } else {
    add_small(key, value);
  }
  note_entry(key, value.size());
  return released_;
}

void LmdbPageWriter::make_room(std::uint64_t node_bytes) {
  if (leaf_.has_room(node_bytes)) return;
  std::vector<std::byte> first_key = copy_of(leaf_.key(0));
  const std::uint64_t number = emit_leaf();
  add_child(0, std::move(first_key), number);
}

void LmdbPageWriter::note_entry(Bytes key, std::uint64_t value_bytes) {
  last_key_.assign(key.begin(), key.end());
  shape_.add(key.size(), value_bytes);
  ++written_.entries;
}

void LmdbPageWriter::add_small(Bytes key, const Blob& value) {
  std::uint64_t at =
      leaf_.add_leaf_node(key, value.size(), static_cast<std::uint32_t>(value.size()), 0);
  owed_.push_back({at, true});
  value.for_each_piece([&](Bytes piece) {
    leaf_.put(at, piece);
    at += piece.size();
  });
}

void LmdbPageWriter::add_big(Bytes key, const Blob& value) {
  const std::uint64_t number = begin_value(value.size());
  add_reference(key, number, value.size());
  const std::uint64_t offset = file_.size();
  value.for_each_piece([&](Bytes piece) { append_value(piece); });
  end_value(value.size());

  if (owed_.empty()) {
    released_.push_back(offset);
  } else {
    owed_.push_back({offset, false});
  }
}

void LmdbPageWriter::add_placed(Bytes key, std::uint64_t page, std::uint64_t value_bytes) {
  check_entry(key, value_bytes);
  released_.clear();
  make_room(leaf_node_bytes(key.size(), value_bytes));
  add_reference(key, page, value_bytes);
  note_entry(key, value_bytes);
}

void LmdbPageWriter::add_tree(Bytes key, const TreeRecord& tree, std::uint16_t node_flags) {
  check_entry(key, kTreeRecordBytes);
  make_room(leaf_node_bytes(key.size(), kTreeRecordBytes));
  ByteWriter record;
  write_tree(record, 0, tree);
  leaf_.put(leaf_.add_leaf_node(key, kTreeRecordBytes, kTreeRecordBytes, node_flags),
            record.bytes());
  note_entry(key, kTreeRecordBytes);
  ++trees_;
  if ((node_flags & kDupData) != 0) values_in_trees_ += tree.entries - 1;
}

void LmdbPageWriter::add_reference(Bytes key, std::uint64_t page, std::uint64_t value_bytes) {
  const std::uint64_t at =
      leaf_.add_leaf_node(key, sizeof page, static_cast<std::uint32_t>(value_bytes), kBigData);
  leaf_.put(at, bytes_of(page));
}

std::uint64_t LmdbPageWriter::begin_value(std::uint64_t value_bytes) {
  check_value(value_bytes);
  const std::uint64_t number = next_page(), pages = overflow_pages(value_bytes, kPageBytes);
  ByteWriter header;
  header.write(number);
  header.write(std::uint16_t{0});
  header.write(static_cast<std::uint16_t>(kOverflowPage));
  header.write(static_cast<std::uint32_t>(pages));
  file_.append(header.bytes());
  return number;
}

void LmdbPageWriter::append_value(Bytes piece) { file_.append(piece); }

void LmdbPageWriter::end_value(std::uint64_t value_bytes) {
  const std::uint64_t pages = overflow_pages(value_bytes, kPageBytes);
  file_.append_zeros(pages * kPageBytes - kPageHeaderBytes - value_bytes);
  written_.overflow_pages += pages;
}

// Adds a page to the open branch page of `level`, making room where there is none.
void LmdbPageWriter::add_child(std::size_t level, std::vector<std::byte> key, std::uint64_t child) {
  for (;; ++level) {
    if (level == branches_.size()) branches_.emplace_back();
    Branch& open = branches_[level];
    if (open.page.nodes() == 0) {
      open.page.add_branch_node({}, child);
      open.first_key = std::move(key);
      return;
    }
    if (open.page.has_room(branch_node_bytes(key.size()))) {
      open.page.add_branch_node(key, child);
      return;
    }
    // liblmdb asserts that a branch page has two nodes or more. So the next page begins with the
    // last node of this one: else the file could end with a page of one node.
    const std::size_t last = open.page.nodes() - 1;
    std::vector<std::byte> moved_key = copy_of(open.page.key(last));
    const std::uint64_t moved_child = open.page.child(last);
    open.page.remove_last_branch_node();
    const std::uint64_t number = emit(open.page);
    open.page.add_branch_node({}, moved_child);
    open.page.add_branch_node(key, child);
    key = std::exchange(open.first_key, std::move(moved_key));
    child = number;
  }
}

std::uint64_t LmdbPageWriter::emit(NodePage& page) {
  const std::uint64_t number = next_page();
  if (&page != &leaf_) ++written_.branch_pages;
  file_.append(page.finish(number));
  page.clear();
  return number;
}

std::uint64_t LmdbPageWriter::emit_leaf() {
  const std::uint64_t number = emit(leaf_);
  ++written_.leaf_pages;
  for (const Owed& owed : owed_) {
    released_.push_back(owed.is_in_leaf ? number * kPageBytes + owed.offset : owed.offset);
  }
  owed_.clear();
  return number;
}

TreeRecord LmdbPageWriter::close_tree() {
  if (std::exchange(is_closed_, true))
    throw Error(Code::bug, "an LMDB file is closed twice").at(file_.path());
  released_.clear();
  std::uint64_t root = kNoPage;
  if (written_.entries > 0) {
    std::vector<std::byte> key = copy_of(leaf_.key(0));
    root = emit_leaf();
    // add_child() may put one more level on top.
    for (std::size_t level = 0; level < branches_.size(); ++level) {
      add_child(level, std::move(key), root);
      root = emit(branches_[level].page);
      key = std::move(branches_[level].first_key);
    }
    written_.depth = 1 + branches_.size();
  }
  const TreeStatistics foretold = shape_.closed();
  const bool is_alone = trees_ == 0 && (written_.flags & kDupSort) == 0;
  const std::uint64_t bytes = file_.size() - begin_ + kMetaPages * kPageBytes;
  if (static_cast<const TreeStatistics&>(written_) != foretold ||
      (is_alone && bytes != foretold.file_bytes())) {
    throw Error(Code::bug, "an LMDB file of {} bytes and depth {} was predicted as {} and {}",
                bytes, written_.depth, foretold.file_bytes(), foretold.depth)
        .at(file_.path());
  }
  written_.root = root;
  written_.entries += values_in_trees_;
  return written_;
}

std::span<const std::uint64_t> LmdbPageWriter::close() {
  write_meta_pages(close_tree());
  return released_;
}

// Both meta pages have the same roots, so a reader may take either; the higher transaction counts.
// Unless the file is not to be taken for one of shale.
void LmdbPageWriter::write_meta_pages(const TreeRecord& tree) {
  TreeRecord empty, free_pages;
  empty.root = free_pages.root = kNoPage;
  free_pages.flags = kIntegerKey;
  ByteWriter out;
  for (std::uint64_t number = 0; number < kMetaPages; ++number) {
    out.write(number);
    out.write(std::uint16_t{0});
    out.write(static_cast<std::uint16_t>(kMetaPage));
    out.write(std::uint32_t{0});
    out.write(kMagic);
    out.write(kVersion);
    out.write(std::uint64_t{0});
    out.write(std::max(kLeastMapBytes, file_.size()));
    write_tree(out, static_cast<std::uint32_t>(kPageBytes), free_pages);
    const bool is_empty = has_empty_state_ && number == 0;
    write_tree(out, 0, is_empty ? empty : tree);
    out.write(is_empty ? kMetaPages - 1 : next_page() - 1);
    out.write(number);  // the transaction
    if (!note_.empty() && note_.size() <= kMostNoteBytes) {
      out.write(static_cast<std::uint32_t>(note_.size()));
      out.write(crc32c(as_bytes(note_)));
      out.write_text(note_);
    }
    const std::vector<std::byte> rest((number + 1) * kPageBytes - out.size());
    out.write_bytes(rest);
  }
  file_.patch(0, out.bytes());
}

}  // namespace shale::lmdb

namespace shale {
namespace {

class LmdbShardWriter final : public ShardWriter {
 public:
  LmdbShardWriter(OutputFile& file, const Schema& schema) : pages_(file) {
    pages_.leave_note(schema_text(schema));
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (samples_ == kMaxLmdbSamples)
      throw Error(Code::bug, "an LMDB shard is given more than {} samples", kMaxLmdbSamples);
    const std::string key = fmt::format("{:08}", samples_);
    const std::span<const std::uint64_t> places = pages_.add(as_bytes(key), record.parts.front());
    ++samples_;
    return places;
  }

  ClosedShard close() override {
    const std::span<const std::uint64_t> places = pages_.close();
    return {.late_offsets = {places.begin(), places.end()}, .part_bases = {}};
  }

 private:
  lmdb::LmdbPageWriter pages_;
  std::uint64_t samples_ = 0;
};

}  // namespace

std::unique_ptr<ShardWriter> create_lmdb_shard(std::span<OutputFile> files, const Schema& schema,
                                               const OptionSet&) {
  return std::make_unique<LmdbShardWriter>(files[0], schema);
}

}  // namespace shale
