#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/labels/label_rows.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// "key=label" of each row.
std::vector<std::string> rows_of(const std::string& name, const std::string& content,
                                 const std::string& label = "", const std::string& key = "") {
  const TempDir dir;
  write_file(dir / name, content);
  std::vector<std::string> rows;
  (void)read_label_rows({.path = dir / name, .label_column = label, .key_column = key},
                        [&](const LabelRow& row) {
                          rows.push_back(std::string(row.key) + "=" + std::string(row.label));
                        });
  return rows;
}

TEST_CASE("label rows: every kind of file gives its keys and labels") {
  const std::vector<std::string> cat = {"1.jpg=cat"};
  CHECK(rows_of("a.csv", "1.jpg,cat\n") == cat);
  CHECK(rows_of("a.tsv", "1.jpg\tcat\n") == cat);
  CHECK(rows_of("a.txt", "1.jpg cat\n") == cat);
  CHECK(rows_of("a.csv", "\xEF\xBB\xBFwidth,file_name,label\r\n7,1.jpg, cat \r\n") == cat);
  CHECK(rows_of("a.csv", "id,species,file\n7,cat,1.jpg\n", "species", "file") == cat);
  CHECK(rows_of("a.jsonl", "{\"label\":\"cat\",\"path\":\"1.jpg\"}\n") == cat);
  CHECK(rows_of("a.json", "\xEF\xBB\xBF { \"label\":\"cat\",\"path\":\"1.jpg\"}\n") == cat);
  CHECK(rows_of("a.csv", "{1}.jpg,cat\n")[0] == "{1}.jpg=cat");
  CHECK(rows_of("a.jsonl", "{\"y\":5,\"k\":\"1.jpg\"}\n", "y", "k")[0] == "1.jpg=5");
  CHECK(rows_of("a.csv", "ImageId,PredictionString\nval_1,n03995372 85 1 499 272 \n")[0] ==
        "val_1=n03995372");
  CHECK(rows_of("a.txt", "490\n361\n") == std::vector<std::string>{"=490", "=361"});
}

// The columns that are left out, by name.
std::vector<std::string> others_of(const std::string& name, const std::string& content,
                                   const std::string& label = "", const std::string& key = "") {
  const TempDir dir;
  write_file(dir / name, content);
  const LabelsRead read = read_label_rows(
      {.path = dir / name, .label_column = label, .key_column = key}, [](const LabelRow&) {});
  std::vector<std::string> names;
  for (const LeftOut& one : read.left_out.entries) {
    CHECK((one.kind == "column" && one.reason == "not_a_label"));
    names.push_back(one.name);
  }
  return names;
}

TEST_CASE("label rows: columns that are neither key nor label are listed, until one is named") {
  const std::vector<std::string> width_and_age = {"width", "age"};
  CHECK(others_of("a.csv", "width,path,label, age ,\n7,1.jpg,cat,3,x\n") == width_and_age);
  CHECK(others_of("a.csv", "width,id,label,age\n7,1.jpg,cat,3\n", "", "id") == width_and_age);
  CHECK(others_of("a.csv", "width,path,label,age\n7,1.jpg,cat,3\n", "label").empty());
  CHECK(others_of("a.csv", "path,label\n1.jpg,cat\n").empty());
  CHECK(others_of("a.csv", "1.jpg,cat\n").empty());
  // A line may have members that the lines before it lack, in another order.
  CHECK(others_of("a.jsonl",
                  "{\"path\":\"1.jpg\",\"label\":1}\n{\"width\":1,\"label\":2,\"path\":\"2.jpg\"}\n"
                  "{\"width\":1,\"label\":2,\"path\":\"3.jpg\",\"age\":[]}\n") == width_and_age);
  CHECK(others_of("a.jsonl", "{\"path\":\"1.jpg\",\"label\":1,\"width\":2}\n", "label").empty());
}

// "name=text" of each cell.
std::vector<std::string> cells_of(const std::string& content, LabelFile file) {
  const TempDir dir;
  file.path = dir / "a.csv";
  write_file(file.path, content);
  std::vector<std::string> cells;
  const auto use = [&](const LabelRow& row) {
    for (const JsonMember& cell : row.cells)
      cells.push_back(std::string(row.key) + ": " + cell.name + " " + cell.text + " " +
                      std::string(name_of(cell.kind)));
  };
  (void)read_label_rows(file, use, true);
  return cells;
}

TEST_CASE("label rows: cells are by column, with what each of them is") {
  using Cells = std::vector<std::string>;
  const std::string table = "id,a,b\nx/1.jpg,7,\"0,5\"\nx/2.jpg,,007\n";
  CHECK(cells_of(table,
                 {.path = {}, .label_column = "a,b", .key_column = "id", .strip_prefix = "x\\"}) ==
        Cells{"1.jpg: a 7 an integer", "1.jpg: b 0.5 a real", "2.jpg: a  null",
              "2.jpg: b 007 a string"});
  CHECK(cells_of("id,a,b\n1.jpg,7,2.5\n",
                 {.path = {}, .label_column = "label=a,b", .key_column = "id"}) ==
        Cells{"1.jpg: label [7,2.5] an array or object"});
  CHECK(cells_of("1.jpg,x,3\n", {.path = {}, .label_column = "3", .key_column = "1"}) ==
        Cells{"1.jpg: label 3 an integer"});
  CHECK(cells_of("path,label,who\n1.jpg,a,me\n", {.path = {}, .group_column = "who"}) ==
        Cells{"1.jpg: label a a string", "1.jpg: who me a string"});
  CHECK(error_of([&] {
          (void)cells_of(table, {.path = {}, .label_column = "label=a,b", .key_column = "id"});
        }).code() == Code::bad_content);
}

TEST_CASE("label rows: real numbers are told from names and from integers") {
  CHECK(real_number_in("2.0") == "2.0");
  CHECK(real_number_in("+0,25") == "0.25");
  CHECK(real_number_in("-1e-3") == "-0.001");
  for (const char* other : {"", "2", "007", "1,5,2", "nan.", "1e999", "x.5"}) {
    CAPTURE(other);
    CHECK_FALSE(real_number_in(other));
  }
}

TEST_CASE("label rows: columns that are missing or come twice are named") {
  CHECK(error_of([] { (void)rows_of("a.csv", "path,x\n1.jpg,cat\n", "y"); }).code() ==
        Code::bad_content);
  CHECK(error_of([] { (void)rows_of("a.csv", "path,y,y\n1.jpg,a,b\n", "y"); }).code() ==
        Code::bad_content);
  const Error twice = error_of([] { (void)rows_of("a.csv", "path,label,label\n1.jpg,a,b\n"); });
  CHECK(twice.message().find("2 columns for the label") != std::string::npos);
  for (const std::string line : {"{\"path\":\"1.jpg\",\"label\":null}", "{\"path\":\"1.jpg\"}",
                                 "{\"path\":7,\"label\":1}", "{\"path\":\"1.jpg\",\"label\":[1]}"})
    CHECK(error_of([&] { (void)rows_of("a.jsonl", line); }).code() == Code::bad_content);
  CHECK(error_of([] { (void)rows_of("a.txt", "490\nx\n"); }).code() == Code::bad_content);
}

}  // namespace
}  // namespace shale
