#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/unfit_numbers.hpp"

namespace shale {

/// A field whose numbers become others, of one type after the other. Immutable.
class FieldNumbersCast {
 public:
  /// `before`: the field as it is read; `steps`: not empty.
  FieldNumbersCast(std::size_t field, Field before, std::vector<DType> steps);

  [[nodiscard]] std::size_t field() const { return field_; }  ///< its position in the schema
  [[nodiscard]] const Field& before() const { return before_; }
  [[nodiscard]] const Field& after() const { return after_; }
  /// Of values: their bytes as they are read, and once they are cast.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t after) const;
  [[nodiscard]] std::uint64_t bytes_after(std::uint64_t before) const;

  /// Casts elements, little-endian. `into`: bytes_after() of them. What does not fit becomes the
  /// nearest number that does (cast_numbers); `unfit` counts it.
  void run(Bytes numbers, std::span<std::byte> into, UnfitNumbers& unfit) const;
  /// The same for so many rows one after the other, which are told apart in `unfit`.
  void run_rows(Bytes numbers, std::uint64_t rows, std::span<std::byte> into,
                UnfitNumbers& unfit) const;

 private:
  std::size_t field_;
  Field before_, after_;
  DType from_;  // of the numbers as they are read
  std::vector<DType> steps_;
};

/// The fields of a source whose numbers are cast as they are read. Immutable.
class Casts {
 public:
  /// `input`: the schema of what is read; `fields`: in its order.
  Casts(Schema input, std::vector<FieldNumbersCast> fields);

  [[nodiscard]] const Schema& input() const { return input_; }
  [[nodiscard]] const std::vector<FieldNumbersCast>& fields() const { return fields_; }
  /// Null for a field that is not cast.
  [[nodiscard]] const FieldNumbersCast* of(std::size_t field) const;

 private:
  Schema input_;
  std::vector<FieldNumbersCast> fields_;
};

}  // namespace shale
