#include <bit>
#include <filesystem>
#include <numeric>
#include <random>

#include "shale/base/path_text.hpp"
#include "shale/loading/loader.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/resample.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"

// Damage is never passed on: one bit of one file of a set is flipped, then every command that reads
// the set is run. It refuses with Code::damaged and commits nothing, or its result is right.

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

constexpr std::uint64_t kSamples = 7, kRowsAShard = 4;

// A set with lists beside its shards, as a conversion of a folder with odd images leaves it.
void write_source(const Format& format, const Schema& schema, const std::string& directory,
                  const std::string& list = "key,reason,detail\nlost.jpg,empty,is empty\n") {
  (void)write_set(format, plain_samples(schema, kSamples, 60), directory,
                  {.limit_samples = kRowsAShard});
  std::vector<ManifestShard> shards;
  Manifest manifest =
      read_manifest(directory, [&](const ManifestShard& shard) { shards.push_back(shard); });
  for (const std::string_view name : {kSkippedName, kImagesName}) {
    const std::string path = join_path(directory, name);
    write_file(path, list);
    const FileSummary file = summarize_file(InputFile(path));
    manifest.files.push_back({std::string(name), file.bytes, file.hash});
  }
  const std::string path = join_path(directory, kManifestName);
  write_manifest_file(path, manifest, [&](const ShardVisitor& visit) {
    for (const ManifestShard& shard : shards) visit(shard);
  });
}

// A command over the set: what came of it in words, the same for the same result.
struct Command {
  std::string name;
  bool reads_lists;  // the files beside the shards too, and block lists
  std::function<std::string(const std::string& source, const std::string& output)> run;
};

std::string words_of(const DatasetDigest& digest) {
  return digest.content.hex() + digest.ordered.hex() + digest.keys.hex();
}

std::string words_of(const FoundSample& found) {
  DatasetDigest digest;
  digest.add(digest_of(found.sample, found.schema));
  return words_of(digest);
}

// All that a loader gives of all samples.
std::string read_by_loader(const std::string& source, Proof proof) {
  const Loader loader({.path = source, .proof = proof, .generator = "shale test"}, {});
  const Schema& schema = loader.manifest().schema;
  std::vector<std::uint64_t> rows(loader.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::string all;
  const std::vector<LocatedSample> located = loader.locate(rows);
  for (const LocatedSample& sample : located) {
    all += loader.key_of(sample.row) + '\n';
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      const IndexCell& cell = sample.place.cells[f];
      all += fmt::format("{} {} ", cell.integer, std::bit_cast<std::uint64_t>(cell.real));
      if (!is_located(schema.fields[f].kind)) continue;
      std::string value(Loader::bytes_of_value(sample, f), '\0');
      const Fetch fetch{&sample, f, std::as_writable_bytes(std::span(value))};
      loader.fetch({&fetch, 1});
      all += fmt::format("{} {}", cell.place.count, value);
    }
  }
  return all + std::to_string(loader.find(loader.key_of(5)).value());
}

Command conversion_to(const Format& format, const std::string& name,
                      const std::function<void(ConvertRequest&)>& change = {}) {
  const auto run = [&format, change](const std::string& source, const std::string& output) {
    ConvertRequest request = conversion(source, output, format);
    if (change) change(request);
    return words_of(convert(request, {}).manifest.digest);
  };
  return {fmt::format("convert to {}{}", format.name, name), true, run};
}

DrawRequest draw_of(DrawMode mode, std::uint64_t rows) {
  return {.mode = mode, .rows = rows, .seed = 3, .file = {}};
}

std::vector<Command> commands_for(const Format& from, const Schema& schema) {
  const std::string first = schema.fields.front().name, last = schema.fields.back().name;
  std::vector<Command> commands;
  for (const Format* to : all_formats()) {
    const bool fits = std::ranges::all_of(schema.fields, [&](const Field& field) {
      return std::ranges::find(to->can.kinds, field.kind) != to->can.kinds.end();
    });
    const bool fits_shapes = to->can.holds_ragged || !schema.has_ragged();
    if (fits && fits_shapes) commands.push_back(conversion_to(*to, ""));
  }
  commands.push_back(conversion_to(from, " --fields", [=](ConvertRequest& request) {
    request.fields.only = {last, first};
  }));
  commands.push_back(conversion_to(
      from, " --shuffle", [](ConvertRequest& request) { request.order.is_shuffled = true; }));
  for (const std::uint64_t row : {std::uint64_t{0}, kSamples - 1}) {
    commands.push_back(
        {fmt::format("cat {}", row), false, [row](const std::string& source, const std::string&) {
           return words_of(find_row({.path = source}, row, {}));
         }});
  }
  const std::string key = from.layout(schema, defaults(from)).has_keys ? "class/5.jpg" : "5";
  commands.push_back({"cat " + key, false, [key](const std::string& source, const std::string&) {
                        return words_of(find_key({.path = source}, key, {}));
                      }});
  // What lies in fixed rows has no checksum: it is proved where that is asked for.
  const Proof proof = has_columns(from, schema) ? Proof::all : Proof::automatic;
  commands.push_back({"load", false, [proof](const std::string& source, const std::string&) {
                        return read_by_loader(source, proof);
                      }});
  if (!has_columns(from, schema)) return commands;
  commands.push_back({"join", true, [=, &from](const std::string& source, const std::string& out) {
                        ConvertRequest request = conversion(source, out + ".npy", from);
                        request.fields.only = {last};
                        (void)convert(request, {});
                        return read_text(out + ".npy");
                      }});
  commands.push_back(
      {"resample", true, [=, &from](const std::string& source, const std::string& out) {
         ResampleRequest request;
         request.conversion = conversion(source, out + ".npy", from);
         request.conversion.fields.only = {first};
         request.conversion.order.draw = draw_of(DrawMode::replace, 9);
         (void)resample(request, {});
         return read_text(out + ".npy");
       }});
  for (const DrawMode mode : {DrawMode::permute, DrawMode::replace}) {
    commands.push_back({fmt::format("resample --to {}", static_cast<int>(mode)), true,
                        [=, &from](const std::string& source, const std::string& out) {
                          ResampleRequest request;
                          request.conversion = conversion(source, out, from);
                          request.conversion.order.draw = draw_of(mode, kSamples);
                          return words_of(resample(request, {}).dataset.value().manifest.digest);
                        }});
  }
  return commands;
}

// What a command does with the set as it is: "damaged", or its result.
std::string outcome_of(const Command& command, const std::string& source) {
  const TempDir dir;
  try {
    return command.run(source, dir / "out");
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == Code::damaged, error.what());
    CHECK_FALSE(fs::exists(dir / "out/dataset.json"));
    CHECK_FALSE(fs::exists(dir / "out.npy"));
    return "damaged";
  }
}

void flip(const std::string& path, std::uint64_t bit) {
  std::string bytes = read_text(path);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  write_file(path, bytes);
}

// Every bit of these files is looked at by the command, if not for the shard of another row.
bool must_refuse(const Command& command, const std::string& file, const ManifestShard& first) {
  if (file == kManifestName) return true;
  if (command.reads_lists)
    return !std::ranges::any_of(first.files, [&](const ManifestFile& data) {
      return data.name.substr(first.name.size()) == file.substr(file.find('.'));
    });
  if (command.name == "load") return file.ends_with(kIndexSuffix);
  return file == first.index.name && command.name != fmt::format("cat {}", kSamples - 1);
}

TEST_CASE(
    "passing on: whatever bit of a set is flipped, every command that reads it refuses it, or "
    "gives what the sound set gives") {
  constexpr int kFlipsAFile = kIsInstrumented ? 1 : 2;
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    write_source(format, schema, dir / "set");
    std::vector<ManifestShard> shards;
    (void)read_manifest(dir / "set", [&](const ManifestShard& shard) { shards.push_back(shard); });
    const std::vector<Command> commands = commands_for(format, schema);
    std::vector<std::string> right;
    for (const Command& command : commands) right.push_back(outcome_of(command, dir / "set"));
    CHECK(std::ranges::count(right, "damaged") == 0);
    std::mt19937_64 dice(13);
    for (const std::string& name : needed_files(dir / "set")) {
      CAPTURE(name);
      const std::string path = join_path(dir / "set", name);
      for (int i = 0; i < kFlipsAFile; ++i) {
        const std::uint64_t bit = dice() % (8 * fs::file_size(path));
        CAPTURE(bit);
        flip(path, bit);
        for (std::size_t c = 0; c < commands.size(); ++c) {
          CAPTURE(commands[c].name);
          const std::string found = outcome_of(commands[c], dir / "set");
          const bool is_right =
              found == right[c] && !must_refuse(commands[c], name, shards.front());
          if (found != "damaged" && !is_right) FAIL_CHECK("the damage was passed on");
        }
        flip(path, bit);
      }
    }
  });
}

TEST_CASE("passing on: a label, a key and a place with one bit flipped end a conversion and cat") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // it has no index
    const TempDir dir;
    write_source(format, full_schema(format), dir / "set");
    const std::string path = dir / "set/shard-000000.index.npy";
    const ReadSet sound = read_set(dir / "set");
    const IndexColumns columns(sound.manifest.schema, sound.manifest.layout);
    std::uint64_t position = 0;
    for (const auto& column : columns.names_and_types()) {
      CAPTURE(column.first);
      flip(path, 8 * (columns.file_bytes(1) + position));
      for (const std::string to : {"out", "some"}) {
        ConvertRequest request = conversion(dir / "set", dir / to, format);
        if (to == "some") request.fields.only = {sound.manifest.schema.fields[0].name};
        CHECK(error_of([&] { (void)convert(request, {}); }).code() == Code::damaged);
        CHECK_FALSE(fs::exists(dir / (to + "/dataset.json")));
      }
      CHECK(error_of([&] { (void)find_row({.path = dir / "set"}, 1, {}); }).code() ==
            Code::damaged);
      flip(path, 8 * (columns.file_bytes(1) + position));
      position += DType::packed({&column, 1}).item_bytes();
    }
  });
}

TEST_CASE("passing on: a list of skipped samples that is older than 0.2.0 is refused") {
  for_each_format([](const Format& format) {
    const TempDir dir;
    write_source(format, full_schema(format), dir / "set", "key,reason\nlost.jpg,is empty\n");

    const Error error =
        error_of([&] { (void)convert(conversion(dir / "set", dir / "out", format), {}); });

    CHECK(error.code() == Code::unsupported);
  });
}

}  // namespace
}  // namespace shale
