#include "shale/sources/split_rows.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "shale/archives/tar_stream.hpp"
#include "shale/arrays/number_file.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/labels/label_reader.hpp"
#include "shale/labels/sample_split.hpp"
#include "shale/labels/text_lines.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {

SplitRows::SplitRows(const InputRequest& input, const SplitRequest& split,
                     const std::string& scratch_folder, const Events& events)
    : input_(input),
      choice_(input.order.choice_in_order()),
      scratch_folder_(scratch_folder),
      events_(events) {
  input_.order.choice = {};
  input_.order.is_shuffled = false;
  input_.order.part.reset();
  // Which samples have labels is known by the names and numbers of the input.
  input_.fields.renamed.clear();
  input_.fields.casts.clear();
  for (std::size_t part = 0; part < split.parts.size(); ++part)
    files_.push_back(std::make_unique<NamelessFile>(scratch_folder));
  split.has_files() ? take_lists(split) : take_shares(split, input.order.seed);
  for (std::size_t part = 0; part < split.parts.size(); ++part) {
    if (counts_[part] > 0) continue;
    throw Error(Code::bad_content, "--split leaves no sample for '{}'", split.parts[part].name)
        .at(input.inputs.front())
        .hint("give it a larger share, or leave it out");
  }
}

void SplitRows::take_shares(const SplitRequest& split, std::uint64_t seed) {
  const std::unique_ptr<ChosenRows> among = choice_.is_all() ? nullptr : chosen(choice_);
  const std::unique_ptr<Source> whole = open_input(input_, scratch_folder_, events_);
  refuse_for_stream(*whole, input_.inputs.front(), "--split");
  has_labels_ = LabelReader(whole->info()).has_labels();
  SampleSplit samples(split, *whole, seed, scratch_folder_, list_memory(input_.memory_bytes),
                      events_, among.get());
  counts_ = samples.counts();
  unlisted_ = whole->info().manifest.samples -
              std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  std::vector<RowNumbersFile> rows;
  std::vector<Hasher128> hashers(split.parts.size());
  for (std::size_t part = 0; part < split.parts.size(); ++part)
    rows.emplace_back(*files_[part], counts_[part]);
  while (const std::optional<SampleSplit::Entry> sample = samples.next()) {
    events_.stop_if_asked();
    rows[sample->part].add(sample->row);
    hashers[sample->part].update(bytes_of(sample->row));
  }
  for (RowNumbersFile& of_part : rows) of_part.flush();
  for (const Hasher128& hasher : hashers) hashes_.push_back(hasher.digest());
}

std::unique_ptr<ChosenRows> SplitRows::chosen(const SampleChoice& choice) {
  const std::unique_ptr<Source> whole = open_input(input_, scratch_folder_, events_);
  refuse_for_stream(*whole, input_.inputs.front(), "--split");
  unlisted_ = whole->info().manifest.samples;
  return std::make_unique<ChosenRows>(choice, whole->info(), whole.get(), scratch_folder_,
                                      list_memory(input_.memory_bytes), events_);
}

void SplitRows::take_lists(const SplitRequest& split) {
  std::vector<std::unique_ptr<ChosenRows>> of_parts;
  if (!choice_.select_file.empty()) {
    throw Error(Code::usage, "--select and files in --split exclude each other")
        .hint("name the samples that are taken in the files of --split");
  }
  for (const SplitPart& part : split.parts) {
    of_parts.push_back(chosen({.select_file = part.file,
                               .exclude_file = choice_.exclude_file,
                               .keys = choice_.keys,
                               .classes = choice_.classes,
                               .limit = choice_.limit,
                               .limit_seed = choice_.limit_seed,
                               .copies = split.copies}));
    counts_.push_back(of_parts.back()->count());
  }
  // The rows of all parts side by side, ascending.
  std::vector<std::uint64_t> next(of_parts.size());
  std::optional<std::pair<std::uint64_t, std::size_t>> previous;
  while (true) {
    events_.stop_if_asked();
    std::optional<std::pair<std::uint64_t, std::size_t>> least;
    for (std::size_t part = 0; part < of_parts.size(); ++part) {
      if (next[part] == counts_[part]) continue;
      const std::pair row(of_parts[part]->at(next[part]), part);
      if (!least || row < *least) least = row;
    }
    if (!least) break;
    if (previous && previous->first == least->first)
      throw listed_in_two(least->first, split.parts[previous->second], split.parts[least->second]);
    ++next[least->second];
    --unlisted_;
    previous = least;
  }
  for (std::size_t part = 0; part < of_parts.size(); ++part) {
    of_parts[part]->write_array(*files_[part], std::nullopt, events_);
    hashes_.push_back(of_parts[part]->hash());
  }
}

Error SplitRows::listed_in_two(std::uint64_t row, const SplitPart& one, const SplitPart& other) {
  const std::unique_ptr<Source> whole = open_input(input_, scratch_folder_, events_);
  whole->skip(row);
  const std::optional<PendingSample> sample = whole->next(1);
  const std::string key = sample ? sample->key : "";
  const std::string what =
      key.empty() ? fmt::format("row {}", row) : fmt::format("the key '{}'", printable(key));
  return listed_twice(
      other.file, what,
      fmt::format("here for {}, and in {} for {}", other.name, printable(one.file), one.name));
}

}  // namespace shale
