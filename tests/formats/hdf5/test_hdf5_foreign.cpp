#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/data/fixed_value.hpp"

#include "tests/formats/hdf5/foreign_files.hpp"

namespace shale {
namespace {

using test::error_of;
using test::ForeignFile;
using test::ForeignRows;
using test::read_foreign;
using test::rows_by_library;
using test::TempDir;
using Texts = std::vector<std::string>;

// What the library reads of a dataset of integers.
Texts integers_by_library(const std::string& path, const std::string& name, std::size_t rows) {
  const auto lock = lock_hdf5();
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Handle set(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  std::vector<std::int64_t> numbers(rows);
  REQUIRE(H5Dread(set.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()) >= 0);
  Texts texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

Error survey_error(const std::string& path) {
  return error_of([&] { (void)survey_hdf5_file(InputFile(path), Dialect::plain); });
}

TEST_CASE("hdf5 foreign: flat bytes with offsets, integers and keys are the values written") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.flat("image", "JPEGxPNG");
    file.offsets("image_offset", {0, 4, 4, 8});
    file.flat("key", "a/1b/2c/3");
    file.offsets("key_offset", {0, 3, 6, 9});
    file.count("label", H5T_STD_I64LE, {3});
  }

  const ForeignRows all = read_foreign(dir / "a.h5");

  CHECK(all.findings.empty());
  CHECK(all.keys == Texts{"a/1", "b/2", "c/3"});
  CHECK(all.of("image") == Texts{"JPEG", "", "xPNG"});
  CHECK(all.of("label") == Texts{"0", "1", "2"});
  CHECK(all.survey.schema.fields.size() == 2);
  CHECK(all.survey.schema.has_keys);
  CHECK(all.rows[2].key_hash == xxh3_64(as_bytes("c/3")));
  CHECK(all.rows[2].cells[0].place.crc32c == crc32c(as_bytes("xPNG")));
  CHECK(all.survey.layout.file_suffixes == Texts{""});
  CHECK(all.survey.layout.dialect == Dialect::plain);
}

TEST_CASE("hdf5 foreign: 'data' with 'offsets', signed and big-endian, is one field") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.flat("data", "abcdef");
    file.offsets("offsets", {0, 1, 6}, H5T_STD_I16BE);
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.of("data") == Texts{"a", "bcdef"});
  CHECK(all.keys.empty());
  CHECK_FALSE(all.survey.layout.has_keys);
  CHECK_FALSE(all.survey.schema.has_keys);
}

TEST_CASE("hdf5 foreign: offsets as many as bytes are offsets only if they ascend") {
  const TempDir dir;
  {
    ForeignFile file(dir / "pair.h5");
    file.flat("x", "abc");
    file.offsets("x_offset", {0, 1, 3});
  }
  {
    ForeignFile file(dir / "columns.h5");
    file.flat("x", "abc");
    file.offsets("x_offset", {7, -1, 0}, H5T_STD_I64LE);
  }
  CHECK(read_foreign(dir / "pair.h5").of("x") == Texts{"a", "bc"});
  CHECK(read_foreign(dir / "columns.h5").of("x_offset") == Texts{"7", "-1", "0"});
}

TEST_CASE("hdf5 foreign: sequences of uint8 are bytes, also behind a user block, empty or large") {
  const std::string large(300'000, 'L');
  for (const hsize_t user_block : {0U, 512U, 4096U}) {
    for (const bool is_old : {true, false}) {
      CAPTURE(user_block);
      CAPTURE(is_old);
      const TempDir dir;
      Texts values = {"", "one", large, std::string("a\0b", 3)};
      for (int i = 0; i < 2000; ++i) values.emplace_back(static_cast<std::size_t>(i % 50), 'v');
      ForeignFile(dir / "a.h5", user_block, is_old).sequences("image", values);

      const ForeignRows all = read_foreign(dir / "a.h5");

      CHECK(all.findings.empty());
      CHECK(all.of("image") == values);
      CHECK(all.field("image").kind == Kind::bytes);
    }
  }
}

TEST_CASE("hdf5 foreign: strings are text, or bytes if one of them is not UTF-8") {
  const TempDir dir;
  Texts texts = {"", "h\xc3\xa4llo", std::string(600'001, 'x')};
  Texts large = {std::string(262'143, 'x'), "b", "c"};  // cut by the window
  texts[2] += "\xe2\x82\xac";
  large[0] += "\xe2\x82\xac";
  {
    ForeignFile file(dir / "a.h5");
    file.strings("caption", texts);
    file.strings("large", large);
    file.strings("raw", {"fine", "\xff\xfe", "fine"});
    file.strings("key", {"k1", "k2", "k3"});
  }

  const ForeignRows all = read_foreign(dir / "a.h5");

  CHECK(all.findings.empty());
  CHECK(all.field("caption").kind == Kind::text);
  CHECK(all.of("caption") == texts);
  CHECK(all.field("large").kind == Kind::text);
  CHECK(all.field("raw").kind == Kind::bytes);
  CHECK(all.of("raw") == Texts{"fine", "\xff\xfe", "fine"});
  CHECK(all.keys == Texts{"k1", "k2", "k3"});
}

TEST_CASE("hdf5 foreign: padded strings are tensors, and keys without their padding") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    const Hdf5Handle type = ForeignFile::text_type(4);
    file.put("key", type.id(), {2}, type.id(), "ab\0\0cdef");
    file.put("name", type.id(), {2}, type.id(), "x\0\0\0yyyy");
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.keys == Texts{"ab", "cdef"});
  CHECK(all.field("name").dtype.descr() == "|S4");
  CHECK(all.of("name") == Texts{std::string("x\0\0\0", 4), "yyyy"});
}

TEST_CASE("hdf5 foreign: one-dimensional integers of every size and order are read inline") {
  const TempDir dir;
  const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U8LE,  H5T_STD_I16BE, H5T_STD_U16LE, H5T_STD_I32LE,
                         H5T_STD_U32BE, H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_I32BE};
  const std::string_view dtypes[] = {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "", "", "<i4"};
  {
    ForeignFile file(dir / "a.h5");
    const std::array<std::int64_t, 4> numbers = {-128, -1, 7, 127};
    for (std::size_t i = 0; i < std::size(types); ++i)
      file.put("f" + std::to_string(i), types[i], {4}, H5T_NATIVE_INT64, numbers.data());
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  for (std::size_t i = 0; i < std::size(types); ++i) {
    const std::string name = "f" + std::to_string(i);
    CAPTURE(name);
    CHECK(all.of(name) == integers_by_library(dir / "a.h5", name, 4));
    CHECK(all.field(name).kind == Kind::integer);
    CHECK(all.field(name).dtype.descr() == dtypes[i]);
  }
}

TEST_CASE("hdf5 foreign: floats are reals, in either byte order") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    const std::array<double, 3> numbers = {-0.5, 1e30, 3.25};
    file.put("be4", H5T_IEEE_F32BE, {3}, H5T_NATIVE_DOUBLE, numbers.data());
    file.put("be8", H5T_IEEE_F64BE, {3}, H5T_NATIVE_DOUBLE, numbers.data());
    file.put("le4", H5T_IEEE_F32LE, {3}, H5T_NATIVE_DOUBLE, numbers.data());
    file.put("le8", H5T_IEEE_F64LE, {3}, H5T_NATIVE_DOUBLE, numbers.data());
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(all.survey.schema.fields[i].kind == Kind::real);
    CHECK(all.survey.schema.fields[i].dtype.descr() == (i % 2 == 0 ? "<f4" : ""));
    CHECK(all.rows[0].cells[i].real == -0.5);
    CHECK(all.rows[1].cells[i].real == (i % 2 == 0 ? static_cast<double>(1e30F) : 1e30));
    CHECK(all.rows[2].cells[i].real == 3.25);
  }
}

TEST_CASE("hdf5 foreign: a float32 that is no number keeps its bits") {
  const TempDir dir;
  // A signalling NaN with a payload, a quiet one with a sign.
  const std::array<std::uint32_t, 2> bits = {0x7f80'0123, 0xffc0'0001};
  ForeignFile(dir / "a.h5").put("x", H5T_IEEE_F32LE, {2}, H5T_IEEE_F32LE, bits.data());
  const ForeignRows all = read_foreign(dir / "a.h5");
  for (std::size_t i = 0; i < bits.size(); ++i) {
    std::array<std::byte, 4> stored{};
    write_number(all.rows[i].cells[0].real, all.field("x"), stored);
    CHECK(as_text(stored) == as_text(bytes_of(bits[i])));
  }
}

// h5py's bool, but for the numbers of its names.
Hdf5Handle enum_of(std::int8_t no, std::int8_t yes) {
  Hdf5Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  H5Tenum_insert(type.id(), "FALSE", &no);
  H5Tenum_insert(type.id(), "TRUE", &yes);
  return type;
}

TEST_CASE("hdf5 foreign: a bool that is neither true nor false is a finding") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    const Hdf5Handle boolean = enum_of(0, 1);
    const std::array<std::int8_t, 3> flags = {1, 2, 0};
    file.put("flag", boolean.id(), {3}, boolean.id(), flags.data());
    file.sequences("image", {"a", "b", "c"});
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.rows.size() == 3);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].message == "bool of field 'flag' is 2, neither 0 nor 1");
  CHECK(all.findings[0].row == 1);
}

TEST_CASE("hdf5 foreign: an enumeration whose FALSE is not 0 is no bool") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    const Hdf5Handle odd = enum_of(1, 0);
    const std::array<std::int8_t, 2> flags = {1, 0};
    file.put("flag", odd.id(), {2}, odd.id(), flags.data());
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.field("flag").dtype.descr() == "|i1");
  CHECK(all.of("flag") == Texts{"1", "0"});
}

TEST_CASE("hdf5 foreign: bools and enumerations are integers, complex {r, i} and uint64 tensors") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    const Hdf5Handle boolean = enum_of(0, 1);
    const Hdf5Handle complex(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
    H5Tinsert(complex.id(), "r", 0, H5T_IEEE_F32LE);
    H5Tinsert(complex.id(), "i", 4, H5T_IEEE_F32LE);
    const std::array<std::int8_t, 2> flags = {1, 0};
    const std::array<float, 4> points = {1, 2, 3, 4};
    file.put("flag", boolean.id(), {2}, boolean.id(), flags.data());
    file.put("point", complex.id(), {2}, complex.id(), points.data());
    file.count("huge", H5T_STD_U64LE, {2});
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.of("flag") == Texts{"1", "0"});
  CHECK(all.field("flag").kind == Kind::integer);
  CHECK(all.field("flag").dtype.descr() == "|b1");
  CHECK(all.field("point").dtype.descr() == "<c8");
  CHECK(all.field("huge").dtype.descr() == "<u8");
  CHECK(all.field("huge").shape.empty());
  for (const std::string name : {"point", "huge"})
    CHECK(all.of(name) == rows_by_library(dir / "a.h5", name));
}

TEST_CASE("hdf5 foreign: tensors in one piece or in chunks of whole rows, by every chunk index") {
  for (const hsize_t user_block : {0U, 512U}) {
    for (const bool is_old : {true, false}) {
      CAPTURE(user_block);
      CAPTURE(is_old);
      const TempDir dir;
      {
        ForeignFile file(dir / "a.h5", user_block, is_old);
        file.count("contiguous", H5T_STD_U16LE, {11, 2, 3});
        file.chunked({1, 2, 3}).count("single", H5T_STD_I32LE, {11, 2, 3});
        file.chunked({4, 2}).count("several", H5T_IEEE_F32LE, {11, 2});
        file.chunked({3, 2}).growing().count("growing", H5T_STD_U8LE, {11, 2});
        file.chunked({11, 2}).count("one_chunk", H5T_STD_U8LE, {11, 2});
        H5Pset_alloc_time(file.layout(), H5D_ALLOC_TIME_EARLY);
        file.chunked({2, 2}).count("implicit", H5T_STD_U8LE, {11, 2});
        file.chunked({4}).count("label", H5T_STD_I32LE, {11});
      }
      const ForeignRows all = read_foreign(dir / "a.h5");
      CHECK(all.findings.empty());
      CHECK(all.field("contiguous").shape == std::vector<std::uint64_t>{2, 3});
      CHECK(all.of("label") == integers_by_library(dir / "a.h5", "label", 11));
      for (const std::string name :
           {"contiguous", "single", "several", "growing", "one_chunk", "implicit"}) {
        CAPTURE(name);
        CHECK(all.of(name) == rows_by_library(dir / "a.h5", name));
      }
    }
  }
}

TEST_CASE("hdf5 foreign: many chunks are found, each once") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").chunked({1, 2}).count("x", H5T_STD_I64LE, {20'000, 2});
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.of("x") == rows_by_library(dir / "a.h5", "x"));
}

TEST_CASE("hdf5 foreign: few chunks among many that were never written are found") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.chunked({1, 2}).put("x", H5T_STD_U8LE, {20'000, 2}, H5T_NATIVE_UINT8, nullptr);
    const Hdf5Handle set(H5Dopen2(file.id(), "x", H5P_DEFAULT), H5Dclose);
    const Hdf5Handle all(H5Dget_space(set.id()), H5Sclose);
    for (const hsize_t row : {hsize_t{17}, hsize_t{19'999}}) {
      const hsize_t begin[] = {row, 0}, count[] = {1, 2};
      const Hdf5Handle one(H5Screate_simple(2, count, nullptr), H5Sclose);
      H5Sselect_hyperslab(all.id(), H5S_SELECT_SET, begin, nullptr, count, nullptr);
      H5Dwrite(set.id(), H5T_NATIVE_UINT8, one.id(), all.id(), H5P_DEFAULT, "ab");
    }
    // Elsewhere in the file, so that it has bytes for that many rows.
    const Hdf5Handle group(H5Gcreate2(file.id(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           H5Gclose);
    file.count("g/other", H5T_STD_I64LE, {20'000});
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  Texts expected(20'000, "missing");
  expected[17] = expected[19'999] = "ab";
  CHECK(all.of("x") == expected);
}

TEST_CASE("hdf5 foreign: rows that were never written are missing, rows of no bytes are not") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.put("contiguous", H5T_STD_I32LE, {3, 2}, H5T_NATIVE_INT32, nullptr);
    file.chunked({1, 2}).put("chunked", H5T_STD_I32LE, {3, 2}, H5T_NATIVE_INT32, nullptr);
    file.put("hollow", H5T_STD_I32LE, {3, 0, 2}, H5T_NATIVE_INT32, nullptr);
    const Hdf5Handle bytes = ForeignFile::sequence_of(H5T_STD_U8LE);
    file.put("sequence", bytes.id(), {3}, bytes.id(), nullptr);
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  const Texts missing(3, "missing");
  CHECK(all.findings.empty());
  CHECK(all.of("contiguous") == missing);
  CHECK(all.of("chunked") == missing);
  CHECK(all.of("hollow") == Texts(3, ""));
  CHECK(all.of("sequence") == missing);
}

TEST_CASE("hdf5 foreign: no rows are a survey with a schema and a scan of nothing") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.count("x", H5T_STD_U8LE, {0, 4});
    file.chunked({8}).growing().count("label", H5T_STD_I64LE, {0});
  }
  const ForeignRows all = read_foreign(dir / "a.h5");
  CHECK(all.rows.empty());
  CHECK(all.field("x").shape == std::vector<std::uint64_t>{4});
  CHECK(all.field("label").kind == Kind::integer);
}

TEST_CASE("hdf5 foreign: single values, groups and links are left out with a note") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.count("x", H5T_STD_U8LE, {2, 2});
    file.count("version", H5T_STD_U8LE, {});
    const Hdf5Handle group(H5Gcreate2(file.id(), "meta", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           H5Gclose);
    H5Lcreate_soft("/x", file.id(), "alias", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/y", file.id(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
  }
  const Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
  REQUIRE(survey.notes.size() == 2);
  CHECK(survey.notes[0].find("dataset 'version' is left out") == 0);
  CHECK(survey.notes[1].find("soft link 'alias', external link 'elsewhere', group 'meta'") !=
        std::string::npos);
}

// What is refused: how the file is made, and a part of what is said.
struct Refused {
  std::string_view says;
  void (*make)(ForeignFile&);
};

constexpr Refused kRefused[] = {
    {"dataset 'x' is compressed (deflate)",
     [](ForeignFile& file) {
       file.chunked({2, 2}, true).count("x", H5T_STD_U8LE, {4, 2});
     }},
    {"dataset 'x' is stored through a filter (shuffle, fletcher32)",
     [](ForeignFile& file) {
       H5Pset_shuffle(file.layout());
       H5Pset_fletcher32(file.layout());
       file.chunked({2, 2}).count("x", H5T_STD_U16LE, {4, 2});
     }},
    {"dataset 'x' splits its samples into chunks of (4, 1), as h5py's",
     [](ForeignFile& file) {
       file.chunked({4, 1}).count("x", H5T_STD_U8LE, {4, 2});
     }},
    {"dataset 'x' is stored inside its own header (compact)",
     [](ForeignFile& file) {
       H5Pset_layout(file.layout(), H5D_COMPACT);
       file.count("x", H5T_STD_U8LE, {4, 2});
     }},
    {"dataset 'x' lies in other files (external storage)",
     [](ForeignFile& file) {
       H5Pset_external(file.layout(), "x.raw", 0, H5F_UNLIMITED);
       file.put("x", H5T_STD_U8LE, {4, 2}, H5T_NATIVE_UINT8, nullptr);
     }},
    {"dataset 'x' is composed of parts of other datasets (virtual)",
     [](ForeignFile& file) {
       const hsize_t sides[] = {4, 2};
       const Hdf5Handle space(H5Screate_simple(2, sides, nullptr), H5Sclose);
       H5Pset_virtual(file.layout(), space.id(), "other.h5", "/y", space.id());
       file.put("x", H5T_STD_U8LE, {4, 2}, H5T_NATIVE_UINT8, nullptr);
     }},
    {"dataset 'x' has rows that were never written",
     [](ForeignFile& file) { file.put("x", H5T_STD_I64LE, {4}, H5T_NATIVE_INT64, nullptr); }},
    {"dataset 'x' is big-endian (>i4)",
     [](ForeignFile& file) {
       file.count("x", H5T_STD_I32BE, {4, 2});
     }},
    {"dataset 'x' holds references to nothing",
     [](ForeignFile& file) { file.put("x", H5T_STD_REF_OBJ, {4}, H5T_STD_REF_OBJ, nullptr); }},
    {"dataset 'x' holds opaque bytes of unknown meaning",
     [](ForeignFile& file) {
       const Hdf5Handle type(H5Tcreate(H5T_OPAQUE, 4), H5Tclose);
       file.put("x", type.id(), {4}, type.id(), nullptr);
     }},
    {"dataset 'x.a' is stored among the other members of a compound type",
     [](ForeignFile& file) {
       const Hdf5Handle type(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
       H5Tinsert(type.id(), "a", 0, H5T_STD_I32LE);
       H5Tinsert(type.id(), "b", 4, H5T_IEEE_F32LE);
       file.put("x", type.id(), {4}, type.id(), nullptr);
     }},
    {"dataset 'x' is big-endian (>i4)",
     [](ForeignFile& file) {
       const Hdf5Handle type = ForeignFile::sequence_of(H5T_STD_I32BE);
       file.put("x", type.id(), {4}, type.id(), nullptr);
     }},
    {"dataset 'x' holds a sequence of elements other than numbers",
     [](ForeignFile& file) {
       const Hdf5Handle type = ForeignFile::sequence_of(H5T_UNIX_D32LE);
       file.put("x", type.id(), {4}, type.id(), nullptr);
     }},
    {"dataset 'x' holds several sequences per sample, shape (4, 2)",
     [](ForeignFile& file) {
       const Hdf5Handle type = ForeignFile::sequence_of(H5T_STD_U8LE);
       file.put("x", type.id(), {4, 2}, type.id(), nullptr);
     }},
    {"has no dataset of samples (it is empty)", [](ForeignFile&) {}},
    {"has no dataset of samples (there is group 'train')",
     [](ForeignFile& file) {
       const Hdf5Handle group(H5Gcreate2(file.id(), "train", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                              H5Gclose);
     }},
    {"dataset 'a' has 3 samples, but dataset 'b' has 4",
     [](ForeignFile& file) {
       file.count("a", H5T_STD_I64LE, {3});
       file.count("b", H5T_STD_I64LE, {4});
     }},
    {"field name 'label.id' contains '.'",
     [](ForeignFile& file) { file.count("label.id", H5T_STD_I64LE, {3}); }},
    {"field name 'key' is reserved by the index",
     [](ForeignFile& file) { file.count("key", H5T_STD_I64LE, {3}); }},
    {"dataset 'x' splits values over several chunks",
     [](ForeignFile& file) {
       // Written apart, so that the chunks do not follow one another.
       file.offsets("x_offset", {0, 3, 6});
       file.chunked({4}).growing().put("x", H5T_STD_U8LE, {4}, H5T_NATIVE_UINT8, "abcd");
       const Hdf5Handle set(H5Dopen2(file.id(), "x", H5P_DEFAULT), H5Dclose);
       H5Dflush(set.id());
       file.count("between", H5T_STD_U64LE, {2, 100});
       const hsize_t longer = 6, begin = 4, count = 2;
       H5Dset_extent(set.id(), &longer);
       const Hdf5Handle all(H5Dget_space(set.id()), H5Sclose);
       const Hdf5Handle two(H5Screate_simple(1, &count, nullptr), H5Sclose);
       H5Sselect_hyperslab(all.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
       H5Dwrite(set.id(), H5T_NATIVE_UINT8, two.id(), all.id(), H5P_DEFAULT, "ef");
     }},
    {"dataset 'x' claims 1000000000000 samples in a file of",
     [](ForeignFile& file) {
       file.chunked({1, 2}).put("x", H5T_STD_U8LE, {1'000'000'000'000, 2}, H5T_NATIVE_UINT8,
                                nullptr);
     }},
};

TEST_CASE("hdf5 foreign: what cannot be located is refused by name") {
  for (const Refused& refused : kRefused) {
    CAPTURE(refused.says);
    const TempDir dir;
    {
      ForeignFile file(dir / "a.h5", 0, false);
      refused.make(file);
    }
    const Error error = survey_error(dir / "a.h5");
    CAPTURE(error.what());
    CHECK(error.code() == Code::unsupported);
    CHECK(std::string(error.what()).find(refused.says) != std::string::npos);
    CHECK(error.file() == dir / "a.h5");
  }
}

TEST_CASE("hdf5 foreign: a dataset for each sample is refused") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    for (int i = 0; i < 1100; ++i) file.count("img" + std::to_string(i), H5T_STD_U8LE, {4});
  }
  CHECK(survey_error(dir / "a.h5").message() ==
        "more than 1024 objects at the root of an HDF5 file");
}

TEST_CASE("hdf5 foreign: a file that has changed since its index was made is one finding") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").count("x", H5T_STD_I64LE, {3});
  Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
  survey.schema.fields[0].name = "y";

  const ForeignRows all = test::scan_foreign(dir / "a.h5", survey);

  CHECK(all.rows.empty());
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].found == "no key, x (integer)");
  CHECK(all.findings[0].expected == "no key, y (integer)");
}

TEST_CASE("hdf5 foreign: an index that does not say the dtype of numbers is as good as ever") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").count("x", H5T_STD_I16BE, {3});
  Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
  CHECK(survey.schema.fields[0].dtype.descr() == "<i2");
  survey.schema.fields[0].dtype = {};

  const ForeignRows all = test::scan_foreign(dir / "a.h5", survey);

  CHECK(all.findings.empty());
  CHECK(all.of("x") == Texts{"0", "1", "2"});
}

}  // namespace
}  // namespace shale
