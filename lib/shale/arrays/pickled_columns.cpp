#include "shale/arrays/pickled_columns.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/pickle_reader.hpp"
#include "shale/wire/pickled_array.hpp"

namespace shale {
namespace {

constexpr PickleLimits kLimits = {.values = 1 << 21,
                                  .depth = 16,
                                  .text_bytes = 64 << 20,
                                  .takes_objects = true,
                                  .takes_others = true};
// A list with one string that is much longer than the others would take far more room than here.
constexpr std::uint64_t kMostGrowth = 64;

// What the elements of a list are, all of them.
enum class Elements : std::uint8_t { booleans, integers, reals, strings, others };

Elements kind_of(const PickleValue& value) {
  switch (value.kind()) {
    case PickleKind::boolean:
      return Elements::booleans;
    case PickleKind::integer:
      return Elements::integers;
    case PickleKind::real:
      return Elements::reals;
    case PickleKind::bytes:
    case PickleKind::text:
      return Elements::strings;
    default:
      return Elements::others;
  }
}

// Numbers become the widest of them, as numpy.array() has it.
Elements kind_of_all(const PickleValue& list) {
  Elements all = list.size() == 0 ? Elements::others : kind_of(list[0]);
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Elements one = kind_of(list[i]);
    const bool are_numbers = std::max(one, all) <= Elements::reals;
    all = one == all || are_numbers ? std::max(one, all) : Elements::others;
  }
  return all;
}

// None for one in C order, and for one without elements, whose order is any.
std::vector<std::uint64_t> strides_of(const PickledArray& array) {
  std::vector<std::uint64_t> strides;
  std::uint64_t step = 1;
  for (const std::uint64_t side : array.shape) {
    strides.push_back(step);
    step *= side;
  }
  return array.is_fortran && step > 0 ? strides : std::vector<std::uint64_t>();
}

class ColumnReader {
 public:
  explicit ColumnReader(const InputFile& file)
      : file_(file),
        window_(file),
        view_(window_.views()),
        arrays_(view_, 0, file.path(), PickledOrders::all) {}

  PickledColumns read() {
    const std::span<const std::string_view> of_arrays = pickled_array_globals();
    std::vector<std::string_view> globals(of_arrays.begin(), of_arrays.end());
    globals.push_back(kPickledEncode);
    const Pickle pickle = read_pickle(view_, 0, file_.size(), file_.path(), globals, kLimits);
    const PickleValue root = pickle.root();
    if (root.is(PickleKind::dict)) {
      for (std::size_t i = 0; i < root.entries(); ++i) add(root.key(i), root.value(i));
    } else {
      add({}, root);
    }
    if (found_.columns.empty()) throw no_columns(root);
    return std::move(found_);
  }

 private:
  void add(const PickleValue& key, const PickleValue& value) {
    if (std::optional<std::string> name = arrays_.name_in(key)) {
      add(*std::move(name), value);
    } else {
      found_.others.emplace_back(name_of(key.kind()));
    }
  }

  void add(std::string name, const PickleValue& value) {
    const Elements elements = kind_of(value);
    if (elements != Elements::others || value.is(PickleKind::none)) {
      found_.single.push_back(std::move(name));
      return;
    }
    PickledColumn column;
    column.tensor.name = name;
    try {
      if (const std::optional<PickledArray> array = arrays_.array_of(value)) {
        column.tensor.dtype = array->dtype;
        column.tensor.swaps = array->swaps;
        column.tensor.shape = array->shape;
        column.tensor.offset = array->offset;
        column.is_apart = array->is_latin1;
        column.tensor.strides = strides_of(*array);
        if (column.is_apart)
          column.elements = latin1_bytes(as_text(view_(array->offset, array->length))).value();
        found_.columns.push_back(std::move(column));
        return;
      }
    } catch (const Error& error) {
      if (error.code() != Code::unsupported) throw;
      column.tensor.obstacle = "cannot be read: " + error.message();
      found_.columns.push_back(std::move(column));
      return;
    }
    const bool is_list = value.is(PickleKind::list) || value.is(PickleKind::tuple);
    if (is_list && fill(column, value)) {
      column.tensor.name = name;
      found_.columns.push_back(std::move(column));
    } else {
      found_.others.push_back(std::move(name));
    }
  }

  // False for a list of other things.
  bool fill(PickledColumn& column, const PickleValue& list) {
    column.is_apart = true;
    column.tensor.shape = {list.size()};
    switch (kind_of_all(list)) {
      case Elements::booleans:
        fill_numbers<std::uint8_t>(column, list, "|b1");
        return true;
      case Elements::integers:
        fill_numbers<std::int64_t>(column, list, "<i8");
        return true;
      case Elements::reals:
        fill_numbers<double>(column, list, "<f8");
        return true;
      case Elements::strings:
        return fill_strings(column, list);
      default:
        return false;
    }
  }

  template <class Number>
  static void fill_numbers(PickledColumn& column, const PickleValue& list, std::string_view descr) {
    column.tensor.dtype = DType::parse(descr);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Number number = list[i].is(PickleKind::real) ? static_cast<Number>(list[i].real())
                                                         : static_cast<Number>(list[i].integer());
      const Bytes bytes = bytes_of(number);
      column.elements.insert(column.elements.end(), bytes.begin(), bytes.end());
    }
  }

  // As bytes of one length, texts in UTF-8.
  bool fill_strings(PickledColumn& column, const PickleValue& list) {
    std::uint64_t width = 1;
    for (std::size_t i = 0; i < list.size(); ++i) width = std::max(width, list[i].length());
    if (width > kMostGrowth * file_.size() / list.size()) return false;
    column.tensor.dtype = DType::parse(fmt::format("|S{}", width));
    column.elements.resize(width * list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Bytes bytes = view_(list[i].offset(), list[i].length());
      if (!bytes.empty() && bytes.back() == std::byte{0}) {
        column = {};
        column.tensor.obstacle = "has a string that ends in NUL, which strings of one length lose";
        return true;
      }
      std::ranges::copy(bytes, column.elements.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    return true;
  }

  // Of a dict without a column.
  [[nodiscard]] std::string what_is_first(const PickleValue& key, const PickleValue& value) const {
    const bool is_list = value.is(PickleKind::list) || value.is(PickleKind::tuple);
    const std::string_view what =
        !is_list            ? name_of(value.kind())
        : value.size() == 0 ? "an empty list"
                            : "a list, but not of numbers of at most 64 bits or of strings alone";
    return fmt::format(": '{}' is {}", printable(arrays_.name_in(key).value_or("?")), what);
  }

  [[nodiscard]] Error no_columns(const PickleValue& root) const {
    const bool is_dict = root.is(PickleKind::dict);
    const std::string first = !is_dict              ? ""
                              : root.entries() == 0 ? ": it is empty"
                                                    : what_is_first(root.key(0), root.value(0));
    return Error(Code::unsupported,
                 "the pickle is {}, not an array or a dict of arrays and lists{}",
                 name_of(root.kind()), first)
        .at(file_.path())
        .hint("load it in Python, and save what is needed with numpy.savez");
  }

  const InputFile& file_;
  WindowReader window_;
  const ViewBytes view_;
  const PickledArrays arrays_;
  PickledColumns found_;
};

}  // namespace

bool may_be_pickle(const InputFile& file, Bytes begin) {
  constexpr unsigned kProto = 0x80, kLeast = 2, kMost = 5;
  if (begin.size() < 3 || std::to_integer<unsigned>(begin[0]) != kProto) return false;
  const auto protocol = std::to_integer<unsigned>(begin[1]);
  std::array<std::byte, 1> last{};
  file.read_exact(file.size() - 1, last);
  return protocol >= kLeast && protocol <= kMost && as_text(last) == ".";
}

PickledColumns read_pickled_columns(const InputFile& file) { return ColumnReader(file).read(); }

}  // namespace shale
