#include "shale/numbers/number_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "shale/base/python_literal.hpp"

namespace shale {
namespace {

// Numbers that are summed up at once: then a mean is exact to a few units in the last place however
// many there are.
constexpr std::size_t kRunOfNumbers = 4096;

std::array<std::uint64_t, 256> times_of_bytes(Bytes bytes) {
  // Four tables: a run of equal bytes does not wait for itself.
  std::array<std::array<std::uint32_t, 256>, 4> tables{};
  std::array<std::uint64_t, 256> times{};
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const Bytes piece = bytes.subspan(begin, std::min(kPiece, bytes.size() - begin));
    for (auto& table : tables) table.fill(0);
    for (std::size_t i = 0; i < piece.size(); ++i)
      ++tables[i % 4][std::to_integer<std::size_t>(piece[i])];
    for (const auto& table : tables)
      for (std::size_t i = 0; i < times.size(); ++i) times[i] += table[i];
  }
  return times;
}

double value_of_byte(std::size_t byte, bool is_signed) {
  return is_signed && byte > 127 ? static_cast<double>(byte) - 256 : static_cast<double>(byte);
}

// Sums and squares of numbers below `top` neither overflow nor vanish without it.
int exponent_for(double top) {
  const bool is_tame = top == 0 || (top > 0x1p-400 && top < 0x1p400);
  return is_tame ? 0 : std::ilogb(top);
}

bool is_of_bytes(NumberKind kind) {
  return kind == NumberKind::boolean || kind == NumberKind::int8 || kind == NumberKind::uint8;
}

constexpr std::size_t kMostSides = 64;

// The type of a column: plain, or itself a list of columns.
struct ColumnType {
  std::string descr;
  std::uint64_t bytes = 0;
  std::vector<StructuredColumn> columns;
};

// Reads what DType::descr() wrote, so nothing of it can be wrong.
class ColumnReader {
 public:
  explicit ColumnReader(std::string_view descr)
      : from_(descr, PythonScanner::Encoding::utf8, {.subject = "dtype"}) {}

  // Levels are bounded by DType::kMostLevels.
  ColumnType read_type() {
    if (!from_.next_is('[')) {
      ColumnType type{.descr = from_.read_string(), .bytes = 0, .columns = {}};
      type.bytes = DType::parse(type.descr).item_bytes();
      return type;
    }
    ColumnType type{.descr = "[...]", .bytes = 0, .columns = {}};
    from_.expect('[');
    while (!from_.accept(']')) {
      read_column(type);
      (void)from_.accept(',');
    }
    return type;
  }

 private:
  void read_column(ColumnType& into) {
    from_.expect('(');
    std::string name = read_name();
    from_.expect(',');
    ColumnType type = read_type();
    std::vector<std::uint64_t> shape;
    if (from_.accept(',') && !from_.next_is(')')) {
      shape = from_.read_shape(kMostSides);
      (void)from_.accept(',');
    }
    from_.expect(')');
    std::uint64_t count = 1;
    for (const std::uint64_t side : shape) count *= side;
    const bool is_gap = name.empty() && type.descr.starts_with("|V");
    const std::uint64_t begin = into.bytes;
    into.bytes += count * type.bytes;
    if (is_gap) return;
    if (!type.columns.empty() && shape.empty()) {
      for (StructuredColumn& column : type.columns) {
        column.name.insert(0, name + ".");
        column.offset += begin;
        into.columns.push_back(std::move(column));
      }
      return;
    }
    const NumberKind kind = type.columns.empty() ? number_kind_of(type.descr) : NumberKind::none;
    into.columns.push_back({.name = std::move(name),
                            .descr = std::move(type.descr),
                            .shape = std::move(shape),
                            .kind = kind,
                            .offset = begin,
                            .bytes = count * type.bytes});
  }

  // Either a name, or a title and a name.
  std::string read_name() {
    if (!from_.accept('(')) return from_.read_string();
    (void)from_.read_string();
    from_.expect(',');
    std::string name = from_.read_string();
    (void)from_.accept(',');
    from_.expect(')');
    return name;
  }

  PythonScanner from_;
};

}  // namespace

NumberKind number_kind_of(std::string_view descr) {
  if (descr.size() < 3) return NumberKind::none;
  constexpr std::pair<std::string_view, NumberKind> kKinds[] = {
      {"b1", NumberKind::boolean},   {"i1", NumberKind::int8},       {"i2", NumberKind::int16},
      {"i4", NumberKind::int32},     {"i8", NumberKind::int64},      {"u1", NumberKind::uint8},
      {"u2", NumberKind::uint16},    {"u4", NumberKind::uint32},     {"u8", NumberKind::uint64},
      {"f2", NumberKind::float16},   {"f4", NumberKind::float32},    {"f8", NumberKind::float64},
      {"c8", NumberKind::complex64}, {"c16", NumberKind::complex128}};
  for (const auto& [name, kind] : kKinds) {
    if (descr.substr(1) == name) return kind;
  }
  const std::string_view time = descr.substr(1, 2);
  return time == "M8" || time == "m8" ? NumberKind::time : NumberKind::none;
}

bool is_whole(NumberKind kind) { return kind >= NumberKind::boolean && kind <= NumberKind::time; }

std::size_t bytes_of_number(NumberKind kind) {
  if (kind == NumberKind::none) return 0;
  return with_element_of(kind, [](auto element) { return sizeof(element); });
}

double length_of_complex(double real, double imaginary) {
  real = std::abs(real);
  imaginary = std::abs(imaginary);
  if (std::isnan(real) || std::isnan(imaginary)) return real + imaginary;
  const double longer = std::max(real, imaginary);
  if (longer == 0 || std::isinf(longer)) return longer;
  const double part = std::min(real, imaginary) / longer;
  return longer * std::sqrt(1 + part * part);
}

std::int64_t whole_number_at(NumberKind kind, const std::byte* at) {
  if (!is_whole(kind)) return 0;
  if (kind == NumberKind::time) return number_at<std::int64_t>(at);
  return with_element_of(kind, [at](auto element) -> std::int64_t {
    using Element = decltype(element);
    if constexpr (std::is_integral_v<Element>)
      return static_cast<std::int64_t>(number_at<Element>(at));
    return 0;
  });
}

double half_to_double(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  double value = 0;
  if (exponent == 31)
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(fraction + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -value : value;
}

std::string number_words(NumberKind kind, std::string_view descr, const std::byte* at) {
  if (kind == NumberKind::none) return {};
  if (kind == NumberKind::boolean) return number_at<std::uint8_t>(at) != 0 ? "True" : "False";
  if (kind == NumberKind::time) return time_text(number_at<std::int64_t>(at), descr);
  return with_element_of(kind, [at](auto element) -> std::string {
    using Element = decltype(element);
    const auto number = number_at<Element>(at);
    if constexpr (std::is_arithmetic_v<Element>) {
      return fmt::to_string(number);
    } else if constexpr (requires { number.imaginary; }) {
      return fmt::format("{}{}{}j", number.real, std::signbit(number.imaginary) ? "" : "+",
                         number.imaginary);
    } else {
      return fmt::to_string(as_double(number));
    }
  });
}

void ScaledSquares::add(const ScaledSquares& more) {
  if (more.sum == 0) return;
  if (sum == 0 || exponent < more.exponent) {
    const double less = sum == 0 ? 0 : std::ldexp(sum, 2 * (exponent - more.exponent));
    sum = less + more.sum;
    exponent = more.exponent;
  } else {
    sum += std::ldexp(more.sum, 2 * (more.exponent - exponent));
  }
}

void NumberCounts::join(std::uint64_t count, double mean, ScaledSquares squares, double least,
                        double most) {
  if (count == 0) return;
  if (finite_ == 0) {
    mean_ = mean;
    squares_ = squares;
    minimum_ = least;
    maximum_ = most;
  } else {
    // Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    // variances", 1979.
    const auto ours = static_cast<double>(finite_), theirs = static_cast<double>(count);
    const int exponent = exponent_for(std::max(std::abs(mean), std::abs(mean_)));
    const double apart = std::ldexp(mean, -exponent) - std::ldexp(mean_, -exponent);
    mean_ = std::ldexp(std::ldexp(mean_, -exponent) + apart * (theirs / (ours + theirs)), exponent);
    squares_.add(squares);
    squares_.add({apart * apart * (ours * (theirs / (ours + theirs))), exponent});
    minimum_ = std::min(minimum_, least);
    maximum_ = std::max(maximum_, most);
    mean_ = std::clamp(mean_, minimum_, maximum_);
  }
  finite_ += count;
}

void NumberCounts::take_whole(const WholeNumber& least, const WholeNumber& most) {
  if (!least_whole_ || least < *least_whole_) least_whole_ = least;
  if (!most_whole_ || *most_whole_ < most) most_whole_ = most;
}

template <class T>
void NumberCounts::take_range_of(NumberKind kind, Bytes bytes) {
  T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::min();
  bool is_any = false;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T value = number_at<T>(bytes.data() + at);
    if (kind == NumberKind::time && value == static_cast<T>(kNotATime)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    is_any = true;
  }
  if (is_any) take_whole(WholeNumber::of(least), WholeNumber::of(most));
}

void NumberCounts::count(std::span<const double> values) {
  for (std::size_t begin = 0; begin < values.size(); begin += kRunOfNumbers)
    count_run(values.subspan(begin, std::min(kRunOfNumbers, values.size() - begin)));
}

void NumberCounts::count_run(std::span<const double> values) {
  values_ += values.size();
  std::uint64_t finite = 0;
  double sum = 0, least = HUGE_VAL, most = -HUGE_VAL;
  for (const double value : values) {
    zero_ += value == 0 ? 1 : 0;
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? nan_ : infinite_);
      continue;
    }
    ++finite;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (finite == 0) return;
  // Scaled by a power of two, which rounds nothing, where sums or squares would overflow or vanish.
  const int exponent = exponent_for(std::max(std::abs(least), std::abs(most)));
  const auto each_scaled = [&](auto&& use) {
    for (const double value : values)
      if (std::isfinite(value)) use(exponent == 0 ? value : std::ldexp(value, -exponent));
  };
  if (exponent != 0) {
    sum = 0;
    each_scaled([&](double value) { sum += value; });
  }
  // Rounding may lead out of the range.
  const double mean = std::clamp(sum / static_cast<double>(finite), std::ldexp(least, -exponent),
                                 std::ldexp(most, -exponent));
  ScaledSquares squares{.sum = 0, .exponent = exponent};
  each_scaled([&](double value) { squares.sum += (value - mean) * (value - mean); });
  join(finite, std::ldexp(mean, exponent), squares, least, most);
}

void NumberCounts::count(NumberKind kind, Bytes bytes) {
  if (is_of_bytes(kind)) {
    const std::array<std::uint64_t, 256> times = times_of_bytes(bytes);
    NumberCounts counts;
    for (std::size_t byte = 0; byte < times.size(); ++byte) {
      const double value = value_of_byte(byte, kind == NumberKind::int8);
      counts.join(times[byte], value, {}, value, value);
    }
    counts.values_ = bytes.size();
    counts.zero_ = times[0];
    if (counts.finite_ > 0)
      counts.take_whole(WholeNumber::of(counts.minimum_), WholeNumber::of(counts.maximum_));
    return add(counts);
  }
  std::array<double, kRunOfNumbers> run{};
  std::size_t held = 0;
  for_each_number(kind, bytes, [&](double value) {
    run[held++] = value;
    if (held < run.size()) return;
    count_run(run);
    held = 0;
  });
  count_run(std::span(run).first(held));
  if (kind == NumberKind::int64 || kind == NumberKind::time)
    take_range_of<std::int64_t>(kind, bytes);
  else if (kind == NumberKind::uint64)
    take_range_of<std::uint64_t>(kind, bytes);
  else if (is_whole(kind) && finite_ > 0)
    take_whole(WholeNumber::of(minimum_), WholeNumber::of(maximum_));
}

void NumberCounts::add(const NumberCounts& more) {
  values_ += more.values_;
  nan_ += more.nan_;
  infinite_ += more.infinite_;
  zero_ += more.zero_;
  join(more.finite_, more.mean_, more.squares_, more.minimum_, more.maximum_);
  if (more.least_whole_) take_whole(*more.least_whole_, *more.most_whole_);
}

double NumberCounts::deviation() const {
  if (finite_ == 0) return 0;
  const double deviation =
      std::ldexp(std::sqrt(squares_.sum / static_cast<double>(finite_)), squares_.exponent);
  // Rounding may lead above what it can be, and that above the largest double.
  const bool is_wide = !std::isfinite(maximum_ - minimum_);
  return is_wide ? std::min(deviation, maximum_ / 2 - minimum_ / 2) : deviation;
}

void count_into(WidthBins& bins, NumberKind kind, Bytes bytes) {
  if (!is_of_bytes(kind))
    return for_each_number(kind, bytes, [&](double value) { bins.count(value); });
  const std::array<std::uint64_t, 256> times = times_of_bytes(bytes);
  for (std::size_t byte = 0; byte < times.size(); ++byte)
    if (times[byte] > 0) bins.count(value_of_byte(byte, kind == NumberKind::int8), times[byte]);
}

std::vector<StructuredColumn> columns_of(const DType& dtype) {
  if (!dtype.is_structured()) return {};
  std::vector<StructuredColumn> columns = ColumnReader(dtype.descr()).read_type().columns;
  if (columns.size() > kMostColumns) columns.resize(kMostColumns);
  return columns;
}

std::vector<std::byte> bytes_of_column(const StructuredColumn& column, std::uint64_t item_bytes,
                                       Bytes elements) {
  std::vector<std::byte> bytes;
  if (item_bytes == 0 || column.offset + column.bytes > item_bytes) return bytes;
  bytes.reserve(elements.size() / item_bytes * column.bytes);
  for (std::uint64_t at = 0; at + item_bytes <= elements.size(); at += item_bytes) {
    const Bytes value = elements.subspan(at + column.offset, column.bytes);
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  return bytes;
}

}  // namespace shale
