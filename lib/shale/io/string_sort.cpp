#include "shale/io/string_sort.hpp"

#include <algorithm>
#include <cstring>

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

  /// Sorts strings that are alike in their first `depth` bytes.
  void sort(std::span<StringPlace> group, std::uint64_t depth, int recursion) const {
    for (;;) {
      if (group.size() < 2) return;
      if (group.size() <= kSmallGroup || recursion > kDeepestRecursion)
        return sort_whole(group, depth);
      for (StringPlace& place : group) place.head = head_of(place, depth);
      const bool all_go_on_alike =
          std::all_of(group.begin(), group.end(), [&](const StringPlace& place) {
            return place.head == group.front().head && goes_on(place, depth);
          });
      if (!all_go_on_alike) break;
      depth += kHeadBytes;
    }
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

  void sort_whole(std::span<StringPlace> group, std::uint64_t depth) const {
    std::sort(group.begin(), group.end(),
              [this, depth](const StringPlace& left, const StringPlace& right) {
                const int order =
                    std::memcmp(arena_ + left.offset + depth, arena_ + right.offset + depth,
                                std::min(left.length, right.length) - depth);
                if (order != 0) return order < 0;
                return left.length < right.length;
              });
  }

  const std::byte* arena_;
};

}  // namespace

void sort_strings(std::span<StringPlace> places, const std::byte* arena) {
  StringSort(arena).sort(places, 0, 0);
}

}  // namespace shale
