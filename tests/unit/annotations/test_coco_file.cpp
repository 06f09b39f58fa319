#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/error.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

struct Read {
  AnnotationsRead all;
  std::vector<std::string> rows;  // "key: field=text ..."
};

Read read(const std::string& content, std::vector<std::string> fields = {}) {
  const TempDir dir;
  write_file(dir / "a.json", content);
  Read read;
  read.all =
      read_coco({.path = dir / "a.json", .fields = std::move(fields), .scratch_folder = dir.path()},
                [&](const AnnotationRow& row) {
                  std::string text = std::string(row.key) + ":";
                  for (const JsonMember& cell : row.cells)
                    text += " " + cell.name + "=" + cell.text;
                  read.rows.push_back(text);
                });
  return read;
}

const std::string kImages =
    R"("images":[{"id":7,"file_name":"b.jpg"},{"file_name":"a.jpg","id":1}])";
const std::string kCategories2 = R"("categories":[{"id":9,"name":"dog"},{"id":2,"name":"cat"}])";

std::string file_of(const std::string& annotations) {
  return "{\"info\":{},\"annotations\":[" + annotations + "]," + kImages + "," + kCategories2 + "}";
}

TEST_CASE(
    "coco: each image has the annotations with its id, in their order, in any order of arrays") {
  const Read found = read(file_of(
      R"({"image_id":7,"category_id":9,"bbox":[1,2.5,3,4],"area":12,"iscrowd":0,"id":1},)"
      R"({"image_id":7,"category_id":2,"bbox":[0,0,1,1],"area":1.5,"iscrowd":true,"id":2,"x":[]})"));
  CHECK(found.rows ==
        std::vector<std::string>{
            "a.jpg: boxes=[] categories=[] area=[] iscrowd=[] image_id=1",
            "b.jpg: boxes=[[1,2.5,3,4],[0,0,1,1]] categories=[1,0] area=[12,1.5] iscrowd=[0,1] "
            "image_id=7"});
  CHECK(found.all.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(found.all.left_out.count() == 0);
  CHECK(found.all.notes.empty());
}

TEST_CASE(
    "coco: members that no field has are left out by name, annotations of unknown images counted") {
  const std::string content =
      file_of(R"({"image_id":1,"category_id":9,"bbox":[1,2,3,4],"segmentation":[[1,2]]},)"
              R"({"image_id":5,"category_id":9,"bbox":[1,2,3,4]})");
  const Read found = read(content);
  REQUIRE(found.all.left_out.count() == 1);
  CHECK(found.all.left_out.entries[0].name == "segmentation");
  REQUIRE(found.all.notes.size() == 2);
  CHECK(found.all.notes[1].find("1 annotation in") == 0);

  const Read asked = read(content, {"segmentation", "image_id"});
  CHECK(asked.rows == std::vector<std::string>{"a.jpg: segmentation=[[[1,2]]] image_id=1",
                                               "b.jpg: segmentation=[] image_id=7"});
  CHECK(asked.all.left_out.count() == 0);
  CHECK(asked.all.classes.empty());
}

TEST_CASE("coco: captions are lists of text, without boxes") {
  const Read found =
      read(R"({"images":[{"id":"x","file_name":"a.jpg"}],"annotations":[)"
           R"({"image_id":"x","caption":"a \"b\""},{"image_id":"x","caption":""}]})");
  CHECK(found.rows == std::vector<std::string>{R"(a.jpg: captions=["a \"b\"",""] image_id=x)"});
}

TEST_CASE("coco: what is wrong is named by its element") {
  struct Row {
    std::string annotation;
    std::string_view message;
  };
  for (const Row& row : {
           Row{"1", "element 2 of 'annotations' is not a JSON object"},
           {R"({"image_id":1.5,"category_id":2,"bbox":[1,2,3,4]})",
            "element 2 of 'annotations' has no integer 'image_id'"},
           {R"({"image_id":1,"category_id":3,"bbox":[1,2,3,4]})",
            "element 2 of 'annotations' has the category_id 3"},
           {R"({"image_id":1,"bbox":[1,2,3,4]})",
            "element 2 of 'annotations' has no 'category_id'"},
           {R"({"image_id":1,"category_id":2})", "element 2 of 'annotations' has no 'bbox'"},
           {R"({"image_id":1,"category_id":2,"bbox":[1,2,3]})",
            "element 2 of 'annotations' has a 'bbox' that is not four numbers"},
           {R"({"image_id":1,"category_id":2,"bbox":[1,2,NaN,4]})",
            "element 2 of 'annotations' has a 'bbox' that is not four numbers"},
           {R"({"image_id":1,"category_id":2,"bbox":[1,2,3,4],"iscrowd":0.5})",
            "element 2 of 'annotations' has a 'iscrowd' that is not an integer"},
           {std::string(R"({"image_id":1,"category_id":2,"bbox":[1,2,3,4],"area":)") + '\0' + "1}",
            "element 2 of 'annotations' has a NUL byte in its 'area'"},
       }) {
    CAPTURE(row.annotation);
    const Error error = error_of([&] {
      (void)read(file_of(R"({"image_id":1,"category_id":9,"bbox":[1,2,3,4]},)" + row.annotation));
    });
    CHECK(error.code() == Code::bad_content);
    CHECK(error.message().starts_with(row.message));
  }
  for (const std::string& bad :
       {std::string(R"({"images":[]})"),
        R"({"annotations":[],"images":[{"id":1}]})" + std::string(),
        R"({"annotations":[],"images":[{"id":1,"file_name":"a"},{"id":1,"file_name":"b"}]})" +
            std::string()}) {
    CAPTURE(bad);
    CHECK(error_of([&] { (void)read(bad); }).code() == Code::bad_content);
  }
}

}  // namespace
}  // namespace shale
