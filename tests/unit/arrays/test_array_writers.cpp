#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "shale/arrays/array_writers.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

#include "formats/pt/pt_archive.hpp"
#include "formats/safetensors/safetensors_header.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::string archive_of(const std::map<std::string, std::string>& files, bool is_deflated) {
  const TempDir dir;
  std::vector<NpzMember> members;
  for (const auto& [name, text] : files) {
    write_file(dir / name, text);
    members.push_back({name, dir / name});
  }
  OutputFile archive(dir / "a.npz", {.io = IoMode::buffered});
  write_npz(archive, members, is_deflated, [] {});
  (void)archive.finish();
  for (const NpzMember& member : members) CHECK_FALSE(std::filesystem::exists(member.path));
  return read_text(dir / "a.npz");
}

std::vector<ZipMember> members_of(const std::string& archive) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(archive).subspan(offset, length);
  };
  return read_zip_directory(archive.size(), view, "a.npz");
}

const std::map<std::string, std::string> kFiles = {
    {"x.npy", std::string(3'000'000, 'x')}, {"y.npy", "short"}, {"z.npy", ""}};

TEST_CASE("npz writer: stored members are as they were, with their checksums") {
  const std::string archive = archive_of(kFiles, false);
  const std::vector<ZipMember> members = members_of(archive);
  REQUIRE(members.size() == kFiles.size());
  for (const ZipMember& member : members) {
    CAPTURE(member.name);
    const std::string& text = kFiles.at(member.name);
    CHECK_FALSE(member.is_deflated);
    CHECK(archive.substr(member.data_offset, member.data_bytes) == text);
    CHECK(member.crc32 == crc32(as_bytes(text)));
  }
}

TEST_CASE("npz writer: deflated members say their sizes, and the same files give the same bytes") {
  const std::string archive = archive_of(kFiles, true);
  CHECK(archive.size() < 10'000);
  CHECK(archive == archive_of(kFiles, true));
  for (const ZipMember& member : members_of(archive)) {
    CAPTURE(member.name);
    CHECK(member.is_deflated);
    CHECK(member.bytes == kFiles.at(member.name).size());
    CHECK(member.crc32 == crc32(as_bytes(kFiles.at(member.name))));
  }
}

constexpr std::uint64_t kFrameRows = 700'000;
const std::vector<Field> kFields = {
    field_of_column("flag", DType::parse("|u1"), {}),
    field_of_column("wide", DType::parse("<f8"), {1}),
    field_of_column("empty", DType::parse("<i2"), {0}),
};

TensorFrame frame_of(std::string_view format, std::span<const Field> fields, std::uint64_t rows) {
  return format_named(format).tensors->frame(fields, rows);
}

std::string rows_of(const TensorFrame& frame, std::size_t column) {
  std::string rows(frame.rows_bytes(column), '\0');
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<char>(i % 251 + column);
  return rows;
}

// The file, from columns that lie behind `offset` other bytes in files of their own.
std::string packed(const TensorFrame& frame, std::uint64_t offset = 3) {
  const TempDir dir;
  std::vector<ColumnFile> columns;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    columns.push_back({dir / kFields[i].name, offset});
    write_file(columns.back().path, std::string(offset, 'h') + rows_of(frame, i) + "trailer");
  }
  OutputFile file(dir / "out", {.io = IoMode::buffered});
  write_tensors(file, frame, columns, [] {});
  (void)file.finish();
  for (const ColumnFile& column : columns) CHECK_FALSE(std::filesystem::exists(column.path));
  return read_text(dir / "out");
}

void check_tensors(const std::vector<StoredTensor>& tensors, const TensorFrame& frame,
                   const std::string& file) {
  REQUIRE(tensors.size() == kFields.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(kFields[i].name);
    CHECK(tensors[i].name == kFields[i].name);
    CHECK(tensors[i].shape == shape_of_column(kFields[i], kFrameRows));
    CHECK(tensors[i].offset % 8 == 0);
    CHECK(file.substr(tensors[i].offset, frame.rows_bytes(i)) == rows_of(frame, i));
  }
}

ViewBytes view_of(const std::string& file) {
  return [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(file).subspan(offset, length);
  };
}

TEST_CASE("tensor writer: several columns become a dict in one .pt file, with their checksums") {
  const TensorFrame frame = frame_of("pt", kFields, kFrameRows);
  const std::string file = packed(frame);
  CHECK(file.size() == frame.file_bytes());
  const std::vector<ZipMember> members = read_zip_directory(file.size(), view_of(file), "file");
  for (const ZipMember& member : members) {
    CAPTURE(member.name);
    const std::uint32_t checksum =
        crc32(as_bytes(file).subspan(member.data_offset, member.data_bytes));
    CHECK(member.crc32 == checksum);
    CHECK(member.data_offset % 64 == 0);
    // In its own header, too.
    const std::size_t begin = file.rfind("PK\3\4", member.data_offset);
    CHECK(file.substr(begin + 14, 4) == as_text(std::as_bytes(std::span(&checksum, 1))));
  }
  check_tensors(read_pt_archive(members, view_of(file), "file").tensors, frame, file);
  CHECK(file == packed(frame, 0));
}

TEST_CASE("tensor writer: several columns become one .safetensors file, the widest first") {
  const TensorFrame frame = frame_of("safetensors", kFields, kFrameRows);
  const std::string file = packed(frame);
  CHECK(file.size() == frame.file_bytes());
  CHECK(frame.places == std::vector<std::size_t>{1, 2, 0});
  check_tensors(read_safetensors(file.size(), view_of(file), "file").tensors, frame, file);
}

TEST_CASE("tensor writer: a lone column is no dict, and a run that is stopped stops") {
  const TensorFrame lone = frame_of("pt", std::span(kFields).first(1), 5);
  const std::vector<std::byte> head = lone.head(0, 0);
  CHECK(as_text(head).find("flag") == std::string_view::npos);
  const TempDir dir;
  write_file(dir / "column", "01234");
  OutputFile file(dir / "out", {.io = IoMode::buffered});
  const std::vector<ColumnFile> columns = {{dir / "column", 0}};
  const auto stop = [] { throw Error(Code::interrupted, "stopped"); };
  CHECK(error_of([&] { write_tensors(file, lone, columns, stop); }).code() == Code::interrupted);
}

}  // namespace
}  // namespace shale
