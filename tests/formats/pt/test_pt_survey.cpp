#include <doctest/doctest.h>

#include "shale/wire/zip_directory.hpp"

#include "formats/pt/pt_format.hpp"
#include "tests/support/tensor_files.hpp"
#include "tests/support/zip_builder.hpp"

namespace shale {
namespace {

using namespace test;
using std::string_literals::operator""s;

// PyTorch's own pickle of five rows of 2 x 3 uint16, 60 bytes.
std::string golden_pickle() {
  const std::string file = read_text(golden_tensor(pt_format, "reference/torch-2.13.0.pt"));
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(file).subspan(offset, length);
  };
  const ZipMember pickle = read_zip_directory(file.size(), view, "golden").at(0);
  return file.substr(pickle.data_offset, pickle.data_bytes);
}

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(old, at + 1) == std::string::npos);
  return text.replace(at, old.size(), now);
}

std::vector<ZipPart> parts_of(std::string pickle) {
  return {{"a/data.pkl", std::move(pickle)},
          {"a/byteorder", "little"},
          {"a/data/0", std::string(60, 'e')},
          {"a/version", "3\n"}};
}
Error refused_pickle(const std::string& old, const std::string& now) {
  return refused_tensors(pt_format, zip_of(parts_of(with(golden_pickle(), old, now))));
}

// In that pickle: offset, shape and strides.
const std::string kShape = "K\5K\2K\3\x87"s, kStrides = "K\6K\3K\1\x87"s, kFirst = "QK\0"s + kShape;
const std::string kMost = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s;  // 2^63 - 1

TEST_CASE("pt survey: PyTorch's own file is a column of rows that lie in its storage") {
  const std::string file = zip_of(parts_of(golden_pickle()));
  const Survey survey = surveyed_tensors(pt_format, file);
  CHECK(survey.schema.fields == golden_tensor_schema().fields);
  CHECK(survey.samples == 5);
  CHECK(survey.bases == std::vector<std::uint64_t>{file.find(std::string(60, 'e'))});
  CHECK(survey.layout.rows.has_strides());
}

TEST_CASE(
    "pt survey: an archive with a name twice is refused, as readers differ in which they take") {
  std::vector<ZipPart> parts = parts_of(golden_pickle());
  parts[3].name = "a/data/0";
  const Error error = refused_tensors(pt_format, zip_of(parts));
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message() == "member 'a/data/0' is in the archive more than once");
}

TEST_CASE("pt survey: an archive that contradicts itself is damaged, with the member's name") {
  struct Row {
    std::size_t part;
    void (*change)(ZipPart&);
    std::string_view words;
  };
  constexpr Row kRows[] = {
      {2, [](ZipPart& part) { part.local_name = "a/data/9"; },
       "local header is for 'a/data/9' (method 0), but the directory says 'a/data/0' (0)"},
      {2, [](ZipPart& part) { part.bytes = 61; }, "'a/data/0' of 61 bytes takes 60"},
      {2, [](ZipPart& part) { part.is_zip64 = true, part.bytes = ~std::uint64_t{0} >> 1; },
       "'a/data/0' of 9223372036854775807 bytes takes 60"},
      {2, [](ZipPart& part) { part.data.pop_back(); },
       "member 'a/data/0' has 59 bytes, expected 60 elements of 1"},
      {2, [](ZipPart& part) { part.name = "a/data/1"; },
       "is in member 'a/data/0', which the archive does not have"},
      {1, [](ZipPart& part) { part.data = "middle"; }, "byte order 'middle'"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.words);
    std::vector<ZipPart> parts = parts_of(golden_pickle());
    row.change(parts[row.part]);
    const Error error = refused_tensors(pt_format, zip_of(parts));
    CHECK(error.code() == Code::damaged);
    CHECK(error.message().find(row.words) != std::string::npos);
    CHECK(error.file().ends_with("/a.pt"));
  }
}

TEST_CASE("pt survey: members that overlap are damaged") {
  // The elements hold a whole member, and the directory places the last one there.
  std::vector<ZipPart> parts = parts_of(golden_pickle());
  std::string inner = zip_of({parts[3]}).substr(0, 41);
  inner.resize(60, 'e');
  parts[2].data = inner;
  std::string file = zip_of(parts);
  const std::size_t place = file.find(inner);
  REQUIRE(place < 65'536);
  file.replace(file.rfind("PK\1\2") + 42, 4,
               {static_cast<char>(place % 256), static_cast<char>(place / 256), '\0', '\0'});
  const Error error = refused_tensors(pt_format, file);
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "members 'a/data/0' and 'a/version' overlap");
}

TEST_CASE("pt survey: a compressed member, pickle or storage, is refused by name") {
  for (const std::size_t part : {0U, 2U}) {
    std::vector<ZipPart> parts = parts_of(golden_pickle());
    parts[part].method = 8;
    const Error error = refused_tensors(pt_format, zip_of(parts));
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message() ==
          fmt::format("member '{}' of a .pt archive is compressed", parts[part].name));
    CHECK(error.hint().find("torch.save") != std::string::npos);
  }
}

TEST_CASE("pt survey: shapes, strides and offsets that do not fit the storage are damage") {
  struct Row {
    std::string old, now;
    Code code = Code::damaged;
    std::string words = "does not lie in its storage of 60 bytes";
  };
  const Row rows[] = {
      {kShape, "K\6K\2K\3\x87"s},         // a row more
      {kShape, "K\5K\2K\4\x87"s},         // and the axis that runs fastest
      {kStrides, "K\7K\3K\1\x87"s},       // the last row ends behind
      {kFirst, "QK\1"s + kShape},         // begins one element late
      {kFirst, "Q"s + kMost + kShape},    // begins nowhere
      {kStrides, kMost + "K\3K\1\x87"s},  // overflows
      {kShape, kMost + "K\2K\3\x87"s, Code::limit, "claims 2^63 bytes or more"},
      {kStrides, "J\xfa\xff\xff\xffK\3K\1\x87"s, Code::damaged, "is not put together"},
      {kShape, "J\xfb\xff\xff\xffK\2K\3\x87"s, Code::damaged, "is not put together"},
      {kShape, "K\5K\6\x86"s, Code::damaged, "is not put together"},  // of two axes, three strides
      {"K<tq"s, "K=tq"s, Code::damaged, "has 60 bytes, expected 61 elements of 1"},
      {"K<tq"s, kMost + "tq"s, Code::damaged, "has 60 bytes, expected"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.now);
    const Error error = refused_pickle(row.old, row.now);
    CHECK(error.code() == row.code);
    CHECK(error.message().find(row.words) != std::string::npos);
  }
}

TEST_CASE("pt survey: dtypes and objects that are not known are refused by name") {
  const Error dtype = refused_pickle("ctorch\nuint16\n", "ctorch\nuint15\n");
  CHECK(dtype.code() == Code::unsupported);
  CHECK(dtype.message().find("'torch.uint15'") != std::string::npos);
  const Error call = refused_pickle("_rebuild_tensor_v3", "_rebuild_tensor_v9");
  CHECK(call.message().find("_rebuild_tensor_v9") != std::string::npos);
}

TEST_CASE("pt survey: a file cut anywhere is damaged") {
  const std::string whole = zip_of(parts_of(golden_pickle()));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    const Error error = refused_tensors(pt_format, whole.substr(0, bytes));
    CHECK(error.code() == Code::damaged);
  }
}

TEST_CASE("pt survey: any changed byte of pickle or directory is read or refused, nothing else") {
  const std::string whole = zip_of(parts_of(golden_pickle()));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char change : {'\x01', '\x80'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      CAPTURE(at);
      try {
        const Survey survey = surveyed_tensors(pt_format, changed);
        for (const std::uint64_t base : survey.bases) CHECK(base <= changed.size());
      } catch (const Error& error) {
        CHECK((error.code() == Code::damaged || error.code() == Code::unsupported ||
               error.code() == Code::limit));
      }
    }
  }
}

}  // namespace
}  // namespace shale
