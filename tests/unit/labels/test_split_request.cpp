#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/labels/split_request.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::vector<std::string> read_back(const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (const SplitPart& part : parse_split(words).parts)
    parts.push_back(fmt::format("{} {} {}", part.name, part.share, part.file));
  return parts;
}

TEST_CASE("split request: shares and files of names, or names from files") {
  using Parts = std::vector<std::string>;
  CHECK(read_back({"train=0.7,test=0.3"}) == Parts{"train 0.7 ", "test 0.3 "});
  CHECK(read_back({"val=0.25", "train=.75"}) == Parts{"val 0.25 ", "train 0.75 "});
  CHECK(read_back({"train=a b,test=./0.5"}) == Parts{"train 0 a b", "test 0 ./0.5"});
  CHECK(read_back({"x/trainlist01.txt,testlist01.txt"}) ==
        Parts{"train 0 x/trainlist01.txt", "test 0 testlist01.txt"});
  CHECK(read_back({"train=0.1,val=0.2,test=0.7"}).size() == 3);
  CHECK(read_back({"train=70%,dev=3/10"}) == Parts{"train 0.7 ", "dev 0.3 "});
  CHECK(read_back({"fold0=1/3", "fold1=1/3", "fold2=1/3"}).size() == 3);
  CHECK(read_back({"holdout=.5,trainval=50%"}) == Parts{"holdout 0.5 ", "trainval 0.5 "});
  CHECK(read_back({"train=lists/1,test=1/a"}) == Parts{"train 0 lists/1", "test 0 1/a"});
  CHECK(parse_split({}).is_empty());
}

TEST_CASE("split request: what cannot be one is refused with what was found") {
  const std::pair<std::vector<std::string>, std::string> rows[] = {
      {{"train=0.7,test=0.2"}, "add up to 0.9, expected 1"},
      {{"train=0.7,test=0.4"}, "add up to 1.1, expected 1"},
      {{"train=1.7,test=-0.7"}, "'train=1.7': a share is more than 0 and at most 1"},
      {{"train=0,test=1"}, "'train=0': a share"},
      {{"train=nan,test=1"}, "'train=nan': a share"},
      {{"train=0.5,train=0.5"}, "names the list 'train' twice"},
      {{"train=0.5,a/b=0.5"}, "'a/b' cannot be the name of a split"},
      {{"train=0.5,.b=0.5"}, "'.b' cannot be the name of a split"},
      {{"train=0.5,dataset.json=0.5"}, "cannot be the name of a split"},
      {{"train=0.5,part-00000-of-00002=0.5"}, "cannot be the name of a split"},
      {{"train=1/0,test=0"}, "'train=1/0': a share is more than 0 and at most 1"},
      {{"train=150%,test=-50%"}, "'train=150%': a share"},
      {{"train=1,test=list"}, "both shares and files"},
      {{"train="}, "neither a share nor a file"},
      {{"list01.txt"}, "does not say which list"},
      {{"train=0.5,,test=0.5"}, "does not say which list"},
      {{""}, "does not say which list"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.second);
    const Error error = error_of([&] { (void)parse_split(row.first); });
    CHECK(error.code() == Code::usage);
    CHECK(error.message().find(row.second) != std::string::npos);
  }
}

}  // namespace
}  // namespace shale
