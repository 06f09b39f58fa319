#include "shale/report/page_sheets.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/size_text.hpp"
#include "shale/report/html_text.hpp"

namespace shale {
namespace {

// In alternative texts, which have no room for more.
constexpr std::size_t kSpokenKey = 120;
// Pixels of such images are shown as squares.
constexpr std::uint32_t kSmallImage = 48;

// Which figures stand before and after one; 0: none.
struct Neighbours {
  std::size_t before = 0, self = 0, after = 0;
};

// "cat", "label 3", "cat, label 3".
std::string class_words(const std::optional<std::int64_t>& label, const std::string& class_name) {
  std::string words = html_text(class_name);
  if (label) words += fmt::format("{}label {}", words.empty() ? "" : ", ", *label);
  return words;
}

std::string spoken_name(const ReportSample& sample) {
  std::string words = "sample " + html_text(front_of_name(sample.key, kSpokenKey));
  const std::string class_text = class_words(sample.label, sample.class_name);
  return class_text.empty() ? words : words + ", " + class_text;
}

std::string image_element(const ReportImage& image, std::string_view css_class,
                          std::string_view alternative) {
  const bool is_small = std::max(image.width, image.height) <= kSmallImage;
  return fmt::format(R"(<img class="{}{}" src="{}" alt="{}" width="{}" height="{}" )"
                     R"(decoding="async"/>)",
                     css_class, is_small ? " small" : "",
                     data_uri(html_words(image.media_type), image.bytes), alternative, image.width,
                     image.height);
}

std::string broken_picture(const ReportSample& sample) {
  // A picture with a tear through it.
  return fmt::format(
      R"(<span class="no-picture{}"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 )"
      R"(0 48 40" width="48" height="40" aria-hidden="true">)"
      R"(<path d="M4 4h20l-4 9 6 8-5 7 3 8H4z"/>)"
      R"(<path d="M30 4h14v32H30l-3-8 5-7-6-8z"/></svg><span class="reason">{}</span>)"
      "</span>",
      sample.is_damaged ? " damaged" : "", html_words(sample.problem));
}

std::string values_of(const ReportSample& sample) {
  std::string lines;
  for (const auto& [name, value] : sample.values)
    lines += fmt::format(R"(<span class="value"><b>{}</b> {}</span>)"
                         "\n",
                         html_name(name), html_words(value));
  return R"(<span class="values">)" + lines + "</span>";
}

// What a screen reader says before the content of the link; the name of a picture is its text.
std::string spoken_link(const ReportSample& sample) {
  return fmt::format(R"(<span class="spoken">Enlarge {}</span>)",
                     sample.thumbnail.bytes.empty() ? spoken_name(sample) + ": " : "");
}

std::string picture_of(const ReportSample& sample) {
  if (sample.thumbnail.bytes.empty())
    return sample.problem.empty() ? values_of(sample) : broken_picture(sample);
  std::string picture = image_element(sample.thumbnail, "picture", spoken_name(sample));
  for (const ReportOverlay& mask : sample.masks) {
    if (!mask.image.bytes.empty())
      picture += image_element(mask.image, "mask", "mask " + html_text(mask.name));
  }
  if (sample.frame_count > 0)
    picture += fmt::format(R"(<span class="badge">{}</span>)",
                           format_counted(sample.frame_count, "frame", "frames"));
  return picture;
}

std::string frames_of(const ReportSample& sample) {
  if (sample.frames.empty()) return {};
  std::string frames;
  for (std::size_t i = 0; i < sample.frames.size(); ++i)
    frames += image_element(sample.frames[i], "frame", fmt::format("frame {}", i + 2));
  return R"(<div class="frames">)" + frames + "</div>\n";
}

// All that is known, shown when the figure is enlarged.
std::string facts_of(const ReportSample& sample) {
  std::vector<FactRow> rows = {
      {"Key", html_name(sample.key)},
      {"Row", format_count(sample.row)},
      {"Class", sample.class_name.empty() ? "" : html_name(sample.class_name)},
      {"Label", sample.label ? std::to_string(*sample.label) : ""},
      {"Bytes", fmt::format(R"({} <span class="quiet">({})</span>)", format_count(sample.bytes),
                            format_size(sample.bytes))}};
  if (sample.width > 0)
    rows.emplace_back("Pixels", fmt::format("{} × {}", sample.width, sample.height));
  rows.emplace_back("Type", html_words(sample.type));
  rows.emplace_back("Odd", html_words(fmt::format("{}", fmt::join(sample.odd, ", "))));
  for (const ReportOverlay& mask : sample.masks)
    rows.emplace_back("Mask", html_text(mask.name) +
                                  (mask.problem.empty() ? "" : ": " + html_words(mask.problem)));
  rows.emplace_back("Problem", html_words(sample.problem));
  if (!sample.thumbnail.bytes.empty() && sample.width > sample.thumbnail.width)
    rows.emplace_back("Shown", fmt::format("{} × {}, scaled down for this page",
                                           sample.thumbnail.width, sample.thumbnail.height));
  return fact_list(rows, "facts sample-facts");
}

// The folders of a key say what the class beside it says, and there is room for little.
std::string_view last_part(std::string_view key) {
  const std::string_view last = key.substr(key.find_last_of('/') + 1);
  return last.empty() ? key : last;
}

std::string short_facts(const ReportSample& sample) {
  std::string text =
      fmt::format(R"(<span class="key">{}</span>)", html_name(last_part(sample.key)));
  if (sample.label || !sample.class_name.empty())
    text += fmt::format(R"(<span class="chip">{}</span>)",
                        sample.class_name.empty() ? fmt::format("label {}", *sample.label)
                                                  : html_name(sample.class_name));
  for (const std::string& each : sample.odd)
    text += fmt::format(R"(<span class="chip odd">{}</span>)", html_words(each));
  const auto add = [&](const std::string& fact) {
    text += fmt::format(R"(<span class="quiet">{}</span>)", fact);
  };
  add("row " + format_count(sample.row));
  if (sample.width > 0) add(fmt::format("{}×{}", sample.width, sample.height));
  add(format_size(sample.bytes));
  return text;
}

std::string controls_of(const Neighbours& place) {
  std::string links;
  if (place.before != 0)
    links += fmt::format(R"(<a class="before" href="#s{}">Previous</a>)", place.before);
  if (place.after != 0)
    links += fmt::format(R"(<a class="after" href="#s{}">Next</a>)", place.after);
  return fmt::format(R"(<p class="controls">{}<a class="close" href="#o{}">Close</a></p>)"
                     "\n",
                     links, place.self);
}

std::string filter_words(const std::optional<std::int64_t>& label, const std::string& class_name) {
  return html_text(class_name) + (label ? fmt::format(" {}", *label) : "");
}

std::string tile_of(const ReportSample& sample, const Neighbours& place) {
  return fmt::format(R"(<li data-class="{}"><figure class="sample" id="s{}" aria-label="{}">)"
                     "\n"
                     R"(<a class="open" id="o{}" href="#s{}">{}{}</a>)"
                     "\n{}<figcaption>{}{}</figcaption>\n{}</figure></li>\n",
                     filter_words(sample.label, sample.class_name), place.self, spoken_name(sample),
                     place.self, place.self, spoken_link(sample), picture_of(sample),
                     frames_of(sample), short_facts(sample), facts_of(sample), controls_of(place));
}

std::string heading_of(const ContactSheet& sheet) {
  if (sheet.kind != SheetKind::of_class) {
    const std::string count =
        sheet.of_samples == 0
            ? ""
            : fmt::format(R"( <span class="quiet">{}</span>)", format_count(sheet.of_samples));
    return fmt::format("<h3>{}{}</h3>\n", html_words(sentence_of(sheet.caption)), count);
  }
  std::string name = sheet.class_name.empty() && sheet.label ? fmt::format("label {}", *sheet.label)
                                                             : html_name(sheet.class_name);
  std::string about =
      sheet.label && !sheet.class_name.empty() ? fmt::format("label {} · ", *sheet.label) : "";
  if (sheet.of_samples > 0) about += format_counted(sheet.of_samples, "sample", "samples") + " · ";
  return fmt::format(R"(<h3>{} <span class="quiet">{}{}</span></h3>)"
                     "\n",
                     name, about, html_words(sheet.caption));
}

std::string sheet_article(const ContactSheet& sheet, std::size_t first) {
  std::string tiles;
  for (std::size_t i = 0; i < sheet.samples.size(); ++i) {
    const std::size_t self = first + i;
    tiles += tile_of(sheet.samples[i],
                     {i == 0 ? 0 : self - 1, self, i + 1 == sheet.samples.size() ? 0 : self + 1});
  }
  // The filter takes the sheet of a class as a whole; of others, the samples that fit.
  const std::string of_class =
      sheet.kind == SheetKind::of_class
          ? fmt::format(R"( data-class="{}")", filter_words(sheet.label, sheet.class_name))
          : "";
  return fmt::format(R"(<article class="sheet {}"{}>)"
                     "\n"
                     R"({}<ul class="tiles">)"
                     "\n{}</ul></article>\n",
                     name_of(sheet.kind), of_class, heading_of(sheet), tiles);
}

bool has_masks(const ReportFacts& facts) {
  return std::any_of(facts.sheets.begin(), facts.sheets.end(), [](const ContactSheet& sheet) {
    return std::any_of(sheet.samples.begin(), sheet.samples.end(),
                       [](const ReportSample& sample) { return !sample.masks.empty(); });
  });
}

}  // namespace

PageSection sheets_section(const ReportFacts& facts) {
  PageSection section = {"samples", "Samples", {}};
  std::string sheets;
  std::size_t next = 1;
  for (const ContactSheet& sheet : facts.sheets) {
    if (sheet.samples.empty()) continue;
    sheets += sheet_article(sheet, next);
    next += sheet.samples.size();
  }
  if (sheets.empty()) {
    section.html = facts.samples == 0 ? R"(<p class="empty">This dataset has no samples.</p>)"
                                        "\n"
                                      : "";
    return section;
  }
  section.html = scope_note(facts.looked_at);
  if (has_masks(facts))
    section.html += R"(<input type="checkbox" id="masks" checked="checked"/> <label for="masks">)"
                    "Show masks over their images</label>\n";
  if (!facts.classes.field.empty())
    section.html += R"(<div class="filter" id="filter-bar" hidden="hidden"><label for="filter">)"
                    R"(Filter by class or label</label>)"
                    R"( <input type="search" id="filter" autocomplete="off" spellcheck="false"/>)"
                    R"( <output id="filter-count" for="filter"></output></div>)"
                    "\n";
  section.html += R"(<div class="sheets">)"
                  "\n" +
                  sheets + "</div>\n";
  return section;
}

}  // namespace shale
