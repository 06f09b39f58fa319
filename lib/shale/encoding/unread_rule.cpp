#include "shale/encoding/unread_rule.hpp"

#include <algorithm>

#include "shale/base/unread_bytes.hpp"

namespace shale {
namespace {

bool is_image(const SourceInfo& source, std::size_t field) {
  return std::ranges::find(source.image_fields, field) != source.image_fields.end();
}

}  // namespace

bool may_stay_unread(const SourceInfo& source, const Format& format, const OptionSet& options) {
  const bool takes_unread = format.takes_unread != nullptr && format.takes_unread(options);
  return takes_unread && !source.is_stream && !source.transform && !source.row_bytes;
}

bool stays_unread(const PendingSample& sample, const SourceInfo& source, std::size_t field) {
  const Kind kind = source.schema.fields[field].kind;
  if (!is_located(kind) || kind == Kind::text) return false;
  if (sample.cells[field].place.length < kLeastUnreadBytes) return false;
  if (kind != Kind::list && is_image(source, field)) return false;
  return std::ranges::find(sample.known, field, &KnownValue::field) == sample.known.end();
}

std::uint64_t held_bytes(const PendingSample& sample, const SourceInfo& source) {
  std::uint64_t bytes = 0, largest_image = 0;
  for (std::size_t i = 0; i < source.schema.fields.size(); ++i) {
    if (!is_located(source.schema.fields[i].kind)) continue;
    if (!stays_unread(sample, source, i)) bytes += sample.cells[i].place.length;
    if (!is_image(source, i)) continue;
    for (const PendingFile& file : sample.files) {
      if (file.field == i) largest_image = std::max(largest_image, file.bytes);
    }
  }
  return bytes + largest_image + 2 * UnreadBytes::kPieceBytes;
}

bool has_images_of_unknown_size(const PendingSample& sample, const SourceInfo& source) {
  return sample.files.empty() && std::ranges::any_of(source.image_fields, [&](std::size_t field) {
           return source.schema.fields[field].kind == Kind::list &&
                  stays_unread(sample, source, field);
         });
}

}  // namespace shale
