#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/npy_header.hpp"

#include "formats/npy/npy_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// The text of a version 1.0 header, padded as NumPy pads it, with `rows` behind it.
inline std::string npy_file(std::string_view dict, std::string_view rows, int version = 1) {
  std::string text(dict);
  const std::size_t prefix = version == 1 ? 10 : 12;
  text.append(64 - (prefix + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t byte = 0; byte < prefix - 8; ++byte)
    file += static_cast<char>(text.size() >> (8 * byte));
  return file + text + std::string(rows);
}

/// The header of a field's file.
inline std::vector<std::byte> npy_header_of(const Field& field, std::uint64_t rows) {
  return npy_format.tensors->frame({&field, 1}, rows).head(0, 0);
}

/// The files of a shard of these rows, written as the core does, in records of `run` rows.
inline std::vector<std::string> write_npy_shard(const std::string& folder, const Schema& schema,
                                                const std::vector<Sample>& samples,
                                                std::size_t run = 1) {
  std::vector<OutputFile> files;
  std::vector<std::string> paths;
  for (const std::string& suffix : npy_format.layout(schema, {}).file_suffixes) {
    paths.push_back(folder + "/shard-000000" + suffix);
    files.emplace_back(paths.back(), OutputFile::Options{.io = IoMode::buffered});
  }
  const auto writer = npy_format.create_shard(files, schema, {});
  for (std::size_t first = 0; first < samples.size(); first += run) {
    Record record;
    record.parts.resize(schema.fields.size());
    for (std::size_t i = first; i < std::min(first + run, samples.size()); ++i) {
      const Record one = npy_format.encode(samples[i], schema, {});
      for (std::size_t part = 0; part < one.parts.size(); ++part)
        record.parts[part].append_copy(one.parts[part].flattened());
      record.digest.samples += 1;
    }
    (void)writer->append(record);
  }
  (void)writer->close();
  for (OutputFile& file : files) (void)file.finish();
  return paths;
}

inline std::string golden_npy(const std::string& name) {
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  return (root / "formats/npy/golden" / name).string();
}

/// What the survey of a file with this content says, and the error if it refuses.
inline Survey surveyed(const std::string& content, Dialect dialect = Dialect::plain) {
  const TempDir dir;
  write_file(dir / "a.npy", content);
  return npy_format.survey(InputFile(dir / "a.npy"), dialect, {});
}
inline Error refusal_of(const std::string& content) {
  return error_of([&] { (void)surveyed(content); });
}

}  // namespace shale::test
