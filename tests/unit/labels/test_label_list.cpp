#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/labels/label_list.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// A list, and what it says: "folder/file=label" of each row in the order that it comes.
struct Labels {
  explicit Labels(const std::string& content, bool has_class_table = false) {
    write_file(dir / "labels.csv", content);
    LabelList list({.file = {.path = dir / "labels.csv"},
                    .scratch_folder = dir.path(),
                    .all_memory_bytes = 64 << 20,
                    .has_class_table = has_class_table});
    are_numbers = list.are_numbers();
    names = list.class_names();
    while (std::optional<LabelList::Row> row = list.next()) {
      rows.push_back(fmt::format("{}|{}|{}", row->place.folder, row->place.name, row->text));
      numbers.push_back(row->number);
    }
  }
  TempDir dir;
  bool are_numbers = false;
  std::vector<std::string> names, rows;
  std::vector<std::int64_t> numbers;
};

using Texts = std::vector<std::string>;

TEST_CASE("label list: rows come in the order of the files, with or without a header") {
  for (const char* header : {"", "path,label\n", "\xEF\xBB\xBFpath,label\n"}) {
    const Labels labels(std::string(header) + "b/2.jpg, 7\na/1.jpg,-3 \nc.jpg,0\n");
    CHECK(labels.are_numbers);
    CHECK(labels.names.empty());
    CHECK(labels.rows == Texts{"|c.jpg|0", "a|1.jpg|-3", "b|2.jpg|7"});
    CHECK(labels.numbers == std::vector<std::int64_t>{0, -3, 7});
  }
}

TEST_CASE("label list: names are classes, sorted bytewise") {
  const Labels labels("1.jpg,dog\n2.jpg,Cat\n3.jpg,dog\n");
  CHECK_FALSE(labels.are_numbers);
  CHECK(labels.names == Texts{"Cat", "dog"});
}

TEST_CASE("label list: where the classes are known, numbers are names too") {
  const Labels labels("1.jpg,5\n2.jpg,cat\n", true);
  CHECK_FALSE(labels.are_numbers);
  CHECK(labels.names == Texts{"5", "cat"});
}

TEST_CASE("label list: what would give a wrong label is refused, with the list's name") {
  for (const std::string content :
       {"1.jpg,1\n2.jpg,cat\n", "1.jpg,1\n2.jpg,1.0\n", "1.jpg,1\n2.jpg,\n", "1.jpg\n",
        "1.jpg,1,2\n", ",1\n", "1.jpg,1\n1.jpg,1\n", "./a/1.jpg,1\na/1.jpg,2\n"}) {
    CAPTURE(content);
    try {
      const Labels labels(content);
      FAIL_CHECK("it was read");
    } catch (const Error& error) {
      CHECK(error.code() == Code::bad_content);
      CHECK(std::string(error.file()).ends_with("labels.csv"));
    }
  }
}

}  // namespace
}  // namespace shale
