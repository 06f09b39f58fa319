#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/tar_writer.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// What the headers of a file say, if so many bytes of zeros follow them.
WrittenTarFile read_back(const std::string& headers, std::uint64_t data_bytes) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(headers).subspan(offset, length);
  };
  return read_tar_headers(view, 0, headers.size() + data_bytes);
}

TEST_CASE("tar writer: a short member has one header, which reads back") {
  const TarFile file{.path = "n01/x.jpg", .bytes = 3, .target = "n01/x.JPEG"};

  const std::string headers = tar_headers(file);

  CHECK(headers.size() == kTarBlockBytes);
  CHECK(is_tar_header(as_bytes(headers)));
  const WrittenTarFile found = read_back(headers, kTarBlockBytes);
  CHECK(found.file == file);
  CHECK(headers.substr(found.target, file.target.size()) == file.target);
  CHECK(found.end() == 2 * kTarBlockBytes);
}

TEST_CASE("tar writer: what a header does not hold is in a PAX header, which other readers take") {
  const TarFile file{.path = std::string(300, 'k') + ".bin",
                     .bytes = std::uint64_t{1} << 33,
                     .records = {{"SHALE.key", std::string("a\0b\n=", 5)}, {"SHALE.real", ""}}};
  const std::string headers = tar_headers(file);

  const WrittenTarFile found = read_back(headers, file.bytes);
  CHECK(found.file == file);
  CHECK(headers.substr(found.values[0], 5) == file.records[0].value);

  TarReader reader(0, headers.size() + file.bytes, "x");
  std::optional<TarMember> member;
  while (!member) {
    member = reader.take(as_bytes(headers).subspan(reader.offset(), reader.wanted()));
  }
  CHECK(member->path == file.path);
  CHECK(member->bytes == file.bytes);
}

TEST_CASE("tar writer: lines of a PAX header count their own digits") {
  for (const std::size_t length : {101U, 990U, 991U, 992U, 993U, 9990U}) {
    CAPTURE(length);
    const TarFile file{.path = std::string(length, 'p')};
    CHECK(read_back(tar_headers(file), 0).file == file);
  }
}

TEST_CASE("tar writer: any other byte in a header is refused where it is") {
  const TarFile file{.path = std::string(150, 'k'), .bytes = 3, .target = "t"};
  const std::string headers = tar_headers(file);
  for (std::size_t at = 0; at < headers.size(); at += 7) {
    if (at >= kTarBlockBytes && at < 2 * kTarBlockBytes) continue;  // no sum covers the PAX lines
    CAPTURE(at);
    std::string changed = headers;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    CHECK(error_of([&] { (void)read_back(changed, kTarBlockBytes); }).code() == Code::damaged);
  }
  CHECK(error_of([&] { (void)read_back(headers, 3); }).code() == Code::damaged);
}

TEST_CASE("tar writer: an archive is two blocks longer than its members, in steps of 10,240") {
  CHECK(tar_file_bytes(0) == 10'240);
  CHECK(tar_file_bytes(9'216) == 10'240);
  CHECK(tar_file_bytes(9'728) == 20'480);
}

}  // namespace
}  // namespace shale
