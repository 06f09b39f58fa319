#include <random>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/zip_directory.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/support/zip_builder.hpp"

namespace shale {
namespace {

using test::error_of;
using test::zip_of;
using test::ZipPart;

std::vector<ZipMember> read(const std::string& zip) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > zip.size() || length > zip.size() - offset) {
      throw Error(Code::bug, "a view of {} bytes at {} was asked of {}", length, offset,
                  zip.size());
    }
    return as_bytes(zip).subspan(offset, length);
  };
  return read_zip_directory(zip.size(), view, "a.npz");
}

std::string message_of(const std::string& zip, Code code) {
  const Error error = error_of([&] { (void)read(zip); });
  CHECK(error.code() == code);
  CHECK(error.file() == "a.npz");
  CHECK(error.offset().has_value());
  return error.message();
}

std::string changed(std::string zip, std::size_t at, std::string_view bytes) {
  return zip.replace(at, bytes.size(), bytes);
}

TEST_CASE("zip directory: members come in its order, with the places of their data") {
  const std::vector<ZipPart> parts = {
      {.name = "b.npy", .data = "stored", .local_extra = std::string("\x01\0\x02\0ab", 6)},
      {.name = "a.npy", .data = "deflated", .method = 8, .bytes = 1000, .crc = 7},
      {.name = "\xe9\x9b\xaa", .data = ""}};
  for (const bool is_zip64 : {false, true}) {
    CAPTURE(is_zip64);
    for (const std::string& comment :
         {std::string(), std::string(65'535, 'P'), std::string("PK\5\6")}) {
      const std::string zip = zip_of(parts, {.comment = comment, .is_zip64 = is_zip64});
      const std::vector<ZipMember> members = read(zip);
      REQUIRE(members.size() == 3);
      CHECK(members[0].name == "b.npy");
      CHECK_FALSE(members[0].is_deflated);
      CHECK(zip.substr(members[0].data_offset, members[0].data_bytes) == "stored");
      CHECK(members[0].crc32 == crc32(as_bytes("stored")));
      CHECK(members[1].is_deflated);
      CHECK(zip.substr(members[1].data_offset, members[1].data_bytes) == "deflated");
      CHECK(members[1].bytes == 1000);
      CHECK(members[1].crc32 == 7);
      CHECK(members[2].name == "\xe9\x9b\xaa");
      CHECK(members[2].bytes == 0);
    }
  }
}

TEST_CASE("zip directory: sizes and offsets beyond 32 bits are read from extra field 1") {
  const std::string zip = zip_of(
      {{.name = "a", .data = "x"},
       {.name = "b", .data = "y", .method = 8, .bytes = std::uint64_t{1} << 40, .is_zip64 = true}});
  const std::vector<ZipMember> members = read(zip);
  REQUIRE(members.size() == 2);
  CHECK(members[1].bytes == std::uint64_t{1} << 40);
  CHECK(members[1].data_bytes == 1);
  CHECK(zip.substr(members[1].data_offset, 1) == "y");
}

TEST_CASE("zip directory: an archive without members is one") {
  CHECK(read(zip_of({})).empty());
  CHECK(read(zip_of({}, {.is_zip64 = true})).empty());
}

TEST_CASE("zip directory: what cannot be read is refused by name") {
  const auto unsupported = [](const ZipPart& part) {
    return message_of(zip_of({part}), Code::unsupported);
  };
  CHECK(unsupported({.name = "x", .data = "1", .flags = 1}) == "member 'x' is encrypted");
  CHECK(unsupported({.name = "x", .data = "1", .flags = 1U << 6}) == "member 'x' is encrypted");
  CHECK(unsupported({.name = "x", .data = "1", .method = 12}) ==
        "member 'x' is compressed by method 12, not deflate");
  CHECK(unsupported({.name = "\xff", .data = "1"}) == "name of member '\\xff' is not UTF-8");
  const std::string zip = zip_of({{.name = "x", .data = "1"}});
  CHECK(message_of(changed(zip, zip.size() - 18, std::string_view("\1", 1)), Code::unsupported) ==
        "zip archive spans several disks");
  CHECK(message_of(changed(zip, zip.size() - 12, std::string_view("\2", 1)), Code::unsupported) ==
        "zip archive spans several disks");
}

TEST_CASE("zip directory: numbers that do not fit the file are damage") {
  const std::string zip = zip_of({{.name = "x", .data = "123"}, {.name = "y", .data = "45"}});
  const std::size_t end = zip.size() - 22, directory = end - 2 * 47;
  struct Row {
    std::size_t at;
    std::string_view bytes, message;
  };
  const Row rows[] = {
      {end + 12, "\x7f",
       "zip directory of 127 bytes at byte 67 does not lie before its end record"},
      {end + 12, "\x5d", "zip directory ends inside an entry"},
      {end + 16, "\x7f",
       "zip directory of 94 bytes at byte 127 does not lie before its end record"},
      {end + 8, {"\x03\0\x03", 3}, "zip directory of 94 bytes cannot hold 3 members"},
      {end + 8, {"\x01\0\x01", 3}, "zip directory has 47 extra bytes"},
      {directory, "QK", "expected a zip directory entry here"},
      {directory + 20, "\x64",
       "member 'x' of 100 bytes at byte 0 does not lie before the directory"},
      {directory + 24, "\x04", "stored member 'x' of 4 bytes takes 3 in the archive"},
      {directory + 28, "\xff\xff", "zip directory ends inside an entry"},
      {directory + 42, "\x40",
       "member 'x' of 3 bytes at byte 64 does not lie before the directory"},
      {directory + 42, "\x01", "expected the local header of member 'x' here"},
      {0, "QK", "expected the local header of member 'x' here"},
      {28, "\xff\xff", "member 'x' of 3 bytes at byte 0 does not lie before the directory"},
      {30, "z", "local header is for 'z' (method 0), but the directory says 'x' (0)"},
      {8, "\x08", "local header is for 'x' (method 8), but the directory says 'x' (0)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    CHECK(message_of(changed(zip, row.at, row.bytes), Code::damaged) == row.message);
  }
}

TEST_CASE("zip directory: members that share a name say so") {
  const std::string twice =
      zip_of({{.name = "x", .data = "1"}, {.name = "y", .data = "3"}, {.name = "x", .data = "2"}});
  std::vector<bool> repeated;
  for (const ZipMember& member : read(twice)) repeated.push_back(member.is_repeated);
  CHECK(repeated == std::vector<bool>{true, false, true});
}

TEST_CASE("zip directory: an archive behind another one is refused, not read alone") {
  const std::string one = zip_of({{.name = "x", .data = "1"}});
  CHECK(message_of(one + one, Code::unsupported) ==
        "holds several zip archives, one behind the other");
}

TEST_CASE("zip directory: the first member whose checksum is wrong is named") {
  std::string zip = zip_of({{.name = "x", .data = "1"}, {.name = "y", .data = "many bytes"}});
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(zip).subspan(offset, length);
  };
  const auto prove = [&] { return first_damaged_member(zip.size(), view, "a.npz", {}); };
  CHECK_FALSE(prove());
  zip[zip.find("many")] = 'M';
  CHECK(prove().value().message().starts_with("checksum mismatch in member 'y': found crc32 0x"));
}

TEST_CASE("zip directory: members that overlap are damage") {
  // The data of the first are a whole second local header.
  const std::string inner = zip_of({{.name = "y", .data = "2"}}).substr(0, 32);
  std::string zip = zip_of({{.name = "x", .data = inner}, {.name = "y", .data = "2"}});
  const std::size_t second = zip.size() - 22 - 47;
  zip = changed(zip, second + 42, std::string_view("\x1f", 1));
  CHECK(message_of(zip, Code::damaged) == "members 'x' and 'y' overlap");
}

TEST_CASE("zip directory: a zip64 end record that is not there is damage") {
  const std::string zip = zip_of({{.name = "x", .data = "1"}}, {.is_zip64 = true});
  const std::size_t locator = zip.size() - 42, record = locator - 56;
  CHECK(message_of(changed(zip, locator + 8, "\xff\xff"), Code::damaged) ==
        "zip64 end record at byte 65535 lies behind its locator");
  CHECK(message_of(changed(zip, record, "Q"), Code::damaged) == "expected a zip64 end record here");
  CHECK(message_of(changed(zip, record + 32, "\xff\xff\xff\xff\xff\xff\xff\x7f"),
                   Code::unsupported) == "zip archive spans several disks");
  CHECK(message_of(changed(zip, record + 24, std::string(16, '\x11')), Code::damaged) ==
        "zip directory of 47 bytes cannot hold 1229782938247303441 members");
  // Without locator the numbers are what they say.
  CHECK(message_of(changed(zip, locator, "Q"), Code::damaged).starts_with("zip directory of "));
}

TEST_CASE("zip directory: cut at any length, an archive is damaged") {
  const std::string zip = zip_of({{.name = "x", .data = "123"}, {.name = "y", .data = "45"}});
  for (std::size_t length = 0; length < zip.size(); ++length) {
    CAPTURE(length);
    CHECK(message_of(zip.substr(0, length), Code::damaged) == "zip archive has no end record");
  }
}

TEST_CASE("zip directory: random changes are read or refused, and no view leaves the file") {
  const std::string original =
      zip_of({{.name = "x", .data = "123"}, {.name = "y", .data = "45", .is_zip64 = true}},
             {.is_zip64 = true});
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string zip = original;
    for (int change = 0; change < 3; ++change)
      zip[random() % zip.size()] = static_cast<char>(random() % 4 == 0 ? 255 : random());
    try {
      for (const ZipMember& member : read(zip))
        CHECK(member.data_offset + member.data_bytes <= zip.size());
    } catch (const Error& error) {
      CHECK(error.code() != Code::bug);
    }
  }
}

}  // namespace
}  // namespace shale
