#include <string>

#include <doctest/doctest.h>

#include "shale/base/blob.hpp"

namespace shale {
namespace {

std::vector<std::string> pieces_of(const Blob& blob) {
  std::vector<std::string> pieces;
  blob.for_each_piece([&](Bytes piece) { pieces.emplace_back(as_text(piece)); });
  return pieces;
}

}  // namespace

TEST_CASE("blob: copies and views come out in the order they came in") {
  const std::string payload = "PAYLOAD";
  Blob blob;
  blob.append_copy(as_bytes("he"));
  blob.append_copy(as_bytes("ad"));
  blob.append_view(as_bytes(payload));
  blob.append_copy(as_bytes("tail"));
  CHECK(pieces_of(blob) == std::vector<std::string>{"head", "PAYLOAD", "tail"});
  CHECK(blob.size() == 15);
  CHECK(as_text(blob.flattened()) == "headPAYLOADtail");
}

TEST_CASE("blob: a view is not copied, a copy does not need its source") {
  std::string payload = "PAYLOAD", header = "head";
  Blob blob;
  blob.append_copy(as_bytes(header));
  blob.append_view(as_bytes(payload));
  header = "XXXX";
  payload[0] = 'p';
  CHECK(as_text(blob.flattened()) == "headpAYLOAD");
}

TEST_CASE("blob: early copies survive many later ones") {
  const std::string payload = "-";
  Blob blob;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    blob.append_copy(as_bytes(std::to_string(i)));
    blob.append_view(as_bytes(payload));
    expected += std::to_string(i) + "-";
  }
  CHECK(as_text(blob.flattened()) == expected);
  const Blob copy = blob;
  blob = Blob();
  CHECK(as_text(copy.flattened()) == expected);
}

TEST_CASE("blob: empty pieces leave no trace") {
  Blob blob;
  blob.append_copy({});
  blob.append_view({});
  CHECK(blob.size() == 0);
  CHECK(pieces_of(blob).empty());
}

}  // namespace shale
