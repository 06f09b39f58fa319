#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/sample_loader.hpp"
#include "shale/folders/folder_source.hpp"
#include "shale/sources/cast_fields.hpp"
#include "shale/sources/chosen_fields.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// Images with whole numbers, reals that one lacks, and lists of integers that differ in number.
class Numbered {
 public:
  Numbered() {
    std::filesystem::create_directories(dir_ / "in/a");
    for (const char* name : {"1.jpg", "2.jpg", "3.jpg"})
      write_file(dir_ / "in/a" + "/" + name, "an image");
    write_file(dir_ / "in/a/metadata.jsonl",
               "{\"file_name\": \"1.jpg\", \"n\": 7, \"x\": 0.5, \"ids\": [1, 2, 3]}\n"
               "{\"file_name\": \"2.jpg\", \"n\": 300, \"x\": null, \"ids\": [256]}\n"
               "{\"file_name\": \"3.jpg\", \"n\": -1, \"x\": 2.0, \"ids\": []}\n");
  }

  [[nodiscard]] std::unique_ptr<Source> cast(const char* words) const {
    FolderRequest request;
    request.root = dir_ / "in";
    request.scratch_folder = dir_.path();
    request.files.pairs.policy = PairPolicy::automatic;
    return make_chosen_fields(open_folder(request), {.casts = parse_casts(words)}, request.root);
  }

 private:
  TempDir dir_;
};

Batch batch_of(Source& source, std::size_t samples) {
  Batch batch;
  for (std::size_t i = 0; i < samples; ++i) {
    batch.pending.push_back(source.next(1).value());
    batch.bytes += batch.pending.back().bytes;
  }
  return batch;
}

std::vector<Sample> load(Batch& batch, const Source& source) {
  BatchReader reader{BatchReader::Options{}};
  return load_batch(batch, source.info(), reader);
}

TEST_CASE("cast fields: numbers in cells and lists get their types, absent ones stay absent") {
  const Numbered numbered;
  const auto source = numbered.cast("n:int16,x:float32,ids:int32");
  const Schema& schema = source->info().schema;
  CHECK(schema.fields[*schema.find("n")].dtype.descr() == "<i2");
  CHECK(schema.fields[*schema.find("ids")].is_ragged());
  CHECK(source->info().fields.ends_with("n:n:int16,x:x:float32,ids:ids:int32"));

  Batch batch = batch_of(*source, 3);
  const std::vector<Sample> samples = load(batch, *source);
  CHECK(std::get<double>(samples[0].values[*schema.find("x")]) == 0.5);
  CHECK(std::holds_alternative<std::monostate>(samples[1].values[*schema.find("x")]));
  CHECK(std::get<std::int64_t>(samples[1].values[*schema.find("n")]) == 300);
  const std::int32_t ids[] = {1, 2, 3};
  CHECK(std::ranges::equal(std::get<Bytes>(samples[0].values[*schema.find("ids")]),
                           std::as_bytes(std::span(ids))));
  CHECK(batch.pending[0].cells[*schema.find("ids")].place.length == sizeof(ids));
}

TEST_CASE("cast fields: a number becomes a tensor where its type asks for it") {
  const Numbered numbered;
  const auto source = numbered.cast("n:float16,x:float16");
  const Schema& schema = source->info().schema;
  CHECK(schema.fields[*schema.find("n")].kind == Kind::tensor);
  CHECK(schema.fields[*schema.find("x")].is_optional);
  CHECK(source->next(1)->known.size() == 3);
  const auto second = source->next(1);
  CHECK(second->known.size() == 2);
  CHECK(second->cells[*schema.find("x")].place.offset == kMissing);
}

TEST_CASE("cast fields: what does not fit is counted by sample, the nearest is taken") {
  const Numbered numbered;
  const auto source = numbered.cast("n:uint8,ids:uint8");
  const Schema& schema = source->info().schema;
  Batch batch = batch_of(*source, 3);
  const std::vector<Sample> samples = load(batch, *source);
  CHECK(batch.pending[0].unfit == nullptr);
  REQUIRE(batch.pending[1].unfit != nullptr);
  CHECK(batch.pending[1].unfit->count == 2);
  CHECK(batch.pending[1].unfit->first == "300 in field 'n', which uint8 cannot hold");
  CHECK(batch.pending[2].unfit->count == 1);
  CHECK(std::get<std::int64_t>(samples[1].values[*schema.find("n")]) == 255);
  CHECK(std::get<std::int64_t>(samples[2].values[*schema.find("n")]) == 0);
  CHECK(std::get<Bytes>(samples[1].values[*schema.find("ids")])[0] == std::byte{255});
}

}  // namespace
}  // namespace shale
