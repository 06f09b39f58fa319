#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/record/record_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// One field of every kind.
inline Schema schema_of_every_kind() {
  return {.fields = {{"image", Kind::bytes, {}, {}},
                     {"caption", Kind::text, {}, {}},
                     {"label", Kind::integer, {}, {}},
                     {"score", Kind::real, {}, {}},
                     {"depth", Kind::tensor, DType::parse("<u2"), {2, 3}},
                     {"frames", Kind::list, {}, {}}}};
}

inline Sample sample_of_every_kind(std::string key = "cat/7.jpg") {
  return {.key = std::move(key),
          .values = {as_bytes("JPEG"), as_bytes("a cat"), std::int64_t{-3}, 0.1,
                     as_bytes("AABBCCDDEEFF"),
                     std::vector<Bytes>{as_bytes("one"), Bytes(), as_bytes("three")}}};
}

/// A shard of `samples`; returns its rows, with places in the file.
inline std::vector<IndexRow> write_shard(const std::string& path, const Schema& schema,
                                         const std::vector<Sample>& samples) {
  std::vector<OutputFile> files;
  files.emplace_back(path, OutputFile::Options{.io = IoMode::buffered});
  const auto writer = record_format.create_shard(files, schema, {});
  std::vector<IndexRow> rows;
  for (const Sample& sample : samples) {
    Record record = record_format.encode(sample, schema, {});
    const std::uint64_t begin = writer->append(record)[0];
    const std::vector<std::uint64_t> bases(schema.fields.size(), begin);
    move_places(record.row, begin, bases, begin);
    rows.push_back(std::move(record.row));
  }
  (void)writer->close();
  (void)files[0].finish();
  return rows;
}

struct Scanned {
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;
};

inline Scanned scan_shard(const std::string& path, const Schema& schema,
                          bool reads_payload = true) {
  Scanned scanned;
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = record_format.layout(schema, {});
  record_format.scan(
      {files, schema, layout, reads_payload}, {},
      [&](const IndexRow& row) { scanned.rows.push_back(row); },
      [&](Finding finding) { scanned.findings.push_back(std::move(finding)); });
  return scanned;
}

}  // namespace shale::test
