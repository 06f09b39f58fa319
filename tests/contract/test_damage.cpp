#include <algorithm>
#include <filesystem>

#include "shale/base/path_text.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

// A set of two tiny shards, with a list of skipped samples beside them, and one file at a time
// changed and mended.
class Patient {
 public:
  Patient(const Format& format, const Schema& schema) {
    const SampleSet set = odd_samples(schema);
    SampleSet tiny{.schema = set.schema, .samples = {}, .memory = {}};
    for (const std::size_t number : {0U, 1U, 2U, 7U}) tiny.samples.push_back(set.samples[number]);
    for (Sample& sample : tiny.samples) {
      for (std::size_t f = 0; f < set.schema.fields.size(); ++f) {
        if (set.schema.fields[f].kind == Kind::bytes) sample.values[f] = as_bytes("JPEG");
      }
    }
    SetInProgress progress(format, tiny.schema, directory(), {.limit_samples = 3});
    for (const Sample& sample : tiny.samples) progress.append(sample);
    (void)progress.finish();
    (void)read_manifest(directory(), [&](const ManifestShard& shard) { shards_.push_back(shard); });
  }

  [[nodiscard]] std::string directory() const { return dir_ / "out"; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return join_path(directory(), name);
  }
  [[nodiscard]] const std::vector<ManifestShard>& shards() const { return shards_; }
  /// Every file of the set.
  [[nodiscard]] std::vector<std::string> files() const { return needed_files(directory()); }

 private:
  TempDir dir_;
  std::vector<ManifestShard> shards_;
};

void put_byte(const std::string& path, std::size_t offset, char byte) {
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(offset))
      .put(byte);
}

// Flips bits of a file one after the other; returns those that verify did not find, or blamed on
// other files only.
std::vector<std::size_t> unseen_flips(const Patient& patient, const std::string& name) {
  const std::string sound = read_text(patient.path(name));
  std::vector<std::size_t> unseen;
  const SampledWalk walk(sound.size() * 8, 50);
  for (std::size_t bit = walk.first; bit < sound.size() * 8; bit += walk.step) {
    const std::size_t byte = bit / 8;
    put_byte(patient.path(name), byte, static_cast<char>(sound[byte] ^ (1 << (bit % 8))));
    if (!names_file(verified(patient.directory()), name)) unseen.push_back(bit);
    put_byte(patient.path(name), byte, sound[byte]);
  }
  return unseen;
}

TEST_CASE("damage: the patient is sound, and its first shard is tiny") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    CHECK(first_finding(verified(patient.directory(), VerifyDepth::deep)) == "");
    REQUIRE(patient.shards().size() == 2);
    // Three pages of LMDB; of a tar archive a block and its header for each value.
    const std::uint64_t most = has_blocks(format) ? 65'536 : 12'288;
    for (const ManifestFile& file : patient.shards()[0].files) CHECK(file.bytes <= most);
  });
}

TEST_CASE("damage: flipped bits of a shard's files are found, by the file's name" *
          doctest::test_suite("slow")) {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    for (const ManifestFile& file : patient.shards()[0].files) {
      CAPTURE(file.name);
      CHECK(unseen_flips(patient, file.name) == std::vector<std::size_t>());
    }
  });
}

TEST_CASE("damage: flipped bits of index, block list and manifest are found, by the file's name" *
          doctest::test_suite("slow")) {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    for (const std::string& name : patient.files()) {
      const auto& data = patient.shards()[0].files;
      if (std::ranges::any_of(data, [&](const ManifestFile& file) { return file.name == name; }))
        continue;
      if (name.starts_with(patient.shards()[1].name)) continue;
      CAPTURE(name);
      CHECK(unseen_flips(patient, name) == std::vector<std::size_t>());
    }
  });
}

TEST_CASE("damage: every file of the set, cut, is found by its name, by --quick too" *
          doctest::test_suite("slow")) {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    for (const std::string& name : patient.files()) {
      CAPTURE(name);
      const std::string sound = read_text(patient.path(name));
      const SampledWalk walk(sound.size(), 12);
      for (std::size_t cut = 1 + walk.first; cut <= sound.size(); cut += walk.step) {
        const std::size_t length = sound.size() - cut;
        fs::resize_file(patient.path(name), length);
        if (!names_file(verified(patient.directory(), VerifyDepth::quick), name))
          FAIL_CHECK("quick: ", length);
        if (!names_file(verified(patient.directory()), name)) FAIL_CHECK("full: ", length);
      }
      write_file(patient.path(name), sound);
    }
    CHECK(first_finding(verified(patient.directory())) == "");
  });
}

TEST_CASE("damage: the container's own scan survives every cut and every flipped bit") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    const Manifest manifest = read_manifest(patient.directory());
    const auto scan = [&](bool reads_payload) {
      (void)scan_shard(format, patient.directory(), manifest, patient.shards()[0], reads_payload);
    };
    for (const ManifestFile& file : patient.shards()[0].files) {
      const std::string sound = read_text(patient.path(file.name));
      const SampledWalk bits(sound.size() * 8, 1000), cuts(sound.size(), 150);
      for (std::size_t bit = bits.first; bit < sound.size() * 8; bit += bits.step) {
        put_byte(patient.path(file.name), bit / 8,
                 static_cast<char>(sound[bit / 8] ^ (1 << (bit % 8))));
        scan(bit % 2 == 0);
        put_byte(patient.path(file.name), bit / 8, sound[bit / 8]);
      }
      // From the longest: a file that has shrunk is not extended again.
      for (std::size_t cut = 1 + cuts.first; cut <= sound.size(); cut += cuts.step) {
        fs::resize_file(patient.path(file.name), sound.size() - cut);
        scan(cut % 2 == 0);
      }
      write_file(patient.path(file.name), sound);
    }
  });
}

TEST_CASE("damage: a file that is longer than it was is found") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    for (const std::string& name : patient.files()) {
      CAPTURE(name);
      const std::string sound = read_text(patient.path(name));
      write_file(patient.path(name), sound + '\0');
      CHECK(names_file(verified(patient.directory(), VerifyDepth::quick), name));
      write_file(patient.path(name), sound);
    }
  });
}

TEST_CASE(
    "damage: a file that is missing is found by its name, and the manifest's absence is an error") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    for (const std::string& name : patient.files()) {
      CAPTURE(name);
      const std::string sound = read_text(patient.path(name));
      fs::remove(patient.path(name));
      if (name == kManifestName) {
        CHECK(error_of([&] { (void)verified(patient.directory()); }).code() == Code::mismatch);
      } else {
        CHECK(names_file(verified(patient.directory(), VerifyDepth::quick), name));
      }
      write_file(patient.path(name), sound);
    }
  });
}

TEST_CASE("damage: two shards that changed places are found") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    const auto swap = [&](const std::string& one, const std::string& other) {
      if (one.empty()) return;  // where rows are fixed there is no index
      fs::rename(patient.path(one), patient.path("away"));
      fs::rename(patient.path(other), patient.path(one));
      fs::rename(patient.path("away"), patient.path(other));
    };
    const ManifestShard &first = patient.shards()[0], &second = patient.shards()[1];
    for (std::size_t i = 0; i < first.files.size(); ++i)
      swap(first.files[i].name, second.files[i].name);
    swap(first.index.name, second.index.name);
    swap(first.blocks.name, second.blocks.name);
    for (const VerifyDepth depth : {VerifyDepth::quick, VerifyDepth::full}) {
      const VerifyReport report = verified(patient.directory(), depth);
      for (const ManifestShard* shard : {&first, &second})
        CHECK((shard->index.name.empty() || names_file(report, shard->index.name)));
      // Files of one size are told apart by their bytes only.
      const bool shows =
          depth != VerifyDepth::quick || first.files[0].bytes != second.files[0].bytes;
      CHECK(names_file(report, first.files[0].name) == shows);
      CHECK(names_file(report, second.files[0].name) == shows);
    }
  });
}

TEST_CASE(
    "damage: an index, a block list and a data file of another shard of the same size are found") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    SampleSet set = plain_samples(schema, 4, 0);
    for (std::size_t i = 2; i < 4; ++i) {
      set.samples[i].values = set.samples[i - 2].values;
      set.samples[i].sides = set.samples[i - 2].sides;
    }
    for (std::size_t i = 0; i < 4; ++i) set.samples[i].key = "key-" + std::to_string(i);
    (void)write_set(format, set, dir / "out", {.limit_samples = 2});
    for (const std::string& name : files_in(dir / "out")) {
      if (!name.starts_with("shard-000000")) continue;
      CAPTURE(name);
      const std::string sound = read_text(join_path(dir / "out", name));
      const std::string other = read_text(join_path(dir / "out", "shard-000001" + name.substr(12)));
      REQUIRE(sound.size() == other.size());
      if (sound == other) continue;
      write_file(join_path(dir / "out", name), other);
      CHECK(names_file(verified(dir / "out"), name));
      write_file(join_path(dir / "out", name), sound);
    }
  });
}

TEST_CASE("damage: a shard file that the manifest does not know is named, and is not damage") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const Patient patient(format, schema);
    const std::string stray = "shard-000002" + std::string(format.suffixes[0]);
    write_file(patient.path(stray), "stray");
    const VerifyReport report = verified(patient.directory());
    CHECK(first_finding(report) == "");
    CHECK(report.strays == std::vector<std::string>{stray});
  });
}

TEST_CASE("damage: without its index the files of a shard are still proved, each as a whole") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // it has none
    const Patient patient(format, full_schema(format));
    const ManifestShard& shard = patient.shards()[0];
    fs::remove(patient.path(shard.index.name));
    for (const ManifestFile& file : shard.files) {
      put_byte(patient.path(file.name), file.bytes / 2, '!');
      const VerifyReport report = verified(patient.directory());
      CHECK(names_file(report, shard.index.name));
      CHECK(names_file(report, file.name));
    }
  });
}

TEST_CASE("damage: a value's damage is named by sample and field, without a block list too") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // its values have no checksums of their own
    const TempDir dir;
    SampleSet set = small_set(format);
    set.samples[4].values[0] = as_bytes("JPEG of a cat");
    (void)write_set(format, set, dir / "out");
    const ReadSet read = read_set(dir / "out");
    const ShardLayout& layout = read.manifest.layout;
    const std::string name = read.shards[0].files[layout.part_file[layout.field_part[0]]].name;
    put_byte(join_path(dir / "out", name), read.rows[0][4].cells[0].place.offset + 8, 'b');
    for (const bool has_blocks : {true, false}) {
      if (!has_blocks) fs::remove(dir / "out/shard-000000.blocks.npy");
      const VerifyReport report = verified(dir / "out");
      CHECK(std::ranges::any_of(report.first_findings, [&](const Finding& finding) {
        return finding.file == name && finding.field == set.schema.fields[0].name &&
               finding.row == 4 && finding.sample && finding.sample->key == set.samples[4].key;
      }));
    }
  });
}

TEST_CASE(
    "damage: a file that shrinks while it is verified is a finding of its own shard, and the next "
    "is proved") {
  const Format& format = *all_formats()[0];
  const TempDir dir;
  SampleSet set = plain_samples(full_schema(format), 2, 10);
  set.samples[0].values[0] = set.keep(std::string(48 << 20, 'L'));
  (void)write_set(format, set, dir / "out", {.limit_samples = 1});
  const std::string data = dir / ("out/shard-000000" + std::string(format.suffixes[0]));
  Events events;
  events.progress = [&](std::uint64_t, std::uint64_t, std::uint64_t) {
    fs::resize_file(data, 1 << 20);
  };
  VerifyRequest request;
  request.dataset = dir / "out";

  const VerifyReport report = verify(request, {}, events);

  CHECK(report.shards == 2);
  CHECK(report.findings > 0);
  for (const Finding& finding : report.first_findings) CHECK(finding.shard == "shard-000000");
}

TEST_CASE("damage: a sample read by its index is never handed out changed") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // it has none: test_arrays.cpp
    const Patient patient(format, full_schema(format));
    const ReadSet sound = read_set(patient.directory());
    for (const ManifestFile& file : patient.shards()[0].files) {
      const std::string bytes = read_text(patient.path(file.name));
      const SampledWalk walk(bytes.size(), 1000);
      for (std::size_t offset = walk.first; offset < bytes.size(); offset += walk.step) {
        put_byte(patient.path(file.name), offset, static_cast<char>(~bytes[offset]));
        const ShardReader reader(patient.directory(), sound.manifest, sound.shards[0]);
        for (std::size_t i = 0; i < sound.rows[0].size(); ++i) {
          try {
            const LoadedSample loaded = load_sample(reader, sound.rows[0][i], sound.manifest.schema,
                                                    format, {.bytes = 1 << 20});
            CHECK(digest_of(loaded.sample, sound.manifest.schema) ==
                  digest_of(sound.samples[i].sample, sound.manifest.schema));
          } catch (const Error& error) {
            CHECK(error.code() == Code::damaged);
          }
        }
        put_byte(patient.path(file.name), offset, bytes[offset]);
      }
    }
  });
}

TEST_CASE("damage: an index that gives a value another shape is not believed") {
  for_each_format([](const Format& format) {
    if (!format.can.holds_ragged) return;
    const TempDir dir;
    SampleSet set{.schema = {.fields = {{.name = "boxes",
                                         .kind = Kind::tensor,
                                         .dtype = DType::parse("<f4"),
                                         .shape = {kFreeSide, 4}}}},
                  .samples = {},
                  .memory = {}};
    set.samples.push_back({"a", {set.keep(std::string(64, 'v'))}, {4, 4}});
    (void)write_set(format, set, dir / "out");
    const ReadSet read = read_set(dir / "out");
    const ShardReader reader(dir / "out", read.manifest, read.shards[0]);
    const std::vector<std::uint64_t> shapes[] = {
        {2, 8}, {16, 1}, {3, 4}, {0, 4}, {std::uint64_t{1} << 62, 4}, {kFreeSide, 4}};
    for (const auto& shape : shapes) {
      CAPTURE(shape[0]);
      IndexRow row = read.rows[0][0];
      row.sides = shape;
      const Error error =
          error_of([&] { (void)load_sample(reader, row, set.schema, format, {.bytes = 1 << 20}); });
      CHECK(error.code() == Code::damaged);
      CHECK(error.message().find("'boxes'") != std::string::npos);
    }
  });
}

}  // namespace
}  // namespace shale
