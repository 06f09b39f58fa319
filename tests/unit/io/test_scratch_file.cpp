#include <span>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/io/scratch_file.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::span<std::byte> bytes_in(std::string& text) { return std::as_writable_bytes(std::span(text)); }

TEST_CASE("scratch file: gives back what was appended, from memory, from disk and across both") {
  TempDir dir;
  ScratchFile scratch(dir.path());
  std::string model;
  for (int step = 0; step < 50; ++step) {
    const std::string bytes(static_cast<std::size_t>(step * step * 300),
                            static_cast<char>('a' + step % 26));
    scratch.append(as_bytes(bytes));
    model += bytes;
    std::string back(model.size() / 2, '?');
    scratch.read_exact(model.size() - back.size(), bytes_in(back));
    REQUIRE((back == model.substr(model.size() - back.size())));
  }
  CHECK(scratch.size() == model.size());
  CHECK(files_in(dir.path()).empty());
  scratch.clear();
  scratch.append(as_bytes("new"));
  std::string back(3, '?');
  scratch.read_exact(0, bytes_in(back));
  CHECK(back == "new");
}

TEST_CASE("scratch file: a read past its end is a bug") {
  TempDir dir;
  ScratchFile scratch(dir.path());
  scratch.append(as_bytes("12345"));
  std::string back(2, '?');
  CHECK(error_of([&] { scratch.read_exact(4, bytes_in(back)); }).code() == Code::bug);
  CHECK(error_of([&] { scratch.read_exact(~0ULL, bytes_in(back)); }).code() == Code::bug);
}

TEST_CASE("scratch file: can be read in one thread while another appends") {
  TempDir dir;
  ScratchFile scratch(dir.path());
  std::jthread writer([&] {
    for (std::uint64_t number = 0; number < 200'000; ++number) scratch.append(bytes_of(number));
  });
  for (std::uint64_t number = 0; number < 200'000;) {
    if (scratch.size() < (number + 1) * 8) continue;
    std::uint64_t seen = 0;
    scratch.read_exact(number * 8, std::as_writable_bytes(std::span(&seen, 1)));
    REQUIRE(seen == number);
    number += 97;
  }
}

}  // namespace
}  // namespace shale
