#pragma once

#include <string>

#include <nanobind/nanobind.h>

#include "shale/base/error.hpp"

// What module.cpp makes the module _shale of; each part is in the file of its name,
// NAME_binding.cpp.

namespace shale::python {

/// The commands of the program. Each returns what it prints with --json, as text, and what it would
/// say besides.
void bind_commands(nanobind::module_& module);
/// Errors of the library reach Python as those of shale.errors, with their facts as attributes.
/// With a signal pending, what its handler raised goes first.
void bind_errors();
/// Throws an error as it would reach Python by itself. `shard` is the name of the shard it is
/// about, or empty.
[[noreturn]] void raise_as_python(const Error& error, const std::string& shard);
/// What shale.lmdb reads with: open_map, KeyMap, KeyCursor. Errors become those of shale.lmdb.
void bind_maps(nanobind::module_& module);
/// The orders of epochs.
void bind_orders(nanobind::module_& module);
/// Reader: samples of a dataset as Python objects.
void bind_reader(nanobind::module_& module);
/// Views: what a training transform shows of images.
void bind_views(nanobind::module_& module);
/// SampleWriter, on which shale.Writer is built.
void bind_writer(nanobind::module_& module);

}  // namespace shale::python
