#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/report/report_facts.hpp"

// What the sections of the page are put together from. All of it returns well-formed XHTML.

namespace shale {

/// A section of the page; without html it is left out, and so is its line in the navigation.
struct PageSection {
  std::string id, title, html;
};

/// A real number for people: four significant digits, "-0.0125", "1.5e+09", "nan".
[[nodiscard]] std::string number_text(double value);
/// A share in percent: "12.5 %", "&lt; 0.1 %"; XHTML.
[[nodiscard]] std::string percent_text(std::uint64_t part, std::uint64_t whole);
/// A value of a histogram with the unit: sizes for "bytes", else number_text and the unit.
[[nodiscard]] std::string value_text(double value, std::string_view unit);
/// With a capital letter at its front, if that is one of English.
[[nodiscard]] std::string sentence_of(std::string_view words);

/// "all 60 samples", "10,000 of 1,281,167 samples".
[[nodiscard]] std::string scope_words(const SampledFrom& from, std::string_view what = "samples");
/// The same in a paragraph: "From ..."; nothing if nothing was looked at.
[[nodiscard]] std::string scope_note(const SampledFrom& from, std::string_view what = "samples");

/// What a number means, and the number; both are XHTML.
using FactRow = std::pair<std::string, std::string>;
/// A list of them, in columns where there is room. Rows without a second are left out.
[[nodiscard]] std::string fact_list(const std::vector<FactRow>& rows,
                                    std::string_view css_class = "facts");

/// A histogram with its numbers as a table below; `what` is counted: "images". Empty bars give a
/// sentence instead.
[[nodiscard]] std::string histogram_figure(std::string_view id, std::string_view title,
                                           const Histogram& histogram, std::string_view what);

/// A table of names with counts and bars, in the order given; nothing if there are none.
[[nodiscard]] std::string count_table(std::string_view caption, std::string_view name_head,
                                      std::string_view count_head,
                                      const std::vector<NamedCount>& counts);

/// Something that opens on demand; both are XHTML.
[[nodiscard]] std::string details_of(std::string_view summary, std::string_view content);
/// What may be wider or taller than its place, reachable by keyboard; `label` is UTF-8.
[[nodiscard]] std::string scroll_box(std::string_view label, std::string_view content);
/// A message: `level` is "good", "note", "warn" or "bad" and said in words, too.
[[nodiscard]] std::string message_box(std::string_view level, std::string_view content);

}  // namespace shale
