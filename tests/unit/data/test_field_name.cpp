#include <doctest/doctest.h>

#include "shale/data/field_name.hpp"

namespace shale {
namespace {

TEST_CASE("field name: what others call a value is a name that a schema takes") {
  CHECK(field_name_of("label") == "label");
  CHECK(field_name_of("image/object/bbox/xmin") == "image_object_bbox_xmin");
  CHECK(field_name_of("meta.boxes") == "meta_boxes");
  CHECK(field_name_of("index") == "index_");
}

}  // namespace
}  // namespace shale
