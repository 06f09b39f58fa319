#include "shale/io/string_sort.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace shale {
namespace {

constexpr std::uint64_t kHeadBytes = 8;
// Below this a group is sorted by whole comparisons; and so is one that is still undecided after
// this many rounds, so that strings made to differ late (all of them "aaaa...") cannot exhaust the
// stack.
constexpr std::size_t kSmallGroup = 12;
constexpr int kDeepestRecursion = 48;

class StringSort {
 public:
  explicit StringSort(const std::byte* arena) : arena_(arena) {}

  /// The order of strings that are alike in their first `depth` bytes.
  [[nodiscard]] auto order_from(std::uint64_t depth) const {
    return [this, depth](const StringPlace& left, const StringPlace& right) {
      return rest_at(left, depth) < rest_at(right, depth);
    };
  }

  /// Sorts strings that are alike in their first `depth` bytes.
  void sort(std::span<StringPlace> group, std::uint64_t depth, int recursion) const {
    if (group.size() < 2) return;
    if (group.size() <= kSmallGroup || recursion > kDeepestRecursion)
      return std::sort(group.begin(), group.end(), order_from(depth));
    depth += alike_bytes(group, depth);
    for (StringPlace& place : group) place.head = head_of(place, depth);
    std::sort(group.begin(), group.end(),
              [depth](const StringPlace& left, const StringPlace& right) {
                if (left.head != right.head) return left.head < right.head;
                return rest_of(left, depth) < rest_of(right, depth);
              });
    for (std::size_t begin = 0; begin < group.size();) {
      std::size_t end = begin + 1;
      if (goes_on(group[begin], depth)) {
        while (end < group.size() && group[end].head == group[begin].head) ++end;
        sort(group.subspan(begin, end - begin), depth + kHeadBytes, recursion + 1);
      }
      begin = end;
    }
  }

 private:
  static bool goes_on(const StringPlace& place, std::uint64_t depth) {
    return place.length > depth + kHeadBytes;
  }
  /// How much of the head is the string's own, 9 if there is more behind it: "a" comes before
  /// "a\0".
  static std::uint64_t rest_of(const StringPlace& place, std::uint64_t depth) {
    return std::min(place.length - depth, kHeadBytes + 1);
  }

  [[nodiscard]] std::uint64_t head_of(const StringPlace& place, std::uint64_t depth) const {
    std::uint64_t head = 0;
    std::memcpy(&head, arena_ + place.offset + depth, std::min(place.length - depth, kHeadBytes));
    return __builtin_bswap64(head);
  }

  /// How many bytes all have in common, so that heads hold only what tells them apart.
  [[nodiscard]] std::uint64_t alike_bytes(std::span<const StringPlace> group,
                                          std::uint64_t depth) const {
    const std::string_view first = rest_at(group.front(), depth);
    std::uint64_t alike = first.size();
    for (const StringPlace& place : group.subspan(1)) {
      const std::string_view other = rest_at(place, depth).substr(0, alike);
      alike = static_cast<std::uint64_t>(std::ranges::mismatch(other, first).in1 - other.begin());
      if (alike == 0) break;
    }
    return alike;
  }
  [[nodiscard]] std::string_view rest_at(const StringPlace& place, std::uint64_t depth) const {
    return {reinterpret_cast<const char*>(arena_) + place.offset + depth, place.length - depth};
  }

  const std::byte* arena_;
};

}  // namespace

void sort_strings(std::span<StringPlace> places, const std::byte* arena) {
  const StringSort sort(arena);
  if (!std::ranges::is_sorted(places, sort.order_from(0))) sort.sort(places, 0, 0);
}

}  // namespace shale
