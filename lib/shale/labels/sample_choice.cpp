#include "shale/labels/sample_choice.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "shale/arrays/number_file.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/flow/random_words.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/composed_text.hpp"
#include "shale/labels/label_reader.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kCachedRows = 512;

// A row of the input, and the line or place that lists it.
struct ListedRow {
  std::uint64_t row = 0, place = 0;
  static auto columns(auto& row) { return std::tie(row.row, row.place); }
};
using ListedRows = SortedTable<ListedRow>;

// The hash of a key, and the row of its sample. `is_composed`: of its composed_text(), where that
// is another.
struct HashedKey {
  Hash128 hash;
  std::uint64_t row = 0;
  bool is_composed = false;
  static auto columns(auto& key) { return std::tie(key.hash, key.row, key.is_composed); }
};

// How a line of a list is read.
enum Reading : std::uint8_t { kAsItIs, kUnescaped, kComposed };

// The hash of a key that a list names, and where.
struct ChosenKey {
  Hash128 hash;
  std::uint64_t place = 0;
  std::uint8_t reading = kAsItIs;
  static auto columns(auto& key) { return std::tie(key.hash, key.place, key.reading); }
};

// A sample that has it.
struct FoundRow {
  std::uint64_t place = 0;
  std::uint8_t reading = kAsItIs;
  std::uint64_t row = 0;
  static auto columns(auto& found) { return std::tie(found.place, found.reading, found.row); }
};

Error no_such_row(const std::string& path, const std::string& where, const std::string& row,
                  std::uint64_t samples) {
  return Error(Code::bad_content, "{}: there is no row {}: the input has {}", where, row,
               format_counted(samples, "sample", "samples"))
      .at(path)
      .hint("rows count from 0, in the order of the input before any shuffle");
}

/// Makes sorted rows of what lists hold.
class RowResolver {
 public:
  RowResolver(const SampleChoice& choice, const SourceInfo& info, Source* whole,
              std::string scratch, std::uint64_t memory_bytes, const Events& events)
      : choice_(choice),
        info_(info),
        whole_(whole),
        samples_(info.manifest.samples),
        has_keys_(!info.row_bytes),
        scratch_(std::move(scratch)),
        memory_(memory_bytes / 6),
        events_(events) {}

  [[nodiscard]] ListedRows rows_of(const std::string& path) {
    if (path.ends_with(".npy")) return rows_of_array(path);
    const ChoiceList list(path, choice_.keys, has_keys_, *choice_.copies);
    if (!list.are_rows()) return rows_of_keys(list);
    if (list.may_be_keys()) refuse_ambiguous_numbers(list);
    return rows_of_numbers(list);
  }

  [[nodiscard]] ListedRows rows_of_array(const std::string& path) {
    const NumberFile file(path);
    using Kind = NumberFile::Kind;
    if (file.kind() != Kind::signed_integer && file.kind() != Kind::unsigned_integer) {
      throw Error(Code::bad_content, "holds {}, but row numbers are integers", file.dtype_name())
          .at(path)
          .hint("np.flatnonzero(mask) makes row numbers of a mask");
    }
    const bool is_signed = file.kind() == Kind::signed_integer;
    ListedRows rows(scratch_, memory_);
    file.walk(events_, [&](std::uint64_t first, std::span<const std::uint64_t> numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const bool is_negative = is_signed && static_cast<std::int64_t>(numbers[i]) < 0;
        if (is_negative || numbers[i] >= samples_) {
          throw no_such_row(path, fmt::format("entry {}", first + i),
                            is_negative ? std::to_string(static_cast<std::int64_t>(numbers[i]))
                                        : std::to_string(numbers[i]),
                            samples_);
        }
        rows.add({numbers[i], first + i});
      }
    });
    rows.finish();
    rows.for_each_repeated(&ListedRow::row, [&](const ListedRow& one, const ListedRow& other) {
      throw listed_more_than_once(path, fmt::format("row {}", other.row),
                                  fmt::format("in entries {} and {}", one.place, other.place));
    });
    rows.rewind();
    return rows;
  }

  /// Those of the classes that are asked for; nullopt: all. Last: it reads all samples.
  [[nodiscard]] std::optional<ListedRows> rows_in_classes() {
    if (choice_.classes.empty()) return std::nullopt;
    read_samples();
    in_classes_->finish();
    return std::move(in_classes_);
  }

 private:
  ListedRows rows_of_numbers(const ChoiceList& list) {
    ListedRows rows(scratch_, memory_);
    list.for_each([&](std::uint64_t place, std::string_view text) {
      events_.stop_if_asked();
      const std::optional<std::uint64_t> row = plain_number(text);
      if (!row || *row >= samples_) {
        throw no_such_row(list.name(), fmt::format("{} {}", list.word(), place),
                          "'" + printable(text) + "'", samples_);
      }
      rows.add({*row, place});
    });
    return each_once(std::move(rows), list);
  }

  [[nodiscard]] static Error listed_more_than_once(const std::string& list, const std::string& what,
                                                   const std::string& where) {
    return listed_twice(list, what, where,
                        "list each sample once; to draw some more often, give shale.torch.Loader "
                        "weights=, or draw rows of one size with 'shale resample --weights'");
  }

  static ListedRows each_once(ListedRows rows, const ChoiceList& list) {
    rows.finish();
    if (list.is_table()) return rows;
    rows.for_each_repeated(&ListedRow::row, [&](const ListedRow& one, const ListedRow& other) {
      throw listed_more_than_once(
          list.name(),
          list.are_rows() ? fmt::format("row {}", other.row)
                          : "the key '" + printable(list.text_of(other.place)) + "'",
          fmt::format("in {} {} and {}", list.word() == "entry" ? "entries" : "lines", one.place,
                      other.place));
    });
    rows.rewind();
    return rows;
  }

  // Where keys are numbers of their own, or classes are called so, nobody knows what is meant.
  void refuse_ambiguous_numbers(const ChoiceList& list) {
    list.for_each([&](std::uint64_t place, std::string_view text) {
      events_.stop_if_asked();
      if (std::ranges::find(info_.classes, text) == info_.classes.end()) return;
      throw Error(Code::bad_content,
                  "{} {}: '{}' may be a row number, but is also the name of a class", list.word(),
                  place, text)
          .at(list.name())
          .hint("for rows, pass --keys rows; for whole classes, --classes with their names");
    });
    if (!info_.schema.has_keys) return;
    read_samples();
    if (!number_key_) return;
    throw Error(Code::bad_content,
                "has only numbers, which may be rows or keys: row {} has the key '{}'",
                number_key_->row, number_key_->key)
        .at(list.name())
        .hint("pass --keys rows, or --keys raw for keys");
  }

  // Both lists are sorted by the hashes of keys.
  ListedRows rows_of_keys(const ChoiceList& list) {
    if (!has_keys_) {
      throw Error(Code::bad_content, "lists keys, but the samples of the input have only numbers")
          .at(list.name())
          .hint("list row numbers, from 0");
    }
    SortedTable<ChosenKey> wanted(scratch_, memory_);
    list.for_each([&](std::uint64_t place, std::string_view text) {
      events_.stop_if_asked();
      for (const Reading reading : {kAsItIs, kUnescaped}) {
        const std::optional<std::string> key = key_in(list, text, reading);
        if (!key) continue;
        wanted.add({xxh3_128(as_bytes(*key)), place, reading});
        wanted.add({xxh3_128(as_bytes(composed_text(*key))), place, kComposed});
      }
    });
    wanted.finish();
    read_samples();
    SortedTable<FoundRow> found(scratch_, memory_);
    while (const std::optional<ChosenKey> key = wanted.next()) {
      events_.stop_if_asked();
      // Two places may name one key.
      if (!previous_ || previous_->hash != key->hash) take_samples_of(key->hash);
      previous_ = key;
      for (const HashedKey& same : same_key_) {
        if (key->reading == kComposed || !same.is_composed)
          found.add({key->place, key->reading, same.row});
      }
    }
    previous_.reset();
    found.finish();
    return rows_of_places(list, found);
  }

  // The key that a line names if it is read so; nullopt: it is not.
  static std::optional<std::string> key_in(const ChoiceList& list, std::string_view text,
                                           Reading reading) {
    const bool has_backslash = text.find('\\') != std::string_view::npos;
    if (reading == kAsItIs) {
      const bool is_read = list.may_be_raw() || !has_backslash;
      return is_read ? std::optional<std::string>(text) : std::nullopt;
    }
    return list.may_be_escaped() && has_backslash ? unescaped(text) : std::nullopt;
  }

  void take_samples_of(const Hash128& hash) {
    same_key_.clear();
    samples_by_key_->pass_below(&HashedKey::hash, hash);
    for (const HashedKey* sample = samples_by_key_->row();
         sample != nullptr && sample->hash == hash; sample = samples_by_key_->row()) {
      same_key_.push_back(*sample);
      samples_by_key_->step();
    }
  }

  // A list is read in one way. Where a line would name one sample as it is and another one without
  // its escapes, or one line is known so and another one so, nobody knows in which.
  ListedRows rows_of_places(const ChoiceList& list, SortedTable<FoundRow>& found) {
    ListedRows rows(scratch_, memory_);
    std::uint64_t unknown = 0, first_unknown = 0, known_as_it_is = 0, known_unescaped = 0;
    list.for_each([&](std::uint64_t place, std::string_view text) {
      events_.stop_if_asked();
      std::uint64_t readings = 0;
      std::set<std::uint64_t> composed;
      for (; found.row() != nullptr && found.row()->place == place; found.step()) {
        if (found.row()->reading == kComposed) {
          composed.insert(found.row()->row);
          continue;
        }
        readings |= std::uint64_t{1} << found.row()->reading;
        rows.add({found.row()->row, place});
      }
      // A key as it is comes first, and of two that only look alike neither is meant.
      if (readings == 0 && composed.size() == 1) {
        readings = std::uint64_t{1} << kComposed;
        rows.add({*composed.begin(), place});
        has_marks_ = true;
      }
      if (readings == 0 && unknown++ == 0) first_unknown = place;
      if (text.find('\\') == std::string_view::npos) return;
      if (readings & 1 && known_as_it_is == 0) known_as_it_is = place;
      if (readings & 2 && known_unescaped == 0) known_unescaped = place;
      if (known_as_it_is > 0 && known_unescaped > 0)
        throw read_in_two_ways(list, known_as_it_is, known_unescaped);
    });
    if (has_marks_)
      events_.say(
          fmt::format("letters with accents are in one character in {} and in two in keys of "
                      "samples, or the other way round (Unicode's forms NFC and NFD): they "
                      "are compared as one",
                      printable(list.name())));
    if (unknown == 0) return each_once(std::move(rows), list);
    const std::string text = list.text_of(first_unknown);
    throw unknown_key(list.name(), first_unknown, text, unknown)
        .hint(std::ranges::find(info_.classes, text) != info_.classes.end()
                  ? "it is the name of a class: pass --classes to take whole classes"
                  : "the key of an image is its path relative to the input; 'shale ls --tsv' lists "
                    "the keys of a dataset");
  }

  [[nodiscard]] static Error read_in_two_ways(const ChoiceList& list, std::uint64_t as_it_is,
                                              std::uint64_t unescaped_place) {
    const std::string other = as_it_is == unescaped_place
                                  ? "and another one that 'shale ls' prints so"
                                  : fmt::format("but {} {} only as 'shale ls' prints a key",
                                                list.word(), unescaped_place);
    return Error(Code::bad_content, "{} {}: '{}' is the key of a sample, {}", list.word(), as_it_is,
                 printable(list.text_of(as_it_is)), other)
        .at(list.name())
        .hint(
            "pass --keys raw if the list has keys as they are, --keys escaped if 'shale ls' "
            "printed it");
  }

  // One pass for all that is asked of them.
  void read_samples() {
    if (samples_by_key_) return samples_by_key_->rewind();
    samples_by_key_.emplace(scratch_, memory_);
    std::vector<std::int64_t> labels;
    if (!choice_.classes.empty()) labels = labels_of_classes();
    in_classes_.emplace(scratch_, memory_);
    LabelReader reader(info_);
    for (std::uint64_t row = 0; const std::optional<PendingSample> sample = whole_->next(1);
         ++row) {
      events_.stop_if_asked();
      samples_by_key_->add({xxh3_128(as_bytes(sample->key)), row});
      if (const std::string composed = composed_text(sample->key); composed != sample->key)
        samples_by_key_->add({xxh3_128(as_bytes(composed)), row, true});
      // One that is damaged may be of any class: it is listed as left out.
      if (!labels.empty() && (!sample->damage.empty() ||
                              std::ranges::binary_search(labels, reader.of(*sample).front())))
        in_classes_->add({row, row});
      if (!number_key_ && plain_number(sample->key).value_or(row) != row)
        number_key_ = {sample->key, row};
    }
    samples_by_key_->finish();
  }

  [[nodiscard]] std::vector<std::int64_t> labels_of_classes() const {
    if (info_.classes.empty() || whole_ == nullptr || !LabelReader(info_).has_labels()) {
      throw Error(Code::usage, "--classes is for samples whose labels have names, {}",
                  info_.classes.empty() ? "but the input has no table of classes"
                                        : "but not for rows of one size")
          .hint("list rows for --select: np.flatnonzero(np.isin(labels, [3, 5])) in an .npy file");
    }
    std::vector<std::int64_t> labels;
    for (const std::string& name : choice_.classes) {
      const std::size_t before = labels.size();
      // Files of other tools may give two labels one name.
      for (std::size_t label = 0; label < info_.classes.size(); ++label) {
        if (info_.classes[label] == name) labels.push_back(static_cast<std::int64_t>(label));
      }
      if (labels.size() == before) {
        throw Error(Code::usage, "--classes names '{}', which is not a class of the input",
                    printable(name))
            .hint(did_you_mean(name, info_.classes))
            .hint("'shale info' lists the classes of a dataset; those of a folder are its folders");
      }
    }
    std::ranges::sort(labels);
    return labels;
  }

  struct NumberKey {
    std::string key;
    std::uint64_t row = 0;
  };

  const SampleChoice& choice_;
  const SourceInfo& info_;
  Source* whole_;
  std::uint64_t samples_;
  bool has_keys_;
  std::string scratch_;
  std::uint64_t memory_;
  const Events& events_;
  std::optional<SortedTable<HashedKey>> samples_by_key_;
  std::optional<ListedRows> in_classes_;
  std::optional<NumberKey> number_key_;  // a key that is a number, but not that of its row
  std::vector<HashedKey> same_key_;
  bool has_marks_ = false;  // keys are the same but for the form of their accents
  std::optional<ChosenKey> previous_;
};

}  // namespace

bool has_chosen_samples(const Manifest& manifest) {
  return std::ranges::any_of(manifest.options,
                             [](const auto& option) { return option.first == kChosenSamples; });
}

ChosenRows::ChosenRows(const SampleChoice& choice, const SourceInfo& info, Source* whole,
                       const std::string& scratch_folder, std::uint64_t memory_bytes,
                       const Events& events)
    : scratch_folder_(scratch_folder), memory_bytes_(memory_bytes), rows_(scratch_folder) {
  const std::uint64_t samples = info.manifest.samples;
  RowResolver resolver(choice, info, whole, scratch_folder, memory_bytes, events);
  std::optional<ListedRows> selected, excluded;
  if (!choice.rows_file.empty()) selected = resolver.rows_of_array(choice.rows_file);
  if (!choice.select_file.empty()) selected = resolver.rows_of(choice.select_file);
  if (!choice.exclude_file.empty()) excluded = resolver.rows_of(choice.exclude_file);
  std::optional<ListedRows> in_classes = resolver.rows_in_classes();

  const std::uint64_t most = choice.limit == 0 || choice.limit_seed ? samples : choice.limit;
  Hasher128 hasher;
  const auto has = [](std::optional<ListedRows>& rows, std::uint64_t row) {
    rows->pass_below(&ListedRow::row, row);
    return rows->row() != nullptr && rows->row()->row == row;
  };
  std::optional<std::uint64_t> previous;
  const auto take = [&](std::uint64_t row) {
    if (previous == row) return;  // tables may name a sample more than once
    previous = row;
    if ((excluded && has(excluded, row)) || (in_classes && !has(in_classes, row))) return;
    const Bytes bytes = bytes_of(row);
    rows_.append(bytes);
    hasher.update(bytes);
    ++count_;
  };
  if (selected) {
    std::optional<ListedRow> next;
    while (count_ < most && (next = selected->next())) {
      events.stop_if_asked();
      take(next->row);
    }
  } else {
    for (std::uint64_t row = 0; row < samples && count_ < most; ++row) {
      events.stop_if_asked();
      take(row);
    }
  }
  hash_ = hasher.digest();
  if (choice.limit_seed && count_ > choice.limit) draw(choice.limit, *choice.limit_seed, events);
  if (count_ > 0) return;
  throw Error(Code::bad_content, "leaves none of the {} of the input",
              format_counted(samples, "sample", "samples"))
      .at(!choice.exclude_file.empty()  ? choice.exclude_file
          : !choice.select_file.empty() ? choice.select_file
                                        : "--classes")
      .hint("a dataset needs at least one sample");
}

ChosenRows::ChosenRows(ScratchFile rows, const std::string& scratch_folder,
                       std::uint64_t memory_bytes)
    : scratch_folder_(scratch_folder),
      memory_bytes_(memory_bytes),
      rows_(std::move(rows)),
      count_(rows_.size() / sizeof(std::uint64_t)) {}

// Each of those that are left with the same chance, in their order (Knuth, algorithm 3.4.2 S).
void ChosenRows::draw(std::uint64_t count, std::uint64_t seed, const Events& events) {
  ScratchFile drawn(scratch_folder_);
  Hasher128 hasher;
  RandomWords words(seed);
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; taken < count; ++i) {
    events.stop_if_asked();
    using Wide = unsigned __int128;
    const Wide place = Wide{words.next()} * (count_ - i) >> 64U;
    if (place >= count - taken) continue;
    const std::uint64_t row = at(i);
    drawn.append(bytes_of(row));
    hasher.update(bytes_of(row));
    ++taken;
  }
  rows_ = std::move(drawn);
  count_ = count;
  cached_.clear();
  hash_ = hasher.digest();
}

Hash128 ChosenRows::fingerprint_of(const Hash128& input) const {
  return xxh3_128(as_bytes(input.hex() + "\n" + hash_.hex()));
}

std::uint64_t ChosenRows::at(std::uint64_t i) {
  if (i - first_cached_ >= cached_.size()) {
    first_cached_ = i / kCachedRows * kCachedRows;
    cached_.resize(std::min(kCachedRows, count_ - first_cached_));
    rows_.read_exact(first_cached_ * sizeof(std::uint64_t),
                     std::as_writable_bytes(std::span(cached_)));
  }
  return cached_[i - first_cached_];
}

void ChosenRows::write_array(const NamelessFile& file, std::optional<std::uint64_t> seed,
                             const Events& events) {
  std::optional<ListedRows> shuffled;  // by their places
  if (seed) {
    shuffled.emplace(scratch_folder_, memory_bytes_);
    const Permutation order(count_, *seed);
    for (std::uint64_t i = 0; i < count_; ++i) {
      events.stop_if_asked();
      shuffled->add({order.inverse(i), at(i)});
    }
    shuffled->finish();
  }
  RowNumbersFile rows(file, count_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    events.stop_if_asked();
    rows.add(shuffled ? shuffled->next()->place : at(i));
  }
  rows.flush();
}

}  // namespace shale
