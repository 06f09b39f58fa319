#include <string>

#include <doctest/doctest.h>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/base/error.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("annotations: a form is told by content, and anything else is none") {
  const TempDir dir;
  const auto form_of = [&](const std::string& content) {
    write_file(dir / "a.json", content);
    return annotation_form(dir / "a.json");
  };
  CHECK(form_of(R"({"annotations":[],"images":[]})") == AnnotationForm::coco);
  CHECK(form_of(R"({"licenses":[{"id":1}],"images":[]})") == AnnotationForm::coco);
  CHECK(form_of(R"({"labels":[["a.png",1]]})") == AnnotationForm::label_pairs);
  CHECK(form_of(R"({"labels":null})") == AnnotationForm::label_pairs);
  CHECK(form_of(R"({"labels":[["a.png",[1,0.5]]]})") == AnnotationForm::label_vectors);
  for (const std::string_view other :
       {"", "{}", "{\"path\":\"a.jpg\",\"label\":1}\n{}", "a.jpg,1", "{\"images\":\"a.jpg\"}",
        "{\"images\":[\"a.jpg\"],\"label\":2}"})
    CHECK(form_of(std::string(other)) == AnnotationForm::none);
  CHECK(annotation_form(dir / "absent") == AnnotationForm::none);
  CHECK(annotation_form(dir.path()) == AnnotationForm::none);
}

TEST_CASE("annotations: StyleGAN's pairs have numbers or arrays of them") {
  const TempDir dir;
  const auto pairs_in = [&](const std::string& content) {
    write_file(dir / "a.json", content);
    std::string found;
    read_label_pairs(dir / "a.json", [&](const LabelPair& pair) {
      found += pair.key + "=" + pair.label.text + " ";
    });
    return found;
  };
  CHECK(pairs_in(R"({"labels":[["a/b.png",6],["c.png",[1,-0.5]]]})") ==
        "a/b.png=6 c.png=[1,-0.5] ");
  for (const std::string_view bad :
       {R"({"labels":null})", R"({"labels":[["a.png","cat"]]})", R"({"labels":[["a.png"]]})",
        R"({"labels":[[1,2]]})", R"({"labels":[["a.png",["x"]]]})"})
    CHECK(error_of([&] { (void)pairs_in(std::string(bad)); }).code() == Code::bad_content);
}

}  // namespace
}  // namespace shale
