#include "shale/encoding/image_hash.hpp"

#include <algorithm>

#include "shale/data/digest.hpp"

namespace shale {

bool is_hashed_as_head(const Schema& schema, std::size_t field) {
  return field == 0 && schema.fields.front().kind == Kind::bytes;
}

Hasher128 begin_image_hash(const Schema& schema, std::size_t field, std::uint64_t bytes) {
  return is_hashed_as_head(schema, field) ? begin_head(schema.fields.front(), bytes) : Hasher128();
}

std::optional<Hash128> image_hash_of(const Record& record, const ShardLayout& layout,
                                     std::size_t field) {
  const FieldPlace& place = record.row.cells[field].place;
  if (place.offset == kMissing) return std::nullopt;
  Hasher128 hasher;
  std::uint64_t begin = 0, hashed = 0;
  record.parts[layout.field_part[field]].for_each_part([&](const AnyBytes& bytes) {
    const std::uint64_t from = std::max(place.offset, begin),
                        to = std::min(place.offset + place.length, begin + bytes.size());
    if (from < to && bytes.unread() == nullptr) {
      hasher.update(bytes.held().subspan(from - begin, to - from));
      hashed += to - from;
    }
    begin += bytes.size();
  });
  if (hashed != place.length) return std::nullopt;
  return hasher.digest();
}

}  // namespace shale
