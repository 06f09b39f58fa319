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
    const auto found = find_array_columns(at(words), {.fields = fields});
    std::vector<std::string> result;
    for (const ArrayColumn& column : found.value().columns)
      result.push_back(column.name + ":" + std::to_string(column.rows()));
    return result;
  }
  Code code_of(const std::vector<std::string>& words,
               const std::vector<std::string>& fields = {}) const {
    return error_of([&] { (void)find_array_columns(at(words), {.fields = fields}); }).code();
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
  CHECK_FALSE(find_array_columns({arrays.dir / "photo.jpg"}));
}

// An archive of two arrays of two rows, and one more.
std::string archive_with(const ZipPart& more) {
  return zip_of({{.name = "train/x.npy", .data = npy_text("|u1", {2}, "aa")},
                 {.name = "y.npy", .data = npy_text("<i2", {2}, "bbbb")},
                 more});
}

TEST_CASE(
    "array columns: an array of an archive is chosen by its name there, or that of its field") {
  const Arrays arrays;
  write_file(arrays.dir / "a.npz",
             archive_with({.name = "z.npy", .data = npy_text("|u1", {5}, "zzzzz")}));
  CHECK(arrays.names({"a.npz"}, {"train/x", "y"}) == Names{"train_x:2", "y:2"});
  CHECK(arrays.names({"a.npz"}, {"y", "train_x"}) == Names{"y:2", "train_x:2"});

  write_file(arrays.dir / "b.npz",
             archive_with({.name = "train_x.npy", .data = npy_text("|u1", {2}, "cc")}));
  CHECK(arrays.code_of({"b.npz"}) == Code::unsupported);
  CHECK(arrays.code_of({"b.npz"}, {"train_x", "train_x"}) == Code::usage);
  const auto found = find_array_columns({arrays.dir / "b.npz"}, {.fields = {"train/x"}});
  CHECK(found.value().columns.at(0).member == "train/x");
}

TEST_CASE("array columns: what no field can hold is left out, or asked for and refused") {
  std::string objects = npy_text("|u1", {2}, "12");
  objects.replace(objects.find("|u1"), 3, "|O8");
  const Arrays arrays;
  struct Row {
    std::string_view name, data, reason;
  };
  const std::string scalar = npy_text("<f4", {}, "1234");
  const Row rows[] = {{"epoch", scalar, "single_value"}, {"names", objects, "type_not_held"}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    write_file(arrays.dir / "a.npz", archive_with({.name = std::string(row.name) + ".npy",
                                                   .data = std::string(row.data)}));
    const auto all = find_array_columns({arrays.dir / "a.npz"});
    CHECK(all.value().columns.size() == 2);
    REQUIRE(all.value().left_out.entries.size() == 1);
    CHECK(all.value().left_out.entries[0].name == row.name);
    CHECK(all.value().left_out.entries[0].reason == row.reason);
    CHECK(find_array_columns({arrays.dir / "a.npz"}, {.fields = {"y"}})
              .value()
              .left_out.entries.empty());
    CHECK(arrays.code_of({"a.npz"}, {std::string(row.name)}) == Code::unsupported);
  }
}

TEST_CASE("array columns: a member that is there twice, or damaged, does not stop the others") {
  const Arrays arrays;
  write_file(arrays.dir / "a.npz",
             archive_with({.name = "y.npy", .data = npy_text("|u1", {2}, "cc")}));
  CHECK(arrays.code_of({"a.npz"}) == Code::unsupported);
  CHECK(arrays.code_of({"a.npz"}, {"y"}) == Code::unsupported);
  CHECK(arrays.names({"a.npz"}, {"train_x"}) == Names{"train_x:2"});

  write_file(arrays.dir / "a.npz", archive_with({.name = "z.npy", .data = "not an array"}));
  CHECK(arrays.code_of({"a.npz"}) == Code::damaged);
  CHECK(arrays.names({"a.npz"}, {"y"}) == Names{"y:2"});
}

TEST_CASE("array columns: a path that exists is a path, whatever it looks like") {
  const Arrays arrays;
  write_file(arrays.dir / "odd=x.npy", npy_text("|u1", {1}, "o"));
  CHECK(path_in_word(arrays.dir / "odd=x.npy") == arrays.dir / "odd=x.npy");
  CHECK(path_in_word("odd=nowhere.npy") == "nowhere.npy");
  const auto found = find_array_columns({arrays.dir / "odd=x.npy"});
  CHECK(found.value().columns.at(0).name == "x");
}

}  // namespace
}  // namespace shale
