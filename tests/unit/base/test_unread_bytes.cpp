#include <string>

#include <doctest/doctest.h>

#include "shale/base/blob.hpp"
#include "shale/base/checksum.hpp"

namespace shale {
namespace {

// Bytes that count how often they are read from begin to end, and may change.
class CountedBytes final : public UnreadBytes {
 public:
  explicit CountedBytes(std::string text) : UnreadBytes(text.size()), text(std::move(text)) {}
  void read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset == 0) ++passes;
    const Bytes found = as_bytes(std::string_view(text)).subspan(offset, into.size());
    std::copy(found.begin(), found.end(), into.begin());
  }

  std::string text;
  mutable int passes = 0;

 protected:
  [[nodiscard]] Error wrong_checksum(std::uint32_t, std::uint32_t) const override {
    return {Code::io, "changed"};
  }
};

std::string text_of(const Blob& blob) {
  std::string text;
  blob.for_each_piece([&](Bytes piece) { text += as_text(piece); });
  return text;
}

std::string long_text() {
  std::string text(UnreadBytes::kPieceBytes * 2 + 3, 'a');
  text[UnreadBytes::kPieceBytes + 1] = 'b';
  return text;
}

}  // namespace

TEST_CASE("unread bytes: they come in pieces, and one reading finds their checksum") {
  const auto bytes = std::make_shared<CountedBytes>(long_text());
  std::string found;
  std::size_t pieces = 0;
  bytes->for_each_piece([&](Bytes piece) {
    ++pieces;
    found += as_text(piece);
  });
  CHECK(pieces == 3);
  CHECK(found == bytes->text);
  CHECK(bytes->crc32c() == crc32c(as_bytes(std::string_view(bytes->text))));
  CHECK(bytes->passes == 1);
}

TEST_CASE("unread bytes: what changed between two readings is refused") {
  CountedBytes bytes("before");
  (void)bytes.crc32c();
  bytes.text = "behind";
  CHECK_THROWS_AS(bytes.for_each_piece([](Bytes) {}), Error);
}

TEST_CASE(
    "blob: unread bytes stand in their place, and nothing reads them before they are wanted") {
  const auto bytes = std::make_shared<CountedBytes>("unread");
  Blob blob;
  blob.append_copy(as_bytes("head "));
  blob.append_unread(bytes);
  blob.append_copy(as_bytes(" tail"));
  CHECK(blob.size() == 16);
  CHECK(bytes->passes == 0);
  CHECK(text_of(blob) == "head unread tail");

  BlobView view(blob);
  CHECK(as_text(view(3, 6)) == "d unre");
  CHECK(as_text(view(6, 3)) == "nre");
  CHECK(view.unread_at(5, 6) != nullptr);
  CHECK(view.unread_at(5, 5) == nullptr);
  CHECK(view.unread_at(0, 5) == nullptr);
  CHECK(view.unread_at(16, 0) == nullptr);
}

TEST_CASE("bytes of size: they have one, and cannot be read") {
  const BytesOfSize bytes(std::uint64_t{1} << 50);
  CHECK(bytes.size() == std::uint64_t{1} << 50);
  CHECK(bytes.crc32c() == 0);
  CHECK_THROWS_AS(bytes.for_each_piece([](Bytes) {}), Error);
}

}  // namespace shale
