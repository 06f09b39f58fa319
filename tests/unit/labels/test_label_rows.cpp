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
