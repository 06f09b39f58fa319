#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/tar_reader.hpp"

#include "tests/support/tar_builder.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::vector<TarMember> members_of(const std::string& archive) {
  TarReader reader(0, archive.size(), "x.tar");
  std::vector<TarMember> members;
  while (reader.wanted() > 0) {
    const std::string bytes = archive.substr(reader.offset(), reader.wanted());
    if (std::optional<TarMember> member = reader.take(as_bytes(bytes)))
      members.push_back(std::move(*member));
  }
  reader.finish();
  return members;
}

Error tar_refusal(const std::string& archive) {
  return error_of([&] { (void)members_of(archive); });
}

std::string pax_line(std::string_view key, std::string_view value) {
  std::size_t length = key.size() + value.size() + 3;
  length += std::to_string(length + std::to_string(length).size()).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

// As a stream is read: its end shows when it comes.
std::vector<TarMember> streamed_members(const std::string& archive) {
  TarReader reader(0, kEndOfTarStream, "x.tar");
  std::vector<TarMember> members;
  while (reader.wanted() > 0) {
    if (reader.offset() + reader.wanted() > archive.size()) reader.end_at(archive.size());
    if (reader.wanted() == 0) break;
    const std::string bytes = archive.substr(reader.offset(), reader.wanted());
    if (std::optional<TarMember> member = reader.take(as_bytes(bytes)))
      members.push_back(std::move(*member));
  }
  reader.finish();
  return members;
}

TEST_CASE("tar reader: a stream that ends anywhere gives what a file of that length gives") {
  const std::string archive = TarBuilder()
                                  .add("", pax_line("path", "long/name.png"), 'x')
                                  .add("a.png", std::string(700, 'a'))
                                  .add("b.png", "b")
                                  .whole();
  for (std::size_t end = 0; end <= archive.size(); end += 100) {
    CAPTURE(end);
    const std::string part = archive.substr(0, end);
    std::string of_file, of_stream;
    try {
      of_file = std::to_string(members_of(part).size());
    } catch (const Error& error) {
      of_file = error.what();
    }
    try {
      of_stream = std::to_string(streamed_members(part).size());
    } catch (const Error& error) {
      of_stream = error.what();
    }
    CHECK(of_stream == of_file);
  }
}

TEST_CASE("tar reader: members come with their types, and the places of their data") {
  const std::string archive = TarBuilder()
                                  .add("a/", "", '5')
                                  .add("a/1.jpg", "data")
                                  .add("a/2.jpg", "", '1', "a/1.jpg")
                                  .add("a/3.jpg", "", '2', "1.jpg")
                                  .add("a/4", "", '6')
                                  .add("empty", "")
                                  .add("old/", "", '\0')
                                  .whole();
  const std::vector<TarMember> members = members_of(archive);
  REQUIRE(members.size() == 7);
  using Type = TarMember::Type;
  const Type types[] = {Type::folder,  Type::file, Type::hard_link, Type::symbolic_link,
                        Type::special, Type::file, Type::folder};
  for (std::size_t i = 0; i < members.size(); ++i) CHECK(members[i].type == types[i]);
  CHECK(archive.substr(members[1].offset, members[1].bytes) == "data");
  CHECK(members[2].target == "a/1.jpg");
  CHECK(members[5].bytes == 0);
}

TEST_CASE("tar reader: a prefix, a PAX header and GNU's long names make the name") {
  const std::string name(300, 'n');
  std::string prefixed(512, '\0');
  prefixed.replace(0, 4, "name");
  prefixed.replace(124, 11, "00000000000");
  prefixed.replace(257, 6, std::string("ustar\0", 6));
  prefixed.replace(345, 6, "prefix");
  const std::vector<TarMember> members =
      members_of(TarBuilder()
                     .add_block(prefixed)
                     .add("././@LongLink", name + '\0', 'L')
                     .add("././@LongLink", "t" + name + '\0', 'K')
                     .add("short", "", '2', "s")
                     .add("pax", pax_line("path", "p" + name) + pax_line("mtime", "1.5"), 'x')
                     .add("short", "1")
                     .add("short", "2")
                     .whole());
  REQUIRE(members.size() == 4);
  CHECK(members[0].path == "prefix/name");
  CHECK(members[1].path == name);
  CHECK(members[1].target == "t" + name);
  CHECK(members[1].header == 512);
  CHECK(members[2].path == "p" + name);
  CHECK(members[3].path == "short");
}

TEST_CASE("tar reader: a size stands in octal, in base 256 or in a PAX header") {
  TarBuilder pax;
  pax.add("pax", pax_line("size", "3"), 'x').add("a", "123", '0', "", 0);
  CHECK(members_of(pax.whole()).front().bytes == 3);

  std::string header(512, '\0');
  header[0] = 'a';
  header[124] = '\x80';
  header[135] = '\3';
  const std::vector<TarMember> members =
      members_of(TarBuilder().add_block(header).add_data("123").add("b", "").whole());
  CHECK(members.front().bytes == 3);
  CHECK(members.back().path == "b");
}

TEST_CASE("tar reader: a global PAX header counts until another one takes it back") {
  const std::vector<TarMember> members = members_of(TarBuilder()
                                                        .add("g", pax_line("path", "all"), 'g')
                                                        .add("a", "")
                                                        .add("g", pax_line("path", ""), 'g')
                                                        .add("b", "")
                                                        .whole());
  REQUIRE(members.size() == 2);
  CHECK(members[0].path == "all");
  CHECK(members[1].path == "b");
}

TEST_CASE("tar reader: a checksum of signed bytes is one too") {
  std::string header = TarBuilder().add("\xff\xfe", "").bytes();
  header.replace(148, 8, "        ");
  int sum = 0;
  for (const char c : header) sum += static_cast<signed char>(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  CHECK(members_of(header).front().path == "\xff\xfe");
}

TEST_CASE("tar reader: it ends at zeros or at the end of the file, and names what lies behind") {
  const std::string one = TarBuilder().add("a", "1").bytes();
  CHECK(members_of(one).size() == 1);
  CHECK(members_of(one.substr(0, 513)).size() == 1);  // the padding is no data
  CHECK(members_of(one + std::string(10'240, '\0')).size() == 1);
  CHECK(tar_refusal(one + std::string(1024, '\0') + one).code() == Code::unsupported);
  CHECK(tar_refusal(one + std::string(512, '\0') + one).code() == Code::unsupported);
  const Error error = tar_refusal(one + std::string(1024, '\0') + "x");
  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() == 2048);
}

TEST_CASE("tar reader: what is truncated is damage, with its place") {
  const std::string whole = TarBuilder().add("a", std::string(600, 'x')).add("b", "1").bytes();
  for (const std::size_t size : {1U, 511U, 512U, 1111U, 1537U, 2047U, 2048U}) {
    CAPTURE(size);
    const Error error = tar_refusal(whole.substr(0, size));
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == "x.tar");
  }
  CHECK(members_of(whole.substr(0, 1112)).size() == 1);
}

TEST_CASE("tar reader: sparse files, other volumes and unknown types are refused by name") {
  for (const char type : {'S', 'M', 'N', 'Z'}) {
    const Error error = tar_refusal(TarBuilder().add("the name", "1", type).whole());
    CHECK(error.code() == Code::unsupported);
    CHECK(std::string(error.what()).find("the name") != std::string::npos);
  }
  const Error error = tar_refusal(
      TarBuilder().add("x", pax_line("GNU.sparse.major", "1"), 'x').add("s", "1").whole());
  CHECK(error.code() == Code::unsupported);
}

TEST_CASE("tar reader: a header of PAX that is malformed is damage at its line") {
  for (const std::string line :
       {"99 path=x\n", "5 path=x\n", "path=x\n", " =\n", "0 \n", "9 pathxx\n"}) {
    CAPTURE(line);
    CHECK(tar_refusal(TarBuilder().add("p", line, 'x').add("a", "").whole()).code() ==
          Code::damaged);
  }
  CHECK(
      tar_refusal(
          TarBuilder().add("p", pax_line("path", std::string("a\0b", 3)), 'x').add("a", "").whole())
          .code() == Code::damaged);
  CHECK(tar_refusal(TarBuilder().add("p", "", 'x', "", 1 << 21).whole()).code() == Code::limit);
  CHECK(tar_refusal(TarBuilder().add("p", pax_line("path", "x"), 'x').bytes()).code() ==
        Code::damaged);
  CHECK(
      tar_refusal(
          TarBuilder().add("p", pax_line("path", std::string(5000, 'x')), 'x').add("a", "").whole())
          .code() == Code::limit);
}

}  // namespace
}  // namespace shale
