#include "shale/layouts/number_list.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/layouts/msgpack_text.hpp"

namespace shale::layouts {
namespace {

constexpr std::string_view kInteger = "<i8", kReal = "<f8";
constexpr std::uint64_t kMostListBytes = 16 << 20;
constexpr std::int64_t kWidest = std::int64_t{1} << 53;  // float64 has all integers up to it

bool are_numbers_of_two_kinds(std::string_view one, std::string_view other) {
  return (one == kInteger && other == kReal) || (one == kReal && other == kInteger);
}

// False: not without a loss.
bool make_real(NumberList& list) {
  if (list.dtype == kReal) return true;
  if (list.has_wide_integers) return false;
  std::string reals;
  reals.reserve(list.data.size());
  for (std::size_t at = 0; at < list.data.size(); at += 8) {
    std::uint64_t bits = 0;
    for (std::size_t i = 8; i-- > 0;)
      bits = bits << 8U | static_cast<unsigned char>(list.data[at + i]);
    append_number(
        std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(bits))), reals);
  }
  list.data = std::move(reals);
  list.dtype = kReal;
  return true;
}

}  // namespace

NumberList list_of_integer(std::int64_t number) {
  NumberList one{.dtype = std::string(kInteger), .shape = {}, .data = {}};
  append_number(static_cast<std::uint64_t>(number), one.data);
  one.has_wide_integers = number > kWidest || number < -kWidest;
  return one;
}

NumberList list_of_real(double number) {
  NumberList one{.dtype = std::string(kReal), .shape = {}, .data = {}};
  append_number(std::bit_cast<std::uint64_t>(number), one.data);
  return one;
}

std::string list_fault(std::string_view name) {
  return fmt::format(
      "field '{}' is a list of numbers: 'shale convert' makes arrays of lists whose "
      "numbers have one type, and as many axes, in all values",
      printable(name));
}

bool NumberStack::add(NumberList part) {
  if (count_++ == 0) {
    all_ = std::move(part);
    return all_.data.size() <= kMostListBytes;
  }
  if (part.shape != all_.shape || part.data.size() > kMostListBytes - all_.data.size())
    return false;
  if (part.dtype != all_.dtype) {
    if (!are_numbers_of_two_kinds(part.dtype, all_.dtype)) return false;
    if (!make_real(part) || !make_real(all_)) return false;
  }
  all_.has_wide_integers = all_.has_wide_integers || part.has_wide_integers;
  all_.data += part.data;
  return true;
}

NumberList NumberStack::finish() && {
  all_.shape.insert(all_.shape.begin(), count_);
  return std::move(all_);
}

void NumberLists::learn(std::string_view name, const NumberList& list) {
  Facts& facts = facts_[std::string(name)];
  if (list.dtype.empty()) return;
  facts.have_wide_integers = facts.have_wide_integers || list.has_wide_integers;
  if (facts.dtype.empty()) {
    facts.dtype = list.dtype;
    facts.sides = list.shape;
    return;
  }
  if (list.dtype != facts.dtype) {
    facts.are_mixed = facts.are_mixed || !are_numbers_of_two_kinds(list.dtype, facts.dtype);
    facts.dtype = kReal;
  }
  facts.are_mixed = facts.are_mixed || list.shape.size() != facts.sides.size();
  if (facts.are_mixed) return;
  for (std::size_t i = 0; i < facts.sides.size(); ++i)
    if (facts.sides[i] != list.shape[i]) facts.sides[i] = 0;
}

bool NumberLists::has_any() const {
  for (const auto& [name, facts] : facts_)
    if (!facts.dtype.empty() && !facts.are_mixed) return true;
  return false;
}

bool NumberLists::fit(std::string_view name, NumberList& list) const {
  const auto known = facts_.find(name);
  if (known == facts_.end()) return false;
  const Facts& facts = known->second;
  const bool is_lossy = facts.dtype == kReal && facts.have_wide_integers;
  if (facts.dtype.empty() || facts.are_mixed || is_lossy) return false;
  if (!list.dtype.empty()) return list.dtype == facts.dtype || make_real(list);
  list.dtype = facts.dtype;
  list.shape = facts.sides;
  list.shape.front() = 0;
  return true;
}

}  // namespace shale::layouts
