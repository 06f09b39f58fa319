#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/trees/hdf5_metadata.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "tests/formats/hdf5/hdf5_shard_tools.hpp"
#include "tests/formats/hdf5/mend_checksums.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

using namespace test;

const Schema kPhotos{.fields = {{"image", Kind::bytes, {}, {}}, {"label", Kind::integer, {}, {}}}};

std::string photo_shard(const TempDir& dir) {
  (void)write_hdf5_shard(dir / "photos.h5", kPhotos,
                         {{"a", {as_bytes("one"), std::int64_t{1}}},
                          {"bc", {as_bytes("three"), std::int64_t{2}}},
                          {"d", {as_bytes("five!"), std::int64_t{3}}}});
  return read_text(dir / "photos.h5");
}

// In memory, where there is some: these tests write tens of thousands of tiny files.
std::filesystem::path quick_folder() {
  return std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm")
                                                   : std::filesystem::temp_directory_path();
}

ScannedHdf5 scan_photos(std::string_view bytes, bool reads_payload = true) {
  const TempDir dir(quick_folder());
  write_file(dir / "a.h5", bytes);
  return scan_hdf5(dir / "a.h5", kPhotos, reads_payload);
}

// Where a dataset of photo_shard() begins.
std::uint64_t offset_of(const TempDir& dir, const std::string& name) {
  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "photos.h5");
  return H5Dget_offset(dataset_in_library(file, name).id());
}

void put_number(std::string& bytes, std::uint64_t offset, std::uint64_t number) {
  std::memcpy(bytes.data() + offset, &number, sizeof(number));
}

TEST_CASE("hdf5 scan: gives the rows that the writer gave") {
  const TempDir dir;
  const std::string large(700'000, 'L');  // more than a window
  std::vector<Sample> samples = {hdf5_sample("a"), hdf5_sample(""), hdf5_sample("b")};
  samples[0].values[0] = as_bytes(large);
  samples[1].values[0] = Bytes();
  samples[2].values[1] = as_bytes(large);

  const std::vector<IndexRow> rows = write_hdf5_shard(dir / "a.h5", hdf5_schema(), samples);
  const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", hdf5_schema());

  CHECK(scanned.findings.empty());
  CHECK(scanned.rows == rows);
}

TEST_CASE("hdf5 scan: without payload the rows are the same but for the checksums") {
  const TempDir dir;
  std::vector<IndexRow> rows =
      write_hdf5_shard(dir / "a.h5", hdf5_schema(), {hdf5_sample("a"), hdf5_sample("b")});
  for (IndexRow& row : rows) {
    row.key.crc32c = 0;
    for (IndexCell& cell : row.cells) cell.place.crc32c = 0;
  }
  CHECK(scan_hdf5(dir / "a.h5", hdf5_schema(), false).rows == rows);
}

// A file of kPhotos by the library, each dataset as `create` makes it.
void write_by_library(const std::string& path, hid_t file_access,
                      const std::function<hid_t(hid_t file, const char* name, hid_t type,
                                                std::uint64_t side)>& create) {
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, file_access), H5Fclose);
  const auto put = [&](const char* name, hid_t type, std::uint64_t side, const void* values) {
    const Hdf5Handle dataset(create(file.id(), name, type, side), H5Dclose);
    REQUIRE(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  };
  const std::uint64_t images[] = {0, 3, 8}, keys[] = {0, 1, 3};
  const std::int64_t labels[] = {7, -7};
  put("label", H5T_STD_I64LE, 2, labels);
  put("key_offset", H5T_STD_U64LE, 3, keys);
  put("image", H5T_STD_U8LE, 8, "onethree");
  put("image_offset", H5T_STD_U64LE, 3, images);
  put("key", H5T_STD_U8LE, 3, "abc");
}

hid_t plain_dataset(hid_t file, const char* name, hid_t type, std::uint64_t side,
                    hid_t properties = H5P_DEFAULT) {
  const hsize_t sides[] = {side};
  const Hdf5Handle space(H5Screate_simple(1, sides, nullptr), H5Sclose);
  return H5Dcreate2(file, name, type, space.id(), H5P_DEFAULT, properties, H5P_DEFAULT);
}

Hdf5Handle access_with_bounds(H5F_libver_t low) {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access.id(), low, H5F_LIBVER_V110);
  return access;
}

TEST_CASE("hdf5 scan: what the library makes of its own accord is read, odd parts and all") {
  const TempDir dir;
  for (const H5F_libver_t low : {H5F_LIBVER_V18, H5F_LIBVER_V110}) {
    for (const bool has_times : {false, true}) {
      CAPTURE(has_times);
      {
        const auto lock = lock_hdf5();
        const Hdf5Handle access = access_with_bounds(low);
        const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_obj_track_times(properties.id(), has_times);
        H5Pset_attr_creation_order(properties.id(), H5P_CRT_ORDER_TRACKED);
        const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
        write_by_library(
            dir / "a.h5", access.id(),
            [&](hid_t file, const char* name, hid_t type, std::uint64_t side) {
              const hid_t made = plain_dataset(file, name, type, side, properties.id());
              for (int i = 0; i < 20; ++i) {  // more than one chunk of the header
                const std::string note = "a note " + std::to_string(i);
                const Hdf5Handle attribute(
                    H5Acreate2(made, note.c_str(), type, scalar.id(), H5P_DEFAULT, H5P_DEFAULT),
                    H5Aclose);
              }
              return made;
            });
      }
      const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kPhotos);
      CHECK(scanned.findings.empty());
      REQUIRE(scanned.rows.size() == 2);
      CHECK(scanned.rows[1].cells[0].place.crc32c == crc32c(as_bytes("three")));
      CHECK(scanned.rows[1].cells[1].integer == -7);
      CHECK(scanned.rows[1].key_hash == xxh3_64(as_bytes("bc")));
    }
  }
}

TEST_CASE("hdf5 scan: links that are not hard, and too many to lie in the header, are found") {
  const TempDir dir;
  for (const bool are_many : {false, true}) {
    {
      const auto lock = lock_hdf5();
      const Hdf5Handle access = access_with_bounds(H5F_LIBVER_V18);
      write_by_library(dir / "a.h5", access.id(),
                       [](hid_t file, const char* name, hid_t type, std::uint64_t side) {
                         return plain_dataset(file, name, type, side);
                       });
      const Hdf5Handle file = open_in_library(dir / "a.h5", H5F_ACC_RDWR);
      for (int i = 0; i < (are_many ? 20 : 1); ++i) {
        H5Lcreate_soft("/image", file.id(), std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT);
      }
    }
    const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kPhotos);
    CHECK(scanned.rows.empty());
    REQUIRE(scanned.findings.size() == 1);
    CHECK(scanned.findings[0].message ==
          (are_many ? "the links of the root group lie outside its header"
                    : "the root group has a link that is not a hard link"));
  }
}

TEST_CASE("hdf5 scan: offsets without meaning are named by field, row, sample and byte") {
  const TempDir dir;
  const std::string sound = photo_shard(dir);
  const std::uint64_t begin = offset_of(dir, "image_offset");
  struct Row {
    std::uint64_t number, value;  // of the four offsets 0 3 8 13
    std::string_view message, found;
    std::vector<std::uint64_t> lost;
  };
  const Row rows[] = {
      {0, 1, "the first offset is not 0", "1", {}},
      {1, 9, "no value can lie between these offsets", "9 to 8", {1}},
      {2, 1, "no value can lie between these offsets", "3 to 1", {1}},
      {2, 14, "no value can lie between these offsets", "3 to 14", {1, 2}},
      {2, ~0ULL, "no value can lie between these offsets", "3 to 18446744073709551615", {1, 2}},
      {3, 12, "the last offset is not the end of the values", "12", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.value);
    std::string bytes = sound;
    put_number(bytes, begin + 8 * row.number, row.value);
    const ScannedHdf5 scanned = scan_photos(bytes);
    REQUIRE(!scanned.findings.empty());
    const Finding& first = scanned.findings[0];
    CHECK(first.message == row.message);
    CHECK(first.found == row.found);
    CHECK(first.field == "image");
    CHECK(first.file == "a.h5");
    CHECK(first.offset == begin + 8 * (row.lost.empty() ? row.number : row.lost[0]));
    REQUIRE(scanned.rows.size() == 3);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const bool is_lost = std::ranges::find(row.lost, i) != row.lost.end();
      CHECK((scanned.rows[i].cells[0].place.offset == kMissing) == is_lost);
      CHECK(scanned.rows[i].key.offset != kMissing);
    }
    if (!row.lost.empty()) {
      CHECK(first.row == row.lost[0]);
      CHECK(first.sample->key == "bc");
    }
  }
}

TEST_CASE("hdf5 scan: a key of more than 64 KiB is not read") {
  const TempDir dir;
  const std::string key(65'536, 'k');
  (void)write_hdf5_shard(dir / "photos.h5", kPhotos,
                         {{key, {Bytes(), std::int64_t{0}}}, {"k", {Bytes(), std::int64_t{0}}}});
  std::string bytes = read_text(dir / "photos.h5");
  CHECK(scan_photos(bytes).findings.empty());
  put_number(bytes, offset_of(dir, "key_offset") + 8, 65'537);
  const ScannedHdf5 scanned = scan_photos(bytes);
  REQUIRE(scanned.findings.size() == 1);
  CHECK(scanned.findings[0].message == "a key is longer than shale writes them");
  CHECK(scanned.rows[0].key.offset == kMissing);
}

TEST_CASE("hdf5 scan: a shard of another schema is said dataset by dataset") {
  const TempDir dir;
  (void)photo_shard(dir);
  const Schema schema{.fields = {{"image", Kind::text, {}, {}},
                                 {"label", Kind::real, {}, {}},
                                 {"depth", Kind::tensor, DType::parse("<f4"), {2}}}};
  std::vector<std::string> said;
  for (const Finding& finding : scan_hdf5(dir / "photos.h5", schema).findings)
    said.push_back(describe(finding));
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("dataset 'depth' is missing") != std::string::npos);

  const Schema fewer{.fields = {{"label", Kind::real, {}, {}}}};
  const ScannedHdf5 scanned = scan_hdf5(dir / "photos.h5", fewer);
  REQUIRE(scanned.findings.size() == 2);
  CHECK(scanned.findings[0].message == "datasets that the schema does not have");
  CHECK(scanned.findings[1].message == "dataset 'label' has a different type");
  CHECK(scanned.findings[1].found == "int64");
  CHECK(scanned.findings[1].expected == "float64");
}

TEST_CASE("hdf5 scan: two datasets in the same bytes are found, and so is a reach beyond the end") {
  const TempDir dir;
  std::string bytes = photo_shard(dir);
  const std::uint64_t label = offset_of(dir, "label"), keys = offset_of(dir, "key");
  const auto move_label = [&](std::uint64_t to) {
    std::string moved = bytes;
    const std::string address(as_text(bytes_of(label)));
    put_number(moved, moved.find(address, kSuperblockBytes), to);
    mend_checksums(moved);
    return scan_photos(moved);
  };
  CHECK(move_label(label).findings.empty());
  CHECK(move_label(keys).findings[0].message.ends_with("overlaps something else"));
  CHECK(move_label(8).findings[0].message == "dataset 'label' overlaps something else");
  for (const std::uint64_t far : {std::uint64_t{bytes.size()} - 23, kHdf5Nowhere - 1, kHdf5Nowhere})
    CHECK(move_label(far).findings[0].message ==
          "dataset 'label' reaches beyond the end of the file");
}

TEST_CASE("hdf5 scan: every flipped bit of the metadata is found without a manifest") {
  const TempDir dir;
  const std::string sound = photo_shard(dir);
  const std::size_t head = offset_of(dir, "image");
  const std::size_t zeros = head - sound.substr(0, head).find_last_not_of('\0') - 1;
  for (std::size_t bit = 0; bit < 8 * (head - zeros); bit += test::kIsInstrumented ? 7 : 1) {
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    if (scan_photos(bytes, false).findings.empty()) FAIL_CHECK("bit ", bit);
  }
}

TEST_CASE("hdf5 scan: metadata that is changed at random, under sound checksums, never escapes") {
  const TempDir dir;
  constexpr unsigned kSeed = 20261120;
  CAPTURE(kSeed);
  std::mt19937_64 random(kSeed);
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  const std::string sounds[] = {photo_shard(dir),
                                read_text(root / "formats/hdf5/golden/reference/h5py-3.16.0.h5")};
  constexpr int kRounds = test::kIsInstrumented ? 2'000 : 20'000;
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = sounds[round % 2];
    const std::size_t head = round % 2 == 0 ? 700 : 2600;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const char choices[] = {0, 1, 2, 3, 16, 127, -1, static_cast<char>(random())};
      bytes[random() % head] = choices[random() % std::size(choices)];
    }
    mend_checksums(bytes);
    const ScannedHdf5 scanned = scan_photos(bytes, round % 4 < 2);
    refused += scanned.findings.empty() ? 0 : 1;
    for (const IndexRow& row : scanned.rows) {
      const FieldPlace& image = row.cells[0].place;
      if (image.offset == kMissing) continue;
      if (image.offset > bytes.size() || image.length > bytes.size() - image.offset)
        FAIL_CHECK("round ", round);
    }
  }
  CHECK(refused > kRounds / 4);
}

TEST_CASE("hdf5 scan: a chain of header chunks that bites its tail ends") {
  const TempDir dir;
  std::string bytes = photo_shard(dir);
  // A new root header behind the data: its only message leads to a chunk that leads to itself.
  const std::uint64_t root = bytes.size(), chunk = root + 64;
  ByteWriter there;
  there.write(chunk);
  there.write(std::uint64_t{4 + 4 + 16 + 4});
  const HeaderMessage next{MessageType::continuation, 0, 0, there.take()};
  bytes += as_text(object_header_bytes({&next, 1}));
  bytes.resize(chunk);
  ByteWriter chain;
  chain.write_text("OCHK");
  chain.write(std::uint8_t{0x10});
  chain.write(std::uint16_t{16});
  chain.write(std::uint8_t{0});
  chain.write_bytes(next.body);
  chain.write(lookup3(chain.bytes()));
  bytes += as_text(chain.bytes());
  bytes.replace(0, kSuperblockBytes, as_text(superblock_bytes({bytes.size(), root})));

  const ScannedHdf5 scanned = scan_photos(bytes);

  REQUIRE(scanned.findings.size() == 1);
  CHECK(scanned.findings[0].message.starts_with("object header of "));
}

TEST_CASE("hdf5 scan: a header of very many messages is not taken into memory") {
  const TempDir dir;
  std::string bytes = photo_shard(dir);
  const std::uint64_t root = bytes.size();
  const std::vector<HeaderMessage> many(70'000, group_info_message());
  bytes += as_text(object_header_bytes(many));
  bytes.replace(0, kSuperblockBytes, as_text(superblock_bytes({bytes.size(), root})));

  const ScannedHdf5 scanned = scan_photos(bytes);

  REQUIRE(scanned.findings.size() == 1);
  CHECK(scanned.findings[0].message == "object header of more than 65536 messages");
}

TEST_CASE("hdf5 golden: each refused file is named by what is wrong with it") {
  struct Row {
    std::string_view name, message;
    std::size_t rows;  // that could still be read
  };
  constexpr Row kRows[] = {
      {"chunked", "dataset 'image' cannot be read: storage of class 2, expected 1", 0},
      {"old-group", "the superblock has version 0", 0},
      {"labels-of-32-bits", "dataset 'label' has a different type", 0},
      {"labels-big-endian", "dataset 'label' has a different type", 0},
      {"label-too-many", "dataset 'label' has a different shape", 0},
      {"no-key", "dataset 'key' is missing", 0},
      {"a-dataset-more", "datasets that the schema does not have", 5},
      {"offsets-descend", "no value can lie between these offsets", 5},
      {"offsets-end-early", "the last offset is not the end of the values", 5},
      {"cut", "the superblock has a different end of file", 0},
      {"checksum-of-superblock", "checksum mismatch in the superblock", 0},
      {"checksum-of-dataset", "checksum mismatch in an object header", 0},
  };
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const ScannedHdf5 scanned =
        scan_hdf5(root / "formats/hdf5/golden/refused" / (std::string(row.name) + ".h5"), kPhotos);
    CHECK(scanned.rows.size() == row.rows);
    REQUIRE(!scanned.findings.empty());
    CHECK(scanned.findings[0].message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("hdf5 detection: the signature counts at 0, 512, 1024, 2048 and nowhere else") {
  const auto bid = [](std::size_t at) {
    const std::string content = std::string(at, 'x') + std::string(kHdf5Signature);
    return hdf5_format.bid({"a",
                            as_bytes(content).first(std::min<std::size_t>(content.size(), 4096)),
                            content.size()});
  };
  for (const std::size_t at : {0U, 512U, 1024U, 2048U}) CHECK(bid(at) == 64);
  for (const std::size_t at : {1U, 511U, 513U, 1536U, 4096U}) CHECK(bid(at) == 0);
}

}  // namespace
}  // namespace shale
