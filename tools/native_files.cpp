#include "tools/native_files.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/format.hpp"

namespace shale::tools {

std::string native_text(const NativeIndexReport& report, bool is_plan) {
  std::string text;
  for (const NativeIndexReport::Index& index : report.indexes) {
    text += fmt::format("  {}: {} {} {}, {} as they were\n", name_of(index.kind),
                        printable(index.path), is_plan ? "would write" : "wrote",
                        format_counted(index.written, "file", "files"), format_count(index.kept));
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

Json native_facts(const NativeIndexReport& report) {
  Json indexes = Json::array();
  for (const NativeIndexReport::Index& index : report.indexes) {
    indexes.push_back({{"kind", name_of(index.kind)},
                       {"path", printable(index.path)},
                       {"written", index.written},
                       {"kept", index.kept}});
  }
  return indexes;
}

std::vector<NativeKind> native_kinds(const CommandLine& line, const ConvertRequest& request) {
  if (!line.has("native")) return {};
  std::vector<NativeKind> kinds = parse_native_kinds(line.text("native"));
  // Nobody has said what is appended to: the tars are looked for afterwards.
  const bool has_tars = request.format.empty() ||
                        std::ranges::count(format_named(request.format).suffixes, ".tar") > 0;
  if (!has_tars) {
    throw Error(Code::usage,
                "--native: indexes of wids, DALI and Energon are for tars, and the "
                "output is of format {}",
                request.format)
        .hint("pass --to webdataset, or leave out --native");
  }
  return kinds;
}

}  // namespace shale::tools
