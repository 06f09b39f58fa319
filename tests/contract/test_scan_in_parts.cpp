#include <fstream>
#include <random>

#include "shale/base/path_text.hpp"
#include "shale/verify/open_to_verify.hpp"
#include "shale/verify/shard_tasks.hpp"
#include "shale/verify/verify_files.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

using namespace test;

void for_each_format_that_splits(const std::function<void(const Format&)>& check) {
  for_each_format([&](const Format& format) {
    if (format.split_scan != nullptr) check(format);
  });
}

std::vector<std::string> described_all(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(describe(finding));
  return texts;
}

// A NaN is equal to itself there.
std::vector<std::byte> encoded_rows(const Scanned& scanned, Manifest manifest) {
  manifest.layout.has_elements = false;
  const IndexColumns columns(manifest.schema, manifest.layout);
  ByteWriter bytes;
  for (const IndexRow& row : scanned.rows) columns.encode(row, bytes);
  return bytes.take();
}

// What parts of these rows hand out, one after the other; nullopt where they say that something is
// wrong.
std::optional<std::vector<IndexRow>> rows_by_parts(const Format& format,
                                                   const std::string& directory, const ReadSet& set,
                                                   std::span<const std::uint64_t> ends,
                                                   bool reads_payload) {
  std::vector<InputFile> files;
  files.emplace_back(join_path(directory, set.shards[0].files[0].name));
  const ShardInput input{files,         set.manifest.schema,          set.manifest.layout,
                         reads_payload, set.shards[0].digest.samples, set.shards[0].bases};
  const SplitScan split = format.split_scan(input);
  if (!split.scan || split.samples != input.samples) return std::nullopt;
  std::vector<IndexRow> rows;
  ScanPoint begin;
  for (const std::uint64_t row : ends) {
    const bool is_last = row == input.samples;
    const ScanPoint end{row, is_last ? files[0].size() : set.rows[0][row].record_offset};
    WindowReader window(files[0], 4096);
    try {
      const bool is_sound = split.scan(input, {begin, end, window.views()},
                                       [&](const IndexRow& row) { rows.push_back(row); });
      if (!is_sound) return std::nullopt;
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      return std::nullopt;
    }
    begin = end;
  }
  return split.is_complete() ? std::optional(std::move(rows)) : std::nullopt;
}

// Where a byte changes: anywhere, in what begins a page, or at the end of the file, where the root
// of a tree is, and the offsets of columns.
std::uint64_t place_of_change(std::mt19937_64& dice, std::uint64_t bytes) {
  const std::uint64_t pages = std::max<std::uint64_t>(1, bytes / 4096);
  const std::uint64_t kind = dice() % 3, page = dice() % pages * 4096;
  if (kind == 0) return dice() % bytes;
  if (kind == 1) return std::min(bytes - 1, page + dice() % 64);
  return bytes - 1 - dice() % std::min<std::uint64_t>(bytes, 16'384);
}

void check_split_scan(const Format& format, const SampleSet& samples) {
  const int rounds = walks_are_whole() ? 300 : 40;
  const TempDir dir;
  (void)write_set(format, samples, dir / "out");
  const ReadSet set = read_set(dir / "out");
  const std::string path = dir / "out/" + set.shards[0].files[0].name, sound = read_text(path);
  const std::vector<std::byte> expected = encoded_rows(
      scan_shard(format, dir / "out", set.manifest, set.shards[0], true), set.manifest);
  std::mt19937_64 dice(test_seed());
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    std::string changed = sound;
    const std::uint64_t place = place_of_change(dice, sound.size());
    if (round > 0) changed[place] ^= static_cast<char>(1 << (dice() % 8));
    CAPTURE(place);
    write_file(path, changed);
    std::vector<std::uint64_t> ends(dice() % 9);
    for (std::uint64_t& end : ends) end = dice() % samples.samples.size();
    std::ranges::sort(ends);
    ends.push_back(samples.samples.size());

    // Without payload as verify takes the parts, where other checks prove the values.
    const bool reads_payload = !format.can.places_ascend || round % 2 == 0;

    const std::optional<std::vector<IndexRow>> rows =
        rows_by_parts(format, dir / "out", set, ends, reads_payload);

    if (round == 0) CHECK(rows.has_value());
    refused += rows ? 0 : 1;
    if (!rows) continue;
    const Scanned whole =
        scan_shard(format, dir / "out", set.manifest, set.shards[0], reads_payload);
    CHECK(described_all(whole.findings).empty());
    CHECK(encoded_rows({*rows, {}}, set.manifest) == encoded_rows(whole, set.manifest));
    if (round == 0) CHECK(encoded_rows(whole, set.manifest) == expected);
  }
  CHECK(refused > 0);
}

TEST_CASE("split scan: nothing is wrong only where one scan finds nothing, and rows are the same") {
  for_each_format_that_splits([](const Format& format) {
    const bool is_large = has_blocks(format);
    check_split_scan(format, plain_samples(full_schema(format), is_large ? 50 : 500, 4000));
    check_split_scan(format, plain_samples(full_schema(format), is_large ? 300 : 9000, 60));
    check_split_scan(format, odd_samples(full_schema(format)));
  });
}

void damage_byte(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(offset);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

// A shard of a few ranges: small values, and one that is larger than a range.
std::string write_ranges(const Format& format, const TempDir& dir) {
  SampleSet set = plain_samples(full_schema(format), 1500, 4000);
  const std::string large(19 << 20, 'x');
  for (std::size_t f = 0; f < set.schema.fields.size(); ++f) {
    if (set.schema.fields[f].kind == Kind::bytes) set.samples[900].values[f] = as_bytes(large);
  }
  (void)write_set(format, set, dir / "out");
  return dir / "out";
}

VerifyReport proved_by(const Format& format, const std::string& path, unsigned jobs,
                       VerifyDepth depth) {
  VerifyRequest request;
  request.dataset = path;
  request.jobs = jobs;
  request.depth = depth;
  const FindingSink sink;
  const Events events;
  VerifyLog log(sink, events);
  const OpenedDataset dataset = *open_to_verify(request, log);
  ShardTasks tasks(request, format, log, jobs);
  const auto check = std::make_shared<ShardCheck>(
      dataset.manifest, 0, ShardReader(dataset.paths, dataset.manifest, dataset.shards[0]),
      tasks.is_over());
  check->has_ordered_places = format.can.places_ascend;
  load_blocks(*check, InputFile(join_path(path, dataset.shards[0].blocks.name)), log);
  tasks.prove_bytes(check);
  return std::move(log.report());
}

// What is found, but for rows that an index has out of order: which of them a search meets depends
// on where it begins. The walk of the container finds those rows in any case.
std::vector<std::string> found_in_any_order(const VerifyReport& report) {
  std::vector<std::string> texts = described_all(report.first_findings);
  std::erase_if(texts, [](const std::string& text) {
    return text.find("where that of the row before ends") != std::string::npos;
  });
  return texts;
}

std::uint64_t place_of(const IndexRow& row, const ReadSet& set) {
  return set.manifest.layout.has_whole_records ? row.record_offset : row.cells[0].place.offset;
}

// Bytes whose damage meets each kind of place: what frames the records at the seams of ranges, what
// begins the pages there, and what the index says of those records.
std::vector<std::pair<std::string, std::uint64_t>> places_to_damage(const ReadSet& set) {
  const ManifestShard& shard = set.shards[0];
  const IndexColumns columns(set.manifest.schema, set.manifest.layout);
  std::vector<std::pair<std::string, std::uint64_t>> places;
  const std::vector<IndexRow>& rows = set.rows[0];
  for (std::uint64_t seam = 8 << 20; seam < shard.files[0].bytes; seam += 16 << 20) {
    const auto found =
        std::ranges::find_if(rows, [&](const IndexRow& row) { return place_of(row, set) >= seam; });
    const auto first = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(found - rows.begin()));
    for (std::uint64_t row = first - 1; row < std::min<std::uint64_t>(first + 1, rows.size());
         ++row) {
      const std::uint64_t place = place_of(rows[row], set), page = place / 4096 * 4096;
      for (const std::uint64_t byte : {0U, 9U, 14U, 40U})
        places.emplace_back(shard.files[0].name, place + byte);
      for (const std::uint64_t byte : {0U, 10U, 12U, 17U})
        places.emplace_back(shard.files[0].name, page + byte);
      places.emplace_back(shard.files[0].name, rows[row].key.offset);
      for (const std::uint64_t byte : {0U, 1U, 3U, 9U, 16U})
        places.emplace_back(shard.index.name, columns.file_bytes(row) + byte);
      if (!set.manifest.layout.has_whole_records) continue;
      places.emplace_back(shard.index.name, columns.file_bytes(row) + columns.record_position());
      places.emplace_back(shard.index.name,
                          columns.file_bytes(row) + columns.record_position() + 2);
    }
  }
  places.emplace_back(shard.files[0].name, shard.files[0].bytes - 4085);
  places.emplace_back(shard.files[0].name, shard.files[0].bytes - 8);
  return places;
}

TEST_CASE("verify in parts: finds what one walk finds, in its order, for any number of jobs" *
          doctest::test_suite("slow")) {
  for_each_format([](const Format& format) {
    if (format.split_scan == nullptr) return;
    Format whole_only = format;
    whole_only.split_scan = nullptr;
    const TempDir dir;
    const std::string out = write_ranges(format, dir);
    const ReadSet set = read_set(out);
    std::uint64_t found = 0;
    VerifyDepth depth = VerifyDepth::full;
    const auto places = places_to_damage(set);
    const SampledWalk walk(places.size(), 4);
    for (std::size_t i = walk.first; i < places.size(); i += walk.step) {
      const auto& name = places[i].first;  // a binding cannot be captured in C++ of clang 14
      const auto byte = places[i].second;
      CAPTURE(name);
      CAPTURE(byte);
      damage_byte(join_path(out, name), byte);
      depth = depth == VerifyDepth::full ? VerifyDepth::deep : VerifyDepth::full;
      const VerifyReport expected = proved_by(whole_only, out, 1, depth);
      found += expected.findings;
      for (const unsigned jobs : {1U, 4U}) {
        const VerifyReport report = proved_by(format, out, jobs, depth);
        CHECK((report.findings > 0) == (expected.findings > 0));
        CHECK(found_in_any_order(report) == found_in_any_order(expected));
      }
      damage_byte(join_path(out, name), byte);
    }
    CHECK(found > 0);
    CHECK(proved_by(format, out, 2, VerifyDepth::deep).findings == 0);
  });
}

}  // namespace
}  // namespace shale
