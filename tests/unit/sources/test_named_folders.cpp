#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/sources/named_folders.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

struct TwoFolders {
  TwoFolders() {
    write_file(dir / "photos/1.jpg", "x");
    write_file(dir / "masks/1.png", "x");
    write_file(dir / "set/dataset.json", "x");
    write_file(dir / "file.npy", "x");
  }
  [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& texts) const {
    std::vector<std::string> words;
    for (const std::string& text : texts) {
      const std::size_t equals = text.find('=');
      words.push_back(equals == std::string::npos
                          ? dir / text
                          : text.substr(0, equals + 1) + (dir / text.substr(equals + 1)));
    }
    return words;
  }
  TempDir dir;
};

TEST_CASE("named folders: names and folders in their order, and the words that make them again") {
  const TwoFolders in;
  const std::vector<std::string> words = in.words({"photo=photos", "mask=masks"});
  const std::vector<NamedFolder> found = find_named_folders(words);
  REQUIRE(found.size() == 2);
  CHECK(names_text(found) == "photo,mask");
  CHECK(found[1].root == in.dir / "masks");
  CHECK(words_of(found, "") == words);
  CHECK(words_of(found, "train")[0] == words[0] + "/train");
}

TEST_CASE("named folders: paths, arrays and folders without names are none") {
  const TwoFolders in;
  CHECK(find_named_folders(in.words({"photos"})).empty());
  CHECK(find_named_folders(in.words({"photos", "masks"})).empty());
  CHECK(find_named_folders(in.words({"x=file.npy"})).empty());
  CHECK(find_named_folders(in.words({"x=photos", "y=file.npy"})).empty());  // a join
  // A path that exists is a path.
  write_file(in.dir / "a=masks/1.png", "x");
  CHECK(find_named_folders({in.dir / "a=masks"}).empty());
}

TEST_CASE("named folders: what cannot be joined is refused by name") {
  struct Row {
    std::vector<std::string> words;
    Code code;
    std::string_view what;
  };
  const TwoFolders in;
  const Row rows[] = {
      {{"a=photos"}, Code::usage, "no other folders"},
      {{"a=photos", "masks"}, Code::usage, "is not a folder with a name"},
      {{"a=photos", "b=nothing"}, Code::not_found, "nothing"},
      {{"a=photos", "a=masks"}, Code::usage, "given to two folders"},
      {{"a=photos", "label=masks"}, Code::usage, "that of the labels"},
      {{"a=photos", "key=masks"}, Code::usage, "reserved by the index"},
      {{"a=photos", "b,c=masks"}, Code::usage, "it has a comma"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Error error = error_of([&] { (void)find_named_folders(in.words(row.words)); });
    CHECK(error.code() == row.code);
    CHECK(std::string(error.what()).find(row.what) != std::string::npos);
  }
}

}  // namespace
}  // namespace shale
