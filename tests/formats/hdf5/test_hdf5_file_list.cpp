#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"

#include "formats/hdf5/hdf5_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;
using Names = std::vector<std::string>;

constexpr std::size_t kMostListedFiles = 65'536, kMostListBytes = 16 << 20;

std::optional<Names> listed(const std::string& text, const std::string& name = "a.txt") {
  const TempDir dir;
  test::write_file(dir / name, text);
  return hdf5_format.list_files(InputFile(dir / name));
}

TEST_CASE("hdf5 file list: names are separated by any whitespace") {
  CHECK(listed("a.h5") == Names{"a.h5"});
  CHECK(listed("\r\n a.h5\tb.hdf5\v\f /x/c.h5\r\na.h5\n") ==
        Names{"a.h5", "b.hdf5", "/x/c.h5", "a.h5"});
}

TEST_CASE("hdf5 file list: any other text is not one") {
  for (const char* text :
       {"", " \n", "a", "a.h5 b", "b a.h5", "a.h5x", "a.h5 \x01.h5", "a.H5", "5"})
    CHECK(listed(text) == std::nullopt);
  CHECK(listed("a.h5", "a.list") == std::nullopt);
  CHECK(listed(std::string("a.h5\0 b.h5", 10)) == std::nullopt);
  CHECK(listed(std::string(100'000, 'x') + ".h5") == std::nullopt);
}

TEST_CASE("hdf5 file list: it is as long as it may be, and no longer") {
  std::string text;
  for (std::size_t i = 0; i < kMostListedFiles; ++i) text += "a.h5 ";
  CHECK(listed(text)->size() == kMostListedFiles);
  CHECK(error_of([&] { (void)listed(text + "a.h5"); }).code() == Code::limit);
  CHECK(error_of([&] { (void)listed("a.h5" + std::string(kMostListBytes, ' ')); }).code() ==
        Code::limit);
}

}  // namespace
}  // namespace shale
