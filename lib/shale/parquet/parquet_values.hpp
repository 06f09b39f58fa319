#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/parquet/delta_numbers.hpp"
#include "shale/parquet/hybrid_runs.hpp"
#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

/// How the values of a column are stored, for those that decode them.
struct ParquetStorage {
  ParquetType type = ParquetType::byte_array;
  std::uint32_t type_length = 0;  ///< of fixed_bytes
  /// Of a value; 0: any number.
  [[nodiscard]] std::uint64_t item_bytes() const;
};

/// The values of a dictionary page, which hold on to its bytes.
class ParquetDictionary {
 public:
  ParquetDictionary() = default;
  /// Errors: Code::damaged, without place, if there are not so many values.
  ParquetDictionary(const ParquetStorage& storage, std::vector<std::byte> page,
                    std::uint64_t count);
  /// Errors: Code::damaged for one that is not there.
  [[nodiscard]] Bytes operator[](std::uint32_t number) const;

 private:
  std::vector<std::byte> page_;
  std::uint64_t item_bytes_ = 0, count_ = 0;
  std::vector<std::uint32_t> offsets_;  // of values of any size
};

/// Whether pages of this encoding can be decoded for values that are stored so.
[[nodiscard]] bool can_decode(ParquetEncoding encoding, const ParquetStorage& storage);

/// The values of a page, one after the other, as PLAIN has them but for the length in front of
/// bytes; of a boolean a byte. Borrows the page, whose bytes these are behind its levels, and the
/// dictionary.
class ParquetValues {
 public:
  ParquetValues() = default;
  /// `slots`: of the page, which has no more values. Errors, of both: Code::damaged, without place;
  /// Code::unsupported for an encoding.
  ParquetValues(const ParquetStorage& storage, ParquetEncoding encoding, Bytes values,
                const ParquetDictionary* dictionary, std::uint64_t slots);
  /// The next one, valid until the next call. At most as many as the page has.
  [[nodiscard]] Bytes next();
  /// Of a page whose values were all taken: no more of them follow, as far as its encoding tells.
  [[nodiscard]] bool may_end() const;

 private:
  Bytes take(std::uint64_t count);
  Bytes number(std::int64_t value);
  Bytes next_joined();
  Bytes next_split();
  void begin_lengths(std::uint64_t slots);

  ParquetStorage storage_;
  ParquetEncoding encoding_ = ParquetEncoding::plain;
  Bytes values_;
  const ParquetDictionary* dictionary_ = nullptr;
  std::uint64_t position_ = 0, count_ = 0;
  HybridRuns runs_;
  DeltaNumbers deltas_, lengths_;
  std::string joined_;
  std::array<std::byte, 16> scratch_{};
  std::vector<std::byte> split_;
};

/// What both decode and locate values find wrong. Code::damaged, without place, all of them.
[[nodiscard]] Error no_dictionary();
[[nodiscard]] Error wrong_index_width(unsigned width);
[[nodiscard]] Error not_in_dictionary(std::uint32_t number, std::uint64_t count);
[[nodiscard]] Error wrong_dictionary(std::uint64_t count, std::uint64_t bytes);
[[nodiscard]] Error value_too_long(std::uint64_t bytes, std::uint64_t left);

/// Where the bytes of lengths end that are followed by what they are of. Errors: Code::damaged,
/// also for more than `most` of them: without bits of their own 2^24 are a block of two bytes.
[[nodiscard]] std::uint64_t end_of_deltas(Bytes bytes, std::uint64_t most);

}  // namespace shale
