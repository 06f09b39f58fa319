#include "shale/sampling/listed_draw.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "shale/arrays/number_file.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/io/scratch_file.hpp"

// The scratch file of a sweep: u64 row, u64 slot of each entry, as DrawnPlace lies in memory.

namespace shale {
namespace {

static_assert(sizeof(DrawnPlace) == 16);

constexpr std::uint64_t kLeastSortMemory = 1 << 20;
// Besides what is sorted: what is read of the list, and the buffer of the sorted file.
constexpr std::uint64_t kReadBytes = 64 * 1024, kBesideSort = kReadBytes + 256 * 1024;

// In the sorter's scratch file: a length and the key. Runs that are merged are there twice.
constexpr std::uint64_t kSorterEntry = sizeof(std::uint32_t) + 16;
constexpr std::uint64_t kAskEvery = 1 << 16;  // entries

/// The entries by row, and by slot where the row is the same.
class SortedPlaces {
 public:
  explicit SortedPlaces(std::vector<DrawnPlace> kept) : kept_(std::move(kept)) {}
  explicit SortedPlaces(ScratchFile scratch) : scratch_(std::move(scratch)) {}

  [[nodiscard]] std::vector<DrawnPlace> range(std::uint64_t first, std::uint64_t last) {
    std::vector<DrawnPlace> places(last - first);
    if (scratch_) {
      scratch_->read_exact(first * sizeof(DrawnPlace), std::as_writable_bytes(std::span(places)));
    } else {
      std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(first), places.size(),
                  places.begin());
    }
    return places;
  }

 private:
  std::vector<DrawnPlace> kept_;
  std::optional<ScratchFile> scratch_;
};

class ListedDraw final : public Draw {
 public:
  ListedDraw(const std::string& path, std::uint64_t source_rows, std::uint64_t memory_bytes,
             std::string scratch_folder, const Events& events)
      : file_(path),
        source_rows_(source_rows),
        memory_bytes_(memory_bytes),
        scratch_folder_(std::move(scratch_folder)) {
    check_kind();
    if (source_rows == 0 && file_.count() > 0) {
      throw Error(Code::usage, "{} rows are listed, but the source has none", file_.count())
          .at(path);
    }
    walk(events, [](const DrawnPlace&) {});
  }

  [[nodiscard]] std::uint64_t source_rows() const override { return source_rows_; }
  [[nodiscard]] std::uint64_t rows() const override { return file_.count(); }
  [[nodiscard]] Costs costs() const override { return {.slot = 5, .step = 200}; }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    file_.read(first, into);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = row_of(into[i], first + i);
  }

  [[nodiscard]] ScratchNeed sweep_scratch() const override {
    if (sorted_ || fits_memory()) return {};
    return {.most = rows() * 2 * kSorterEntry, .kept = rows() * sizeof(DrawnPlace)};
  }
  void prepare_sweep(const Events& events) const override {
    if (!sorted_) sorted_.emplace(fits_memory() ? sort(events) : sort_on_disk(events));
  }
  [[nodiscard]] std::uint64_t sweep_steps() const override { return rows(); }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    if (!sorted_) throw Error(Code::bug, "a sweep that was not prepared");
    return sorted_->range(first, last);
  }

 private:
  void check_kind() const {
    if (file_.kind() == NumberFile::Kind::boolean) {
      throw Error(Code::schema, "holds a mask of bools, expected row numbers")
          .at(file_.path())
          .hint("save numpy.flatnonzero(mask)");
    }
    if (file_.kind() == NumberFile::Kind::real) {
      throw Error(Code::schema, "row numbers are {}, expected integers", file_.dtype_name())
          .at(file_.path())
          .hint("save them with .astype(numpy.int64)");
    }
  }

  /// The row that an entry means; negative ones count from the end.
  [[nodiscard]] std::uint64_t row_of(std::uint64_t number, std::uint64_t slot) const {
    const bool is_signed = file_.kind() == NumberFile::Kind::signed_integer;
    const bool is_negative = is_signed && static_cast<std::int64_t>(number) < 0;
    const std::uint64_t row = is_negative ? number + source_rows_ : number;
    if (is_negative ? -number <= source_rows_ : row < source_rows_) return row;
    const std::string text = is_negative ? fmt::format("-{}", -number) : std::to_string(number);
    throw Error(Code::schema, "entry {} is row {}, but the source has {} rows", slot, text,
                source_rows_)
        .at(file_.path(), file_.offset_of(slot))
        .hint(fmt::format("use row numbers from -{} to {}", source_rows_, source_rows_ - 1));
  }

  template <class Visit>
  void walk(const Events& events, Visit visit) const {
    file_.walk(events, [&](std::uint64_t first, std::span<const std::uint64_t> numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        visit(DrawnPlace{row_of(numbers[i], first + i), first + i});
    });
  }

  [[nodiscard]] bool fits_memory() const {
    const std::uint64_t memory = memory_bytes_ - std::min(memory_bytes_, kReadBytes);
    return rows() <= memory / sizeof(DrawnPlace);
  }

  [[nodiscard]] SortedPlaces sort(const Events& events) const {
    std::vector<DrawnPlace> places;
    places.reserve(rows());
    walk(events, [&](const DrawnPlace& place) { places.push_back(place); });
    std::sort(places.begin(), places.end(), [](const DrawnPlace& a, const DrawnPlace& b) {
      return std::tie(a.row, a.slot) < std::tie(b.row, b.slot);
    });
    return SortedPlaces(std::move(places));
  }

  [[nodiscard]] SortedPlaces sort_on_disk(const Events& events) const {
    ExternalSorter sorter(scratch_folder_,
                          std::max(memory_bytes_, kLeastSortMemory + kBesideSort) - kBesideSort);
    std::string key;
    walk(events, [&](const DrawnPlace& place) {
      key.clear();
      append_big_endian(key, place.row);
      append_big_endian(key, place.slot);
      sorter.add(key);
    });
    sorter.finish();
    ScratchFile scratch(scratch_folder_);
    std::uint64_t sorted = 0;
    while (const auto entry = sorter.next()) {
      const DrawnPlace place{read_big_endian(entry->substr(0, 8)),
                             read_big_endian(entry->substr(8))};
      scratch.append(bytes_of(place));
      if (++sorted % kAskEvery == 0) events.stop_if_asked();
    }
    return SortedPlaces(std::move(scratch));
  }

  NumberFile file_;
  std::uint64_t source_rows_, memory_bytes_;
  std::string scratch_folder_;
  mutable std::optional<SortedPlaces> sorted_;  // by prepare_sweep
};

}  // namespace

std::unique_ptr<Draw> open_listed_draw(const std::string& path, std::uint64_t source_rows,
                                       std::uint64_t memory_bytes,
                                       const std::string& scratch_folder, const Events& events) {
  return std::make_unique<ListedDraw>(path, source_rows, memory_bytes, scratch_folder, events);
}

}  // namespace shale
