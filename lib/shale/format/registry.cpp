#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/layout.hpp"

// Looks into the table of formats. In a file of its own, so that a format's library, which needs
// the rest of this module, does not need the table that it is part of.

namespace shale {

const Format& format_named(std::string_view name) {
  std::size_t width = 0;
  std::vector<std::string> names;
  for (const Format* format : all_formats()) {
    if (format->name == name || std::ranges::find(format->aliases, name) != format->aliases.end())
      return *format;
    names.emplace_back(format->name);
    width = std::max(width, format->name.size());
  }
  std::string chooser = "choose one of these with --to";
  for (const Format* format : all_formats()) {
    chooser += fmt::format("\n  {:<{}}  {}", format->name, width, format->summary);
  }
  if (name.empty()) throw Error(Code::usage, "no format was chosen").hint(chooser);
  throw Error(Code::usage, "unknown format '{}'", printable(name))
      .hint(did_you_mean(name, names))
      .hint(chooser);
}

void check_dialect(const Format& format, const Parsing& parsing, std::string_view path) {
  const std::optional<Dialect> dialect = parsing.dialect;
  if (!parsing.database.empty() && format.open_map == nullptr) {
    throw Error(Code::usage, "--database is for files with named databases, but this is {}",
                format.a_file)
        .at(path)
        .hint("leave out --database");
  }
  const auto has = [&](const Format* other) {
    return std::ranges::find(other->dialects, *dialect) != other->dialects.end();
  };
  if (!dialect || *dialect <= Dialect::plain || has(&format)) return;
  const auto formats = all_formats();
  const auto owner = std::ranges::find_if(formats, has);
  std::string_view file = owner == formats.end() ? "an unknown file" : (*owner)->a_file;
  file.remove_prefix(file.find(' ') + 1);  // the article
  throw Error(Code::usage, "--parse {} is for {}s, but this is {}", name_of(*dialect), file,
              format.a_file)
      .at(path)
      .hint("leave out --parse");
}

const Format* detect_format(const Probe& probe) {
  const Format* best = nullptr;
  int best_bid = 0;
  for (const Format* format : all_formats()) {
    const int bid = format->bid == nullptr ? 0 : format->bid(probe);
    if (bid > best_bid) {
      best = format;
      best_bid = bid;
    }
  }
  return best;
}

bool is_zip_of_files(const InputFile& file) {
  constexpr std::uint64_t kHeadBytes = 512;
  std::vector<std::byte> head(std::min(kHeadBytes, file.size()));
  head.resize(file.read_some(0, head));
  if (!as_text(head).starts_with("PK\x03\x04") ||
      detect_format({file.path(), head, file.size(), &file}))
    return false;
  if (file.path().ends_with(".npz")) return false;  // one whose first member is something else
  const auto is_named = [&](std::string_view suffix) { return file.path().ends_with(suffix); };
  return std::ranges::none_of(all_formats(), [&](const Format* format) {
    return std::ranges::any_of(format->suffixes, is_named) ||
           std::ranges::any_of(format->more_suffixes, is_named);
  });
}

std::vector<FormatLayout> all_layouts() {
  std::vector<FormatLayout> layouts;
  for (const Format* format : all_formats()) {
    for (const Layout* layout : format->layouts) layouts.push_back({format, layout});
  }
  return layouts;
}

FormatLayout layout_named(std::string_view name) {
  std::string names;
  for (const FormatLayout& each : all_layouts()) {
    if (each.layout->name == name) return each;
    names.append(names.empty() ? "" : ", ").append(each.layout->name);
  }
  throw Error(Code::usage, "unknown layout '{}'", printable(name)).hint("choose one of " + names);
}

}  // namespace shale
