#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/schema.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/sampling/open_drawn_rows.hpp"

namespace shale {

/// A resampling as requested: plain data, nothing opened yet.
struct ResampleRequest {
  /// Input, output, draw, jobs, memory, scratch folder. An output that is not an is_array_name(),
  /// or an is_tensor_name() for one field, is a dataset of `conversion.format`.
  ConvertRequest conversion;
  /// More arrays, "y.npy", and where the same draw of each goes, of a name that may_be_one_array().
  std::vector<std::pair<std::string, std::string>> also;
  std::string indices_output;   ///< where the drawn row numbers go; empty: nowhere
  bool is_permutation = false;  ///< each row once: another number of rows is refused
};

/// An array that was written, or would be.
struct ResampledArray {
  std::string path;
  Field field;
  std::uint64_t rows = 0;
  std::uint64_t file_bytes = 0;
  DrawPlan plan;
};

/// What a resampling writes, as it is planned and as it comes out.
struct ResampleOutput {
  std::uint64_t source_rows = 0;
  std::uint64_t rows = 0;
  std::vector<ResampledArray> arrays = {};  ///< the output, those of `also`, the indices
  std::vector<std::string> notes = {};
};

/// The result.
struct ResampleReport : ResampleOutput {
  /// Of an output of shards: in the place of the first array.
  std::optional<ConvertReport> dataset = {};
};

/// All that is decided before the first row is read.
struct ResamplePlan : ResampleOutput {
  std::optional<ConvertPlan> dataset = {};
  /// Of a dataset: how each field is put in order.
  std::vector<std::pair<std::string, DrawPlan>> field_plans = {};
};

/// Errors: Code::usage for an output of `also` that may not be one array, and for one of the
/// indices that is not an is_array_name().
void require_array_names(const ResampleRequest& request);

/// Draws rows of an array into another one, or into shards, both of any size: which rows depends on
/// the draw and the number of rows only, never on jobs, memory or machine. docs/sampling.md has the
/// method. All outputs come to their names when all are whole and durable: a kill leaves hidden
/// temporaries beside them, which the next run of the same outputs replaces.
/// `events.progress` counts rows, over all outputs and over all passes from one to the next, so it
/// grows and ends with all of them, before any array has its name.
/// Memory: conversion.memory_bytes, whatever the sizes, also of a row that is larger.
/// Errors: Code::exists for an existing output, without `overwrite`; Code::usage for an output
/// that is an input, lies in one or is named twice, for a permutation of fewer rows than there are;
/// Code::schema for an array of `also` of another length; Code::limit for more rows than any file
/// holds; Code::io, before anything is written, if there is not enough space for outputs and
/// scratch files; same as open_row_table, make_draw and open_drawn_rows.
[[nodiscard]] ResampleReport resample(const ResampleRequest& request, const Events& events);
/// What that would do: nothing is written. Errors: those of resample() that can be known before the
/// first row is read.
[[nodiscard]] ResamplePlan plan(const ResampleRequest& request, const Events& events);

}  // namespace shale
