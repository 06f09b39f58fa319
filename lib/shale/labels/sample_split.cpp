#include "shale/labels/sample_split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/labels/label_reader.hpp"
#include "shale/labels/text_lines.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::string_view kSplitListSuffixes[] = {".avi",  ".mp4", ".mkv", ".webm", ".mov", ".mpg",
                                                   ".mpeg", ".m4v", ".wmv", ".flv",  ".3gp"};
constexpr std::uint64_t kSorters = 5;
// Of a label in memory; few labels are always taken, as many as of ImageNet's 21,841 classes.
constexpr std::uint64_t kLabelBytes = 64, kLeastLabels = 65'536;
// Of a source of fixed rows, which may have to put them together.
constexpr std::uint64_t kRowsAtOnce = 4096, kBytesAtOnce = 1 << 20;

std::string_view without_slashes(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

// "a/b/c" -> "b/c"; empty: there are not two.
std::string_view last_two_names(std::string_view path) {
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return {};
  const std::size_t before = path.rfind('/', last - 1);
  return path.substr(before == std::string_view::npos ? 0 : before + 1);
}

std::string_view without_video_suffix(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return path;
  std::string suffix(path.substr(dot));
  for (char& letter : suffix)
    letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter);
  const bool is_known =
      std::ranges::find(kSplitListSuffixes, suffix) != std::end(kSplitListSuffixes);
  return is_known ? path.substr(0, dot) : path;
}

// "Class/video.avi 1" -> "Class/video.avi", also with a comma.
std::string_view without_number(std::string_view text) {
  const std::size_t end = text.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == text.size()) return text;
  if (text[end] != ',' && text[end] != ' ' && text[end] != '\t') return text;
  return trimmed(text.substr(0, end));
}

// The first field of a row that begins with a quote.
std::string unquoted(std::string_view row) {
  std::string field;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '"') {
      if (i + 1 == row.size() || row[i + 1] != '"') break;
      ++i;
    }
    field += row[i];
  }
  return field;
}

std::optional<std::size_t> list_of(const Schema& schema) {
  const auto found = std::ranges::find(schema.fields, Kind::list, &Field::kind);
  if (found == schema.fields.end()) return std::nullopt;
  return static_cast<std::size_t>(found - schema.fields.begin());
}

}  // namespace

std::vector<std::string> keys_in_line(std::string_view line) {
  line = trimmed(line);
  const std::string of_quotes = line.starts_with('"') ? unquoted(line) : std::string();
  std::vector<std::string> keys;
  const auto add = [&](std::string_view key) {
    if (!key.empty() && std::ranges::find(keys, key) == keys.end()) keys.emplace_back(key);
  };
  for (const std::string_view text : {line, std::string_view(of_quotes), without_number(line)}) {
    const std::string_view path = without_slashes(text);
    for (const std::string_view key : {path, last_two_names(path)}) {
      add(key);
      add(without_video_suffix(key));
    }
  }
  return keys;
}

std::vector<std::uint64_t> shares_of(std::uint64_t count, const std::vector<SplitPart>& parts) {
  std::vector<std::uint64_t> counts(parts.size());
  std::vector<double> rests(parts.size());
  std::uint64_t left = count;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double exact = static_cast<double>(count) * parts[i].share;
    // A share of 0.7 is a little less than that.
    counts[i] = std::min(left, static_cast<std::uint64_t>(std::floor(exact + 1e-9)));
    rests[i] = exact - static_cast<double>(counts[i]);
    left -= counts[i];
  }
  for (; left > 0; --left) {
    const auto next = std::ranges::max_element(rests) - rests.begin();
    ++counts[static_cast<std::size_t>(next)];
    rests[static_cast<std::size_t>(next)] -= 1;
  }
  std::vector<std::size_t> by_share(parts.size());
  std::iota(by_share.begin(), by_share.end(), 0);
  std::ranges::stable_sort(by_share, std::greater(), [&](std::size_t i) { return parts[i].share; });
  for (const std::size_t part : by_share) {
    const auto most = std::ranges::max_element(counts);
    if (counts[part] > 0 || *most < 2) continue;
    --*most;
    ++counts[part];
  }
  return counts;
}

SampleSplit::SampleSplit(SplitRequest request, Source& whole, std::uint64_t seed,
                         const std::string& scratch_folder, std::uint64_t memory_bytes,
                         const Events& events, ChosenRows* among)
    : request_(std::move(request)),
      seed_(seed),
      scratch_folder_(scratch_folder),
      memory_bytes_(memory_bytes / kSorters),
      events_(events),
      samples_(scratch_folder_, memory_bytes_),
      listed_(scratch_folder_, memory_bytes_) {
  take_samples(whole, among);
  if (request_.has_files()) resolve_lists();
  if (!request_.group.empty()) place_groups();
  rewind();
}

void SampleSplit::take_samples(Source& whole, ChosenRows* among) {
  const std::optional<std::size_t> list = list_of(whole.info().schema);
  if (request_.has_files() && !list) throw Error(Code::bug, "lists of samples that are not videos");
  LabelReader labels(whole.info());
  std::optional<LabelReader> groups;
  if (!request_.group.empty()) groups.emplace(whole.info(), request_.group);
  std::uint64_t first = 0, taken = 0;
  const std::uint64_t row_bytes = std::max<std::uint64_t>(1, whole.info().row_bytes.value_or(1));
  const std::uint64_t most = std::clamp<std::uint64_t>(kBytesAtOnce / row_bytes, 1, kRowsAtOnce);
  while (const std::optional<PendingSample> run = whole.next(most)) {
    events_.stop_if_asked();
    const std::vector<std::int64_t>& of_run = labels.of(*run);
    const std::vector<std::int64_t>& groups_of_run = groups ? groups->of(*run) : of_run;
    for (std::uint64_t i = 0; i < run->rows; ++i) {
      if (among != nullptr) {
        if (taken == among->count()) return samples_.finish();
        if (among->at(taken) != first + i) continue;
        ++taken;
      }
      samples_.add({.row = first + i,
                    .label = of_run[i],
                    .group = groups_of_run[i],
                    .elements = list ? run->cells[*list].place.count : std::uint32_t{0},
                    .key = list ? std::string_view(run->key) : std::string_view()});
      count_label(groups_of_run[i]);
    }
    first += run->rows;
  }
  samples_.finish();
}

void SampleSplit::count_label(std::int64_t label) {
  if (++classes_[label].all > 1) return;
  const std::uint64_t most = std::max(kLeastLabels, memory_bytes_ / kLabelBytes);
  if (classes_.size() <= most) return;
  if (!request_.group.empty())
    throw Error(Code::limit, "--split-group '{}' has more than {} values",
                printable(request_.group), most)
        .hint("raise --memory");
  throw Error(Code::limit,
              "--split takes a share of each label, but there are more than {} of them: the field "
              "'label' seems not to be one",
              most)
      .hint("raise --memory, or name the samples of each list in files");
}

void SampleSplit::place_groups() {
  struct Group {
    std::uint64_t all = 0;
    Hash128 order;
    OfClass* group = nullptr;
  };
  std::vector<Group> groups;
  std::uint64_t all = 0;
  for (auto& [value, group] : classes_) {
    const std::array<std::uint64_t, 2> keyed = {seed_, static_cast<std::uint64_t>(value)};
    groups.push_back({group.all, xxh3_128(std::as_bytes(std::span(keyed))), &group});
    all += group.all;
  }
  std::ranges::sort(groups, [](const Group& a, const Group& b) {
    return std::tuple(b.all, a.order.high, a.order.low) <
           std::tuple(a.all, b.order.high, b.order.low);
  });
  std::vector<double> lacking;
  for (const SplitPart& part : request_.parts)
    lacking.push_back(part.share * static_cast<double>(all));
  for (const Group& one : groups) {
    const auto most = std::ranges::max_element(lacking);
    *most -= static_cast<double>(one.all);
    one.group->part = static_cast<std::size_t>(most - lacking.begin());
  }
}

std::vector<std::uint64_t> SampleSplit::counts() const {
  std::vector<std::uint64_t> counts(request_.parts.size());
  if (!request_.group.empty()) {
    for (const auto& [value, group] : classes_) counts[group.part] += group.all;
    return counts;
  }
  for (const auto& [label, of_class] : classes_) {
    const std::vector<std::uint64_t> of_label = shares_of(of_class.all, request_.parts);
    for (std::size_t part = 0; part < counts.size(); ++part) counts[part] += of_label[part];
  }
  return counts;
}

void SampleSplit::rewind() {
  samples_.rewind();
  for (auto& [label, of_class] : classes_) of_class.seen = 0;
  if (request_.has_files()) listed_.rewind();
}

std::optional<SampleSplit::Entry> SampleSplit::next() {
  const std::optional<SplitSample> next = samples_.next();
  if (!next) return std::nullopt;
  Entry sample{.key = std::string(next->key),
               .row = next->row,
               .label = next->label,
               .elements = next->elements};
  sample.part = request_.has_files()      ? part_by_list(sample.row)
                : !request_.group.empty() ? classes_[next->group].part
                                          : part_by_share(classes_[sample.label], sample.label);
  return sample;
}

std::size_t SampleSplit::part_by_share(OfClass& of_class, std::int64_t label) const {
  // Classes of one size would all lose the same positions.
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const std::uint64_t key = seed_ + kGolden * (static_cast<std::uint64_t>(label) + 1);
  std::uint64_t place = Permutation(of_class.all, key).inverse(of_class.seen++);
  const std::vector<std::uint64_t> counts = shares_of(of_class.all, request_.parts);
  std::size_t part = 0;
  for (; place >= counts[part]; ++part) place -= counts[part];
  return part;
}

std::size_t SampleSplit::part_by_list(std::uint64_t row) {
  const SplitLine* const line = listed_.row();
  if (line == nullptr || line->row != row) return kNoPart;
  const std::size_t part = line->part;
  listed_.step();
  return part;
}

void SampleSplit::resolve_lists() {
  SortedTable<WantedKey> wanted(scratch_folder_, memory_bytes_);
  SortedTable<FoundKey> found(scratch_folder_, memory_bytes_);
  sort_wanted(wanted);
  join(wanted, found);
  take_found(found);
  listed_.for_each_repeated(&SplitLine::row, [&](const SplitLine& one, const SplitLine& other) {
    const std::string& file = request_.parts[other.part].file;
    throw listed_twice(file, "the key '" + printable(key_of(other.row)) + "'",
                       one.part == other.part
                           ? fmt::format("in lines {} and {}", one.line, other.line)
                           : fmt::format("in line {}, and in line {} of {}", other.line, one.line,
                                         printable(request_.parts[one.part].file)));
  });
}

void SampleSplit::sort_wanted(SortedTable<WantedKey>& wanted) const {
  for (std::size_t part = 0; part < request_.parts.size(); ++part) {
    TextLines(request_.parts[part].file, "one video", *request_.copies)
        .for_each([&](std::uint64_t line, std::string_view text) {
          events_.stop_if_asked();
          std::uint8_t likely = 0;
          for (const std::string& key : keys_in_line(text)) {
            wanted.add(
                {.hash = xxh3_128(as_bytes(key)),
                 .line = {
                     .part = static_cast<std::uint8_t>(part), .line = line, .likely = likely++}});
          }
          return true;
        });
  }
  wanted.finish();
}

void SampleSplit::join(SortedTable<WantedKey>& wanted, SortedTable<FoundKey>& found) {
  SortedTable<SampleKey> by_key(scratch_folder_, memory_bytes_);
  while (const std::optional<SplitSample> sample = samples_.next())
    by_key.add({.hash = xxh3_128(as_bytes(sample->key)), .row = sample->row});
  by_key.finish();
  while (const std::optional<WantedKey> wants = wanted.next()) {
    events_.stop_if_asked();
    by_key.pass_below(&SampleKey::hash, wants->hash);
    const SampleKey* const sample = by_key.row();
    if (sample != nullptr && sample->hash == wants->hash) found.add({wants->line, sample->row});
  }
  found.finish();
}

// The likeliest key of each line; a line without any is refused.
void SampleSplit::take_found(SortedTable<FoundKey>& found) {
  for (std::size_t part = 0; part < request_.parts.size(); ++part) {
    const TextLines lines(request_.parts[part].file, "one video", *request_.copies);
    std::uint64_t unknown = 0, first_unknown = 0;
    const auto next_of = [&](std::uint64_t line) {
      const FoundKey* const next = found.row();
      return next != nullptr && next->line.part == part && next->line.line == line ? next : nullptr;
    };
    lines.for_each([&](std::uint64_t line, std::string_view) {
      events_.stop_if_asked();
      const FoundKey* const next = next_of(line);
      if (next == nullptr) {
        if (unknown++ == 0) first_unknown = line;
        return true;
      }
      listed_.add({.row = next->row, .part = next->line.part, .line = line});
      while (next_of(line) != nullptr) found.step();
      return true;
    });
    if (unknown == 0) continue;
    const std::string text = lines.text_of(first_unknown);
    throw unknown_key(lines.path(), first_unknown, without_slashes(without_number(trimmed(text))),
                      unknown)
        .hint(
            "a line names a video by its class and its folder, Class/video; a suffix such as .avi "
            "and a number behind it are passed over");
  }
  listed_.finish();
}

std::string SampleSplit::key_of(std::uint64_t row) {
  samples_.rewind();
  while (const std::optional<SplitSample> sample = samples_.next()) {
    if (sample->row == row) return std::string(sample->key);
  }
  return {};
}

}  // namespace shale
