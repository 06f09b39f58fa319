#include "shale/sources/key_join.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/io/sorted_table.hpp"

namespace shale {
namespace {

// A sample of one of the sources.
struct KeyOfSource {
  Hash128 hash;
  std::uint32_t source = 0;
  std::uint64_t row = 0;
  static auto columns(auto& key) { return std::tie(key.hash, key.source, key.row); }
};

// A sample that is taken: where it comes, by the row of the first source, and its own row.
struct TakenRow {
  std::uint64_t first = 0;
  std::uint32_t source = 0;
  std::uint64_t row = 0;
  static auto columns(auto& taken) { return std::tie(taken.first, taken.source, taken.row); }
};

// One that is damaged has no key to find its partners by.
void add_keys(Source& source, std::uint32_t number, SortedTable<KeyOfSource>& keys,
              const Events& events) {
  for (std::uint64_t row = 0; const std::optional<PendingSample> sample = source.next(1); ++row) {
    events.stop_if_asked();
    if (sample->damage.empty()) keys.add({xxh3_128(as_bytes(sample->key)), number, row});
  }
}

}  // namespace

KeyJoin join_by_key(const std::vector<KeyedSource>& sources, bool takes_any,
                    const std::string& scratch_folder, std::uint64_t memory_bytes,
                    const Events& events) {
  SortedTable<KeyOfSource> keys(scratch_folder, memory_bytes / 2);
  SortedTable<TakenRow> taken(scratch_folder, memory_bytes / 2);
  for (std::size_t number = 0; number < sources.size(); ++number)
    add_keys(*sources[number].source, static_cast<std::uint32_t>(number), keys, events);
  keys.finish();
  std::vector<KeyOfSource> same;  // that have one key
  const auto take = [&] {
    for (std::size_t i = 1; i < same.size(); ++i) {
      if (same[i - 1].source != same[i].source) continue;
      throw Error(Code::schema,
                  "samples {} and {} have the same key, which a join by key cannot tell apart",
                  same[i - 1].row, same[i].row)
          .at(sources[same[i].source].path);
    }
    const bool is_taken =
        !same.empty() && same.front().source == 0 && (takes_any || same.size() == sources.size());
    for (const KeyOfSource& one : same) {
      if (is_taken) taken.add({same.front().row, one.source, one.row});
    }
    same.clear();
  };
  while (const std::optional<KeyOfSource> next = keys.next()) {
    events.stop_if_asked();
    if (!same.empty() && same.front().hash != next->hash) take();
    same.push_back(*next);
  }
  take();
  taken.finish();
  std::vector<ScratchFile> rows;
  for (std::size_t i = 0; i < sources.size(); ++i) rows.emplace_back(scratch_folder);
  while (const std::optional<TakenRow> next = taken.next()) {
    events.stop_if_asked();
    rows[next->source].append(bytes_of(next->row));
  }
  KeyJoin join;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    join.rows.push_back(
        std::make_shared<ChosenRows>(std::move(rows[i]), scratch_folder, memory_bytes));
    join.alone.push_back(sources[i].source->info().manifest.samples - join.rows.back()->count());
  }
  return join;
}

}  // namespace shale
