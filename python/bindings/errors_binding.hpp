#pragma once

#include <nanobind/nanobind.h>

#include "shale/base/error.hpp"

namespace shale::python {

/// Throws the error as one of shale.errors, with its facts as attributes. `shard` is the name of
/// the shard it is about, or empty. With a signal pending, what its handler raised goes first.
[[noreturn]] void raise_as_python(const Error& error, const std::string& shard);

/// Errors that reach Python by themselves become the same.
void bind_errors();

}  // namespace shale::python
