#include "shale/data/left_out.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"

namespace shale {

void LeftOutList::add(LeftOut one) {
  const auto same = std::ranges::find_if(entries, [&](const LeftOut& other) {
    return other.kind == one.kind && other.name == one.name && other.reason == one.reason;
  });
  if (same == entries.end()) {
    if (entries.size() == kMost)
      ++more;
    else
      entries.push_back(std::move(one));
    return;
  }
  same->samples =
      same->samples && one.samples ? std::optional(*same->samples + *one.samples) : std::nullopt;
}

void LeftOutList::add(const LeftOutList& others) {
  for (const LeftOut& one : others.entries) add(one);
  more += others.more;
}

std::string left_out_text(const LeftOutList& left_out) {
  constexpr std::size_t kShown = 6;
  const std::size_t shown = std::min(kShown, left_out.entries.size());
  std::string text;
  for (const LeftOut& one : std::span(left_out.entries).first(shown))
    text += fmt::format("{}{} '{}' ({})", text.empty() ? "" : ", ", one.kind, printable(one.name),
                        one.reason);
  const std::uint64_t more = left_out.count() - shown;
  return more > 0 ? fmt::format("{} and {} more", text, more) : text;
}

}  // namespace shale
