#include "shale/sampling/weight_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {
namespace {

constexpr int kSumBits = 62;

int width_of(std::uint64_t number) { return static_cast<int>(std::bit_width(number)); }

/// mantissa * 2^exponent, exactly.
struct Weight {
  std::uint64_t mantissa = 0;
  int exponent = 0;

  /// It is below 2^top, and not below 2^(top - 1). Not of 0.
  [[nodiscard]] int top() const { return width_of(mantissa) + exponent; }
};

/// IEEE 754 binary16, 32 and 64: sign, exponent, fraction.
struct FloatLayout {
  int exponent_bits = 0, fraction_bits = 0;
};

/// What the numbers of a file mean as weights.
class WeightReader {
 public:
  explicit WeightReader(const NumberFile& file) : file_(&file) {
    if (file.item_bytes() == 2) layout_ = {5, 10};
    if (file.item_bytes() == 4) layout_ = {8, 23};
    if (file.item_bytes() == 8) layout_ = {11, 52};
  }

  [[nodiscard]] Weight weight_of(std::uint64_t bits, std::uint64_t row) const {
    switch (file_->kind()) {
      case NumberFile::Kind::boolean:
        if (bits > 1) {
          throw Error(Code::damaged, "bool of row {} is {}, expected 0 or 1", row, bits)
              .at(file_->path(), file_->offset_of(row));
        }
        break;
      case NumberFile::Kind::signed_integer:
        if (static_cast<std::int64_t>(bits) < 0) throw unfit(row, static_cast<std::int64_t>(bits));
        break;
      case NumberFile::Kind::real:
        return weight_of_float(bits, row);
      case NumberFile::Kind::unsigned_integer:
        break;
    }
    return {.mantissa = bits};
  }

 private:
  /// By its bits: no unit of the processor rounds, or takes subnormal numbers for 0.
  [[nodiscard]] Weight weight_of_float(std::uint64_t bits, std::uint64_t row) const {
    const auto [exponent_bits, fraction_bits] = layout_;
    const int largest = (1 << exponent_bits) - 1, bias = largest / 2;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
    const bool is_negative = (bits >> (exponent_bits + fraction_bits)) != 0;
    const int field = static_cast<int>(bits >> fraction_bits) & largest;
    if (field == largest) throw unfit(row, fraction != 0 ? "nan" : is_negative ? "-inf" : "inf");

    const std::uint64_t implied = field == 0 ? 0 : std::uint64_t{1} << fraction_bits;
    const Weight weight{fraction | implied, std::max(field, 1) - bias - fraction_bits};
    if (is_negative && weight.mantissa != 0)
      throw unfit(row, std::ldexp(-static_cast<double>(weight.mantissa), weight.exponent));
    return weight;
  }

  template <class Value>
  [[nodiscard]] Error unfit(std::uint64_t row, Value value) const {
    return Error(Code::schema, "weight of row {} is {}, expected a finite number of at least 0",
                 row, value)
        .at(file_->path(), file_->offset_of(row))
        .hint("give weight 0 to rows that must never be drawn");
  }

  const NumberFile* file_;
  FloatLayout layout_;
};

/// The top of the largest weight; nullopt if there is none but 0.
std::optional<int> largest_top(const NumberFile& file, const Events& events) {
  const WeightReader reader(file);
  std::optional<int> top;
  file.walk(events, [&](std::uint64_t first, std::span<const std::uint64_t> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Weight weight = reader.weight_of(numbers[i], first + i);
      if (weight.mantissa != 0) top = std::max(top.value_or(weight.top()), weight.top());
    }
  });
  return top;
}

/// floor(weight * 2^shift), which is below 2^63.
std::uint64_t scaled(const Weight& weight, int shift) {
  const int by = weight.exponent + shift;
  if (weight.mantissa == 0 || by <= -64) return 0;
  return by < 0 ? weight.mantissa >> -by : weight.mantissa << by;
}

/// Numbers that are appended, and then read.
class SumTable {
 public:
  SumTable(std::uint64_t count, std::uint64_t memory_bytes, const std::string& scratch_folder) {
    if (count <= memory_bytes / sizeof(std::uint64_t)) {
      kept_.reserve(count);
    } else {
      require_free_space(scratch_folder, count * sizeof(std::uint64_t));
      scratch_.emplace(scratch_folder);
    }
  }
  void append(std::span<const std::uint64_t> sums) {
    if (scratch_) return scratch_->append(std::as_bytes(sums));
    kept_.insert(kept_.end(), sums.begin(), sums.end());
  }
  void read(std::uint64_t first, std::span<std::uint64_t> into) {
    if (scratch_)
      return scratch_->read_exact(first * sizeof(std::uint64_t), std::as_writable_bytes(into));
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(first), into.size(), into.begin());
  }

 private:
  std::vector<std::uint64_t> kept_;
  std::optional<ScratchFile> scratch_;
};

void append_sums(SumTable& table, const NumberFile& file, int top, const Events& events) {
  const WeightReader reader(file);
  const int shift = kSumBits - width_of(file.count()) - top;
  std::vector<std::uint64_t> sums;
  std::uint64_t sum = 0;
  file.walk(events, [&](std::uint64_t first, std::span<const std::uint64_t> numbers) {
    sums.clear();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Weight weight = reader.weight_of(numbers[i], first + i);
      if (weight.mantissa != 0 && weight.top() > top) {
        throw Error(Code::damaged, "weight of row {} grew while the file was read", first + i)
            .at(file.path(), file.offset_of(first + i))
            .hint("run the command again once nothing else writes to the file");
      }
      sums.push_back(sum += scaled(weight, shift));
    }
    table.append(sums);
  });
}

}  // namespace

SplitCounts::WeightSums sums_of_weights(const NumberFile& file, std::uint64_t memory_bytes,
                                        const std::string& scratch_folder, const Events& events) {
  const std::optional<int> top = largest_top(file, events);
  if (!top && file.count() > 0) {
    throw Error(Code::schema, "all {} weights are 0", file.count())
        .at(file.path(), file.offset_of(0))
        .hint("give at least one row a weight above 0");
  }
  const auto table = std::make_shared<SumTable>(file.count() + 1, memory_bytes, scratch_folder);
  const std::uint64_t none = 0;
  table->append({&none, 1});
  append_sums(*table, file, top.value_or(0), events);
  return [table](std::uint64_t first, std::span<std::uint64_t> into) { table->read(first, into); };
}

}  // namespace shale
