#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/format/tensor_file.hpp"

#include "tests/support/temp_dir.hpp"

// What the tests of the formats of tensor files share.

namespace shale::test {

/// Whose rows the golden files hold: five of 2 x 3 numbers.
inline Schema golden_tensor_schema() {
  return {.fields = {{"x", Kind::tensor, DType::parse("<u2"), {2, 3}}}, .has_keys = false};
}

inline std::string golden_tensor(const Format& format, const std::string& name) {
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  return (root / "formats" / format.name / "golden" / name).string();
}

inline Survey surveyed_tensors(const Format& format, const std::string& bytes) {
  const TempDir dir;
  const std::string path = dir / ("a" + std::string(format.suffixes.front()));
  write_file(path, bytes);
  return format.survey(InputFile(path), Dialect::plain, {});
}

inline Error refused_tensors(const Format& format, const std::string& bytes) {
  return error_of([&] { (void)surveyed_tensors(format, bytes); });
}

/// The files of a shard of these rows, a record each.
inline std::vector<std::string> write_tensor_shard(const Format& format, const std::string& folder,
                                                   const Schema& schema,
                                                   const std::vector<Sample>& samples,
                                                   std::vector<std::uint64_t>& bases) {
  std::vector<OutputFile> files;
  std::vector<std::string> paths;
  for (const std::string& suffix : format.layout(schema, {}).file_suffixes) {
    paths.push_back(folder + "/shard-000000" + suffix);
    files.emplace_back(paths.back(), OutputFile::Options{.io = IoMode::buffered});
  }
  const auto writer = format.create_shard(files, schema, {});
  for (const Sample& sample : samples) {
    Record record = format.encode(sample, schema, {});
    record.digest.samples = 1;
    (void)writer->append(record);
  }
  bases = writer->close().part_bases;
  for (OutputFile& file : files) (void)file.finish();
  return paths;
}

/// What the scan of one file finds, as the only column of a shard.
inline std::vector<std::string> tensor_findings(const Format& format, const std::string& path,
                                                const Schema& schema, std::uint64_t rows,
                                                std::uint64_t base) {
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = format.layout(schema, {});
  std::vector<std::string> found;
  format.scan(
      {files, schema, layout, false, rows, {&base, 1}}, {}, [](const IndexRow&) {},
      [&](const Finding& finding) { found.push_back(describe(finding)); });
  return found;
}

}  // namespace shale::test
