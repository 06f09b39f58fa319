#include <string>

#include <doctest/doctest.h>

#include "shale/sums/message_digest.hpp"

using namespace shale;

namespace {

std::string digest_of(DigestKind kind, const std::string& text, std::size_t at_once) {
  MessageDigest digest(kind);
  for (std::size_t at = 0; at < text.size(); at += at_once)
    digest.update(as_bytes(std::string_view(text).substr(at, at_once)));
  return digest.hex();
}

}  // namespace

TEST_CASE("message digests: the test vectors of FIPS 180-4 and RFC 1321") {
  CHECK(digest_of(DigestKind::sha256, "", 1) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest_of(DigestKind::sha256, "abc", 1) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest_of(DigestKind::md5, "", 1) == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(digest_of(DigestKind::md5, "message digest", 4) == "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST_CASE("message digests: pieces of any length make the same digest") {
  const std::string text(1000, 'a');
  for (const DigestKind kind : {DigestKind::sha256, DigestKind::md5}) {
    for (const std::size_t bytes : {0U, 1U, 55U, 56U, 63U, 64U, 65U, 119U, 120U, 128U, 1000U}) {
      const std::string whole = digest_of(kind, text.substr(0, bytes), 1000);
      for (const std::size_t at_once : {1U, 7U, 63U, 64U, 65U, 200U})
        CHECK(digest_of(kind, text.substr(0, bytes), at_once) == whole);
    }
  }
}
