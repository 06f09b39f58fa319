#include "formats/lmdb/lmdb_node.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "shale/base/printable.hpp"

#include "formats/lmdb/lmdb_page.hpp"

namespace shale::lmdb {
namespace {

template <class T>
T load(Bytes page, std::uint64_t offset) {
  T value;
  std::memcpy(&value, page.subspan(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

class PageReader {
 public:
  PageReader(Bytes page, const std::function<void(PageFault)>& faults, PageOf kind)
      : page_(page), faults_(faults), kind_(kind) {}

  PageContents read(std::uint64_t number) {
    if (!read_header(number)) {
      contents_.nodes.clear();
      contents_.has_loss = true;
      return std::move(contents_);
    }
    contents_.nodes.reserve(count_);
    if (value_bytes_ > 0) {
      for (std::uint64_t i = 0; i < count_; ++i) take_value(kPageHeaderBytes + i * value_bytes_);
      return std::move(contents_);
    }
    for (std::uint64_t i = 0; i < count_; ++i) read_node(i);
    check_tiling();
    return std::move(contents_);
  }

 private:
  void fault(std::uint64_t offset, std::string message, std::string found = {},
             std::string expected = {}) {
    faults_({std::move(message), std::move(found), std::move(expected), offset});
  }

  bool read_header(std::uint64_t number) {
    if (page_.size() < kPageHeaderBytes) {
      fault(0, "a page of values is smaller than its header", fmt::to_string(page_.size()),
            fmt::format("{} or more", kPageHeaderBytes));
      return false;
    }
    const auto found_number = load<std::uint64_t>(page_, 0);
    auto flags = load<std::uint16_t>(page_, 10);
    const bool is_sub_page = kind_ == PageOf::sub_page;
    if (is_sub_page && (flags & kSubPage) != 0)
      flags = static_cast<std::uint16_t>(flags & ~(kSubPage | kDirtyPage));
    if (kind_ != PageOf::entries && flags == (kLeafPage | kLeaf2Page)) {
      value_bytes_ = load<std::uint16_t>(page_, 8);
      if (value_bytes_ > 0) flags = kLeafPage;
    }
    if (!is_sub_page && found_number != number) {
      fault(0, fmt::format("page {} has a different number in its header", number),
            fmt::to_string(found_number), fmt::to_string(number));
      return false;
    }
    if (flags != kLeafPage && (flags != kBranchPage || is_sub_page)) {
      fault(10, fmt::format("page {} is not a tree page", number),
            fmt::format("flags {:#06x}", flags),
            fmt::format("{:#06x} or {:#06x}", +kBranchPage, +kLeafPage));
      return false;
    }
    contents_.is_leaf = flags == kLeafPage;
    const std::uint64_t lower = load<std::uint16_t>(page_, 12);
    upper_ = load<std::uint16_t>(page_, 14);
    // Values of one size make no nodes; LMDB counts them in the same way.
    if (value_bytes_ > 0) upper_ = std::max(lower, page_.size() & ~std::uint64_t{1});
    if (lower < kPageHeaderBytes || lower % 2 != 0 || upper_ < lower || upper_ % 2 != 0 ||
        upper_ > page_.size()) {
      fault(12, fmt::format("free space of page {} lies outside it", number),
            fmt::format("{} to {}", lower, upper_),
            fmt::format("even numbers from {} to {}", kPageHeaderBytes, page_.size()));
      return false;
    }
    count_ = (lower - kPageHeaderBytes) / sizeof(std::uint16_t);
    const std::uint64_t least = contents_.is_leaf ? 1 : 2;
    if (count_ < least) {
      fault(12, fmt::format("page {} has too few nodes", number), fmt::to_string(count_),
            fmt::format("{} or more", least));
      return false;
    }
    if (value_bytes_ > 0 && count_ > (page_.size() - kPageHeaderBytes) / value_bytes_) {
      fault(12, fmt::format("page {} has more values than its bytes", number),
            fmt::format("{} of {} bytes", count_, value_bytes_),
            fmt::format("{} bytes", page_.size() - kPageHeaderBytes));
      return false;
    }
    return true;
  }

  void take_value(std::uint64_t begin) {
    PageNode& node = contents_.nodes.emplace_back();
    node.begin = node.key_begin = begin;
    node.end = begin + value_bytes_;
    node.key = page_.subspan(begin, value_bytes_);
  }

  void read_node(std::uint64_t index) {
    const std::uint64_t pointer = kPageHeaderBytes + index * sizeof(std::uint16_t);
    const std::uint64_t begin = load<std::uint16_t>(page_, pointer);
    if (begin < upper_ || begin % 2 != 0 || begin + kNodeHeaderBytes > page_.size()) {
      fault(pointer, fmt::format("node {} lies outside its page", index), fmt::to_string(begin),
            fmt::format("an even number from {} to {}", upper_, page_.size() - kNodeHeaderBytes));
      contents_.has_loss = true;
      return;
    }
    PageNode node{.begin = begin, .key_begin = begin + kNodeHeaderBytes};
    const std::uint64_t low = load<std::uint32_t>(page_, begin);
    const std::uint64_t key_bytes = load<std::uint16_t>(page_, begin + 6);
    node.flags = load<std::uint16_t>(page_, begin + 4);
    node.end = node.key_begin + key_bytes;
    const std::uint64_t big_data = node.end;
    if (contents_.is_leaf) {
      node.value_begin = node.end;
      node.value_bytes = low;
      node.end += (node.flags & kBigData) != 0 ? sizeof(std::uint64_t) : low;
    } else {
      node.child = low | std::uint64_t{node.flags} << 32;
      node.flags = 0;
    }
    if (node.end > page_.size()) {
      fault(begin, fmt::format("node {} reaches beyond its page", index),
            fmt::format("{} bytes", node.end - begin),
            fmt::format("{} or less", page_.size() - begin));
      contents_.has_loss = true;
      return;
    }
    node.key = page_.subspan(node.key_begin, key_bytes);
    if ((node.flags & kBigData) != 0) node.child = load<std::uint64_t>(page_, big_data);
    contents_.nodes.push_back(node);
  }

  // The nodes fill the page from `upper` to its end, whatever their order: LMDB moves them together
  // on every change. Bytes that two nodes claim would let a small page stand for a lot of work.
  void check_tiling() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
    runs.reserve(contents_.nodes.size());
    for (const PageNode& node : contents_.nodes) runs.emplace_back(node.begin, even(node.end));
    std::sort(runs.begin(), runs.end());
    std::uint64_t end = upper_, unclaimed = 0;
    for (const auto& [begin, run_end] : runs) {
      if (begin < end) {
        fault(begin, "nodes of a page overlap", fmt::format("one at {}", begin),
              fmt::format("{} or more", end));
        contents_.nodes.clear();
        contents_.has_loss = true;
        return;
      }
      unclaimed += begin - end;
      end = run_end;
    }
    unclaimed += page_.size() - end;
    if (unclaimed == 0 || contents_.has_loss) return;
    fault(upper_, "bytes between the nodes of a page belong to no node",
          fmt::format("{} bytes", unclaimed), "0");
    contents_.has_loss = true;
  }

  Bytes page_;
  const std::function<void(PageFault)>& faults_;
  PageOf kind_;
  PageContents contents_;
  std::uint64_t upper_ = 0, count_ = 0;
  std::uint64_t value_bytes_ = 0;  // of a leaf2 page
};

int sign_of(std::size_t a, std::size_t b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

PageContents read_page(Bytes page, std::uint64_t number,
                       const std::function<void(PageFault)>& faults, PageOf kind) {
  return PageReader(page, faults, kind).read(number);
}

std::optional<std::uint64_t> overflow_pages_in(Bytes header, std::uint64_t number) {
  ByteReader in(header);
  if (in.read_u64() != number) return std::nullopt;
  in.skip(sizeof(std::uint16_t));
  if (in.read_u16() != kOverflowPage) return std::nullopt;
  return in.read_u32();
}

std::string shown_key(Bytes key) {
  constexpr std::size_t kMostShown = 64;
  return printable(as_text(key.first(std::min(key.size(), kMostShown))));
}

int compare_keys(Bytes a, Bytes b, std::uint16_t tree_flags) {
  const std::size_t common = std::min(a.size(), b.size());
  if ((tree_flags & (kReverseKey | kIntegerKey)) != 0) {
    // A little-endian integer is compared from its last byte, as text that is read backwards is.
    for (std::size_t i = 1; i <= common; ++i) {
      const std::byte left = a[a.size() - i], right = b[b.size() - i];
      if (left != right) return left < right ? -1 : 1;
    }
    return sign_of(a.size(), b.size());
  }
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  return order != 0 ? order : sign_of(a.size(), b.size());
}

}  // namespace shale::lmdb
