#include <filesystem>

#include <doctest/doctest.h>

#include "shale/sources/input_kind.hpp"

#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

TEST_CASE("input kind: of a kind in a manifest that has no row, nothing is taken for granted") {
  CHECK(made_from("image folder").is_files);
  CHECK(made_from("arrays").is_known_by_content);
  CHECK(made_from("lmdb file").is_known_by_content);
  CHECK_FALSE(made_from("lmdb file").has_unique_keys);
  const MadeFrom later = made_from("a kind of later");
  CHECK_FALSE(later.is_files);
  CHECK_FALSE(later.has_unique_keys);
  CHECK_FALSE(later.is_known_by_content);
}

TEST_CASE("input kind: an option that a kind does not take is refused by its name") {
  InputRequest request;
  request.inputs = {"x"};
  for (const InputKind& kind : input_kinds()) {
    std::uint32_t bit = 1;
    for (const InputOption& option : input_options()) {
      const bool is_taken = (kind.takes & bit) != 0;
      bit <<= 1U;
      if (is_taken) continue;
      CAPTURE(kind.name);
      CAPTURE(option.name);
      const Error error = not_for(kind, request, option.name);
      CHECK(error.code() == Code::usage);
      CHECK(error.message().starts_with(option.name));
    }
  }
}

TEST_CASE("input kind: no option is given in a request that says nothing") {
  InputRequest request;
  request.inputs = {"x"};
  for (const InputOption& option : input_options()) {
    CAPTURE(option.name);
    CHECK_FALSE(option.is_given(request));
  }
}

// The kinds that take an input for their own, with how sure they are.
std::string kinds_of(const TempDir& dir, const std::string& path) {
  InputRequest request;
  request.inputs = {path};
  const std::string scratch = dir.path();
  const Events events;
  SoughtInput input{.request = request, .scratch_folder = scratch, .events = events};
  std::string names;
  for (const InputKind& kind : input_kinds()) {
    const Certainty certainty = kind.recognize(input).certainty;
    if (certainty == Certainty::none) continue;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
    if (certainty == Certainty::certain) break;
  }
  return names;
}

TEST_CASE("input kind: one is told by what is there") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "photos/cats");
  write_file(dir / "photos/cats/1.jpg", "x");
  write_file(dir / "text", "just a text");
  CHECK(kinds_of(dir, dir / "photos") == "a folder");
  CHECK(kinds_of(dir, dir / "text").empty());
  CHECK(kinds_of(dir, dir / "nothing").empty());
}

}  // namespace
