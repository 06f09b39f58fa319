#include "shale/data/shard_index.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::string_view kDialectNames[] = {"own",        "plain",  "msgpack", "coclr",
                                              "lyken-old",  "caffe",  "xunge",   "thecml",
                                              "tensorpack", "pickle", "lsun",    "robomimic"};

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

std::optional<Dialect> wanted_dialect(std::string_view name) {
  if (name == "auto") return std::nullopt;
  const auto* const found = std::find(std::begin(kDialectNames), std::end(kDialectNames), name);
  if (found == std::end(kDialectNames) || name == name_of(Dialect::own))
    throw Error(Code::usage, "--parse {} is not known", printable(name));
  return static_cast<Dialect>(found - std::begin(kDialectNames));
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
