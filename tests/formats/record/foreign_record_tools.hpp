#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/checksum.hpp"

#include "formats/record/record_format.hpp"
#include "formats/record/record_frames.hpp"
#include "tests/support/temp_dir.hpp"

// Records as other tools write them, made by hand: in any order, with any encoding.

namespace shale::test {

inline std::string varint(std::uint64_t number) {
  ByteWriter out;
  out.write_varint(number);
  return std::string(as_text(out.bytes()));
}

/// A protobuf field of bytes.
inline std::string message(unsigned number, std::string_view content) {
  return varint(number << 3 | 2) + varint(content.size()) + std::string(content);
}

inline std::string feature(std::string_view name, std::string_view value) {
  return message(1, message(1, name) + message(2, value));
}

inline std::string bytes_feature(std::string_view name, std::initializer_list<std::string> values) {
  std::string list;
  for (const std::string& value : values) list += message(1, value);
  return feature(name, message(1, list));
}

inline std::string packed_floats(std::initializer_list<float> values) {
  std::string run;
  for (const float value : values) run += as_text(bytes_of(value));
  return run;
}

inline std::string floats_feature(std::string_view name, std::initializer_list<float> values) {
  return feature(name, message(2, message(1, packed_floats(values))));
}

inline std::string integers_feature(std::string_view name,
                                    std::initializer_list<std::int64_t> values) {
  std::string run;
  for (const std::int64_t value : values) run += varint(static_cast<std::uint64_t>(value));
  return feature(name, message(3, message(1, run)));
}

/// A frame with sound checksums around any payload.
inline std::string framed(std::string_view payload) {
  std::string frame(as_text(frame_header(payload.size())));
  frame += payload;
  frame += as_text(bytes_of(mask_crc(crc32c(as_bytes(payload)))));
  return frame;
}

/// A frame around an Example of these features.
inline std::string example(std::initializer_list<std::string> features) {
  std::string all;
  for (const std::string& one : features) all += one;
  return framed(message(1, all));
}

struct ReadForeign {
  Survey survey;
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;
};

/// Surveys a file and scans it as the survey says. Errors: those of the survey.
inline ReadForeign read_foreign(const std::string& path, bool reads_payload = true) {
  std::vector<InputFile> files;
  files.emplace_back(path);
  ReadForeign read{record_format.survey(files[0], Dialect::plain, {}), {}, {}};
  record_format.scan(
      {files, read.survey.schema, read.survey.layout, reads_payload}, {},
      [&](const IndexRow& row) { read.rows.push_back(row); },
      [&](Finding finding) { read.findings.push_back(std::move(finding)); });
  return read;
}

inline ReadForeign read_foreign_bytes(std::string_view bytes, bool reads_payload = true) {
  const TempDir dir;
  write_file(dir / "a", bytes);
  return read_foreign(dir / "a", reads_payload);
}

/// "encoded:bytes label:integer? box:tensor(4) boxes:tensor(?)"
inline std::string fields_of(const Survey& survey) {
  std::string text;
  for (const Field& field : survey.schema.fields) {
    text += (text.empty() ? "" : " ") + field.name + ":" + std::string(name_of(field.kind));
    for (const std::uint64_t side : field.shape)
      text += side == kFreeSide ? "(?)" : "(" + std::to_string(side) + ")";
    if (field.is_optional) text += "?";
  }
  return text;
}

}  // namespace shale::test
