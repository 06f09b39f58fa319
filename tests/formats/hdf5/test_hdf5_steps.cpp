#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/trees/hdf5_steps.hpp"

#include "formats/hdf5/foreign/hdf5_unpack.hpp"
#include "tests/formats/hdf5/foreign_files.hpp"

namespace shale {
namespace {

using test::error_of;
using test::ForeignFile;
using test::ForeignRows;
using test::TempDir;
using Texts = std::vector<std::string>;

struct DemoRecipe {
  std::string name;
  hsize_t rows;
};

void make_group(const ForeignFile& file, const std::string& path) {
  const Hdf5Handle group(H5Gcreate2(file.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Gclose);
}

void put_number(const ForeignFile& file, const std::string& path, const char* name,
                std::int64_t value) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle attribute(H5Acreate_by_name(file.id(), path.c_str(), name, H5T_STD_I64LE,
                                               space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  H5Awrite(attribute.id(), H5T_NATIVE_INT64, &value);
}

// actions (rows, 2) of uint16 and reward (rows), counted in each demonstration.
void make_demos(ForeignFile& file, const std::vector<DemoRecipe>& demos, bool is_packed = false) {
  make_group(file, "data");
  for (const auto& [name, rows] : demos) {
    const std::string path = "data/" + name;
    make_group(file, path);
    make_group(file, path + "/obs");
    if (is_packed) file.chunked({1, 2}, true);
    file.count(path + "/obs/state.x", H5T_STD_U16LE, {rows, 2});
    file.count(path + "/reward", H5T_STD_I64LE, {rows});
    put_number(file, path, "num_samples", static_cast<std::int64_t>(rows));
  }
}

ForeignRows read_steps(const std::string& path) {
  return test::scan_foreign(path, survey_hdf5_file(InputFile(path), {}));
}

const std::string kStep0("\0\0\1\0", 4), kStep1("\2\0\3\0", 4);

TEST_CASE("hdf5 steps: demonstrations come in the order of their numbers, step by step") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    make_demos(file, {{"demo_10", 1}, {"demo_9", 2}, {"demo_0", 0}});
  }

  const ForeignRows all = read_steps(dir / "a.h5");

  CHECK(all.findings.empty());
  CHECK(all.survey.layout.dialect == Dialect::robomimic);
  CHECK_FALSE(all.survey.schema.has_keys);
  CHECK(all.of("demo") == Texts{"9", "9", "10"});
  CHECK(all.of("step") == Texts{"0", "1", "0"});
  CHECK(all.of("reward") == Texts{"0", "1", "0"});
  CHECK(all.of("obs_state_x") == Texts{kStep0, kStep1, kStep0});
  CHECK(all.rows[1].cells[1].place.crc32c == crc32c(as_bytes(kStep1)));
}

TEST_CASE("hdf5 steps: what is compressed is unpacked into columns of the same fields") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    make_demos(file, {{"demo_1", 2}, {"demo_0", 1}}, true);
  }
  const InputFile file(dir / "a.h5");
  const NamelessFile into(dir.path());

  CHECK(error_of([&] { (void)survey_hdf5_file(file, {}); }).code() == Code::unsupported);
  REQUIRE(unpack_hdf5_file({.file = file, .into = into, .memory_bytes = 16 << 20}).has_value());

  const ForeignRows all = test::read_foreign(into.link());
  CHECK(all.findings.empty());
  CHECK(all.survey.layout.rows.has_strides());
  CHECK(all.of("demo") == Texts{"0", "1", "1"});
  CHECK(all.of("step") == Texts{"0", "0", "1"});
  CHECK(all.of("obs_state_x") == Texts{kStep0, kStep0, kStep1});
}

TEST_CASE("hdf5 steps: groups are left alone where plain is asked for, or the root has datasets") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    make_demos(file, {{"demo_1", 2}});
  }
  CHECK(error_of([&] { (void)survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain); })
            .message()
            .find("no dataset of samples") != std::string::npos);
  {
    ForeignFile file(dir / "b.h5");
    make_demos(file, {{"demo_1", 2}});
    file.count("x", H5T_STD_I64LE, {5});
  }
  CHECK(read_steps(dir / "b.h5").survey.samples == 5);
}

TEST_CASE("hdf5 steps: a scan by the index of another file says what differs") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    make_demos(file, {{"demo_1", 2}});
  }
  {
    ForeignFile file(dir / "b.h5");
    file.count("x", H5T_STD_I64LE, {5});
  }
  const Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), {});

  const ForeignRows other = test::scan_foreign(dir / "b.h5", survey);

  REQUIRE(other.findings.size() == 1);
  CHECK(other.findings[0].message.find("not those that were indexed") != std::string::npos);
}

TEST_CASE("hdf5 steps: the numbers of demonstrations are whole") {
  CHECK(number_of_demo("demo_0") == 0);
  CHECK(number_of_demo("demo_007") == 7);
  for (const char* name : {"demo_", "demo_x", "demo_1x", "demo_-1", "demo", "Demo_1", "demo_ 1",
                           "demo_99999999999999999999"})
    CHECK(number_of_demo(name) == std::nullopt);
}

}  // namespace
}  // namespace shale
