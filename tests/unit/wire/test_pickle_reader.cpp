#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/pickle_reader.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::unhex;

constexpr std::uint64_t kBase = 1000;
constexpr std::string_view kGlobals[] = {"collections OrderedDict", "numpy ndarray", "numpy dtype",
                                         "numpy._core.multiarray _reconstruct"};

Pickle read_whole(Bytes bytes, const PickleLimits& limits = {}) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return bytes.subspan(offset - kBase, length);
  };
  return read_pickle(view, kBase, bytes.size(), "file", kGlobals, limits);
}
Pickle read_hex(std::string_view digits) { return read_whole(unhex(digits)); }
// Opcodes as they are written, between the protocol and STOP.
std::string program(std::string_view opcodes) { return "\x80\x02" + std::string(opcodes) + "."; }
Error refusal(std::string_view opcodes, const PickleLimits& limits = {}) {
  return error_of([&] { (void)read_whole(as_bytes(program(opcodes)), limits); });
}

TEST_CASE("pickle: a tuple of bytes and an integer has the same values in protocols 3, 4 and 5") {
  // pickle.dumps((b'ab', 7), protocol)
  for (const std::string_view digits :
       {"80034302616271004b078671012e", "8004950a0000000000000043026162944b0786942e",
        "8005950a0000000000000043026162944b0786942e"}) {
    CAPTURE(digits);
    const Pickle pickle = read_hex(digits);
    const PickleValue pair = pickle.root();
    REQUIRE(pair.is(PickleKind::tuple));
    REQUIRE(pair.size() == 2);
    REQUIRE(pair[0].is(PickleKind::bytes));
    const std::string bytes(as_text(unhex(digits)));
    CHECK(bytes.substr(pair[0].offset() - kBase, pair[0].length()) == "ab");
    CHECK(pair[1].integer() == 7);
  }
}

TEST_CASE("pickle: numbers of every size, booleans, None and text keep their values") {
  // pickle.dumps([1, -1, 300, 70000, 2**40, -2**40, 1.5, True, None, 'x'], 2) and 4
  for (const std::string_view digits :
       {"80025d7100284b014affffffff4d2c014a701101008a060000000000018a060000000000ff473ff8000000000"
        "000884e5801000000787101652e",
        "80049533000000000000005d94284b014affffffff4d2c014a701101008a060000000000018a060000000000ff"
        "473ff8000000000000884e8c017894652e"}) {
    const Pickle pickle = read_hex(digits);
    const PickleValue list = pickle.root();
    REQUIRE(list.size() == 10);
    const std::int64_t integers[] = {1, -1, 300, 70'000, 1LL << 40, -(1LL << 40)};
    for (std::size_t i = 0; i < 6; ++i) CHECK(list[i].integer() == integers[i]);
    CHECK(list[6].real() == 1.5);
    CHECK(list[7].is(PickleKind::boolean));
    CHECK(list[7].integer() == 1);
    CHECK(list[8].is(PickleKind::none));
    CHECK(list[9].text() == "x");
  }
}

TEST_CASE("pickle: an OrderedDict is a call with entries") {
  // pickle.dumps(collections.OrderedDict(a=1, b=2), 2)
  const Pickle pickle = read_hex(
      "800263636f6c6c656374696f6e730a4f726465726564446963740a7100295271012858010000006171024b015801"
      "0000006271034b02752e");
  const PickleValue dict = pickle.root();
  REQUIRE(dict.is_call_of("collections OrderedDict"));
  CHECK(dict.size() == 0);
  REQUIRE(dict.entries() == 2);
  CHECK(dict.key(1).text() == "b");
  CHECK(dict.value(1).integer() == 2);
  CHECK_FALSE(dict.state());
}

TEST_CASE("pickle: an object of any class is its state where that is asked for, and no call is") {
  // pickle.dumps of an object of graph_lib.G with x=7; of one with x=a call of print; of one whose
  // attribute is a class; protocol 4
  constexpr std::string_view kObject =
      "80049520000000000000008c0967726170685f6c6962948c01479493942981947d948c0178944b0773622e";
  constexpr std::string_view kOfCall =
      "80049539000000000000008c0967726170685f6c6962948c01479493942981947d948c0178948c086275696c"
      "74696e73948c057072696e7494939468058594529473622e";
  constexpr std::string_view kOfClass =
      "80049522000000000000008c0967726170685f6c6962948c01479493942981947d948c03636c739468027362"
      "2e";
  PickleLimits limits;
  limits.takes_objects = true;

  const Pickle pickle = read_whole(unhex(kObject), limits);
  REQUIRE(pickle.root().is_call_of("graph_lib G"));
  REQUIRE(pickle.root().state());
  CHECK(pickle.root().state()->value(0).integer() == 7);
  CHECK(error_of([&] { (void)read_whole(unhex(kObject)); }).message() ==
        "pickle refers to 'graph_lib.G', which is not plain data");
  CHECK(error_of([&] { (void)read_whole(unhex(kOfCall), limits); }).message() ==
        "pickle refers to 'builtins.print', which is not plain data");
  CHECK(error_of([&] { (void)read_whole(unhex(kOfClass), limits); }).message() ==
        "pickle refers to 'graph_lib.G', which is not plain data");
}

TEST_CASE(
    "pickle: what is not plain data is one value where that is asked for, and nothing of it") {
  // pickle.dumps({'s': {1}, 'f': frozenset([2]), 'd': datetime.date(2020, 1, 2), 'n': 1 << 80, 'x':
  // 7}, 4)
  constexpr std::string_view kMixed =
      "80049552000000000000007d94288c0173948f94284b01908c016694284b0291948c0164948c086461746574"
      "696d65948c0464617465949394430407e4010294859452948c016e948a0b00000000000000000000018c0178"
      "944b07752e";
  PickleLimits limits;
  limits.takes_others = limits.takes_objects = true;
  const Pickle pickle = read_whole(unhex(kMixed), limits);
  const PickleValue dict = pickle.root();
  REQUIRE(dict.entries() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(dict.value(i).is(PickleKind::other));
  CHECK(dict.value(0).name() == "pickle holds a set");
  CHECK(dict.value(2).name() == "pickle refers to 'datetime.date', which is not plain data");
  CHECK(dict.value(3).name() == "pickle holds an integer of more than 64 bits");
  CHECK(dict.value(4).integer() == 7);
  CHECK(error_of([&] { (void)read_whole(unhex(kMixed)); }).message() ==
        "pickle uses opcode EMPTY_SET (0x8f), which is not read");
}

TEST_CASE("pickle: a NumPy array is a call with a state") {
  // pickle.dumps(numpy.array([3]), 3), NumPy 2.4
  const Pickle pickle = read_hex(
      "8003636e756d70792e5f636f72652e6d756c746961727261790a5f7265636f6e7374727563740a710063"
      "6e756d70790a6e6461727261790a71014b008571024301627103877104527105284b014b01857106636e"
      "756d70790a64747970650a7107580200000069387108898887710952710a284b0358010000003c710b4e"
      "4e4e4affffffff4affffffff4b0074710c628943080300000000000000710d74710e622e");
  const PickleValue array = pickle.root();
  REQUIRE(array.is_call_of("numpy._core.multiarray _reconstruct"));
  CHECK(array.size() == 3);
  CHECK(array[0].name() == "numpy ndarray");
  REQUIRE(array.state());
  const PickleValue state = *array.state();
  REQUIRE(state.size() == 5);
  CHECK(state[1][0].integer() == 1);
  CHECK(state[2].is_call_of("numpy dtype"));
  CHECK(state[2].state()->operator[](1).text() == "<");
  CHECK(state[4].length() == 8);
}

TEST_CASE("pickle: a value from the memo is the value that was kept") {
  // x = [1]; pickle.dumps((x, x, 's'), 4)
  const Pickle pickle = read_hex("8004950e000000000000005d944b016168008c01739487942e");
  CHECK(pickle.root()[1][0].integer() == 1);
  CHECK(pickle.root()[2].text() == "s");
}

TEST_CASE("pickle: lists that grow in turn keep their values") {
  // [[0], [1, 1], [2, 2, 2], ...], each value appended alone.
  constexpr char kLists = 50;
  std::string opcodes = "]";
  for (char i = 0; i < kLists; ++i) {
    opcodes += ']';
    for (char times = 0; times <= i; ++times) opcodes += std::string("K") + i + 'a';
    opcodes += 'a';
  }
  const std::string bytes = program(opcodes);
  const Pickle pickle = read_whole(as_bytes(bytes));
  REQUIRE(pickle.root().size() == kLists);
  for (std::size_t i = 0; i < kLists; ++i) {
    REQUIRE(pickle.root()[i].size() == i + 1);
    for (std::size_t k = 0; k <= i; ++k)
      CHECK(pickle.root()[i][k].integer() == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("pickle: in the memory of another one nothing of that is left") {
  const auto read_into = [](Pickle reused, std::string_view bytes) {
    const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
      return as_bytes(bytes).subspan(offset, length);
    };
    return read_pickle(view, 0, bytes.size(), "file", kGlobals, {}, std::move(reused));
  };
  Pickle first = read_into({}, program(std::string_view("}q\x01X\x01\x00\x00\x00nK\x01s", 12)));
  first = read_into(std::move(first), program(std::string_view("X\x01\x00\x00\x00mq\x02\x85", 9)));
  REQUIRE(first.root().size() == 1);
  CHECK(first.root()[0].text() == "m");
  const std::string of_first = program("h\x02");
  CHECK(error_of([&] { (void)read_into(std::move(first), of_first); }).code() == Code::damaged);
}

TEST_CASE("pickle: an object is a call of its class, and its class where it refers to itself") {
  // An ndarray whose state is (itself, 7).
  const Pickle pickle =
      read_hex("8002 63 6e756d70790a 6e6461727261790a 29 81 7100 28 6800 4b07 74 62 2e");
  const PickleValue object = pickle.root();
  REQUIRE(object.is_call_of("numpy ndarray"));
  REQUIRE(object.state());
  CHECK((*object.state())[0].is(PickleKind::global));
  CHECK((*object.state())[0].name() == "numpy ndarray");
  CHECK((*object.state())[1].integer() == 7);
}

TEST_CASE("pickle: of several that follow one another each says where it ends") {
  const std::string two("\x80\x02K\x07.\x80\x02K\x08.", 10);
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(two).subspan(offset, length);
  };
  const LeadingPickle first = read_leading_pickle(view, 0, two.size(), "two", {});
  CHECK(first.pickle.root().integer() == 7);
  CHECK(first.end == 5);
  CHECK(read_pickle(view, first.end, 5, "two", {}).root().integer() == 8);
  CHECK(error_of([&] { (void)read_pickle(view, 0, two.size(), "two", {}); }).code() ==
        Code::damaged);
}

TEST_CASE("pickle: a global that is not allowed is refused by its name") {
  const Error error = refusal("cos\nsystem\nX\4\0\0\0true\x85R");
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message() == "pickle refers to 'os.system', which is not plain data");
  CHECK(error.offset() == kBase + 2);
  const Error by_texts = error_of([] { (void)read_hex("8004 8c026f73 8c0673797374656d 93 2e"); });
  CHECK(by_texts.message() == "pickle refers to 'os.system', which is not plain data");
  // Nor one whose halves are joined differently, or that only begins like an allowed one.
  CHECK(refusal("cnumpy ndarray\n\n").code() == Code::unsupported);
  CHECK(refusal("cnumpy\nndarray2\n").code() == Code::unsupported);
}

TEST_CASE("pickle: an opcode that is not read is refused by its name") {
  CHECK(refusal("cnumpy\nndarray\n)}\x92").message() ==
        "pickle uses opcode NEWOBJ_EX (0x92), which is not read");
  CHECK(refusal("(i").message() == "pickle uses opcode INST (0x69), which is not read");
  CHECK(refusal("\xfe").message() == "pickle uses opcode 0xfe, which is not read");
}

TEST_CASE("pickle: what no pickler writes is damage or refused, with its place") {
  struct Row {
    std::string_view opcodes, message;
  };
  const Row rows[] = {
      {"", "pickle ends with 0 values on its stack"},
      {"NN", "pickle ends with 2 values on its stack"},
      {"N(", "pickle ends with 1 values on its stack"},
      {"N.", "1 bytes are left over after a pickle"},
      {"\x85", "opcode of a pickle finds no value to take"},
      {"N(\x85", "opcode of a pickle finds no value to take"},
      {"t", "opcode of a pickle finds no mark"},
      {"](e(a", "opcode of a pickle finds no value to take"},
      {"}(Nu", "pickle sets an entry without a value"},
      {"NNa", "pickle appends to None"},
      {"]NNs", "pickle sets an entry of a list"},
      {"N)R", "pickle calls None"},
      {"]Nb", "pickle gives a state to a list"},
      {"h\7", "pickle takes place 7 of its memo, where nothing is"},
      {"C\x20zz", "pickle claims 32 bytes, but only 3 are left"},
      {"\x8e\xff\xff\xff\xff\xff\xff\xff\xffz",
       "pickle claims 18446744073709551615 bytes, but only 2 are left"},
      {"X\1\0\0\0\xff", "string in a pickle is not UTF-8"},
      {"\x8a\x0a..........", "pickle holds an integer of more than 64 bits"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    std::string opcodes(row.opcodes);
    if (opcodes.starts_with('X')) opcodes = std::string("X\1\0\0\0\xff", 6);
    CHECK(refusal(opcodes).message() == row.message);
  }
  for (const std::string_view text : {"", "\x80", "(lp0\n.", "\xff\xd8\xff", "\x80\6N."}) {
    CHECK(error_of([&] { (void)read_whole(as_bytes(text)); }).code() == Code::unsupported);
  }
  CHECK(error_of([] { (void)read_whole(as_bytes("\x80\2N")); }).code() == Code::damaged);
}

TEST_CASE("pickle: a container that holds itself is refused") {
  // x = []; x.append(x); and by way of a second list; and a dict in its own entry
  for (const std::string_view opcodes : {"]q\1h\1a", "]q\1]q\2h\1ah\2a", "}q\1Nh\1s"}) {
    const Error error = refusal(opcodes);
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().ends_with("in a pickle holds itself"));
  }
  // y = [x]; then x.append(y)
  CHECK(refusal("]q\1\x85q\2h\1h\2a0").message().ends_with("holds itself"));
}

TEST_CASE("pickle: nesting, values, strings and the memo are bounded") {
  const std::string deep = std::string(100'000, ']') + std::string(99'999, 'a');
  CHECK(refusal(deep, {.values = 1 << 20}).message() ==
        "pickle nests its values more than 32 deep");
  CHECK(refusal(std::string(100'000, '(')).code() == Code::limit);
  CHECK(refusal(std::string(1000, 'N'), {.values = 999}).code() == Code::limit);
  CHECK(refusal(std::string("r\0\0\0\x70", 5)).code() == Code::damaged);  // nothing to keep
  CHECK(refusal(std::string("Nr\0\0\0\x70", 6)).message() ==
        "memo of a pickle has more places than the limit of 262144");
  CHECK(refusal(std::string("X\4\0\0\0abcd", 9), {.text_bytes = 3}).code() == Code::limit);
}

TEST_CASE("pickle: values that are used again and again count each time") {
  // x = (x, x), 30 times: 2^30 values in 60 bytes.
  std::string opcodes = "N\x94";
  for (char i = 0; i < 30; ++i) opcodes += std::string("h") + i + "h" + i + "\x86\x94";
  // What is left on the stack below is put away by a tuple at last.
  CHECK(refusal("(" + opcodes + "t").message() ==
        "pickle holds more values than the limit of 262144");
}

TEST_CASE("pickle: a program that is truncated anywhere is an error") {
  const std::vector<std::byte> whole = unhex(
      "800263636f6c6c656374696f6e730a4f726465726564446963740a7100295271012858010000006171024b015801"
      "0000006271034b02752e");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS((void)read_whole(Bytes(whole).first(length)), Error);
  }
}

}  // namespace
}  // namespace shale
