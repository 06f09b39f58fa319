#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/array_text.hpp"
#include "shale/numbers/bins.hpp"
#include "shale/numbers/number_facts.hpp"
#include "shale/numbers/time_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/page_charts.hpp"
#include "shale/report/page_template.hpp"
#include "shale/report/snippets.hpp"

#include "tests/fuzz/need.hpp"
#include "tests/support/xml_check.hpp"

// What `shale report` makes of a hostile dataset: words that it escapes, dtypes and numbers that it
// counts, bars that it draws. The first byte says which.

namespace {

using shale::test::need;
using shale::test::XmlCheck;

void need_xml(const std::string& element) { need(XmlCheck::problem_of(element).empty()); }

// A histogram as the page draws it, under a name that is anything.
void need_drawable(const std::vector<shale::HistogramBar>& bars, std::string_view name,
                   std::string_view dtype) {
  shale::Json list = shale::Json::array();
  for (const shale::HistogramBar& bar : bars)
    list.push_back(shale::Json::array({bar.low, bar.high, bar.count}));
  const std::string word = shale::printable(name);
  const shale::Json view =
      shale::histogram_view({{"bars", list}, {"unit", bars.size() % 2 ? "bytes" : ""}},
                            {"fuzz", word, word, word, word, std::string(dtype)});
  if (!view.is_null())
    need_xml("<p>" + shale::fill_template("histogram", view, shale::Json::object(), {}) + "</p>");
}

// Escaped text brings no markup, in an element and in an attribute.
void escape_words(std::string_view bytes) {
  for (const std::string& text : {shale::html_words(bytes), shale::html_lines(bytes)}) {
    need(text.find_first_of("<>\"'") == std::string::npos);
    need_xml("<p title=\"" + text + "\">" + text + "</p>");
  }
  need(bytes.starts_with(shale::front_of_name(bytes, 3)));
  // A path stays on its line, and in its quotes.
  for (const std::string& word : {shale::python_path(bytes), shale::shell_word(bytes)})
    need(word.find_first_of(std::string_view("\n\r\0", 3)) == std::string::npos);
}

std::vector<double> doubles_of(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

void need_sound(const shale::NumberCounts& counts) {
  if (counts.finite_count() == 0) return;
  need(counts.minimum() <= counts.mean() && counts.mean() <= counts.maximum());
  need(std::isfinite(counts.deviation()) && counts.deviation() >= 0);
}

// The bars hold all finite numbers between two ends, and their edges ascend.
void need_all_in(const shale::WidthBins& bins, std::uint64_t finite) {
  std::uint64_t counted = 0;
  const std::vector<shale::HistogramBar> bars = bins.bars();
  for (const shale::HistogramBar& bar : bars) {
    need(std::isfinite(bar.low) && std::isfinite(bar.high));
    need(bar.low < bar.high || bars.size() == 1);
    counted += bar.count;
  }
  need(counted == finite);
}

void count_numbers(std::string_view descr, shale::Bytes bytes) {
  const shale::NumberKind kind = shale::number_kind_of(descr);
  const std::size_t step = shale::bytes_of_number(kind);
  shale::NumberCounts counts;
  counts.count(kind, bytes);
  need_sound(counts);
  if (counts.finite_count() > 0) {
    shale::WidthBins bins(counts.minimum(), counts.maximum(), shale::is_whole(kind));
    shale::count_into(bins, kind, bytes);
    need_all_in(bins, counts.finite_count());
    need_drawable(bins.bars(), descr, shale::dtype_text(descr));
  }
  for (std::size_t at = 0; step > 0 && at + step <= std::min<std::size_t>(bytes.size(), 64);
       at += step)
    need(!shale::number_words(kind, descr, bytes.data() + at).empty());
}

// A dtype up to the first newline, and its elements after it.
void count_elements(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view descr = text.substr(0, end);
  const std::string_view rest = text.substr(std::min(end + 1, text.size()));
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(rest.data()), rest.size());
  (void)shale::number_kind_of(descr);
  if (bytes.size() >= 8)
    (void)shale::time_text(shale::number_at<std::int64_t>(bytes.data()), descr);
  shale::DType dtype;
  try {
    dtype = shale::DType::parse(descr);
  } catch (const shale::Error& error) {
    return need(error.code() != shale::Code::bug);
  }
  if (!dtype.is_structured()) return count_numbers(dtype.descr(), bytes);
  for (const shale::StructuredColumn& column : shale::columns_of(dtype)) {
    need(column.offset + column.bytes <= dtype.item_bytes());
    const std::vector<std::byte> of_column =
        shale::bytes_of_column(column, dtype.item_bytes(), bytes);
    if (column.kind != shale::NumberKind::none) count_numbers(column.descr, of_column);
  }
}

void draw(std::string_view bytes) {
  const std::vector<double> values = doubles_of(bytes.substr(0, 1024));
  std::vector<shale::HistogramBar> bars;
  for (const double value : values) {
    bars.push_back({value, -value, static_cast<std::uint64_t>(bars.size())});
    need(shale::percent_place(value).find_first_not_of("0123456789.%") == std::string::npos);
    (void)shale::round_ticks(value, bars.size());
  }
  need_drawable(bars, bytes.substr(0, 100), "");
  need(shale::sparkline_path(values).find_first_not_of("MLH0123456789. ") == std::string::npos);
  if (values.size() < 2) return;
  shale::WidthBins bins(values[0], values[1], bytes.size() % 2 == 0);
  std::uint64_t inside = 0;
  for (const double value : values) {
    bins.count(value);
    inside += !bins.is_empty() && value >= values[0] && value <= values[1] ? 1 : 0;
  }
  if (!bins.is_empty() && !(bytes.size() % 2 == 0)) need_all_in(bins, inside);
}

}  // namespace

extern "C" int fuzz_report(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::array kModes = {escape_words, count_elements, draw};
  kModes[data[0] % kModes.size()](bytes);
  return 0;
}
