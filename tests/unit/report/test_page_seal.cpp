#include <string>

#include <doctest/doctest.h>

#include "shale/report/page_seal.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

const std::string kWhole = sealed(std::string(kPageBegin) + "body\n");

PageState state_of(const std::string& content) {
  const TempDir dir;
  write_file(dir.path() + "/page.html", content);
  return page_state(dir.path() + "/page.html");
}

TEST_CASE("page seal: a page that was sealed is whole, and the seal is its last line") {
  CHECK(state_of(kWhole) == PageState::whole);
  CHECK(kWhole.ends_with(" -->\n"));
  CHECK(state_of(sealed(std::string(kPageBegin) + std::string(3 << 20, 'x'))) == PageState::whole);
}

TEST_CASE("page seal: any byte that changes is noticed") {
  for (std::size_t at = 0; at < kWhole.size(); ++at) {
    CAPTURE(at);
    std::string changed = kWhole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK(state_of(changed) != PageState::whole);
  }
}

TEST_CASE("page seal: what was cut off is a page that was begun, and something else is foreign") {
  for (const std::size_t bytes : {kPageBegin.size(), kPageBegin.size() + 1, kWhole.size() - 1})
    CHECK(state_of(kWhole.substr(0, bytes)) == PageState::begun);
  CHECK(state_of(kWhole + " ") == PageState::begun);
  CHECK(state_of("") == PageState::foreign);
  CHECK(state_of(kWhole.substr(0, kPageBegin.size() - 1)) == PageState::foreign);
  CHECK(state_of(sealed("<html>mine</html>\n")) == PageState::foreign);
}

}  // namespace
}  // namespace shale
