#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "shale/data/sample.hpp"
#include "shale/data/schema.hpp"

namespace shale::python {

/// A field of the samples that a program writes, and what Python calls it.
struct InputField {
  Field field;
  nanobind::object name;          ///< interned
  nanobind::object dtype, shape;  ///< of a tensor: numpy.dtype and tuple
};

/// The values of one dictionary as a sample, while this lives: bytes and arrays are borrowed.
class SampleValues {
 public:
  /// `classes`: labels by name, or None. `number`: of the sample, for errors. Errors: Code::schema,
  /// naming field, number and key, for a sample that does not fit.
  SampleValues(nanobind::handle sample, const std::vector<InputField>& fields, bool has_keys,
               nanobind::handle classes, std::uint64_t number);
  ~SampleValues();
  SampleValues(const SampleValues&) = delete;
  SampleValues& operator=(const SampleValues&) = delete;

  [[nodiscard]] const Sample& sample() const { return sample_; }
  /// How many have to be copied.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void take_key(nanobind::handle key, bool has_keys);
  [[nodiscard]] Value value_of(nanobind::handle value, const InputField& field,
                               nanobind::handle classes);
  [[nodiscard]] Bytes bytes_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] Bytes text_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] Bytes tensor_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] std::optional<Bytes> buffer_of(nanobind::handle object);
  [[nodiscard]] Bytes kept(Bytes bytes) {
    bytes_ += bytes.size();
    return bytes;
  }

  Sample sample_;
  std::uint64_t bytes_ = 0;
  std::vector<nanobind::object> objects_;  // what the bytes are borrowed from
  std::vector<Py_buffer> buffers_;
};

}  // namespace shale::python
