#include "shale/parquet/parquet_values.hpp"

#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "shale/base/error.hpp"

namespace shale {

std::uint64_t ParquetStorage::item_bytes() const {
  switch (type) {
    case ParquetType::boolean:
      return 1;
    case ParquetType::int32:
    case ParquetType::float32:
      return 4;
    case ParquetType::int64:
    case ParquetType::float64:
      return 8;
    case ParquetType::int96:
      return 12;
    case ParquetType::fixed_bytes:
      return type_length;
    case ParquetType::byte_array:
      break;
  }
  return 0;
}

Error no_dictionary() {
  return {Code::damaged, "a page of a dictionary that its column does not have"};
}
Error wrong_index_width(unsigned width) {
  return {Code::damaged, "indices of {} bits, at most 32 are possible", width};
}
Error not_in_dictionary(std::uint32_t number, std::uint64_t count) {
  return {Code::damaged, "value {} of a dictionary of {}", number, count};
}
Error wrong_dictionary(std::uint64_t count, std::uint64_t bytes) {
  return {Code::damaged, "dictionary of {} values in {} bytes", count, bytes};
}
Error value_too_long(std::uint64_t bytes, std::uint64_t left) {
  return {Code::damaged, "value of {} bytes, {} left in its page", bytes, left};
}

// ---- dictionaries

ParquetDictionary::ParquetDictionary(const ParquetStorage& storage, std::vector<std::byte> page,
                                     std::uint64_t count)
    : page_(std::move(page)), item_bytes_(storage.item_bytes()), count_(count) {
  if (storage.type == ParquetType::boolean) throw Error(Code::damaged, "a dictionary of booleans");
  if (item_bytes_ > 0) {
    if (count > page_.size() / item_bytes_) throw wrong_dictionary(count, page_.size());
    return;
  }
  if (count > page_.size() / 4) throw wrong_dictionary(count, page_.size());
  offsets_.reserve(count);
  ByteReader in(page_);
  for (std::uint64_t i = 0; i < count; ++i) {
    offsets_.push_back(static_cast<std::uint32_t>(in.offset()));
    in.skip(in.read_u32());
  }
}

Bytes ParquetDictionary::operator[](std::uint32_t number) const {
  if (number >= count_) throw not_in_dictionary(number, count_);
  if (item_bytes_ > 0) return Bytes(page_).subspan(number * item_bytes_, item_bytes_);
  std::uint32_t length = 0;
  std::memcpy(&length, page_.data() + offsets_[number], sizeof(length));
  return Bytes(page_).subspan(offsets_[number] + sizeof(length), length);
}

// ---- pages

bool can_decode(ParquetEncoding encoding, const ParquetStorage& storage) {
  const ParquetType type = storage.type;
  switch (encoding) {
    case ParquetEncoding::plain:
      return true;
    case ParquetEncoding::plain_dictionary:
    case ParquetEncoding::rle_dictionary:
      return type != ParquetType::boolean;
    case ParquetEncoding::rle:
      return type == ParquetType::boolean;
    case ParquetEncoding::delta_binary_packed:
      return type == ParquetType::int32 || type == ParquetType::int64;
    case ParquetEncoding::delta_length_byte_array:
      return type == ParquetType::byte_array;
    case ParquetEncoding::delta_byte_array:
      return type == ParquetType::byte_array || type == ParquetType::fixed_bytes;
    case ParquetEncoding::byte_stream_split:
      return storage.item_bytes() > 0 && type != ParquetType::boolean;
    default:
      return false;
  }
}

std::uint64_t end_of_deltas(Bytes bytes, std::uint64_t most) {
  DeltaNumbers deltas(bytes);
  if (deltas.count() > most)
    throw Error(Code::damaged, "{} deltas in a page of {} values", deltas.count(), most);
  for (std::uint64_t i = 0; i < deltas.count(); ++i) (void)deltas.next();
  return deltas.end();
}

ParquetValues::ParquetValues(const ParquetStorage& storage, ParquetEncoding encoding, Bytes values,
                             const ParquetDictionary* dictionary, std::uint64_t slots)
    : storage_(storage), encoding_(encoding), values_(values), dictionary_(dictionary) {
  if (!can_decode(encoding, storage))
    throw Error(Code::unsupported, "values of type {} in the encoding {}, which is not supported",
                static_cast<int>(storage.type), static_cast<unsigned>(encoding));
  switch (encoding) {
    case ParquetEncoding::plain_dictionary:
    case ParquetEncoding::rle_dictionary: {
      if (dictionary == nullptr) throw no_dictionary();
      if (values.empty()) break;  // of nulls alone
      const auto width = static_cast<unsigned>(values[0]);
      if (width > 32) throw wrong_index_width(width);
      runs_ = HybridRuns(values.subspan(1), width, slots);
      break;
    }
    case ParquetEncoding::rle: {
      ByteReader in(values);
      runs_ = HybridRuns(in.read_bytes(in.read_u32()), 1, slots);
      break;
    }
    case ParquetEncoding::delta_binary_packed:
      if (!values.empty()) deltas_ = DeltaNumbers(values);
      break;
    case ParquetEncoding::delta_length_byte_array:
    case ParquetEncoding::delta_byte_array:
      if (!values.empty()) begin_lengths(slots);
      break;
    case ParquetEncoding::byte_stream_split:
      count_ = values.size() / storage.item_bytes();
      if (count_ > 0) split_.resize(storage.item_bytes());  // then it has less than the page
      break;
    default:
      break;
  }
}

// Lengths come first, and only who has gone through them knows where they end.
void ParquetValues::begin_lengths(std::uint64_t slots) {
  if (encoding_ == ParquetEncoding::delta_byte_array) {
    deltas_ = DeltaNumbers(values_);  // of what each has in common with the one before
    position_ = end_of_deltas(values_, slots);
  }
  const Bytes lengths = values_.subspan(position_);
  lengths_ = DeltaNumbers(lengths);
  position_ += end_of_deltas(lengths, slots);
}

Bytes ParquetValues::take(std::uint64_t count) {
  if (count > values_.size() - position_) throw value_too_long(count, values_.size() - position_);
  const Bytes taken = values_.subspan(position_, count);
  position_ += count;
  return taken;
}

Bytes ParquetValues::number(std::int64_t value) {
  std::memcpy(scratch_.data(), &value, sizeof(value));
  return Bytes(scratch_).first(storage_.item_bytes());
}

bool ParquetValues::may_end() const {
  switch (encoding_) {
    case ParquetEncoding::plain_dictionary:
    case ParquetEncoding::rle_dictionary:
    case ParquetEncoding::rle:
      return runs_.may_end();
    default:
      return true;
  }
}

Bytes ParquetValues::next() {
  switch (encoding_) {
    case ParquetEncoding::plain_dictionary:
    case ParquetEncoding::rle_dictionary:
      return (*dictionary_)[runs_.next()];
    case ParquetEncoding::rle:
      return number(runs_.next());
    case ParquetEncoding::delta_binary_packed:
      return number(deltas_.next());
    case ParquetEncoding::delta_length_byte_array: {
      const std::int64_t length = lengths_.next();
      if (length < 0) throw Error(Code::damaged, "value of {} bytes", length);
      return take(static_cast<std::uint64_t>(length));
    }
    case ParquetEncoding::delta_byte_array:
      return next_joined();
    case ParquetEncoding::byte_stream_split:
      return next_split();
    default:
      break;
  }
  if (storage_.type == ParquetType::boolean) {
    const std::uint64_t bit = count_++;
    if (bit / 8 >= values_.size())
      throw Error(Code::damaged, "a boolean behind the last one of its page");
    return number(static_cast<int>(values_[bit / 8]) >> (bit % 8) & 1);
  }
  if (const std::uint64_t bytes = storage_.item_bytes(); bytes > 0) return take(bytes);
  std::uint32_t length = 0;
  std::memcpy(&length, take(sizeof(length)).data(), sizeof(length));
  return take(length);
}

Bytes ParquetValues::next_joined() {
  const std::int64_t common = deltas_.next(), length = lengths_.next();
  if (common < 0 || length < 0 || static_cast<std::uint64_t>(common) > joined_.size())
    throw Error(Code::damaged, "value of {} bytes of the one before, which has {}, and {} more",
                common, joined_.size(), length);
  joined_.resize(static_cast<std::size_t>(common));
  joined_ += as_text(take(static_cast<std::uint64_t>(length)));
  const std::uint64_t bytes = storage_.item_bytes();
  if (bytes > 0 && joined_.size() != bytes)
    throw Error(Code::damaged, "value of {} bytes, expected {}", joined_.size(), bytes);
  return as_bytes(joined_);
}

Bytes ParquetValues::next_split() {
  if (position_ >= count_)
    throw Error(Code::damaged, "the page has no more than {} split values", count_);
  for (std::size_t i = 0; i < split_.size(); ++i) split_[i] = values_[i * count_ + position_];
  ++position_;
  return split_;
}

}  // namespace shale
