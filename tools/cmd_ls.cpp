#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/labels/choice_list.hpp"
#include "shale/ops/sample_list.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

constexpr std::uint64_t kListVersion = 1;
constexpr std::size_t kWidestKey = 60;  // longer ones push the columns after them

struct RowRange {
  std::uint64_t first = 0, end = std::numeric_limits<std::uint64_t>::max();
};

// "10:20", "10:", ":20".
RowRange range_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw Error(Code::usage, "--rows '{}' does not have the form FIRST:END", printable(text))
        .hint("--rows 10:20 lists the rows 10 to 19; either number may be left out");
  }
  RowRange range;
  if (colon > 0) range.first = parse_count(text.substr(0, colon), "--rows");
  if (colon + 1 < text.size()) range.end = parse_count(text.substr(colon + 1), "--rows");
  if (range.end < range.first) {
    throw Error(Code::usage, "--rows '{}' ends before it begins", printable(text))
        .hint("--rows 10:20 lists the rows 10 to 19");
  }
  return range;
}

// The name of a label, or an empty string.
std::string_view class_of(const ListedSample& sample, const std::vector<std::string>& classes) {
  if (!sample.label || *sample.label < 0) return "";
  const auto number = static_cast<std::uint64_t>(*sample.label);
  return number < classes.size() ? std::string_view(classes[number]) : "";
}

// Columns on a terminal, of text that printable() made: bytes but for those that continue a code
// point.
std::size_t columns_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
  }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, columns_in(text)), ' ');
}

/// Aligned columns: as wide as what has been listed so far needs.
class TextList {
 public:
  explicit TextList(const SampleList& list)
      : list_(list),
        row_width_(
            std::to_string(std::max<std::uint64_t>(list.manifest().digest.samples, 1) - 1).size()) {
  }

  [[nodiscard]] std::string lines(const std::vector<ListedSample>& samples) {
    std::vector<std::pair<std::string, std::string>> cells;  // key, label
    for (const ListedSample& sample : samples) {
      const std::string_view name = class_of(sample, list_.manifest().classes);
      std::string label = sample.label ? std::to_string(*sample.label) : "";
      if (!name.empty()) label = fmt::format("{} ({})", printable(name), label);
      cells.emplace_back(printable(sample.key), std::move(label));
      key_width_ = std::max(key_width_, std::min(columns_in(cells.back().first), kWidestKey));
      label_width_ = std::max(label_width_, columns_in(cells.back().second));
    }
    std::string text;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      text += fmt::format("{:>{}}  {}  ", samples[i].row, row_width_,
                          padded(cells[i].first, key_width_));
      if (list_.has_labels()) text += padded(cells[i].second, label_width_) + "  ";
      text += fmt::format("{:>8}\n", format_size(samples[i].bytes));
    }
    return text;
  }

 private:
  const SampleList& list_;
  std::size_t row_width_, key_width_ = 0, label_width_ = 0;
};

std::string tsv_lines(const SampleList& list, const std::vector<ListedSample>& samples) {
  std::string text;
  for (const ListedSample& sample : samples) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\n", sample.row,
                   printable(sample.key), sample.label ? std::to_string(*sample.label) : "",
                   printable(class_of(sample, list.manifest().classes)), sample.bytes);
  }
  return text;
}

// Each key behind the other. A line can have neither a line end nor what is taken off one.
std::string key_lines(const std::vector<ListedSample>& samples, KeyForm form) {
  std::string text;
  for (const ListedSample& sample : samples) {
    const std::string& key = sample.key;
    if (form == KeyForm::raw && (key.find('\n') != std::string::npos || key.ends_with('\r'))) {
      throw Error(Code::bad_content, "the key has a line end, and would not be one line")
          .for_sample(key, sample.row)
          .hint("--keys nul prints any key, --keys escaped too");
    }
    text += form == KeyForm::escaped ? printable(key) : key;
    text += form == KeyForm::nul ? '\0' : '\n';
  }
  return text;
}

Json row_facts(const SampleList& list, const ListedSample& sample) {
  Json json = {{"row", sample.row}, {"key", printable(sample.key)}};
  if (sample.label) json["label"] = *sample.label;
  const std::string_view name = class_of(sample, list.manifest().classes);
  if (!name.empty()) json["class"] = printable(name);
  json["bytes"] = sample.bytes;
  return json;
}

// One object, whose array of rows is written as it is read. An error comes after the rows before
// it, as the last member.
int print_json(SampleList& list, const std::string& path) {
  Json head = {{"version", kListVersion},
               {"dataset", printable(path)},
               {"samples", list.manifest().digest.samples}};
  std::string text = json_text(head);
  text.back() = ',';
  text += "\"rows\":[";
  std::string_view before;
  try {
    for (std::vector<ListedSample> rows = list.next(); !rows.empty(); rows = list.next()) {
      for (const ListedSample& sample : rows) {
        text += before;
        text += json_text(row_facts(list, sample));
        before = ",";
      }
      print(std::exchange(text, ""));
    }
  } catch (const Error& error) {
    const Error told = with_usual_hint(error, "ls");
    tell_error(told);
    try {
      print(text + "],\"error\":" + json_text(error_facts(told)["error"]) + "}\n");
    } catch (const Error&) {  // stdout itself may be what failed; the exit code tells
    }
    return exit_code_of(told.code());
  }
  print(text + "]}\n");
  return kDone;
}

}  // namespace

int run_ls(const CommandLine& line, Console& console) {
  if (console.is_json() && line.flag("tsv"))
    throw Error(Code::usage, "--json and --tsv exclude one another");
  std::optional<KeyForm> keys;
  if (line.has("keys")) keys = key_form_of(line.choice("keys"));
  if (keys && (console.is_json() || line.flag("tsv"))) {
    throw Error(Code::usage, "--keys prints the keys alone, {} more",
                console.is_json() ? "--json" : "--tsv")
        .hint("leave out one of the two");
  }
  const RowRange range = line.has("rows") ? range_of(line.text("rows")) : RowRange{};
  DatasetRequest request = dataset_request(line);
  request.memory_bytes = line.memory().value;
  SampleList list(request, range.first, range.end, console.events());
  for (const std::string& note : list.notes()) tell(fmt::format("note: {}", note));
  if (console.is_json()) return print_json(list, request.path);
  TextList text(list);
  for (std::vector<ListedSample> rows = list.next(); !rows.empty(); rows = list.next())
    print(keys               ? key_lines(rows, *keys)
          : line.flag("tsv") ? tsv_lines(list, rows)
                             : text.lines(rows));
  return kDone;
}

}  // namespace shale::tools
