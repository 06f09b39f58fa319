#include "shale/verify/verify_library.hpp"

#include <bit>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace shale {
namespace {

constexpr std::size_t kKeptOfLibrary = 200;

std::string place_text(const FieldPlace& place) {
  if (place.offset == kMissing) return "nothing";
  return fmt::format("{} bytes at byte {}, crc32c 0x{:08x}", place.length, place.offset,
                     place.crc32c);
}

// Takes what the library reads, row by row.
class LibraryComparison {
 public:
  LibraryComparison(const ShardCheck& shard, LibraryVerdict& verdict)
      : shard_(shard), schema_(shard.manifest.schema), verdict_(verdict) {
    if (shard.reader.index_file() != nullptr) index_.emplace(shard.reader.open_index());
  }

  void take(const IndexRow& read) {
    const std::uint64_t row = rows_++;
    if (!index_ || row >= index_->rows()) return;
    const IndexRow indexed = index_->row(row);
    if (shard_.manifest.layout.has_keys) {
      compare(row, "key", read.key, indexed.key);
      if (read.key_hash != indexed.key_hash)
        add(row, "key", fmt::format("hash {:016x}", read.key_hash),
            fmt::format("{:016x}", indexed.key_hash));
    }
    for (std::size_t i = 0; i < schema_.fields.size(); ++i)
      compare(row, schema_.fields[i], read.cells[i], indexed.cells[i]);
    if (read.record_offset != indexed.record_offset || read.record_length != indexed.record_length)
      add(row, "record", fmt::format("{} bytes at byte {}", read.record_length, read.record_offset),
          fmt::format("{} bytes at byte {}", indexed.record_length, indexed.record_offset));
  }

  void add(Finding finding) {
    if (++verdict_.findings > kKeptOfLibrary) return;
    finding.shard = shard_.reader.shard().name;
    verdict_.first_findings.push_back(std::move(finding));
  }

  // A library that ended early has said so, and why: then the rows it lacks are not further
  // findings.
  void finish() {
    if (!index_ || rows_ == index_->rows() || verdict_.findings > 0) return;
    Finding finding =
        shard_.finding("the container's own library reads a different number of samples",
                       shard_.reader.shard().files[0].name, std::nullopt);
    finding.found = std::to_string(rows_);
    finding.expected = std::to_string(index_->rows());
    add(std::move(finding));
  }

 private:
  void compare(std::uint64_t row, const std::string& field, const FieldPlace& read,
               const FieldPlace& indexed) {
    if (read != indexed) add(row, field, place_text(read), place_text(indexed));
  }

  void compare(std::uint64_t row, const Field& field, const IndexCell& read,
               const IndexCell& indexed) {
    const auto bits = [](double real) { return std::bit_cast<std::uint64_t>(real); };
    if (is_located(field.kind)) {
      compare(row, field.name, read.place, indexed.place);
    } else if (field.kind == Kind::integer && read.integer != indexed.integer) {
      add(row, field.name, std::to_string(read.integer), std::to_string(indexed.integer));
    } else if (field.kind == Kind::real && bits(read.real) != bits(indexed.real)) {
      add(row, field.name, fmt::format("{}", read.real), fmt::format("{}", indexed.real));
    }
  }

  void add(std::uint64_t row, const std::string& field, std::string found, std::string expected) {
    if (verdict_.findings >= kKeptOfLibrary) {
      ++verdict_.findings;
      return;
    }
    Finding finding = shard_.finding("the container's own library reads a different value",
                                     shard_.reader.shard().files[0].name, std::nullopt, row);
    finding.field = field;
    finding.found = std::move(found);
    finding.expected = std::move(expected);
    add(std::move(finding));
  }

  const ShardCheck& shard_;
  const Schema& schema_;
  LibraryVerdict& verdict_;
  std::optional<IndexReader> index_;  // fixed rows have none
  std::uint64_t rows_ = 0;
};

}  // namespace

LibraryVerdict verify_by_library(const ShardCheck& shard, const Format& format,
                                 const std::function<void()>& ask) {
  LibraryVerdict verdict;
  LibraryComparison comparison(shard, verdict);
  const ManifestShard& manifest_shard = shard.reader.shard();
  const ShardInput input{.files = shard.reader.files(),
                         .schema = shard.manifest.schema,
                         .layout = shard.manifest.layout,
                         .reads_payload = true,
                         .samples = manifest_shard.digest.samples,
                         .bases = manifest_shard.bases};
  verdict.reading = format.scan_by_library(
      input, [&](const IndexRow& row) { comparison.take(row); },
      [&](Finding finding) { comparison.add(std::move(finding)); }, ask);
  if (verdict.reading.obstacle.empty()) comparison.finish();
  return verdict;
}

}  // namespace shale
