#include "shale/arrays/number_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/byte_swap.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/wire/npy_header.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kNumbersAtOnce = 8192;
constexpr std::size_t kRowNumbersPiece = 64 * 1024;  // bytes of a write

ArrayFile open_list(const std::string& path) {
  ArrayFile array = std::move(open_arrays(path).arrays.front());
  if (!array.is_located()) {
    throw Error(Code::unsupported, "is an archive of arrays, expected one .npy file")
        .at(path)
        .hint("save the array alone, with numpy.save");
  }
  if (array.shape.size() != 1) {
    throw Error(Code::schema, "array of shape {} has {} axes, expected 1", shape_text(array.shape),
                array.shape.size())
        .at(path)
        .hint("save it with .reshape(-1)");
  }
  return array;
}

NumberFile::Kind kind_of(const ArrayFile& array) {
  using Kind = NumberFile::Kind;
  const std::string& descr = array.dtype.descr();
  const char letter = array.dtype.is_structured() ? '\0' : descr[1];
  if (letter == 'b') return Kind::boolean;
  if (letter == 'i') return Kind::signed_integer;
  if (letter == 'u') return Kind::unsigned_integer;
  if (letter == 'f' && array.dtype.item_bytes() <= sizeof(std::uint64_t)) return Kind::real;
  throw Error(Code::schema, "dtype {} is not bool, an integer, or a float of up to 8 bytes",
              dtype_text(array.dtype))
      .at(array.file->path())
      .hint("convert the array with .astype() to a real or integer dtype of NumPy");
}

/// Spreads numbers that lie at the end of `all` over the whole of it, front to back: no number is
/// overwritten before it is read, as each moves towards the front.
template <class Number>
void widen(std::span<std::uint64_t> all) {
  const std::byte* from = std::as_bytes(all).data() + all.size() * (8 - sizeof(Number));
  for (std::uint64_t& wide : all) {
    Number number;
    std::memcpy(&number, from, sizeof(Number));
    from += sizeof(Number);
    wide = static_cast<std::uint64_t>(std::int64_t{number});  // of a negative one: modulo 2^64
  }
}

void widen(std::span<std::uint64_t> all, std::uint64_t item_bytes, bool is_signed) {
  if (item_bytes == 1) return is_signed ? widen<std::int8_t>(all) : widen<std::uint8_t>(all);
  if (item_bytes == 2) return is_signed ? widen<std::int16_t>(all) : widen<std::uint16_t>(all);
  if (item_bytes == 4) return is_signed ? widen<std::int32_t>(all) : widen<std::uint32_t>(all);
}

}  // namespace

RowNumbersFile::RowNumbersFile(const NamelessFile& file, std::uint64_t count)
    : file_(file), piece_(npy_header_bytes({.dtype = DType::parse("<u8"), .shape = {count}})) {}

void RowNumbersFile::add(std::uint64_t row) {
  const Bytes bytes = bytes_of(row);
  piece_.insert(piece_.end(), bytes.begin(), bytes.end());
  if (piece_.size() >= kRowNumbersPiece) flush();
}

void RowNumbersFile::flush() {
  write_fully(file_.descriptor(), piece_, offset_, file_.path());
  offset_ += piece_.size();
  piece_.clear();
}

NumberFile::NumberFile(const std::string& path) : array_(open_list(path)), kind_(kind_of(array_)) {}

void NumberFile::read(std::uint64_t first, std::span<std::uint64_t> into) const {
  const std::span<std::byte> stored = std::as_writable_bytes(into).last(into.size() * item_bytes());
  array_.file->read_exact(offset_of(first), stored);
  swap_bytes(stored, item_bytes(), array_.swaps);
  widen(into, item_bytes(), kind_ == Kind::signed_integer);
}

void NumberFile::walk(const Events& events, const Visit& visit) const {
  std::vector<std::uint64_t> numbers(std::min(count(), kNumbersAtOnce));
  for (std::uint64_t first = 0; first < count(); first += numbers.size()) {
    events.stop_if_asked();
    numbers.resize(std::min(count() - first, kNumbersAtOnce));
    read(first, numbers);
    visit(first, numbers);
  }
}

}  // namespace shale
