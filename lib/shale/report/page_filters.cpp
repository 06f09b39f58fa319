#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/python_literal.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/numbers/time_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/page_charts.hpp"
#include "shale/report/page_template.hpp"

namespace shale {
namespace {

// In alternative texts, which have no room for more.
constexpr std::size_t kSpokenKey = 120;
// Pixels of such images are shown as squares.
constexpr std::uint32_t kSmallImage = 48;
// Names of files in findings may be long; a page of them is no use to anybody.
constexpr std::size_t kShownFindings = 200;
// A table shows that many, and of the first few there is more: a file may have 10^5 columns.
constexpr std::size_t kRowsOfFields = 500, kCardsOfFields = 60;
// The compact list: names are cut, and no list makes the page too large to be opened.
constexpr std::size_t kListedName = 60, kListBytes = std::size_t{1} << 20, kListMarkup = 30;

// A number, or how many there are in a list.
std::uint64_t count_of(const Json& value) {
  return value.is_number() ? value.get<std::uint64_t>() : value.size();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string argument(const FilterInput& in, std::size_t number) {
  return number < in.arguments.size() ? text_of(in.arguments[number]) : std::string();
}

std::uint64_t number_in(const FilterInput& in, std::size_t number) {
  const Json& found = in.arguments[number];
  return found.is_string() ? std::stoull(found.get<std::string>()) : count_of(found);
}

// ---- words

Json counted(const FilterInput& in) {
  const std::string one = argument(in, 0);
  return format_counted(count_of(in.value), one,
                        in.arguments.size() > 1 ? argument(in, 1) : one + "s");
}

Json plural(const FilterInput& in) { return argument(in, count_of(in.value) == 1 ? 0 : 1); }

Json share(const FilterInput& in) {
  const std::uint64_t part = count_of(in.value), whole = number_in(in, 0);
  if (whole == 0) return "0 %";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return part > 0 && percent < 0.1 ? std::string("< 0.1 %") : fmt::format("{:.1f} %", percent);
}

// "all 60 samples", "10,000 of 1,281,167 samples"; nothing if nothing was looked at.
Json scope(const FilterInput& in) {
  const std::string one = argument(in, 0);
  const std::uint64_t looked_at = count_in(in.value, "looked_at"), of = count_in(in.value, "of");
  if (looked_at == 0) return "";
  const std::string all = format_counted(of, one, one + "s");
  if (looked_at != of) return fmt::format("{} of {}", format_count(looked_at), all);
  return of == 1 ? fmt::format("the only {}", one) : fmt::format("all {}", all);
}

Json sentence(const FilterInput& in) {
  std::string words = text_of(in.value);
  if (!words.empty() && words.front() >= 'a' && words.front() <= 'z')
    words.front() = static_cast<char>(words.front() - 'a' + 'A');
  return words;
}

// Never within an escape of `printable`.
std::string shortened_name(const std::string& text, std::size_t characters) {
  std::string_view front = front_of_name(text, characters);
  if (front.size() == text.size()) return text;
  const std::size_t escape = front.rfind('\\');
  if (escape != std::string_view::npos && front.size() - escape < 4)
    front = front.substr(0, escape);
  return std::string(front) + "…";
}

Json shorten(const FilterInput& in) { return shortened_name(text_of(in.value), number_in(in, 0)); }

// The folders of a key say what the class beside it says, and there is room for little.
Json last_part(const FilterInput& in) {
  const std::string key = text_of(in.value);
  const std::string last = key.substr(key.find_last_of('/') + 1);
  return last.empty() ? key : last;
}

Json dataset(const FilterInput& in) {
  std::string path = text_of(in.value);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.empty() || name == "." || name == ".." ? path : name;
}

Json joined(const FilterInput& in) {
  std::vector<std::string> words;
  for (const Json& word : in.value) words.push_back(text_of(word));
  return fmt::format("{}", fmt::join(words, ", "));
}

Json spoken(const FilterInput& in) {
  const std::string key = text_of(in.value["key"]);
  std::string words = "sample " + std::string(front_of_name(key, kSpokenKey));
  if (in.value.contains("class")) words += ", " + text_of(in.value["class"]);
  if (in.value.contains("label")) words += ", label " + in.value["label"].dump();
  return words;
}

Json sizes_to(const FilterInput& in) {
  const std::uint64_t least = count_of(in.value), most = number_in(in, 0);
  return least == most ? format_size(least) + " each"
                       : fmt::format("{} to {}", format_size(least), format_size(most));
}

Json type_of(const FilterInput& in) {
  const char* const named = in.value.contains("format")  ? "format"
                            : in.value.contains("dtype") ? "dtype"
                                                         : "kind";
  std::string words = text_of(in.value[named]);
  if (in.value.contains("elements")) words += " of " + text_of(in.value["elements"]);
  std::vector<std::uint64_t> shape;
  for (const Json& side : in.value.value("shape", Json::array()))
    shape.push_back(side.is_null() ? kFreeSide : side.get<std::uint64_t>());
  if (!shape.empty()) words += " " + shape_text(shape);
  return in.value.value("optional", false) ? words + "?" : words;
}

Json span_of(const FilterInput& in) {
  const std::string times = descr_of_times(argument(in, 0));
  const std::string unit = times.empty() ? "" : unit_of_times(times);
  const std::string number = number_text(in.value.get<double>());
  return unit.empty() ? number : number + " " + unit;
}

Json remarks(const FilterInput& in) {
  std::vector<std::string> words;
  if (in.value.value("constant", false)) words.emplace_back("constant");
  constexpr std::pair<const char*, const char*> kGaps[] = {
      {"missing", "missing"}, {"nan", "NaN"}, {"infinite", "inf"}};
  for (const auto& [name, word] : kGaps)
    if (const std::uint64_t count = count_in(in.value, name); count > 0)
      words.push_back(fmt::format("{} {}", format_count(count), word));
  return fmt::format("{}", fmt::join(words, ", "));
}

// Of the largest or smallest class; 0 if there is none.
std::uint64_t samples_of(const Json& classes, const char* which) {
  return classes.contains(which) ? count_in(classes[which], "samples") : 0;
}

Json balance(const FilterInput& in) {
  const std::uint64_t largest = samples_of(in.value, "largest");
  const std::uint64_t smallest = samples_of(in.value, "smallest");
  if (smallest == 0 || count_in(in.value, "count") < 2) return "";
  const double times = static_cast<double>(largest) / static_cast<double>(smallest);
  return fmt::format("{} : 1", number_text(std::round(10 * times) / 10));
}

Json bounds(const FilterInput& in) {
  std::vector<std::string> words;
  if (in.value.contains("bound_bytes"))
    words.push_back(format_size(count_in(in.value, "bound_bytes")));
  if (in.value.contains("bound_samples"))
    words.push_back(format_counted(count_in(in.value, "bound_samples"), "sample", "samples"));
  return fmt::format("{}", fmt::join(words, ", "));
}

// ---- lists

Json entries(const FilterInput& in) {
  Json list = Json::array();
  for (const auto& [name, value] : in.value.items())
    list.push_back({{"name", name}, {"value", value}, {"is_first", list.empty()}});
  return list;
}

Json listed(const FilterInput& in) {
  Json list = Json::array();
  for (const Json& value : in.value)
    list.push_back({{"value", value}, {"is_first", list.empty()}, {"number", list.size() + 1}});
  return list;
}

std::uint64_t most_in(const Json& list, const char* name) {
  std::uint64_t most = 1;
  for (const Json& one : list) most = std::max(most, count_in(one, name));
  return most;
}

std::string bar_width(std::uint64_t part, std::uint64_t most) {
  const double drawn =
      static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, most));
  return percent_place(drawn > 0 ? std::max(drawn, 0.004) : 0);
}

Json width(const FilterInput& in) { return bar_width(count_of(in.value), number_in(in, 0)); }

Json shares(const FilterInput& in) {
  Json list = in.value;
  const std::uint64_t most = most_in(list, "count");
  for (Json& one : list) one["width"] = bar_width(count_in(one, "count"), most);
  return list;
}

// Sheets that have samples; each figure knows the ones before and after it.
Json placed(const FilterInput& in) {
  Json sheets = Json::array();
  std::size_t next = 1;
  for (const Json& sheet : in.value) {
    if (sheet["samples"].empty()) continue;
    Json& shown = sheets.emplace_back(sheet);
    const std::size_t first = next, last = next + sheet["samples"].size() - 1;
    for (Json& sample : shown["samples"]) {
      Json& place = sample["place"] = {{"self", next}};
      if (next > first) place["before"] = next - 1;
      if (next < last) place["after"] = next + 1;
      const Json thumbnail = sample.value("thumbnail", Json::object());
      sample["is_scaled"] =
          !thumbnail.empty() && count_in(sample, "width") > count_in(thumbnail, "width");
      ++next;
    }
  }
  return sheets;
}

Json class_tables(const FilterInput& in) {
  const Json& all = in.value["classes"];
  const bool is_whole = all.size() >= count_in(in.value, "count");
  const std::uint64_t most = std::max<std::uint64_t>(1, samples_of(in.value, "largest"));
  Json tables = Json::array();
  const auto add = [&](std::string caption, std::size_t begin, std::size_t end) {
    Json classes = Json::array();
    for (std::size_t i = begin; i < end; ++i) classes.push_back(all[i]);
    tables.push_back({{"caption", std::move(caption)},
                      {"classes", std::move(classes)},
                      {"most", most},
                      {"of", in.value["from"]["looked_at"]}});
  };
  const std::size_t half = (all.size() + 1) / 2;
  if (is_whole) {
    add("Every class", 0, all.size());
  } else {
    add(fmt::format("The first {} classes", half), 0, half);
    add(fmt::format("The last {} classes", all.size() - half), half, all.size());
  }
  return {{"are_two", !is_whole}, {"tables", std::move(tables)}};
}

Json class_list(const FilterInput& in) {
  if (!in.value.contains("by_size")) return {};
  Json classes = Json::array();
  std::size_t bytes = 0;
  for (const Json& one : in.value["by_size"]) {
    if (bytes > kListBytes) break;
    bytes += kListMarkup + html_words(shortened_name(one.value("name", ""), kListedName)).size();
    classes.push_back(one);
  }
  const std::uint64_t listed = classes.size();
  return {{"listed", listed},
          {"more", count_in(in.value, "count") - listed},
          {"classes", std::move(classes)}};
}

Json findings(const FilterInput& in) {
  if (in.value.empty()) return {};
  const std::string label = argument(in, 0);
  Json shown = Json::array();
  for (const Json& finding : in.value) {
    if (shown.size() == kShownFindings) break;
    Json& one = shown.emplace_back(finding);
    one["is_compared"] = finding.contains("found") || finding.contains("expected");
  }
  const std::string caption = shown.size() < in.value.size()
                                  ? fmt::format("{}: the first {} of {}", label, shown.size(),
                                                format_count(in.value.size()))
                                  : label;
  return {{"label", label}, {"caption", caption}, {"findings", std::move(shown)}};
}

// A field or a column of one, without what only a card of its own shows.
Json row_of_field(const Json& field, const std::string& name) {
  Json row = Json::object();
  for (const auto& [member_name, value] : field.items())
    if (member_name != "histogram" && member_name != "columns" && member_name != "previews")
      row[member_name] = value;
  row["name"] = name;
  return row;
}

Json card_of_field(const Json& field, const Json& row, std::size_t number, std::size_t of_field) {
  Json card = row;
  card["number"] = number;
  card["field"] = of_field;
  card["chart_id"] = fmt::format("field-{}-values", number);
  card["chart_title"] = "Values of " + text_of(row["name"]);
  for (const char* name : {"histogram", "previews"})
    if (field.contains(name)) card[name] = field[name];
  card["has_pictures"] = field.contains("previews") && field["previews"][0].contains("image");
  return card;
}

Json field_table(const FilterInput& in) {
  Json rows = Json::array(), cards = Json::array();
  std::size_t all = 0, with_more = 0, number = 0;
  const auto add = [&](const Json& field, const std::string& name) {
    const bool has_more =
        field.contains("values") || field.contains("previews") || field.contains("note");
    with_more += has_more ? 1 : 0;
    const bool has_card = has_more && cards.size() < kCardsOfFields;
    if (++all > kRowsOfFields && !has_card) return;
    Json row = row_of_field(field, name);
    if (has_card) cards.push_back(card_of_field(field, row, cards.size() + 1, number));
    if (all <= kRowsOfFields) rows.push_back(std::move(row));
  };
  for (const Json& field : in.value["fields"]) {
    const std::string name = text_of(field["name"]);
    add(field, name);
    if (field.contains("columns"))
      for (const Json& column : field["columns"]) add(column, name + "." + text_of(column["name"]));
    ++number;
  }
  const std::string caption = all <= kRowsOfFields ? std::string("Every field")
                                                   : fmt::format("The first {} of {} fields",
                                                                 kRowsOfFields, format_count(all));
  const std::size_t more = with_more - cards.size();
  return {
      {"caption", caption}, {"rows", std::move(rows)}, {"cards", std::move(cards)}, {"more", more}};
}

Json shard_table(const FilterInput& in) {
  const Json& shards = in.value["shards"];
  const std::uint64_t count = count_in(in.value, "count");
  const std::string caption = shards.size() >= count
                                  ? std::string("Every shard")
                                  : fmt::format("{} of {} shards, the first and the last",
                                                shards.size(), format_count(count));
  return {{"caption", caption},
          {"shards", shards},
          {"most", count_in(in.value["fullest"], "file_bytes")}};
}

// ---- charts

Json histogram(const FilterInput& in) {
  HistogramWords words{.id = argument(in, 0),
                       .title = argument(in, 1),
                       .name = argument(in, 2),
                       .one = argument(in, 3),
                       .many = argument(in, 4),
                       .dtype = argument(in, 5)};
  words.is_logarithmic = words.dtype == "logarithmic";
  return histogram_view(in.value, words);
}

Json sparkline(const FilterInput& in) {
  std::vector<double> values;
  for (const Json& value : in.value)
    values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  return values.empty() ? "" : sparkline_path(values);
}

// ---- pictures

std::string data_of(const ReportImage& image) { return data_uri(image.media_type, image.bytes); }

Json picture(const ReportImage& image) {
  return {{"data", data_of(image)}, {"width", image.width}, {"height", image.height}};
}

const ReportSample* sample_of(const FilterInput& in) {
  const auto found = in.pictures.samples.find(count_of(in.value));
  return found == in.pictures.samples.end() ? nullptr : &found->second;
}

Json thumbnail(const FilterInput& in) {
  const ReportSample* sample = sample_of(in);
  return sample == nullptr ? std::string() : data_of(sample->thumbnail);
}

Json overlays(const FilterInput& in) {
  Json list = Json::array();
  const ReportSample* sample = sample_of(in);
  if (sample == nullptr || sample->thumbnail.bytes.empty()) return list;
  for (const ReportOverlay& mask : sample->masks) {
    if (mask.image.bytes.empty()) continue;
    list.push_back(picture(mask.image));
    list.back()["name"] = printable(mask.name);
  }
  return list;
}

Json frames(const FilterInput& in) {
  Json list = Json::array();
  const ReportSample* sample = sample_of(in);
  if (sample == nullptr) return list;
  for (const ReportImage& frame : sample->frames) {
    list.push_back(picture(frame));
    list.back()["number"] = list.size() + 1;
  }
  return list;
}

Json preview(const FilterInput& in) {
  const auto found = in.pictures.previews.find({number_in(in, 0), count_of(in.value)});
  return found == in.pictures.previews.end() ? std::string() : data_of(found->second);
}

using Filter = Json (*)(const FilterInput&);
constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"count", [](const FilterInput& in) -> Json { return format_count(count_of(in.value)); }},
    {"size", [](const FilterInput& in) -> Json { return format_size(count_of(in.value)); }},
    {"some", [](const FilterInput& in) -> Json { return count_of(in.value) > 0; }},
    {"one", [](const FilterInput& in) -> Json { return count_of(in.value) == 1; }},
    {"several", [](const FilterInput& in) -> Json { return count_of(in.value) > 1; }},
    {"is", [](const FilterInput& in) -> Json { return text_of(in.value) == argument(in, 0); }},
    {"counted", counted},
    {"plural", plural},
    {"share", share},
    {"scope", scope},
    {"sentence", sentence},
    {"shorten", shorten},
    {"last_part", last_part},
    {"dataset", dataset},
    {"joined", joined},
    {"spoken", spoken},
    {"sizes_to", sizes_to},
    {"type", type_of},
    {"value", [](const FilterInput& in) -> Json { return value_words(in.value, argument(in, 0)); }},
    {"span_of", span_of},
    {"remarks", remarks},
    {"balance", balance},
    {"bounds", bounds},
    {"lines", [](const FilterInput& in) -> Json { return html_lines(text_of(in.value)); }},
    {"python",
     [](const FilterInput& in) -> Json {
       return python_repr(text_of(in.value) + argument(in, 0));
     }},
    {"fixed",
     [](const FilterInput& in) -> Json { return fmt::format("{:.2f}", in.value.get<double>()); }},
    {"in_hundred",
     [](const FilterInput& in) -> Json {
       return fmt::format("{:.1f}", 100 * in.value.get<double>());
     }},
    {"percent",
     [](const FilterInput& in) -> Json { return percent_place(in.value.get<double>()); }},
    {"knob",
     [](const FilterInput& in) -> Json {
       return percent_place(0.02 + 0.96 * std::clamp(in.value.get<double>(), 0.0, 1.0));
     }},
    {"entries", entries},
    {"listed", listed},
    {"width", width},
    {"shares", shares},
    {"placed", placed},
    {"class_tables", class_tables},
    {"class_list", class_list},
    {"class_chart", [](const FilterInput& in) -> Json { return class_chart(in.value); }},
    {"findings", findings},
    {"field_table", field_table},
    {"shard_table", shard_table},
    {"shard_chart", [](const FilterInput& in) -> Json { return shard_chart(in.value); }},
    {"order_chart", [](const FilterInput& in) -> Json { return order_chart(in.value); }},
    {"histogram", histogram},
    {"sparkline", sparkline},
    {"is_small",
     [](const FilterInput& in) -> Json {
       return std::max(count_in(in.value, "width"), count_in(in.value, "height")) <= kSmallImage;
     }},
    {"thumbnail", thumbnail},
    {"overlays", overlays},
    {"frames", frames},
    {"preview", preview},
};

}  // namespace

Json apply_filter(std::string_view name, const FilterInput& input) {
  const auto* filter =
      std::ranges::find(kFilters, name, &std::pair<std::string_view, Filter>::first);
  if (filter == std::end(kFilters)) throw Error(Code::bug, "no filter is named {}", name);
  return filter->second(input);
}

}  // namespace shale
