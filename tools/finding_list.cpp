#include "tools/finding_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/path_facts.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

constexpr std::string_view kColumns =
    "shard\tfile\tbyte\tbytes\trow\tsample\tkey\tfield\twhat\tfound\texpected\n";

bool is_json_name(const std::string& path) {
  constexpr std::string_view kJson[] = {".jsonl", ".ndjson", ".json"}, kTsv[] = {".tsv", ".txt"};
  const auto has = [&](std::string_view suffix) { return path.ends_with(suffix); };
  if (std::any_of(std::begin(kJson), std::end(kJson), has)) return true;
  if (std::any_of(std::begin(kTsv), std::end(kTsv), has)) return false;
  throw Error(Code::usage, "--report '{}' has no suffix that says how lines look", printable(path))
      .hint("name it .tsv for columns, or .jsonl for JSON lines");
}

std::string free_name(const std::string& path) {
  if (stands(path))
    throw Error(Code::exists, "already exists: --report never replaces a file")
        .at(path)
        .hint("choose another --report");
  return path;
}

std::string line_of(const Finding& finding) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string();
  };
  const std::optional<SampleId>& sample = finding.sample;
  const std::string columns[] = {printable(finding.shard),
                                 printable(finding.file),
                                 number(finding.offset),
                                 number(finding.length),
                                 number(finding.row),
                                 sample ? number(sample->index) : std::string(),
                                 sample ? printable(sample->key) : std::string(),
                                 printable(finding.field),
                                 printable(finding.message),
                                 printable(finding.found),
                                 printable(finding.expected)};
  return fmt::format("{}\n", fmt::join(columns, "\t"));
}

}  // namespace

FindingList::FindingList(const std::string& path)
    : is_json_(is_json_name(path)),
      file_(free_name(path), {.io = IoMode::buffered, .buffer_bytes = 64 << 10, .buffers = 1}) {
  if (!is_json_) file_.append(as_bytes(kColumns));
}

void FindingList::add(const Finding& finding) {
  const std::string line = is_json_ ? finding_facts(finding).dump() + "\n" : line_of(finding);
  file_.append(as_bytes(line));
  ++lines_;
}

void FindingList::finish() { (void)file_.finish(); }

}  // namespace shale::tools
