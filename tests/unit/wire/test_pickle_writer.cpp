#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/pickle_reader.hpp"
#include "shale/wire/pickle_writer.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

// Python's pickler writes the same opcodes, and keeps each value in the memo.
TEST_CASE("pickle writer: opcodes are those that Python writes") {
  PickleWriter pickle(3);
  pickle.begin_bytes(2);
  CHECK(test::hex(pickle.take()) == "80034302");
  pickle.write_integer(7);
  pickle.end_tuple_of_2();
  pickle.stop();
  CHECK(test::hex(pickle.take()) == "4b07862e");

  pickle.begin_bytes(256);
  CHECK(test::hex(pickle.take()) == "4200010000");
  CHECK(test::error_of([&] { pickle.begin_bytes(std::uint64_t{1} << 32); }).code() == Code::limit);
}

TEST_CASE("pickle writer: what it writes reads back") {
  constexpr std::int64_t kIntegers[] = {0,  255,       256,          65'535,          65'536,
                                        -1, 1LL << 31, -(1LL << 31), (1LL << 62) + 1, -(1LL << 62)};
  PickleWriter pickle(2);
  pickle.empty_dict();
  pickle.mark();
  pickle.write_text("integers");
  pickle.empty_list();
  pickle.mark();
  for (const std::int64_t integer : kIntegers) pickle.write_integer(integer);
  pickle.end_list();
  pickle.write_text("call");
  pickle.global("collections", "OrderedDict");
  pickle.empty_tuple();
  pickle.call();
  pickle.write_text("id");
  pickle.mark();
  pickle.write_none();
  pickle.write_boolean(true);
  pickle.end_tuple();
  pickle.persistent_id();
  pickle.end_dict();
  pickle.stop();

  const std::vector<std::byte> bytes = pickle.take();
  constexpr std::string_view kGlobals[] = {"collections OrderedDict"};
  const Pickle read =
      read_pickle([&](std::uint64_t offset,
                      std::uint64_t length) { return Bytes(bytes).subspan(offset, length); },
                  0, bytes.size(), "file", kGlobals);
  const PickleValue dict = read.root();
  REQUIRE(dict.entries() == 3);
  for (std::size_t i = 0; i < std::size(kIntegers); ++i)
    CHECK(dict.value(0)[i].integer() == kIntegers[i]);
  CHECK(dict.value(1).is_call_of("collections OrderedDict"));
  CHECK(dict.value(2)[0][1].integer() == 1);
}

}  // namespace
}  // namespace shale
