#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nanobind/nanobind.h>

#include "shale/data/sample.hpp"
#include "shale/data/schema.hpp"

#include "python/bindings/plain_objects.hpp"

namespace shale::python {

/// A field of the samples that a program writes, and what Python calls it.
struct InputField {
  Field field;
  nanobind::object name;   // interned
  nanobind::object dtype;  // of a tensor: numpy.dtype
  bool is_raw = false;     // of numbers that NumPy lacks
};

/// What is needed for every sample, looked up once.
struct KnownNames {
  nanobind::object key = nanobind::steal(PyUnicode_InternFromString("key"));
  nanobind::object dtype = nanobind::steal(PyUnicode_InternFromString("dtype"));
  nanobind::object ndarray;  // numpy.ndarray, once there is a field of tensors
};

/// The values of one dictionary as a sample, until they are cleared: bytes and arrays are borrowed.
class SampleValues {
 public:
  explicit SampleValues(const KnownNames& names) : names_(names) {}

  /// Once, or again after clear(). `classes`: labels by name, or None. `number`: of the sample, for
  /// errors. Errors: Code::schema, naming field, number and key, for a sample that does not fit.
  void take(nanobind::handle sample, const std::vector<InputField>& fields, bool has_keys,
            nanobind::handle classes, std::uint64_t number);
  /// Its memory serves the next sample.
  void clear();

  [[nodiscard]] const Sample& sample() const { return sample_; }
  /// How many have to be copied.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void take_key(nanobind::handle key, bool has_keys);
  [[nodiscard]] Value value_of(nanobind::handle value, const InputField& field,
                               nanobind::handle classes);
  [[nodiscard]] Value list_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] Bytes bytes_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] Bytes text_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] Bytes tensor_of(nanobind::handle value, const InputField& field);
  [[nodiscard]] std::optional<Bytes> tensor_as_it_is(nanobind::handle value,
                                                     const InputField& field);
  void take_sides(std::span<const std::uint64_t> shape, const InputField& field);
  [[nodiscard]] std::optional<Bytes> buffer_of(nanobind::handle object);
  [[nodiscard]] Bytes kept(Bytes bytes) {
    bytes_ += bytes.size();
    return bytes;
  }

  const KnownNames& names_;
  Sample sample_;
  std::uint64_t bytes_ = 0;
  std::vector<nanobind::object> objects_;  // what the bytes are borrowed from
  std::vector<HeldBuffer> buffers_;
};

}  // namespace shale::python
