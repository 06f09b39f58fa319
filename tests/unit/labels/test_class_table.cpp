#include <doctest/doctest.h>

#include "shale/labels/class_table.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kMemory = 16 << 20;

TEST_CASE("class table: names that no command could read again from a manifest are refused") {
  const TempDir dir;
  const auto load = [&](std::size_t lines) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i) text += std::to_string(i) + std::string(90, 'x') + "\n";
    write_file(dir / "classes", text);
    return load_class_table(dir / "classes", kMemory).names().size();
  };
  CHECK(load(90'000) == 90'000);
  const Error error = error_of([&] { (void)load(110'000); });
  CHECK(error.code() == Code::limit);
  CHECK(error.file() == dir / "classes");
  CHECK(error_of([&] { ClassTable({std::string(20 << 20, 'x')}, "a folder", kMemory); }).code() ==
        Code::limit);
}

}  // namespace
}  // namespace shale
