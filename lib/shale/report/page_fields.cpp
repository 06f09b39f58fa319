#include "shale/report/page_fields.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/svg_chart.hpp"
#include "shale/report/time_text.hpp"

namespace shale {
namespace {

// A table shows that many, and of the first few there is more: a file may have 10^5 columns.
constexpr std::size_t kRowsOfFields = 500;
constexpr std::size_t kCardsOfFields = 60;

// A field with its columns below it, in order.
struct ListedField {
  const FieldFacts* facts = nullptr;
  std::string name;  // with that of the field it is a column of
};

std::vector<ListedField> all_fields(const ReportFacts& report) {
  std::vector<ListedField> listed;
  listed.reserve(report.fields.size());
  for (const FieldFacts& field : report.fields) {
    listed.push_back({&field, field.name});
    for (const FieldFacts& column : field.columns)
      listed.push_back({&column, field.name + "." + column.name});
  }
  return listed;
}

std::string type_words(const FieldFacts& field) {
  std::string words = field.dtype.empty() ? html_words(field.kind) : html_words(field.dtype);
  if (!field.shape.empty()) words += " " + shape_text(field.shape);
  return words;
}

std::string counted_or_none(std::uint64_t count, std::uint64_t of) {
  if (count == 0) return {};
  return fmt::format(R"({} <span class="quiet">{}</span>)", format_count(count),
                     percent_text(count, of));
}

std::string optional_number(const std::optional<double>& value) {
  return value ? number_text(*value) : "";
}

// The least or the largest value: integers exactly, times as dates.
std::string bound_text(const FieldFacts& field, const std::optional<double>& value,
                       const std::optional<WholeNumber>& whole) {
  if (!whole) return optional_number(value);
  if (!field.times.empty()) return html_words(time_text(whole->as_int64(), field.times));
  return (whole->is_negative ? "-" : "") + format_count(whole->magnitude);
}

std::string least_of(const FieldFacts& field) {
  return bound_text(field, field.minimum, field.least_whole);
}

std::string most_of(const FieldFacts& field) {
  return bound_text(field, field.maximum, field.most_whole);
}

std::string mean_of(const FieldFacts& field) {
  if (field.mean && !field.times.empty()) return html_words(time_text(*field.mean, field.times));
  return optional_number(field.mean);
}

std::string deviation_of(const FieldFacts& field) {
  const std::string number = optional_number(field.deviation);
  const std::string unit = field.times.empty() ? "" : unit_of_times(field.times);
  return number.empty() || unit.empty() ? number : number + " " + html_words(unit);
}

// Values that are not numbers, in words.
std::string gaps_of(const FieldFacts& field) {
  std::string words;
  const auto say = [&](std::uint64_t count, std::string_view what) {
    if (count > 0)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", format_count(count), what);
  };
  say(field.missing, "missing");
  say(field.nan_count, "NaN");
  say(field.infinite_count, "inf");
  return words;
}

std::string field_row(const ListedField& listed) {
  const FieldFacts& field = *listed.facts;
  const std::string gaps = gaps_of(field);
  std::string remark = field.is_constant && field.has_numbers ? "constant" : "";
  if (!gaps.empty()) remark += (remark.empty() ? "" : ", ") + gaps;
  return fmt::format(
      R"(<tr><th scope="row">{}</th><td>{}</td><td><code>{}</code></td>)"
      R"(<td class="number">{}</td><td class="number">{}</td><td class="number">{}</td>)"
      "<td>{}</td></tr>\n",
      html_name(listed.name), name_of(field.role), type_words(field), least_of(field),
      mean_of(field), most_of(field), remark);
}

std::string field_table(const std::vector<ListedField>& fields) {
  std::string rows;
  for (std::size_t i = 0; i < std::min(fields.size(), kRowsOfFields); ++i)
    rows += field_row(fields[i]);
  std::string table = scroll_box(
      "Every field",
      fmt::format(
          R"(<table class="sortable"><caption>{}</caption><thead><tr>)"
          R"(<th scope="col" class="words">Name</th><th scope="col" class="words">Role</th>)"
          R"(<th scope="col" class="words">Type</th><th scope="col" class="number">)"
          R"(Minimum</th><th scope="col" class="number">Mean</th>)"
          R"(<th scope="col" class="number">Maximum</th><th scope="col" class="words">)"
          "Remarks</th></tr></thead><tbody>\n{}</tbody></table>",
          fields.size() <= kRowsOfFields ? "Every field"
                                         : fmt::format("The first {} of {} fields", kRowsOfFields,
                                                       format_count(fields.size())),
          rows));
  return table;
}

std::string preview_caption(const ValuePreview& preview) {
  return fmt::format(R"(<figcaption>{} <span class="quiet">row {}</span></figcaption>)",
                     preview.key.empty() ? "" : html_name(preview.key), format_count(preview.row));
}

std::string preview_figure(const FieldFacts& field, const ValuePreview& preview) {
  const std::string name = fmt::format("{}, row {}", printable(field.name), preview.row);
  std::string content;
  if (!preview.image.bytes.empty()) {
    content = fmt::format(R"(<img src="{}" alt="{}" width="{}" height="{}" decoding="async"/>)",
                          data_uri(html_words(preview.image.media_type), preview.image.bytes),
                          html_words(name), preview.image.width, preview.image.height);
  } else if (!preview.line.empty()) {
    content = svg_sparkline(name, preview.line);
  } else {
    content = fmt::format(R"(<code class="sample-text">{}</code>)", html_lines(preview.text));
  }
  return fmt::format("<li><figure>{}{}</figure></li>\n", content, preview_caption(preview));
}

std::string previews_of(const FieldFacts& field) {
  std::string figures;
  for (const ValuePreview& preview : field.previews) figures += preview_figure(field, preview);
  if (figures.empty()) return figures;
  const bool has_images = !field.previews.front().image.bytes.empty();
  return fmt::format(R"(<ul class="previews {}">)"
                     "\n{}</ul>\n",
                     has_images ? "images" : "words", figures);
}

std::string range_of_bytes(const FieldFacts& field) {
  if (field.bytes == 0) return {};
  if (field.least_bytes == field.most_bytes) return format_size(field.least_bytes) + " each";
  return fmt::format("{} to {}", format_size(field.least_bytes), format_size(field.most_bytes));
}

std::string field_card(const ListedField& listed, std::size_t number) {
  const FieldFacts& field = *listed.facts;
  std::string card =
      fmt::format(R"(<article class="field" id="field-{}">)"
                  "\n"
                  R"(<h3>{} <span class="chip">{}</span> <code class="quiet">{}</code></h3>)"
                  "\n",
                  number, html_name(listed.name), name_of(field.role), type_words(field));
  if (!field.note.empty()) card += message_box("note", html_words(field.note));
  if (field.has_numbers && field.is_constant && field.values > 1)
    card += message_box("warn", "all values looked at are the same");
  card +=
      fact_list({{"Values", field.has_numbers ? format_count(field.values) : ""},
                 {"Minimum", least_of(field)},
                 {"Mean", mean_of(field)},
                 {"Maximum", most_of(field)},
                 {"Std. deviation", deviation_of(field)},
                 {"Zero", field.has_numbers ? counted_or_none(field.zero_count, field.values) : ""},
                 {"NaN", counted_or_none(field.nan_count, field.values)},
                 {"Infinite", counted_or_none(field.infinite_count, field.values)},
                 {"Missing", counted_or_none(field.missing, field.from.looked_at)},
                 {"Bytes", range_of_bytes(field)}});
  card += histogram_figure(fmt::format("field-{}-values", number),
                           "Values of " + printable(listed.name), field.histogram, "values");
  card += previews_of(field);
  return card + scope_note(field.from) + "</article>\n";
}

bool has_more_than_a_row(const FieldFacts& field) {
  return field.has_numbers || !field.previews.empty() || !field.note.empty();
}

}  // namespace

PageSection fields_section(const ReportFacts& facts) {
  PageSection section = {"fields", "Fields", {}};
  if (facts.fields.empty()) return section;
  const std::vector<ListedField> fields = all_fields(facts);
  section.html = field_table(fields);
  std::string cards;
  std::size_t shown = 0;
  std::size_t with_more = 0;
  for (const ListedField& field : fields) {
    if (!has_more_than_a_row(*field.facts)) continue;
    if (++with_more <= kCardsOfFields) cards += field_card(field, ++shown);
  }
  section.html += R"(<div class="cards">)"
                  "\n" +
                  cards + "</div>\n";
  if (with_more > shown)
    section.html += fmt::format(R"(<p class="scope">{} with numbers: <code>shale report )"
                                "--json</code> has them.</p>\n",
                                format_counted(with_more - shown, "more field", "more fields"));
  return section;
}

}  // namespace shale
