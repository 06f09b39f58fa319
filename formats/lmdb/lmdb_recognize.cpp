#include "formats/lmdb/lmdb_recognize.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/wire/msgpack_map.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_shape.hpp"
#include "formats/lmdb/lmdb_value.hpp"

namespace shale {
namespace {

using lmdb::MetaPage;

constexpr std::uint64_t kWindowBytes = 8 * 1024;
// What a meta page says of the trees, from its magic to the last page; a transaction follows.
constexpr std::uint64_t kTreesBegin = lmdb::kPageHeaderBytes, kTreesEnd = kTreesBegin + 128;

std::optional<MetaPage> meta_of_shale(const InputFile& file) {
  try {
    const MetaPage meta = lmdb::read_live_meta(file, [](const Finding&) {});
    const bool may_be = meta.page_bytes == lmdb::kPageBytes && meta.main_tree.flags == 0 &&
                        meta.main_tree.entries > 0 && meta.transaction <= 1;
    return may_be ? std::optional(meta) : std::nullopt;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;
  }
}

bool have_one_tree(const InputFile& file) {
  std::array<std::byte, kTreesEnd - kTreesBegin> first, second;
  if (file.size() < 2 * lmdb::kPageBytes) return false;
  file.read_exact(kTreesBegin, first);
  file.read_exact(lmdb::kPageBytes + kTreesBegin, second);
  return first == second;
}

class Entries {
 public:
  explicit Entries(const InputFile& file) : file_(file), map_(open_lmdb_map(file)) {}

  // The entry of a row's key. Errors: Code::damaged for pages on the way to it.
  [[nodiscard]] std::optional<KeyMapEntry> find(std::uint64_t row) const {
    const std::string key = fmt::format("{:08}", row);
    return map_->find(as_bytes(key));
  }

  // Errors: any but Code::io for a value that is not shale's.
  [[nodiscard]] Schema schema_at(const std::optional<KeyMapEntry>& entry) const {
    if (!entry || entry->is_database) throw not_ours(0);
    WindowReader window(file_, kWindowBytes);
    const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
      return window.view(offset, length);
    };
    const std::vector<MsgpackEntry> map =
        parse_msgpack_map(view, entry->value_offset, entry->value_bytes, file_.path());
    if (map.empty() || map[0].name != "key" || map[0].type != MsgpackType::bytes)
      throw not_ours(entry->value_offset);
    Schema schema;
    for (std::size_t i = 1; i < map.size(); ++i) schema.fields.push_back(field_of(view, map[i]));
    return schema;
  }

 private:
  [[nodiscard]] Error not_ours(std::uint64_t offset) const {
    return Error(Code::damaged, "it is not a map of a key and fields").at(file_.path(), offset);
  }

  [[nodiscard]] Field field_of(const ViewBytes& view, const MsgpackEntry& value) const {
    Field field{.name = value.name};
    for (const Kind kind : {Kind::bytes, Kind::text, Kind::integer, Kind::real, Kind::list}) {
      if (!lmdb::can_hold(kind, value, true)) continue;
      field.kind = kind;
      return field;
    }
    const auto tensor = lmdb::read_tensor(view, value, true);
    if (!tensor) throw not_ours(value.value_offset);
    field.kind = Kind::tensor;
    field.dtype = DType::parse(tensor->dtype);
    field.shape = tensor->shape;
    return field;
  }

  const InputFile& file_;
  std::shared_ptr<const KeyMap> map_;
};

}  // namespace

std::optional<Schema> recognize_own_lmdb(const InputFile& file, const WalkProgress&) {
  const std::optional<MetaPage> meta = meta_of_shale(file);
  if (!meta) return std::nullopt;
  std::optional<Entries> entries;
  std::optional<KeyMapEntry> first, last;
  try {
    entries.emplace(file);
    first = entries->find(0);
    last = entries->find(meta->main_tree.entries - 1);
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;  // of damaged pages the walk tells more
  }
  const bool is_ours = have_one_tree(file);
  try {
    Schema schema = entries->schema_at(first);
    validate_schema(schema);
    // Without the mark, as one of the meta pages may be damaged.
    if (!is_ours && schema.fields != entries->schema_at(last).fields) return std::nullopt;
    return schema;
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::bug) throw;
    if (!is_ours) return std::nullopt;
    throw Error(Code::damaged, "the first value is not a sample of shale, but the pages are")
        .at(file.path(), error.offset().value_or(0))
        .because(error.message())
        .hint("restore the file from an intact copy; --parse plain reads the values as they are");
  }
}

}  // namespace shale
