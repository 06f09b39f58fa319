#include "shale/sampling/gathered_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/flow/ordered_pipeline.hpp"

namespace shale {
namespace {

// What a row costs beside its bytes while it is gathered: its number, its place in the piece, the
// range that is read.
constexpr std::uint64_t kRowOverhead = 64;
// A range is read with the rest of the pages that it begins and ends in.
constexpr std::uint64_t kPageMargin = 2 * kDirectAlignment;
constexpr std::uint64_t kRowsAtOnce = 4096;
constexpr std::uint64_t kLeastLoaderMemory = 64 << 10;

// How the output is divided into pieces: rows, or a part of one row.
struct Cut {
  std::uint64_t rows = 0;        // of a piece; 0: a row is divided into parts
  std::uint64_t part_bytes = 0;  // of one row
  std::uint64_t parts = 0;       // of one row

  Cut(const LocatedRows& from, std::uint64_t piece_bytes, std::uint64_t loader_bytes) {
    const std::uint64_t row_bytes = from.row_bytes();
    const std::uint64_t most = std::min(piece_bytes, loader_bytes - kPageMargin);
    if (row_bytes <= most) {
      rows = std::max<std::uint64_t>(1, piece_bytes / (row_bytes + kRowOverhead));
      return;
    }
    // Whole elements, so that those that lie big-endian can be turned.
    part_bytes = most / from.item_bytes() * from.item_bytes();
    if (part_bytes == 0) {
      throw Error(Code::limit, "one element is {} bytes, but --memory leaves {} to read it",
                  from.item_bytes(), most)
          .hint("pass a larger --memory");
    }
    parts = (row_bytes + part_bytes - 1) / part_bytes;
  }
};

// A row that is wanted, and where in the piece.
struct Wanted {
  std::uint64_t row, position;
};

class GatheredRows final : public DrawnRows {
 public:
  GatheredRows(const LocatedRows& rows, const Draw& draw, const GatherLimits& limits,
               const Events& events)
      : rows_(rows),
        draw_(draw),
        events_(events),
        in_flight_(limits.jobs + 1),
        cut_(rows, piece_bytes(limits), loader_bytes(limits)),
        pipeline_(in_flight_) {
    if (rows.row_bytes() == 0) return;  // rows without bytes: there is nothing to hand out
    pieces_ = cut_.rows == 0 ? draw.rows() * cut_.parts
                             : draw.rows() / cut_.rows + (draw.rows() % cut_.rows > 0 ? 1 : 0);
    if (pieces_ == 0) return;
    if (limits.reads_whole_source && cut_.rows > 0 &&
        fits_gather_memory(rows.bytes(), limits.memory_bytes)) {
      read_whole(loader_bytes(limits));
    } else {
      for (unsigned i = 0; i < in_flight_; ++i) loaders_.emplace_back(rows, loader_bytes(limits));
    }
  }

  [[nodiscard]] Bytes next() override {
    if (!current_.empty()) spare_.push_back(std::move(current_));
    current_.clear();
    while (submitted_ < pieces_ && pipeline_.pending() < in_flight_) submit();
    if (pipeline_.pending() == 0) return {};
    events_.stop_if_asked();
    current_ = pipeline_.take();
    return current_;
  }

 private:
  // The memory, divided: pieces in flight and the one that is handed out, and what they are read
  // with. The source itself may take half of it, and is read into no other memory then.
  [[nodiscard]] static std::uint64_t piece_bytes(const GatherLimits& limits) {
    return limits.memory_bytes / (2 * (limits.jobs + 2));
  }
  [[nodiscard]] static std::uint64_t loader_bytes(const GatherLimits& limits) {
    return aligned_down(limits.memory_bytes / (2 * (limits.jobs + 1)));
  }

  void submit() {
    const std::uint64_t piece = submitted_++;
    std::vector<std::byte> into;
    if (!spare_.empty()) {
      into = std::move(spare_.back());
      spare_.pop_back();
    }
    // A std::function must be copyable.
    auto buffer = std::make_shared<std::vector<std::byte>>(std::move(into));
    pipeline_.submit([this, piece, buffer](unsigned worker) {
      if (cut_.rows == 0) {
        read_part(piece, loaders_[worker], *buffer);
      } else if (loaders_.empty()) {
        copy_rows(piece, *buffer);
      } else {
        read_rows(piece, loaders_[worker], *buffer);
      }
      return std::move(*buffer);
    });
  }

  void read_whole(std::uint64_t memory_bytes) {
    RowLoader loader(rows_, memory_bytes);
    const std::uint64_t step = memory_bytes - kPageMargin;
    whole_.reserve(rows_.bytes());
    const std::uint64_t at_once = step / rows_.row_bytes() * rows_.row_bytes();
    while (whole_.size() < rows_.bytes()) {
      events_.stop_if_asked();
      const std::uint64_t row = whole_.size() / rows_.row_bytes();
      const std::uint64_t bytes =
          std::min(at_once, (rows_.end_of_file(row) - row) * rows_.row_bytes());
      const ColumnRange range{whole_.size(), bytes};
      (void)loader.load({&range, 1});
      const Bytes loaded = loader.loaded(0);
      whole_.insert(whole_.end(), loaded.begin(), loaded.end());
    }
  }

  void copy_rows(std::uint64_t piece, std::vector<std::byte>& into) const {
    const std::uint64_t row_bytes = rows_.row_bytes(), first = piece * cut_.rows;
    const std::uint64_t count = std::min(cut_.rows, draw_.rows() - first);
    into.resize(count * row_bytes);
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t done = 0; done < count; done += numbers.size()) {
      numbers.resize(std::min(kRowsAtOnce, count - done));
      draw_.rows_of(first + done, numbers);
      std::byte* to = into.data() + done * row_bytes;
      for (const std::uint64_t row : numbers) {
        std::memcpy(to, whole_.data() + row * row_bytes, row_bytes);
        to += row_bytes;
      }
    }
  }

  void read_rows(std::uint64_t piece, RowLoader& loader, std::vector<std::byte>& into) const {
    const std::uint64_t row_bytes = rows_.row_bytes(), first = piece * cut_.rows;
    const std::uint64_t count = std::min(cut_.rows, draw_.rows() - first);
    into.resize(count * row_bytes);
    std::vector<std::uint64_t> numbers(count);
    draw_.rows_of(first, numbers);
    std::vector<Wanted> wanted(count);
    for (std::uint64_t i = 0; i < count; ++i) wanted[i] = {numbers[i], i};
    std::sort(wanted.begin(), wanted.end(),
              [](const Wanted& a, const Wanted& b) { return a.row < b.row; });
    std::vector<ColumnRange> ranges(count);
    for (std::uint64_t i = 0; i < count; ++i) ranges[i] = {wanted[i].row * row_bytes, row_bytes};
    for (std::size_t done = 0; done < count;) {
      const std::size_t loaded = loader.load(std::span(ranges).subspan(done));
      for (std::size_t i = 0; i < loaded; ++i) {
        std::memcpy(into.data() + wanted[done + i].position * row_bytes, loader.loaded(i).data(),
                    row_bytes);
      }
      done += loaded;
    }
  }

  void read_part(std::uint64_t piece, RowLoader& loader, std::vector<std::byte>& into) const {
    std::uint64_t row = 0;
    draw_.rows_of(piece / cut_.parts, {&row, 1});
    const std::uint64_t begin = piece % cut_.parts * cut_.part_bytes;
    const ColumnRange range{row * rows_.row_bytes() + begin,
                            std::min(cut_.part_bytes, rows_.row_bytes() - begin)};
    (void)loader.load({&range, 1});
    into.assign(loader.loaded(0).begin(), loader.loaded(0).end());
  }

  const LocatedRows& rows_;
  const Draw& draw_;
  const Events& events_;
  unsigned in_flight_;
  Cut cut_;
  std::uint64_t pieces_ = 0, submitted_ = 0;
  std::vector<std::byte> whole_;    // of a small source
  std::vector<RowLoader> loaders_;  // of each worker
  std::vector<std::byte> current_;
  std::vector<std::vector<std::byte>> spare_;
  OrderedPipeline<std::vector<std::byte>> pipeline_;  // last: its tasks use the others
};

}  // namespace

std::unique_ptr<DrawnRows> open_gathered_rows(const LocatedRows& rows, const Draw& draw,
                                              const GatherLimits& limits, const Events& events) {
  // No more workers than have the memory to read with.
  const std::uint64_t most = limits.memory_bytes / (2 * kLeastLoaderMemory) - 1;
  GatherLimits within = limits;
  within.jobs = static_cast<unsigned>(std::min<std::uint64_t>(limits.jobs, most));
  return std::make_unique<GatheredRows>(rows, draw, within, events);
}

}  // namespace shale
