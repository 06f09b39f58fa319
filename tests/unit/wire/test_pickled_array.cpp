#include <string>

#include <doctest/doctest.h>

#include "shale/base/bytes.hpp"
#include "shale/wire/pickled_array.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::unhex;

// pickle.dumps(torch.arange(6.).reshape(2, 3)[1:], 4), PyTorch 2.13
constexpr std::string_view kRow =
    "80049596010000000000008c0c746f7263682e5f7574696c73948c125f72656275696c645f74656e736f725f76"
    "32949394288c0d746f7263682e73746f72616765948c105f6c6f61645f66726f6d5f6279746573949394420b01"
    "000080028a0a6cfc9c46f9206aa850192e80024de9032e80027d710028581000000070726f746f636f6c5f7665"
    "7273696f6e71014de903580d0000006c6974746c655f656e6469616e710288580a000000747970655f73697a65"
    "7371037d710428580500000073686f727471054b025803000000696e7471064b0458040000006c6f6e6771074b"
    "0475752e800228580700000073746f72616765710063746f7263680a466c6f617453746f726167650a7101580a"
    "000000313037323237303134347102580300000063707571034b064e747104512e80025d7100580a0000003130"
    "37323237303134347101612e0600000000000000000000000000803f0000004000004040000080400000a04094"
    "859452944b034b014b0386944b034b018694898c0b636f6c6c656374696f6e73948c0b4f726465726564446963"
    "74949394295294749452942e";
// pickle.dumps(torch.arange(6, dtype=torch.int16).reshape(2, 3).t(), 4)
constexpr std::string_view kTurned =
    "80049587010000000000008c0c746f7263682e5f7574696c73948c125f72656275696c645f74656e736f725f76"
    "32949394288c0d746f7263682e73746f72616765948c105f6c6f61645f66726f6d5f627974657394939443ff80"
    "028a0a6cfc9c46f9206aa850192e80024de9032e80027d710028581000000070726f746f636f6c5f7665727369"
    "6f6e71014de903580d0000006c6974746c655f656e6469616e710288580a000000747970655f73697a65737103"
    "7d710428580500000073686f727471054b025803000000696e7471064b0458040000006c6f6e6771074b047575"
    "2e800228580700000073746f72616765710063746f7263680a53686f727453746f726167650a7101580a000000"
    "313037323237303134347102580300000063707571034b064e747104512e80025d7100580a0000003130373232"
    "37303134347101612e060000000000000000000100020003000400050094859452944b004b034b0286944b014b"
    "038694898c0b636f6c6c656374696f6e73948c0b4f72646572656444696374949394295294749452942e";
// pickle.dumps(numpy.array([[1, 2]], "<i4"), 4), NumPy 2.4
constexpr std::string_view kNumPy =
    "80049593000000000000008c166e756d70792e5f636f72652e6d756c74696172726179948c0c5f7265636f6e73"
    "74727563749493948c056e756d7079948c076e6461727261799493944b0085944301629487945294284b014b01"
    "4b02869468038c0564747970659493948c02693494898887945294284b038c013c944e4e4e4affffffff4affff"
    "ffff4b007494628943080100000002000000947494622e";

std::optional<PickledArray> array_of(const std::vector<std::byte>& bytes) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return Bytes(bytes).subspan(offset, length);
  };
  const Pickle pickle = read_pickle(view, 0, bytes.size(), "file", pickled_array_globals());
  return PickledArrays(view, 0, "file").array_of(pickle.root());
}

TEST_CASE("pickled array: a tensor's elements lie in the storage that is pickled with it") {
  const std::vector<std::byte> bytes = unhex(kRow);
  const PickledArray row = array_of(bytes).value();
  CHECK(row.dtype.descr() == "<f4");
  CHECK(row.shape == std::vector<std::uint64_t>{1, 3});
  REQUIRE(row.length == 12);
  CHECK(as_text(Bytes(bytes).subspan(row.offset, 12)) ==
        std::string_view("\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40", 12));
}

TEST_CASE("pickled array: an array of NumPy is one as well") {
  const PickledArray array = array_of(unhex(kNumPy)).value();
  CHECK(array.dtype.descr() == "<i4");
  CHECK(array.shape == std::vector<std::uint64_t>{1, 2});
  CHECK(array.length == 8);
}

TEST_CASE("pickled array: a tensor whose elements are in another order is refused") {
  const Error error = error_of([] { (void)array_of(unhex(kTurned)); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().ends_with("expected a tensor in C order"));
}

TEST_CASE(
    "pickled array: every byte of a tensor may be wrong, and it is an array of its size or none") {
  const std::vector<std::byte> sound = unhex(kRow);
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (const std::byte value : {std::byte{0}, std::byte{0xff}, sound[at] ^ std::byte{1}}) {
      std::vector<std::byte> bytes = sound;
      bytes[at] = value;
      try {
        const std::optional<PickledArray> array = array_of(bytes);
        if (!array) continue;
        CHECK(array->length <= bytes.size());
        CHECK(array->offset <= bytes.size() - array->length);
      } catch (const Error& error) {
        CHECK(error.code() != Code::bug);
      }
    }
  }
}

}  // namespace
}  // namespace shale
