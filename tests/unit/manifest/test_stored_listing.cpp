#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/manifest/stored_listing.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

ListingHead head_of_two_classes() {
  return {.facts = {{"folder", "/in"}, {"labels", "none"}},
          .kind = "image folder",
          .classes = {"cat", std::string("d\xff"
                                         "g\n")},
          .notes = {"a note"},
          .modified_ns = -7};
}

const std::vector<ListedFile> kFiles = {
    {.path = "cat/1.jpg", .bytes = 3, .modified_ns = 17, .label = 0},
    {.path = "d\xffg\n/sub/..jpg", .bytes = 1, .modified_ns = -1, .label = -5}};

void write_listing(const std::string& path, const std::vector<ListedFile>& files = kFiles) {
  ListingWriter writer(path, head_of_two_classes());
  for (const ListedFile& file : files) writer.add(file);
  writer.add_ignored("cat/notes.txt", "not the suffix of an image");
  writer.add_ignored("README", "beside the class folders");
  writer.finish();
}

ListingReader opened(const std::string& path, std::uint64_t most_bytes = 1 << 20) {
  return {path, most_bytes, [] {}};
}

std::vector<ListedFile> files_of(ListingReader& reader) {
  std::vector<ListedFile> files;
  while (std::optional<ListedFile> file = reader.next()) files.push_back(std::move(*file));
  return files;
}

TEST_CASE("listing: what it says of folders that are joined is read again") {
  const TempDir dir;
  ListingHead head = head_of_two_classes();
  head.image_folders = "mask,depth";
  ListingWriter(dir / "listing", head).finish();
  CHECK(opened(dir / "listing").head() == head);
}

TEST_CASE("listing: what is left out of the file of labels is read again") {
  const TempDir dir;
  ListingHead head = head_of_two_classes();
  head.left_out.add({.kind = "column", .name = "age", .reason = "not_a_label"});
  head.left_out.add({.kind = "column", .name = "box\n", .reason = "not_a_label"});
  head.left_out.more = 2;
  ListingWriter(dir / "listing", head).finish();
  CHECK(opened(dir / "listing").head() == head);
}

TEST_CASE("listing: fields that a file of labels has are read again") {
  const TempDir dir;
  ListingHead head = head_of_two_classes();
  head.metadata = {{.name = "age", .kind = Kind::real}};
  const std::vector<ListedFile> files = {{.path = "1.jpg", .bytes = 1, .row = "x"}};
  ListingWriter writer(dir / "listing", head);
  writer.add(files.front());
  writer.finish();
  ListingReader reader = opened(dir / "listing");
  CHECK(reader.head() == head);
  CHECK(files_of(reader) == files);
}

TEST_CASE("listing: rows of metadata, and the files that they are from, are read again") {
  const TempDir dir;
  ListingHead head = head_of_two_classes();
  head.metadata = {{.name = "caption", .kind = Kind::text}, {.name = "n", .kind = Kind::integer}};
  head.metadata_files = {{"cat/metadata.csv", "12 bytes, 7"}};
  head.has_metadata_labels = true;
  const std::vector<ListedFile> files = {
      {.path = "cat/1.jpg", .bytes = 1, .row = std::string("\0row", 4)},
      {.path = "cat/2.jpg", .has_label = false},
      {.path = "cat/3.jpg", .partners = {{.suffix = ".txt", .bytes = 3}}, .row = "x"}};
  ListingWriter writer(dir / "listing", head);
  for (const ListedFile& file : files) writer.add(file);
  writer.finish();
  ListingReader reader = opened(dir / "listing");
  CHECK(reader.head() == head);
  CHECK(files_of(reader) == files);
}

TEST_CASE("listing: what was written is read, twice, with what is ignored") {
  const TempDir dir;
  write_listing(dir / "listing");
  ListingReader reader = opened(dir / "listing");
  CHECK(reader.head() == head_of_two_classes());
  CHECK(reader.files() == 2);
  CHECK(files_of(reader) == kFiles);
  reader.rewind();
  CHECK(files_of(reader) == kFiles);
  std::vector<std::string> ignored;
  reader.for_each_ignored([&](std::string_view entry, std::string_view reason) {
    ignored.push_back(std::string(entry) + ": " + std::string(reason));
  });
  CHECK(reader.ignored() == 2);
  CHECK(ignored == std::vector<std::string>{"cat/notes.txt: not the suffix of an image",
                                            "README: beside the class folders"});
}

TEST_CASE("listing: one that is truncated anywhere, or has any byte changed, is damaged") {
  const TempDir dir;
  write_listing(dir / "listing");
  const std::string whole = content_of(dir.path()).at("listing");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    for (const std::string& bad : {whole.substr(0, at), flipped}) {
      write_file(dir / "bad", bad);
      const Error error = error_of([&] { (void)opened(dir / "bad"); });
      // A flip in the number of its version makes it one of another version.
      CHECK((error.code() == Code::damaged || error.code() == Code::unsupported));
      CHECK(error.file() == dir / "bad");
    }
  }
}

TEST_CASE("listing: one of another version is called that") {
  const TempDir dir;
  write_file(dir / "listing", "shale listing 2\n" + std::string(100, 'x'));
  CHECK(error_of([&] { (void)opened(dir / "listing"); }).code() == Code::unsupported);
}

TEST_CASE("listing: class names that outgrow the memory are refused") {
  const TempDir dir;
  write_listing(dir / "listing");
  CHECK(error_of([&] { (void)opened(dir / "listing", 16); }).code() == Code::limit);
}

TEST_CASE("listing: a path that leads out of the folder is damage, whatever the checksum says") {
  for (const std::string path : {"../secret", "a/../../b", "/etc/passwd", ""}) {
    CAPTURE(path);
    const TempDir dir;
    write_listing(dir / "listing", {{.path = path}});
    ListingReader reader = opened(dir / "listing");
    const Error error = error_of([&] { (void)reader.next(); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == dir / "listing");
  }
}

}  // namespace
}  // namespace shale
