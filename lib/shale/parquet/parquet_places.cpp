#include "shale/parquet/parquet_places.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/parquet/parquet_codec.hpp"
#include "shale/parquet/parquet_values.hpp"

namespace shale {

bool can_place(ParquetEncoding encoding) {
  switch (encoding) {
    case ParquetEncoding::plain:
    case ParquetEncoding::plain_dictionary:
    case ParquetEncoding::rle_dictionary:
    case ParquetEncoding::delta_length_byte_array:
      return true;
    default:
      return false;
  }
}

ParquetPlace ParquetPlaces::hop(std::uint64_t& at, std::uint64_t end) const {
  if (end - at < 4) throw Error(Code::damaged, "page ends within its values");
  const std::uint64_t length = ByteReader((*view_)(at, 4)).read_u32();
  at += 4;
  if (length > end - at) throw value_too_long(length, end - at);
  const ParquetPlace place{at, length};
  at += length;
  return place;
}

void ParquetPlaces::read_dictionary(std::uint64_t begin, std::uint64_t end, std::uint64_t count) {
  constexpr std::uint64_t kMostPlaces = kMostPageBytes / sizeof(ParquetPlace);
  if (count > (end - begin) / 4) throw wrong_dictionary(count, end - begin);
  if (count > kMostPlaces)
    throw Error(Code::limit, "dictionary of {} values, at most {} are read", count, kMostPlaces);
  forget_dictionary();
  has_dictionary_ = true;
  dictionary_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) dictionary_.push_back(hop(begin, end));
}

void ParquetPlaces::begin_page(ParquetEncoding encoding, std::uint64_t begin, std::uint64_t end,
                               std::uint64_t slots) {
  encoding_ = encoding;
  at_ = begin;
  end_ = end;
  if (encoding == ParquetEncoding::plain) return;
  if (!can_place(encoding))
    throw Error(Code::unsupported, "values in the encoding {}, which do not lie as they are",
                static_cast<unsigned>(encoding));
  if (encoding == ParquetEncoding::delta_length_byte_array) return read_lengths(slots);
  if (!has_dictionary_) throw no_dictionary();
  if (end - begin > kMostPageBytes) throw page_too_large(end - begin);
  if (begin == end) return;  // of nulls alone
  const Bytes indices = (*view_)(begin, end - begin);
  numbers_.assign(indices.begin(), indices.end());
  const auto width = static_cast<unsigned>(numbers_[0]);
  if (width > 32) throw wrong_index_width(width);
  indices_ = HybridRuns(Bytes(numbers_).subspan(1), width, slots);
}

// Where the lengths end is not said: more of them is read until they do.
void ParquetPlaces::read_lengths(std::uint64_t slots) {
  constexpr std::uint64_t kFirstTry = 4096;
  if (at_ == end_) return;  // of nulls alone
  for (std::uint64_t tried = kFirstTry;; tried *= 8) {
    const std::uint64_t bytes = std::min({tried, end_ - at_, kMostPageBytes});
    const Bytes lengths = (*view_)(at_, bytes);
    numbers_.assign(lengths.begin(), lengths.end());
    try {
      const std::uint64_t end = end_of_deltas(numbers_, slots);
      lengths_ = DeltaNumbers(numbers_);
      at_ += end;
      return;
    } catch (const Error&) {
      if (bytes == end_ - at_ || bytes == kMostPageBytes) throw;
    }
  }
}

ParquetPlace ParquetPlaces::next() {
  if (encoding_ == ParquetEncoding::plain) return hop(at_, end_);
  if (encoding_ == ParquetEncoding::delta_length_byte_array) {
    const auto length = static_cast<std::uint64_t>(lengths_.next());
    if (length > end_ - at_) throw value_too_long(length, end_ - at_);
    at_ += length;
    return {at_ - length, length};
  }
  const std::uint32_t number = indices_.next();
  if (number >= dictionary_.size()) throw not_in_dictionary(number, dictionary_.size());
  return dictionary_[number];
}

}  // namespace shale
