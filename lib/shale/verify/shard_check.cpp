#include "shale/verify/shard_check.hpp"

#include <algorithm>
#include <span>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/mismatch.hpp"

namespace shale {

void ShardCheck::stop_if_over() const {
  if (is_over) throw Error(Code::interrupted, "the verification has ended");
}

Finding ShardCheck::finding(std::string message, const std::string& file,
                            std::optional<std::uint64_t> offset,
                            std::optional<std::uint64_t> row) const {
  Finding finding;
  finding.message = std::move(message);
  finding.file = file;
  finding.offset = offset;
  finding.shard = reader.shard().name;
  finding.row = row;
  if (!row) return finding;
  finding.sample = SampleId{"", first_sample + *row};
  if (!manifest.layout.has_keys) return finding;
  try {
    // These few bytes only: an IndexReader would read a window of rows for each finding.
    const IndexColumns& columns = reader.columns();
    std::vector<std::byte> bytes(columns.row_bytes());
    reader.index_file()->read_exact(columns.file_bytes(*row), bytes);
    const FieldPlace key = columns.decode_place_at(bytes, columns.position_of(std::nullopt));
    constexpr std::uint64_t kShownKeyBytes = 4096;
    std::string text(std::min(key.length, kShownKeyBytes), '\0');
    reader.file_of_key().read_exact(key.offset, std::as_writable_bytes(std::span(text)));
    // Damage may have reached it: then it is the key of no sample.
    const bool is_wrong =
        reader.has_checksums() && text.size() == key.length && crc32c(as_bytes(text)) != key.crc32c;
    if (!is_wrong) finding.sample->key = std::move(text);
  } catch (const Error&) {
    // The key is damaged as well: the number has to do.
  }
  return finding;
}

Finding ShardCheck::wrong_checksum(std::uint64_t row, std::optional<std::size_t> field,
                                   const FieldPlace& place, std::uint32_t found) const {
  Finding wrong = finding({}, reader.listed_name(field), place.offset, row);
  checksum_mismatch(place.length, found, place.crc32c).describe_in(wrong);
  wrong.length = place.length;
  wrong.field = field ? manifest.schema.fields[*field].name : "key";
  return wrong;
}

std::uint64_t bytes_of_files(const ManifestShard& shard) {
  std::uint64_t bytes = 0;
  for (const ManifestFile& file : shard.files) bytes += file.bytes;
  return bytes;
}

}  // namespace shale
