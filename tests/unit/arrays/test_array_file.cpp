#include <array>
#include <random>

#include <doctest/doctest.h>

#include "shale/arrays/array_file.hpp"
#include "shale/arrays/open_member.hpp"
#include "shale/base/error.hpp"
#include "shale/wire/npy_header.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/support/zip_builder.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;
using test::write_file;
using test::zip_of;
using test::ZipPart;

std::string npy(std::string_view descr, std::vector<std::uint64_t> shape, std::string_view data) {
  const NpyHeader header{.dtype = DType::parse(descr), .shape = std::move(shape)};
  return std::string(as_text(npy_header_bytes(header))) + std::string(data);
}

// A deflate stream that stores its bytes as they are (RFC 1951, 3.2.4), in blocks of at most
// 65,535.
std::string deflated(std::string_view data) {
  std::string stream;
  do {
    const std::string_view block = data.substr(0, 65'535);
    data.remove_prefix(block.size());
    const auto size = static_cast<std::uint16_t>(block.size());
    stream += data.empty() ? '\1' : '\0';
    stream += as_text(bytes_of(size));
    stream += as_text(bytes_of(static_cast<std::uint16_t>(~size)));
    stream += block;
  } while (!data.empty());
  return stream;
}

ZipPart stored_part(std::string name, std::string content) {
  return {.name = std::move(name), .data = std::move(content)};
}

ZipPart deflated_part(std::string name, const std::string& content) {
  return {.name = std::move(name),
          .data = deflated(content),
          .method = 8,
          .bytes = content.size(),
          .crc = crc32(as_bytes(content))};
}

std::string counted(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 131 + i / 509);
  return text;
}

// All bytes of an array, `at_once` at a time.
std::string rows_of(const ArrayFile& array, std::size_t at_once) {
  const auto stream = open_member(array);
  std::string all(array.bytes(), '?');
  for (std::size_t at = 0; at < all.size(); at += at_once) {
    const auto rest = std::as_writable_bytes(std::span(all)).subspan(at);
    stream->read_rows(rest.first(std::min(at_once, rest.size())));
  }
  return all;
}

Error open_error(std::string_view content) {
  const TempDir folder;
  write_file(folder / "a.npz", content);
  const Error error = error_of([&] { (void)open_arrays(folder / "a.npz"); });
  CHECK(error.file() == folder / "a.npz");
  return error;
}

// The error of the first array's rows, which can be opened.
Error rows_error(const ZipPart& part) {
  const TempDir folder;
  write_file(folder / "a.npz", zip_of({part}));
  const ArrayFiles found = open_arrays(folder / "a.npz");
  const Error error = error_of([&] { (void)rows_of(found.arrays[0], 100); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == folder / "a.npz");
  CHECK(error.offset().has_value());
  return error;
}

TEST_CASE("array file: an npy file is one located array") {
  const TempDir folder;
  write_file(folder / "a.npy", npy("<f4", {3, 2}, counted(24)));

  const ArrayFiles found = open_arrays(folder / "a.npy");

  REQUIRE(found.arrays.size() == 1);
  const ArrayFile& array = found.arrays[0];
  CHECK(found.left_out.empty());
  CHECK(array.is_located());
  CHECK(array.member.empty());
  CHECK(array.dtype == DType::parse("<f4"));
  CHECK(array.shape == std::vector<std::uint64_t>{3, 2});
  CHECK(array.data_offset == 128);
  CHECK(array.bytes() == 24);
  CHECK(array.file->size() == 152);
  CHECK(is_array_file(*array.file));
  CHECK(error_of([&] { (void)open_member(array); }).code() == Code::bug);
}

TEST_CASE("array file: members of an archive come in its order, stored or deflated, in pieces") {
  const std::string large = counted(300'000), small = counted(10);
  const TempDir folder;
  write_file(folder / "a.npz",
             zip_of({stored_part("b.npy", npy("|u1", {300'000}, large)),
                     stored_part("notes.txt", "what was left out"),
                     deflated_part("a.npy", npy("[('x', '|u1'), ('y', '<u4')]", {2}, small)),
                     deflated_part("d/c.npy", npy("<u2", {150, 1000}, large)),
                     deflated_part(".npy", npy("<u2", {0, 7}, ""))}));

  const ArrayFiles found = open_arrays(folder / "a.npz");

  REQUIRE(found.arrays.size() == 4);
  CHECK(found.left_out == std::vector<std::string>{"notes.txt"});
  CHECK(found.arrays[0].member == "b");
  CHECK(found.arrays[0].data_offset == 30 + 5 + 128);
  CHECK(found.arrays[2].data_offset == 128);
  CHECK(found.arrays[2].member == "d/c");
  CHECK(found.arrays[3].member.empty());
  CHECK(found.arrays[3].bytes() == 0);
  CHECK_FALSE(found.arrays[3].is_located());
  for (const std::size_t at_once : {std::size_t{1'000}, std::size_t{131'072}, large.size()}) {
    CHECK(rows_of(found.arrays[0], at_once) == large);
    CHECK(rows_of(found.arrays[2], at_once) == large);
  }
  CHECK(rows_of(found.arrays[1], 5) == small);
  CHECK(rows_of(found.arrays[3], 14).empty());
}

TEST_CASE("array file: NumPy's own compressed archive is read") {
  // numpy.savez_compressed(f, x=numpy.arange(6, dtype="<u2").reshape(3, 2)) of NumPy 2.4.6.
  constexpr std::string_view kArchive{
      "PK\003\004\024\000\000\000\010\000\000\000!"
      "\000jS\264\253R\000\000\000\214\000\000\000\005\000\024\000x.npy\001"
      "\000\020\000\214\000\000\000\000\000\000\000R\000\000\000\000\000\000\000\233\354\027\352"
      "\033\020\311\310P\306P\255\236\222Z\234\134"
      "\244n\245\240nSj\244\256\243\240\236\226_TR\224\230\027\237_\224\222\012\022wK\314)"
      "N\005\212\027g$\026"
      "\244\002\371\032\306:\012F\232:\012\265\012d\003.\006\006F\006&"
      "\006f\006\026\006V\006\000PK\001\002\024\003\024"
      "\000\000\000\010\000\000\000!"
      "\000jS\264\253R\000\000\000\214\000\000\000\005\000\000\000\000\000\000\000\000\000\000\000"
      "\200\001\000"
      "\000\000\000x."
      "npyPK\005\006\000\000\000\000\001\000\001\0003\000\000\000\211\000\000\000\000\000",
      210};
  const TempDir folder;
  write_file(folder / "a.npz", kArchive);

  const ArrayFiles found = open_arrays(folder / "a.npz");

  REQUIRE(found.arrays.size() == 1);
  CHECK(found.arrays[0].member == "x");
  CHECK(found.arrays[0].shape == std::vector<std::uint64_t>{3, 2});
  CHECK(rows_of(found.arrays[0], 4) == std::string_view("\0\0\1\0\2\0\3\0\4\0\5\0", 12));
}

TEST_CASE("array file: big-endian and Fortran order are told") {
  const std::string dict = "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }";
  const TempDir folder;
  write_file(folder / "a.npy", std::string("\x93NUMPY\1\0\x3a\0", 10) + dict + counted(12));

  const ArrayFile array = open_arrays(folder / "a.npy").arrays.at(0);

  CHECK(array.dtype == DType::parse("<u2"));
  CHECK(array.swaps == std::vector<ByteSwap>{{0, 2, 1}});
  CHECK(array.fortran_order);
}

TEST_CASE(
    "array file: a file shorter than its array is damaged, one that goes on behind it is refused") {
  const std::string whole = npy("<f4", {3}, counted(12));
  CHECK(open_error(whole.substr(0, whole.size() - 1)).message() ==
        "array of shape (3,) takes 12 bytes after its header, but the file has 11");
  const Error longer = open_error(whole + "x");
  CHECK(longer.code() == Code::unsupported);
  CHECK(longer.message() == "array of shape (3,) is followed by 1 more byte");
  CHECK(longer.offset() == 128 + 12);
  CHECK(open_error(whole + whole).message() ==
        "array of shape (3,) is followed by 140 more bytes, which begin with another array");
  CHECK(open_error(zip_of({stored_part("b.npy", whole + whole)})).message() ==
        "array of shape (3,) is followed by 140 more bytes, which begin with another array in "
        "member 'b.npy'");
  CHECK(open_error(zip_of({deflated_part("b.npy", whole + whole)})).message() ==
        "array of shape (3,) is followed by 140 more bytes in member 'b.npy'");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(open_error(whole.substr(0, length)).code() == Code::damaged);
  }
}

TEST_CASE("array file: arrays that are no samples are refused by name") {
  const Error scalar = open_error(npy("<f4", {}, counted(4)));
  CHECK(scalar.code() == Code::unsupported);
  CHECK(scalar.message() == "array has no axes, so it has no samples");
  CHECK(scalar.hint() == "save it with shape (1,), for example by numpy.atleast_1d");

  std::string objects = npy("|u1", {3}, "123");
  objects.replace(objects.find("|u1"), 3, "|O8");
  const Error pickled = open_error(zip_of({deflated_part("b.npy", objects)}));
  CHECK(pickled.code() == Code::unsupported);
  CHECK(pickled.message() ==
        "dtype '|O8' holds Python objects, which only pickle can read in member 'b.npy'");
  CHECK(open_error(zip_of({stored_part("b.txt", "x")})).message() ==
        "archive of 1 members holds no .npy file");
}

TEST_CASE("array file: damage in the header of a stored member is told with its place") {
  std::string content = npy("|u1", {3}, "123");
  content[10] = '[';

  const Error error = open_error(zip_of({stored_part("b.npy", content)}));

  CHECK(error.message() == "npy header has '[' where '{' is expected in member 'b.npy'");
  CHECK(error.offset() == 30 + 5 + 10);
}

TEST_CASE("array file: damage behind the header is found before the last row is handed out") {
  const std::string content = npy("|u1", {1000}, counted(1000));
  ZipPart part = stored_part("b.npy", content);
  part.crc = 5;
  CHECK(rows_error(part).message().starts_with(
      "checksum mismatch in member 'b.npy': found crc32 0x"));

  part = deflated_part("b.npy", content);
  part.data[900] = static_cast<char>(part.data[900] ^ 4);
  CHECK(rows_error(part).message().starts_with(
      "checksum mismatch in member 'b.npy': found crc32 0x"));

  part = deflated_part("b.npy", content);
  part.data = deflated(content + "and more");
  CHECK(rows_error(part).message() == "member 'b.npy' inflates to more than 1128 bytes");

  part.data = deflated(content.substr(0, 1000));
  CHECK(rows_error(part).message() ==
        "member 'b.npy' inflates to 1000 bytes, but the archive's directory says 1128");

  part.data = deflated(content) + "more";
  CHECK(rows_error(part).message() ==
        "compressed data of member 'b.npy' ends after 1133 bytes, expected 1137");

  part.data = deflated(content).substr(0, 1000);
  CHECK(rows_error(part).message() ==
        "member 'b.npy' inflates to 995 bytes, but the archive's directory says 1128");

  // The inflater looks ahead of what it is asked for: this shows when the header is read.
  part.data = "\7" + deflated(content).substr(1);
  CHECK(open_error(zip_of({part})).message() ==
        "compressed data is not a valid deflate stream in member 'b.npy'");
}

TEST_CASE("array file: a member that says it inflates to exabytes costs nothing but an error") {
  std::string header = npy("|u1", {1}, "");
  const std::string huge = "(1000000000000000000,)";
  header.replace(header.find("(1,)"), huge.size(), huge);
  header.replace(header.find(huge) + huge.size(), 3, ", }");
  ZipPart part = deflated_part("b.npy", header + "123");
  part.is_zip64 = true;
  part.bytes = 128 + 1'000'000'000'000'000'000;

  CHECK(
      error_of([&] {
        const TempDir folder;
        write_file(folder / "a.npz", zip_of({part}));
        const ArrayFiles found = open_arrays(folder / "a.npz");
        std::vector<std::byte> row(10);
        open_member(found.arrays.at(0))->read_rows(row);
      }).message() ==
      "member 'b.npy' inflates to 131 bytes, but the archive's directory says 1000000000000000128");
}

TEST_CASE("array file: every byte of an archive that is changed shows, or changes no value") {
  const std::string content = npy("<u2", {3}, "123456");
  const std::string zip = zip_of({deflated_part("b.npy", content)});
  for (std::size_t at = 0; at < zip.size(); ++at) {
    CAPTURE(at);
    std::string changed = zip;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    const TempDir folder;
    write_file(folder / "a.npz", changed);
    try {
      const ArrayFiles found = open_arrays(folder / "a.npz");
      const std::string rows = rows_of(found.arrays.at(0), 2);
      CHECK(rows == "123456");
    } catch (const Error& error) {
      const bool is_about_the_file = error.code() != Code::bug && error.code() != Code::io;
      CHECK(is_about_the_file);
    }
  }
}

TEST_CASE("array file: a file of another kind is not a damaged array") {
  const TempDir folder;
  for (const std::string name : {"x.bin", "x.npy", "x.h5", "x.npz"}) {
    for (const std::string_view content : {"\x89HDF\r\n", "a,b\n", "\x1f\x8b\x08"}) {
      write_file(folder / name, content);
      CHECK(error_of([&] { (void)open_arrays(folder / name); }).code() == Code::unsupported);
    }
  }
  for (const std::string name : {"x.bin", "x.npy"}) write_file(folder / name, "");
  CHECK(error_of([&] { (void)open_arrays(folder / "x.bin"); }).code() == Code::unsupported);
  CHECK(error_of([&] { (void)open_arrays(folder / "x.npy"); }).code() == Code::damaged);
}

TEST_CASE("array file: other files are known not to be one") {
  const TempDir folder;
  for (const std::string_view content : {"", "\x93NUMP", "PK", "PK\1\2", "\x89PNG\r\n"}) {
    write_file(folder / "x", content);
    CHECK_FALSE(is_array_file(InputFile(folder / "x")));
  }
  write_file(folder / "x", zip_of({}));
  CHECK(is_array_file(InputFile(folder / "x")));
}

std::string rows_of(const std::string& path, ArrayFile array, std::uint64_t rows_at_once) {
  array.file = std::make_shared<const InputFile>(path);
  std::uint64_t row_bytes = array.dtype.item_bytes();
  for (std::size_t axis = 1; axis < array.shape.size(); ++axis) row_bytes *= array.shape[axis];
  const std::uint64_t rows = array.shape[0];
  const std::unique_ptr<RowStream> stream = open_member(array);
  std::string all;
  for (std::uint64_t done = 0; done < rows; done += rows_at_once) {
    std::vector<std::byte> piece(std::min(rows_at_once, rows - done) * row_bytes);
    stream->read_rows(piece);
    all += as_text(piece);
  }
  return all;
}

// Element by element.
std::string expected_rows(const std::string& bytes, const ArrayFile& array) {
  std::string all;
  std::uint64_t elements = 1;
  for (const std::uint64_t axis : array.shape) elements *= axis;
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t rest = i, at = 0;
    for (std::size_t axis = array.shape.size(); axis-- > 0;) {
      at += rest % array.shape[axis] * array.strides[axis];
      rest /= array.shape[axis];
    }
    all +=
        bytes.substr(array.data_offset + at * array.dtype.item_bytes(), array.dtype.item_bytes());
  }
  return all;
}

TEST_CASE(
    "array file: of tensors with strides, random shapes, orders and steps give the elements of a "
    "loop") {
  const TempDir dir;
  const unsigned seed = std::random_device()();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>(random());
  write_file(dir / "a", bytes);
  for (int round = 0; round < 200; ++round) {
    ArrayFile array;
    array.dtype = DType::parse(std::array{"|u1", "<u2", "<u4", "<u8", "<c16"}[below(5)]);
    array.data_offset = below(100);
    const std::size_t axes = 1 + below(4);
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      array.shape.push_back(1 + below(6));
      order.push_back(axis);
    }
    std::shuffle(order.begin(), order.end(), random);
    array.strides.resize(axes);
    std::uint64_t step = 1;
    for (const std::size_t axis : order) {
      step *= 1 + below(3) / 2;
      array.strides[axis] = below(8) == 0 ? 0 : step;
      step *= array.shape[axis];
    }
    CHECK(rows_of(dir / "a", array, 1 + below(4)) == expected_rows(bytes, array));
  }
}

TEST_CASE("array file: rows of a tensor that are spread over the file are read run by run") {
  const TempDir dir;
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += static_cast<char>(i * 7 >> 3);
  write_file(dir / "a", bytes);
  ArrayFile array;
  array.dtype = DType::parse("|u1");
  array.data_offset = 1;
  array.shape = {3, 16, 2};
  array.strides = {2, 65'000, 1};
  CHECK(rows_of(dir / "a", array, 2) == expected_rows(bytes, array));
}

}  // namespace
}  // namespace shale
