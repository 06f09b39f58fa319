#include "shale/data/shard_index.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"

namespace shale {
namespace {

constexpr std::string_view kDialectNames[] = {
    "own",        "plain",  "msgpack", "coclr",     "lyken-old", "caffe",    "xunge", "thecml",
    "tensorpack", "pickle", "lsun",    "robomimic", "samples",   "episodes", "keys",  "webdataset"};

}  // namespace

std::string_view name_of(Dialect dialect) {
  return kDialectNames[static_cast<std::size_t>(dialect)];
}

Dialect dialect_named(std::string_view name) {
  const auto found = std::find(std::begin(kDialectNames), std::end(kDialectNames), name);
  if (found == std::end(kDialectNames))
    throw Error(Code::damaged, "unknown dialect '{}'", printable(name));
  return static_cast<Dialect>(found - std::begin(kDialectNames));
}

Parsing wanted_parsing(std::string_view parse, std::string_view database) {
  Parsing parsing;
  parsing.database = database;
  if (parse.empty() || parse == "auto") return parsing;
  if (parse.find('=') != std::string_view::npos) {
    parsing.dialect = Dialect::keys;
    parsing.keys = parse;
    return parsing;
  }
  const auto* const found = std::find(std::begin(kDialectNames), std::end(kDialectNames), parse);
  if (found == std::end(kDialectNames) || parse == name_of(Dialect::own) ||
      parse == name_of(Dialect::keys))
    throw Error(Code::usage, "--parse {} is not known", printable(parse));
  parsing.dialect = static_cast<Dialect>(found - std::begin(kDialectNames));
  return parsing;
}

std::string options_of(const Parsing& parsing) {
  std::string options;
  if (!parsing.database.empty()) options += " --database " + shell_word(parsing.database);
  if (parsing.dialect.value_or(Dialect::own) < Dialect::msgpack) return options;
  const bool is_by_keys = parsing.dialect == Dialect::keys;
  return options + " --parse " +
         (is_by_keys ? shell_word(parsing.keys) : std::string(name_of(*parsing.dialect)));
}

bool is_parsed_so(const ShardLayout& layout, const Parsing& wanted) {
  Parsing found = parsing_of(layout);
  if (!wanted.dialect) found.dialect = std::nullopt;
  if (wanted.dialect != Dialect::keys) found.keys.clear();
  if (wanted.database.empty()) found.database.clear();
  return found == wanted;
}

std::string words_of(const Parsing& parsing) {
  const Dialect dialect = parsing.dialect.value_or(Dialect::plain);
  std::string words = options_of(parsing);
  if (dialect < Dialect::msgpack) words += fmt::format(" --parse {}", name_of(dialect));
  return words.substr(1);
}

Parsing parsing_of(const ShardLayout& layout) {
  Parsing parsing(layout.dialect);
  if (layout.dialect == Dialect::keys) parsing.keys = layout.keys;
  parsing.database = layout.database;
  return parsing;
}

std::string_view layout_name_of(const ShardLayout& layout) {
  return is_layout(layout.dialect) ? name_of(layout.dialect) : std::string_view(layout.known_as);
}

ShardLayout as_one_file(ShardLayout layout) {
  if (layout.file_suffixes.size() != 1)
    throw Error(Code::bug, "{} files cannot be one", layout.file_suffixes.size());
  layout.file_suffixes = {""};
  return layout;
}

void move_places(IndexRow& row, std::uint64_t key_base, std::span<const std::uint64_t> field_bases,
                 std::uint64_t record_base) {
  const auto move = [](std::uint64_t& offset, std::uint64_t base) {
    if (offset != kMissing) offset += base;
  };
  move(row.key.offset, key_base);
  move(row.record_offset, record_base);
  for (std::size_t i = 0; i < row.cells.size(); ++i)
    move(row.cells[i].place.offset, field_bases[i]);
  auto element = row.elements.begin();
  for (std::size_t i = 0; i < row.cells.size() && element != row.elements.end(); ++i) {
    for (std::uint32_t k = 0; k < row.cells[i].place.count; ++k)
      move((element++)->offset, field_bases[i]);
  }
}

}  // namespace shale
