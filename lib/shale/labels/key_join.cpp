#include "shale/labels/key_join.hpp"

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

// Of each source, the rows that are in the table, in its order.
std::vector<std::shared_ptr<ChosenRows>> rows_of_sources(SortedTable<TakenRow>& table,
                                                         std::size_t sources,
                                                         const std::string& scratch_folder,
                                                         std::uint64_t memory_bytes,
                                                         const Events& events) {
  table.finish();
  std::vector<ScratchFile> rows;
  for (std::size_t i = 0; i < sources; ++i) rows.emplace_back(scratch_folder);
  while (const std::optional<TakenRow> next = table.next()) {
    events.stop_if_asked();
    rows[next->source].append(bytes_of(next->row));
  }
  std::vector<std::shared_ptr<ChosenRows>> chosen;
  chosen.reserve(sources);
  for (ScratchFile& file : rows)
    chosen.push_back(std::make_shared<ChosenRows>(std::move(file), scratch_folder, memory_bytes));
  return chosen;
}

// One that is damaged has no key to find its partners by.
void add_keys(Source& source, std::uint32_t number, SortedTable<KeyOfSource>& keys,
              const Events& events) {
  for (std::uint64_t row = 0; const std::optional<PendingSample> sample = source.next(1); ++row) {
    events.stop_if_asked();
    if (sample->damage.empty()) keys.add({xxh3_128(as_bytes(sample->key)), number, row});
  }
}

}  // namespace

KeyJoin join_by_key(const std::vector<KeyedSource>& sources, const KeyRules& rules,
                    const std::string& scratch_folder, std::uint64_t memory_bytes,
                    const Events& events) {
  const std::uint64_t share = memory_bytes / (rules.names_alone ? 3 : 2);
  SortedTable<KeyOfSource> keys(scratch_folder, share);
  SortedTable<TakenRow> taken(scratch_folder, share);
  std::optional<SortedTable<TakenRow>> alone;
  if (rules.names_alone) alone.emplace(scratch_folder, share);
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
    const bool is_taken = !same.empty() && same.front().source == 0 &&
                          (rules.takes_any || same.size() == sources.size());
    for (const KeyOfSource& one : same) {
      if (is_taken) taken.add({same.front().row, one.source, one.row});
      if (!is_taken && alone) alone->add({one.row, one.source, one.row});
    }
    same.clear();
  };
  while (const std::optional<KeyOfSource> next = keys.next()) {
    events.stop_if_asked();
    if (!same.empty() && same.front().hash != next->hash) take();
    same.push_back(*next);
  }
  take();
  KeyJoin join;
  join.rows = rows_of_sources(taken, sources.size(), scratch_folder, memory_bytes, events);
  if (alone)
    join.alone_rows = rows_of_sources(*alone, sources.size(), scratch_folder, memory_bytes, events);
  for (std::size_t i = 0; i < sources.size(); ++i)
    join.alone.push_back(sources[i].source->info().manifest.samples - join.rows[i]->count());
  return join;
}

}  // namespace shale
