#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "shale/io/output_file.hpp"
#include "shale/ops/choose_output.hpp"
#include "shale/ops/choose_part.hpp"

#include "python/bindings/plain_objects.hpp"

namespace shale::python {

/// The arguments of a command, by name. All are there; None is one that was not given. Paths are
/// bytes, sizes are strings.
class Arguments {
 public:
  explicit Arguments(const nanobind::dict& words) : words_(words) {}

  template <class Type>
  [[nodiscard]] Type get(const char* name) const {
    return nanobind::cast<Type>(words_[name]);
  }
  template <class Type>
  [[nodiscard]] std::optional<Type> maybe(const char* name) const {
    const nanobind::object value = words_[name];
    return value.is_none() ? std::nullopt : std::optional(nanobind::cast<Type>(value));
  }
  [[nodiscard]] std::optional<std::string> path(const char* name) const;
  [[nodiscard]] std::vector<std::string> paths(const char* name) const;

  // Those that several commands have. Errors: Code::usage.

  [[nodiscard]] unsigned jobs() const;
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] IoMode io() const;
  /// `to`, `shard_size`, `shard_samples`.
  [[nodiscard]] OutputOptions output_options() const;
  /// `parts` and `part_offset`.
  void choose_part(ConvertRequest& request) const;

 private:
  const nanobind::dict& words_;
};

}  // namespace shale::python
