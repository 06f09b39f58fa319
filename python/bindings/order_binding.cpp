#include <cstdint>
#include <span>

#include "shale/base/error.hpp"
#include "shale/flow/epoch_order.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/sample_objects.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace shale::python {
namespace {

constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 62;

template <class Number>
std::span<Number> numbers_of(nb::handle array) {
  const std::span<std::byte> memory = memory_of_array(array);
  return {reinterpret_cast<Number*>(memory.data()), memory.size() / sizeof(Number)};
}

void check_positions(std::uint64_t samples, std::uint64_t begin, std::uint64_t count,
                     std::uint64_t step) {
  const bool are_inside = samples >= 1 && samples <= kMostSamples && step >= 1 && begin < samples &&
                          (count == 0 || (count - 1) <= (samples - 1 - begin) / step);
  if (count == 0 || are_inside) return;
  throw Error(Code::usage, "{} positions from {} on, each {}th, of an order of {} samples", count,
              begin, step, samples);
}

// Positions begin, begin + step ... of the order "random", as an int64 array.
nb::object random_rows(std::uint64_t samples, std::uint64_t key, std::uint64_t begin,
                       std::uint64_t count, std::uint64_t step) {
  check_positions(samples, begin, count, step);
  nb::object array = empty_array()(count, "i8");
  const std::span<std::uint64_t> rows = numbers_of<std::uint64_t>(array);
  if (count == 0) return array;
  const Unlocked unlocked;
  for (std::uint64_t i = 0; i < count; ++i) rows[i] = begin + i * step;
  Permutation(samples, key).at_each(rows);
  return array;
}

// An int64 array (count, 4): row, lane, first row and number of rows of the run.
nb::object block_rows(std::uint64_t samples, std::uint64_t block, std::uint64_t lanes,
                      std::uint64_t key, std::uint64_t begin, std::uint64_t count) {
  check_positions(samples, begin, count, 1);
  if (block < 1 || lanes < 1) throw Error(Code::usage, "blocks of {}, {} lanes", block, lanes);
  static_assert(sizeof(DrawnSample) == 4 * sizeof(std::uint64_t));
  nb::object array = empty_array()(nb::make_tuple(count, 4), "i8");
  const std::span<DrawnSample> samples_drawn = numbers_of<DrawnSample>(array);
  if (count == 0) return array;
  const Unlocked unlocked;
  BlockOrder(samples, block, lanes, key).draw(begin, samples_drawn);
  return array;
}

}  // namespace

void bind_orders(nb::module_& module) {
  module.def("epoch_key", &epoch_key, "seed"_a, "epoch"_a);
  module.def("random_rows", &random_rows, "samples"_a, "key"_a, "begin"_a, "count"_a, "step"_a);
  module.def("block_rows", &block_rows, "samples"_a, "block"_a, "lanes"_a, "key"_a, "begin"_a,
             "count"_a);
}

}  // namespace shale::python
