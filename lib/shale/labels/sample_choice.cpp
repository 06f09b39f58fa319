#include "shale/labels/sample_choice.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "shale/arrays/number_file.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/text_lines.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kCachedRows = 512;

enum class ListKind { rows, keys };

// Digits, without a sign or zeros in front.
std::optional<std::uint64_t> plain_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_plain = error == std::errc() && end == text.data() + text.size() &&
                        (text == "0" || !text.starts_with('0'));
  return is_plain ? std::optional(number) : std::nullopt;
}

// A row of the input, and the line or place that lists it.
struct ListedRow {
  std::uint64_t row = 0, place = 0;
  static auto columns(auto& row) { return std::tie(row.row, row.place); }
};
using ListedRows = SortedTable<ListedRow>;

// The hash of a key, and the line that it is in, or the row of its sample.
struct HashedKey {
  Hash128 hash;
  std::uint64_t number = 0;
  static auto columns(auto& row) { return std::tie(row.hash, row.number); }
};

HashedKey hashed(std::string_view key, std::uint64_t number) {
  return {xxh3_128(as_bytes(key)), number};
}

// A list of samples: its first line may say of what.
class LineList {
 public:
  explicit LineList(const std::string& path) : lines_(path, "one key or row number") {
    bool are_numbers = true, is_first = true;
    lines_.for_each([&](std::uint64_t line, std::string_view text) {
      if (is_first && (text == "key" || text == "row")) {
        header_line_ = line;
        kind_ = text == "key" ? ListKind::keys : ListKind::rows;
        return false;
      }
      is_first = false;
      are_numbers = are_numbers && plain_number(text);
      return are_numbers;
    });
    if (header_line_ == 0) kind_ = are_numbers ? ListKind::rows : ListKind::keys;
  }

  [[nodiscard]] ListKind kind() const { return kind_; }
  [[nodiscard]] const std::string& path() const { return lines_.path(); }

  // use(line, text) of each line but the header.
  template <class Use>
  void for_each(Use use) const {
    lines_.for_each([&](std::uint64_t line, std::string_view text) {
      if (line != header_line_) use(line, text);
      return true;
    });
  }

  [[nodiscard]] std::string text_of(std::uint64_t line) const { return lines_.text_of(line); }

 private:
  TextLines lines_;
  ListKind kind_ = ListKind::rows;
  std::uint64_t header_line_ = 0;
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
  RowResolver(const SourceInfo& info, Source* whole, std::string scratch,
              std::uint64_t memory_bytes, const Events& events)
      : whole_(whole),
        samples_(info.manifest.samples),
        has_keys_(!info.row_bytes),
        scratch_(std::move(scratch)),
        memory_(memory_bytes / 4),
        events_(events) {}

  [[nodiscard]] ListedRows rows_of(const std::string& path) {
    if (path.ends_with(".npy")) return rows_of_array(path);
    const LineList lines(path);
    return lines.kind() == ListKind::rows ? rows_of_lines(lines) : rows_of_keys(lines);
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
    return each_once(std::move(rows), path, "entries");
  }

 private:
  ListedRows rows_of_lines(const LineList& lines) {
    ListedRows rows(scratch_, memory_);
    lines.for_each([&](std::uint64_t line, std::string_view text) {
      events_.stop_if_asked();
      const std::optional<std::uint64_t> row = plain_number(text);
      if (!row || *row >= samples_)
        throw no_such_row(lines.path(), fmt::format("line {}", line), "'" + printable(text) + "'",
                          samples_);
      rows.add({*row, line});
    });
    return each_once(std::move(rows), lines.path(), "lines");
  }

  static ListedRows each_once(ListedRows rows, const std::string& path, std::string_view places) {
    rows.finish();
    rows.for_each_repeated(&ListedRow::row, [&](const ListedRow& one, const ListedRow& other) {
      throw listed_twice(path, fmt::format("row {}", other.row),
                         fmt::format("in {} {} and {}", places, one.place, other.place));
    });
    rows.rewind();
    return rows;
  }

  // Both lists are sorted by the hashes of keys.
  ListedRows rows_of_keys(const LineList& lines) {
    if (!has_keys_) {
      throw Error(Code::bad_content, "lists keys, but the samples of the input have only numbers")
          .at(lines.path())
          .hint("list row numbers, from 0");
    }
    SortedTable<HashedKey> wanted(scratch_, memory_);
    lines.for_each([&](std::uint64_t line, std::string_view text) {
      events_.stop_if_asked();
      wanted.add(hashed(text, line));
    });
    wanted.finish();
    list_samples();
    ListedRows rows(scratch_, memory_);
    std::optional<HashedKey> previous;
    std::uint64_t unknown = 0, first_unknown = ~std::uint64_t{0};
    while (const std::optional<HashedKey> line = wanted.next()) {
      events_.stop_if_asked();
      if (previous && line->hash == previous->hash) {
        throw listed_twice(lines.path(), "the key '" + printable(lines.text_of(line->number)) + "'",
                           fmt::format("in lines {} and {}", previous->number, line->number));
      }
      previous = line;
      bool is_known = false;
      samples_by_key_->pass_below(&HashedKey::hash, line->hash);
      for (const HashedKey* sample = samples_by_key_->row();
           sample != nullptr && sample->hash == line->hash; sample = samples_by_key_->row()) {
        is_known = true;
        rows.add({sample->number, line->number});
        samples_by_key_->step();
      }
      if (is_known) continue;
      ++unknown;
      first_unknown = std::min(first_unknown, line->number);
    }
    if (unknown > 0) {
      throw unknown_key(lines.path(), first_unknown, lines.text_of(first_unknown), unknown)
          .hint(
              "the key of an image is its path relative to the input; 'shale ls --tsv' lists the "
              "keys of a dataset");
    }
    rows.finish();
    return rows;
  }

  void list_samples() {
    if (samples_by_key_) return samples_by_key_->rewind();
    samples_by_key_.emplace(scratch_, memory_);
    for (std::uint64_t row = 0; const std::optional<PendingSample> sample = whole_->next(1);
         ++row) {
      events_.stop_if_asked();
      samples_by_key_->add(hashed(sample->key, row));
    }
    samples_by_key_->finish();
  }

  Source* whole_;
  std::uint64_t samples_;
  bool has_keys_;
  std::string scratch_;
  std::uint64_t memory_;
  const Events& events_;
  std::optional<SortedTable<HashedKey>> samples_by_key_;
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
  RowResolver resolver(info, whole, scratch_folder, memory_bytes, events);
  std::optional<ListedRows> selected, excluded;
  if (!choice.rows_file.empty()) selected = resolver.rows_of_array(choice.rows_file);
  if (!choice.select_file.empty()) selected = resolver.rows_of(choice.select_file);
  if (!choice.exclude_file.empty()) excluded = resolver.rows_of(choice.exclude_file);

  Hasher128 hasher;
  const auto take = [&](std::uint64_t row) {
    if (excluded) {
      excluded->pass_below(&ListedRow::row, row);
      if (const ListedRow* left_out = excluded->row(); left_out != nullptr && left_out->row == row)
        return;
    }
    const Bytes bytes = bytes_of(row);
    rows_.append(bytes);
    hasher.update(bytes);
    ++count_;
  };
  if (selected) {
    while (const std::optional<ListedRow> next = selected->next()) {
      events.stop_if_asked();
      take(next->row);
    }
  } else {
    for (std::uint64_t row = 0; row < samples; ++row) {
      events.stop_if_asked();
      take(row);
    }
  }
  hash_ = hasher.digest();
  if (count_ > 0) return;
  throw Error(Code::bad_content, "leaves none of the {} of the input",
              format_counted(samples, "sample", "samples"))
      .at(choice.exclude_file.empty() ? choice.select_file : choice.exclude_file)
      .hint("a dataset needs at least one sample");
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
