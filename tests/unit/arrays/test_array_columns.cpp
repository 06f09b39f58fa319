#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/arrays/array_columns.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/zip_builder.hpp"

namespace shale {
namespace {

using namespace test;

// A folder with arrays of three rows: x.npy and more.npy of one kind, y.npy of another.
struct Arrays {
  Arrays() {
    write_file(dir / "x.npy", npy_text("<i2", {3, 2}, std::string(12, 'x')));
    write_file(dir / "more.npy", npy_text("<i2", {5, 2}, std::string(20, 'm')));
    write_file(dir / "y.npy", npy_text("|u1", {3}, "yyy"));
    write_file(dir / "both.npz", zip_of({{.name = "a.npy", .data = npy_text("|u1", {2}, "aa")},
                                         {.name = "b.npy", .data = npy_text("<i2", {2}, "bbbb")}}));
    write_file(dir / "photo.jpg", "x");
  }
  std::vector<std::string> names(const std::vector<std::string>& words,
                                 const std::vector<std::string>& fields = {}) const {
    const auto found = find_array_columns(at(words), fields);
    std::vector<std::string> result;
    for (const ArrayColumn& column : found.value().columns)
      result.push_back(column.name + ":" + std::to_string(column.rows()));
    return result;
  }
  Code code_of(const std::vector<std::string>& words,
               const std::vector<std::string>& fields = {}) const {
    return error_of([&] { (void)find_array_columns(at(words), fields); }).code();
  }
  // "name=file" and "file", with the folder before the file.
  std::vector<std::string> at(const std::vector<std::string>& words) const {
    std::vector<std::string> paths;
    for (const std::string& word : words) {
      const std::size_t file = word.find('=') + 1;
      paths.push_back(word.substr(0, file) + (dir / word.substr(file)));
    }
    return paths;
  }
  TempDir dir;
};

using Names = std::vector<std::string>;

TEST_CASE("array columns: words become columns, words of one name one column") {
  const Arrays arrays;
  CHECK(arrays.names({"x.npy"}) == Names{"x:3"});
  CHECK(arrays.names({"img=x.npy", "label=y.npy"}) == Names{"img:3", "label:3"});
  CHECK(arrays.names({"x=x.npy", "x=more.npy"}) == Names{"x:8"});
  CHECK(arrays.names({"both.npz"}) == Names{"a:2", "b:2"});
  CHECK(arrays.names({"both.npz"}, {"b"}) == Names{"b:2"});
  CHECK(arrays.names({"a=x.npy", "b=y.npy"}, {"b", "a"}) == Names{"b:3", "a:3"});
}

TEST_CASE("array columns: what does not go together is refused") {
  const Arrays arrays;
  CHECK(arrays.code_of({"x.npy", "photo.jpg"}) == Code::usage);
  CHECK(arrays.code_of({"n=both.npz"}) == Code::usage);
  CHECK(arrays.code_of({"x=x.npy"}, {"z"}) == Code::usage);
  CHECK(arrays.code_of({"x=x.npy", "x=y.npy"}) == Code::schema);     // another dtype and shape
  CHECK(arrays.code_of({"x=x.npy", "m=more.npy"}) == Code::schema);  // another length
  CHECK_FALSE(find_array_columns({arrays.dir / "photo.jpg"}, {}));
}

TEST_CASE("array columns: a path that exists is a path, whatever it looks like") {
  const Arrays arrays;
  write_file(arrays.dir / "odd=x.npy", npy_text("|u1", {1}, "o"));
  CHECK(path_in_word(arrays.dir / "odd=x.npy") == arrays.dir / "odd=x.npy");
  CHECK(path_in_word("odd=nowhere.npy") == "nowhere.npy");
  const auto found = find_array_columns({arrays.dir / "odd=x.npy"}, {});
  CHECK(found.value().columns.at(0).name == "x");
}

}  // namespace
}  // namespace shale
