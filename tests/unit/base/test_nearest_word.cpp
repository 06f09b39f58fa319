#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/nearest_word.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

const std::vector<std::string> kWords = {"convert", "verify",       "info", "cat", "formats",
                                         "index",   "shard-size",   "jobs", "ls",  "seed",
                                         "shuffle", "save-indices", "x"};

}  // namespace

TEST_CASE("nearest word: a typing error finds the word that was meant") {
  constexpr std::string_view kPairs[][2] = {
      {"convrt", "convert"},        {"convertt", "convert"}, {"cnovert", "convert"},
      {"verifi", "verify"},         {"cta", "cat"},          {"job", "jobs"},
      {"shrad-siez", "shard-size"}, {"format", "formats"},   {"sl", "ls"},
      {"shardsize", "shard-size"},  {"sed", "seed"}};
  for (const auto& pair : kPairs) {
    CAPTURE(pair[0]);
    CHECK(nearest_word(pair[0], kWords) == pair[1]);
  }
}

TEST_CASE("nearest word: the beginning of one word finds it, of two does not") {
  CHECK(nearest_word("shu", kWords) == "shuffle");
  CHECK(nearest_word("save", kWords) == "save-indices");
  CHECK(!nearest_word("sh", kWords));
}

TEST_CASE("nearest word: what is far from every word, or is one of them, is not guessed at") {
  for (const std::string_view word :
       {"", "x", "frobnicate", "merge", "part", "dog", "convert", "delete", "informatics"}) {
    CAPTURE(word);
    CHECK(!nearest_word(word, kWords));
  }
  CHECK(!nearest_word(std::string(100'000, 'c'), kWords));
}

TEST_CASE("checked word: another word is an error that lists those that there are") {
  const std::vector<std::string> words{"skip", "keep"};
  CHECK(checked_word("keep", words, "--hidden") == "keep");
  const Error error = error_of([&] { (void)checked_word("kepp", words, "--hidden"); });
  CHECK(error.code() == Code::usage);
  CHECK(std::string_view(error.what()) == "--hidden 'kepp' is not one of skip, keep");
  CHECK(error.hint() == "did you mean 'keep'?");
}

TEST_CASE("did you mean: the word is quoted, and nothing is said without one") {
  CHECK(did_you_mean("shufle", kWords, "--") == "did you mean '--shuffle'?");
  CHECK(did_you_mean("frobnicate", kWords).empty());
}

}  // namespace shale
