#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "shale/arrays/npz_writer.hpp"
#include "shale/base/checksum.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

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

}  // namespace
}  // namespace shale
