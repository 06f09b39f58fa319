#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/path_text.hpp"
#include "shale/ops/convert.hpp"
#include "shale/verify/verify.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale::test {

/// Runs `check` for every format, so that what fails names the format.
inline void for_each_format(const std::function<void(const Format&)>& check) {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    check(*format);
  }
}

/// True if the format holds values of one size only: its shards are columns, without index or keys.
inline bool holds_arrays_only(const Format& format) {
  return std::ranges::all_of(format.can.kinds,
                             [](Kind kind) { return kind == Kind::tensor || !is_located(kind); });
}

/// True if the rows of shards of these samples lie in columns: there is no index.
inline bool has_columns(const Format& format, const Schema& schema) {
  return format.layout(schema, defaults(format)).rows.has_strides();
}

/// True if each value has a header and blocks of its own: the 300 elements of a list take 300 KB.
inline bool has_blocks(const Format& format) { return format.name == "webdataset"; }

/// A schema of every kind that a format claims.
inline Schema full_schema(const Format& format) {
  return holds_arrays_only(format) ? fixed_schema_of(format.can.kinds)
                                   : schema_of(format.can.kinds);
}

/// Runs `check` for every layout that a format has: for its full schema, and for columns of values
/// of one size, where those have a layout of their own, and values that differ in shape or are
/// absent.
inline void for_each_layout(const std::function<void(const Format&, const Schema&)>& check) {
  for_each_format([&](const Format& format) {
    check(format, full_schema(format));
    if (holds_arrays_only(format)) return;
    if (format.can.holds_ragged && format.can.holds_optional) check(format, varied_schema());
    const Schema columns = fixed_schema_of(format.can.kinds);
    CAPTURE(columns.fields.size());
    if (has_columns(format, columns)) check(format, columns);
  });
}

/// Runs `check` for every format that has fixed rows, with a schema of such columns.
inline void for_each_fixed_format(const std::function<void(const Format&, const Schema&)>& check) {
  for_each_layout([&](const Format& format, const Schema& schema) {
    if (has_columns(format, schema)) check(format, schema);
  });
}

/// Every file that a set needs: the README.md beside some is the user's to change.
inline std::vector<std::string> needed_files(const std::string& directory) {
  std::vector<std::string> names = files_in(directory);
  std::erase(names, "README.md");
  return names;
}

/// Samples whose keys are their numbers, as an array has them.
inline SampleSet numbered(SampleSet set) {
  set.schema.has_keys = false;
  for (std::size_t i = 0; i < set.samples.size(); ++i) set.samples[i].key = std::to_string(i);
  return set;
}

/// What is wrong with a shard by the scan of its format, and the rows that it gives.
struct Scanned {
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;
};
inline Scanned scan_shard(const Format& format, const std::string& directory,
                          const Manifest& manifest, const ManifestShard& shard,
                          bool reads_payload) {
  Scanned scanned;
  std::vector<InputFile> files;
  for (const ManifestFile& file : shard.files) files.emplace_back(join_path(directory, file.name));
  format.scan(
      {files, manifest.schema, manifest.layout, reads_payload, shard.digest.samples, shard.bases},
      defaults(format), [&](const IndexRow& row) { scanned.rows.push_back(row); },
      [&](Finding finding) { scanned.findings.push_back(std::move(finding)); });
  return scanned;
}

/// A small set of one format: several shards of plain samples.
inline SampleSet small_set(const Format& format, std::size_t samples = 7) {
  return plain_samples(full_schema(format), samples, 60);
}

inline ConvertRequest conversion(const std::string& input, const std::string& output,
                                 const Format& format) {
  ConvertRequest request;
  request.inputs = {input};
  request.output = output;
  request.format = format.name;
  request.generator = "shale test";
  request.memory_bytes = 16 << 20;
  request.io = IoMode::buffered;
  return request;
}

inline VerifyReport verified(const std::string& dataset, VerifyDepth depth = VerifyDepth::full) {
  VerifyRequest request;
  request.dataset = dataset;
  request.depth = depth;
  request.memory_bytes = 64 << 20;
  return verify(request, {}, {});
}

/// The first finding in words; empty if there is none.
inline std::string first_finding(const VerifyReport& report) {
  return report.first_findings.empty() ? "" : describe(report.first_findings.front());
}

inline bool names_file(const VerifyReport& report, const std::string& file) {
  for (const Finding& finding : report.first_findings) {
    if (finding.file == file) return true;
  }
  return false;
}

/// What differs between two values, to the bit.
inline bool are_equal(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  if (std::holds_alternative<std::monostate>(a)) return true;
  if (const auto* bytes = std::get_if<Bytes>(&a))
    return as_text(*bytes) == as_text(std::get<Bytes>(b));
  if (const auto* real = std::get_if<double>(&a)) {
    return std::bit_cast<std::uint64_t>(*real) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  }
  if (const auto* integer = std::get_if<std::int64_t>(&a))
    return *integer == std::get<std::int64_t>(b);
  const auto &left = std::get<std::vector<Bytes>>(a), &right = std::get<std::vector<Bytes>>(b);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (as_text(left[i]) != as_text(right[i])) return false;
  }
  return true;
}

}  // namespace shale::test
