#include <doctest/doctest.h>

#include "shale/data/row_storage.hpp"

namespace shale {
namespace {

TEST_CASE("row storage: rows are either found and proved by an index, or by strides and blocks") {
  constexpr RowStorage kIndexed = RowStorage::indexed(), kColumns = RowStorage::columns();

  CHECK(kIndexed.has_index());
  CHECK(kIndexed.has_value_checksums());
  CHECK_FALSE(kIndexed.has_strides());
  CHECK_FALSE(kIndexed.takes_runs());
  CHECK_FALSE(kColumns.has_index());
  CHECK_FALSE(kColumns.has_value_checksums());
  CHECK(kColumns.has_strides());
  CHECK(kColumns.takes_runs());
  CHECK(kIndexed != kColumns);
}

}  // namespace
}  // namespace shale
