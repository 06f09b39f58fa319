#include <random>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/trees/hdf5_metadata.hpp"
#include "shale/wire/hdf5_types.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "tests/formats/hdf5/hdf5_shard_tools.hpp"

namespace shale {
namespace {

using namespace test;

// `count` fields of bytes, integers and tensors in turn, and a sample of them.
Schema wide_schema(std::size_t count) {
  Schema schema;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "field " + std::to_string(i) + std::string(i % 200, 'x');
    if (i % 3 == 0) schema.fields.push_back({name, Kind::bytes, {}, {}});
    if (i % 3 == 1) schema.fields.push_back({name, Kind::integer, {}, {}});
    if (i % 3 == 2)
      schema.fields.push_back(tensor(name, kHdf5Descrs[i % std::size(kHdf5Descrs)], {2}));
  }
  return schema;
}
Sample wide_sample(const Schema& schema, const std::string& payload) {
  Sample sample{"key", {}};
  for (const Field& field : schema.fields) {
    if (field.kind == Kind::integer) {
      sample.values.emplace_back(std::int64_t{-5});
    } else if (field.kind == Kind::tensor) {
      sample.values.emplace_back(as_bytes(payload).first(field.tensor_bytes()));
    } else {
      sample.values.emplace_back(as_bytes(payload));
    }
  }
  return sample;
}

TEST_CASE("hdf5 metadata: the checksum is lookup3's, by its author's own vectors") {
  CHECK(lookup3({}) == 0xdeadbeef);
  CHECK(lookup3(as_bytes("Four score and seven years ago")) == 0x17770551);
}

TEST_CASE("hdf5 writer: the library reads every column as the documentation says") {
  const TempDir dir;
  Sample second = hdf5_sample("b");
  second.values = {Bytes(), as_bytes("h\xc3\xa9"), std::int64_t{7}, -2.5, as_bytes("aabbccddeeff")};
  (void)write_hdf5_shard(dir / "a.h5", hdf5_schema(), {hdf5_sample(), second});

  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  REQUIRE(file.is_valid());
  CHECK(values_in_library(file, "image") == "JPEG");
  CHECK(values_in_library(file, "image_offset") == raw<std::uint64_t>({0, 4, 4}));
  CHECK(values_in_library(file, "caption") == "a cath\xc3\xa9");
  CHECK(values_in_library(file, "caption_offset") == raw<std::uint64_t>({0, 5, 8}));
  CHECK(values_in_library(file, "label") == raw<std::int64_t>({-3, 7}));
  CHECK(values_in_library(file, "score") == raw<double>({0.1, -2.5}));
  CHECK(values_in_library(file, "depth") == "AABBCCDDEEFFaabbccddeeff");
  CHECK(values_in_library(file, "key") == "cat/7.jpgb");
  CHECK(values_in_library(file, "key_offset") == raw<std::uint64_t>({0, 9, 10}));
}

TEST_CASE("hdf5 writer: datasets are contiguous, never filled, without times, in the root group") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", hdf5_schema(), {hdf5_sample()});

  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  H5G_info_t group{};
  REQUIRE(H5Gget_info(file.id(), &group) >= 0);
  CHECK(group.storage_type == H5G_STORAGE_TYPE_COMPACT);
  CHECK(group.nlinks == 9);
  for (const Hdf5Column& column : plan_columns(hdf5_schema()).columns) {
    const std::string& name = column.name;
    CAPTURE(name);
    const Hdf5Handle dataset = dataset_in_library(file, name);
    const Hdf5Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
    H5D_fill_time_t fill{};
    H5O_info_t object{};
    REQUIRE(H5Pget_fill_time(properties.id(), &fill) >= 0);
    REQUIRE(H5Oget_info1(dataset.id(), &object) >= 0);
    CHECK(H5Pget_layout(properties.id()) == H5D_CONTIGUOUS);
    CHECK(fill == H5D_FILL_TIME_NEVER);
    CHECK(object.mtime == 0);
    CHECK(H5Dget_offset(dataset.id()) % kColumnAlignment == 0);
  }
}

TEST_CASE("hdf5 writer: a tensor of every dtype is what the library takes it for, to the byte") {
  for (const std::string_view descr : kHdf5Descrs) {
    CAPTURE(descr);
    const TempDir dir;
    const Schema schema{.fields = {tensor("x", descr, {3, 1, 2})}};
    std::string values(schema.fields[0].tensor_bytes(), '\1');
    if (descr != "|b1") {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i * 37);
    }
    (void)write_hdf5_shard(dir / "a.h5", schema,
                           {{"a", {as_bytes(values)}}, {"b", {as_bytes(values)}}});

    const auto lock = lock_hdf5();
    const Hdf5Handle file = open_in_library(dir / "a.h5");
    const Hdf5Handle dataset = dataset_in_library(file, "x");
    const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
    hsize_t sides[4] = {};
    REQUIRE(H5Sget_simple_extent_ndims(space.id()) == 4);
    (void)H5Sget_simple_extent_dims(space.id(), sides, nullptr);
    CHECK(std::vector<hsize_t>(sides, sides + 4) == std::vector<hsize_t>{2, 3, 1, 2});
    CHECK(described_by_library(type.id()) == descr);
    CHECK(values_in_library(file, "x") == values + values);
    CHECK(datatype_name(datatype_bytes(DType::parse(descr))) == descr);
  }
}

TEST_CASE("hdf5 writer: any number of fields, with long names, is opened, read and scanned") {
  const std::string payload(100, 'p');
  for (const std::size_t count : {0U, 1U, 2U, 8U, 9U, 33U, 150U, 500U}) {
    CAPTURE(count);
    const TempDir dir;
    const Schema schema = wide_schema(count);
    const std::vector<IndexRow> rows =
        write_hdf5_shard(dir / "a.h5", schema, {wide_sample(schema, payload)});
    CHECK(scan_hdf5(dir / "a.h5", schema).rows == rows);
    CHECK(scan_hdf5(dir / "a.h5", schema).findings.empty());

    const auto lock = lock_hdf5();
    const Hdf5Handle file = open_in_library(dir / "a.h5");
    for (std::size_t i = 0; i < count; ++i) {
      const Hdf5Handle dataset = dataset_in_library(file, schema.fields[i].name);
      REQUIRE(dataset.is_valid());
      if (schema.fields[i].kind != Kind::integer)
        CHECK(H5Dget_offset(dataset.id()) == rows[0].cells[i].place.offset);
    }
  }
}

TEST_CASE("hdf5 writer: a name that is not ASCII is UTF-8 to the library") {
  const TempDir dir;
  const Schema schema{.fields = {{"\xc3\xa4 b", Kind::integer, {}, {}}}};
  (void)write_hdf5_shard(dir / "a.h5", schema, {{"k", {std::int64_t{1}}}});

  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  H5L_info_t link{};
  REQUIRE(H5Lget_info(file.id(), "\xc3\xa4 b", &link, H5P_DEFAULT) >= 0);
  CHECK(link.cset == H5T_CSET_UTF8);
}

TEST_CASE("hdf5 writer: the library may add to the file, and what was there stays") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", hdf5_schema(), {hdf5_sample()});

  const auto lock = lock_hdf5();
  {
    const Hdf5Handle file = open_in_library(dir / "a.h5", H5F_ACC_RDWR);
    const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
    for (int i = 0; i < 40; ++i) {
      const std::string name = "more" + std::to_string(i);
      const Hdf5Handle more(H5Dcreate2(file.id(), name.c_str(), H5T_STD_I64LE, scalar.id(),
                                       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                            H5Dclose);
      CHECK(more.is_valid());
    }
    const Hdf5Handle image = dataset_in_library(file, "image");
    const Hdf5Handle attribute(
        H5Acreate2(image.id(), "note", H5T_STD_I64LE, scalar.id(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    CHECK(attribute.is_valid());
  }
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  CHECK(values_in_library(file, "image") == "JPEG");
  CHECK(values_in_library(file, "depth") == "AABBCCDDEEFF");
  CHECK(H5Lexists(file.id(), "more39", H5P_DEFAULT) > 0);
}

TEST_CASE("hdf5 writer: a shard of no samples, and one of empty values only, is a file") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "none.h5", hdf5_schema(), {});
  const Schema schema{.fields = {{"image", Kind::bytes, {}, {}}, tensor("t", "<f4", {0, 2})}};
  const std::vector<IndexRow> rows =
      write_hdf5_shard(dir / "empty.h5", schema, {{"", {Bytes(), Bytes()}}});

  CHECK(scan_hdf5(dir / "none.h5", hdf5_schema()).findings.empty());
  CHECK(scan_hdf5(dir / "empty.h5", schema).rows == rows);
  const auto lock = lock_hdf5();
  CHECK(values_in_library(open_in_library(dir / "none.h5"), "label").empty());
  const Hdf5Handle empty = open_in_library(dir / "empty.h5");
  CHECK(values_in_library(empty, "image").empty());
  CHECK(values_in_library(empty, "image_offset") == raw<std::uint64_t>({0, 0}));
}

TEST_CASE("hdf5 sizer: says the size of the closed file, to the byte") {
  std::mt19937_64 random(5);
  const std::string memory(70'000, 'm');
  const Schema schema = hdf5_schema();
  for (int round = 0; round < 40; ++round) {
    const TempDir dir;
    const auto sizer = hdf5_format.create_sizer(schema, kHdf5Options);
    std::vector<Sample> samples;
    std::uint64_t said = 0;
    for (int i = 0; i <= round; ++i) {
      Sample& sample = samples.emplace_back(hdf5_sample(std::string(random() % 90, 'k')));
      sample.values[0] = as_bytes(memory).first(random() % 70'000);
      sample.values[1] = as_bytes(memory).first(random() % 200);
      std::vector<std::uint64_t> parts;
      for (const Blob& part : hdf5_format.encode(sample, schema, kHdf5Options).parts)
        parts.push_back(part.size());
      said = sizer->size_with(parts)[0];
      sizer->add(parts);
    }
    (void)write_hdf5_shard(dir / "a.h5", schema, samples);
    CHECK(InputFile(dir / "a.h5").size() == said);
  }
}

TEST_CASE("hdf5 encoder: a part each for key and fields, scalars as 8 bytes, places from 0") {
  const Record record = hdf5_format.encode(hdf5_sample(), hdf5_schema(), kHdf5Options);

  REQUIRE(record.parts.size() == 6);
  CHECK(as_text(record.parts[0].flattened()) == "cat/7.jpg");
  CHECK(as_text(record.parts[1].flattened()) == "JPEG");
  CHECK(as_text(record.parts[3].flattened()) == raw<std::int64_t>({-3}));
  CHECK(as_text(record.parts[4].flattened()) == raw<double>({0.1}));
  CHECK(record.row.key_hash == xxh3_64(as_bytes("cat/7.jpg")));
  CHECK(record.row.cells[0].place ==
        FieldPlace{.offset = 0, .length = 4, .crc32c = crc32c(as_bytes("JPEG"))});
  CHECK(record.row.cells[2].integer == -3);
}

TEST_CASE("hdf5 encoder: a key longer than 64 KiB is refused") {
  const Sample sample{std::string(65'537, 'k'), {}};
  const Error error = error_of([&] { (void)hdf5_format.encode(sample, {}, kHdf5Options); });
  CHECK(error.code() == Code::limit);
  CHECK(error.message() == "key of 65537 bytes, more than the limit of 65536");
}

TEST_CASE("hdf5 layout: what HDF5 cannot hold is refused by field and reason") {
  struct Row {
    Schema schema;
    std::string_view field, reason;
  };
  const Row rows[] = {
      {{{tensor("t", "<U3", {})}}, "'t'", "tensor of <U3"},
      {{{tensor("t", "|V2", {})}}, "'t'", "tensor of |V2"},
      {{{tensor("t", "<f4", std::vector<std::uint64_t>(32, 1))}}, "'t'", "32 axes"},
      {{{{"a_offset", Kind::integer, {}, {}}, {"a", Kind::text, {}, {}}}}, "'a_offset'", "of 'a'"},
      {wide_schema(4097), "4097 fields", "at most 4096"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.field);
    const Error error = error_of([&] { (void)hdf5_format.layout(row.schema, kHdf5Options); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find(row.field) != std::string::npos);
    CHECK(error.message().find(row.reason) != std::string::npos);
  }
}

TEST_CASE("hdf5 layout: a field named like offsets is welcome where no field has such offsets") {
  const Schema schema{.fields = {{"a_offset", Kind::bytes, {}, {}},
                                 {"a", Kind::integer, {}, {}},
                                 tensor("t", "<f4", std::vector<std::uint64_t>(31, 1))}};
  CHECK_NOTHROW((void)hdf5_format.layout(schema, kHdf5Options));
}

TEST_CASE("hdf5 writer: append after close is refused") {
  const TempDir dir;
  std::vector<OutputFile> files;
  files.emplace_back(dir / "a.h5", OutputFile::Options{.io = IoMode::buffered});
  const Schema schema{.fields = {}};
  const auto writer = hdf5_format.create_shard(files, schema, kHdf5Options);
  (void)writer->close();
  const Record record = hdf5_format.encode({.key = "k", .values = {}}, schema, kHdf5Options);

  CHECK(error_of([&] { (void)writer->append(record); }).code() == Code::bug);
}

}  // namespace
}  // namespace shale
